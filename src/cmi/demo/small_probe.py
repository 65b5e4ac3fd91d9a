"""A small version of `cmi probe`: a few versions of a few songs, and how often the scores behave as they should.

keep    the same music in another file: musicality changes by no more than the probe's bound
fall    a flaw: musicality is lower than the clean song's
fit     a wrong prompt: alignment is lower than with the right one
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import erf
from statistics import stdev

from cmi.probe import versions as probes
from cmi.probe.probe import Bounds, VersionKey, score_versions
from cmi.probe.versions import CLEAN, Song
from cmi.report.numbers import interval, percent
from cmi.report.tables import Table
from cmi.reward.scoring.scorers import NamedScorer
from cmi.stats.intervals import wilson
from cmi.take import Score

BOUND = Bounds().change  # in standard deviations of the clean songs' scores
STILL, FALL = "another file keeps musicality", "a flaw lowers musicality"
FIT = "a wrong prompt lowers alignment"
# How often a scorer that draws normal scores at random would pass.
RANDOM = {STILL: erf(BOUND / 2), FALL: 0.5, FIT: 0.5}

_UNCHANGED = ("gain -6 dB", "polarity", "20 ms later", "mp3", "ogg")
_FLAWS = ("noise", "clipping", "wrong-notes", "timing-jitter", "bars-shuffled", "random-tune")
_STRENGTHS = (0.5, 1.0)


@dataclass(frozen=True)
class Expected:
    """What should happen to a score of a version, compared with another version."""

    what: str
    version: tuple[str, float]  # its name and strength
    against: str
    axis: str
    name: str


EXPECTED = (
    *(Expected(STILL, (name, 0.0), CLEAN, "musicality", name) for name in _UNCHANGED),
    *(Expected(FALL, (flaw, s), CLEAN, "musicality", f"{flaw}, strength {s:g}") for flaw in _FLAWS for s in _STRENGTHS),
    Expected(FIT, (probes.WRONG_STYLE, 0.0), CLEAN, "alignment", "a caption of a wrong style"),
    Expected(FIT, (probes.WRONG_CAPTION, 0.0), CLEAN, "alignment", "a wrong caption"),
    Expected(FIT, (probes.OTHER_REFERENCES[0], 0.0), probes.OWN_REFERENCE, "alignment", "another song as reference"),
)


def small_probe(
    scorer: NamedScorer, songs: Sequence[Song], seed: int, on_scored: Callable[[int, int], None]
) -> list[Table]:
    """Return a summary and a table of all versions; `on_scored` gets the number of takes done and in all."""
    wanted = {one.version for one in EXPECTED} | {(one.against, 0.0) for one in EXPECTED}
    heard = score_versions(scorer, songs, seed, on_scored, only=wanted)
    spread = {
        axis: stdev(getattr(heard[VersionKey(i, CLEAN)], axis) for i in range(len(songs))) for axis in Score._fields
    }
    outcomes = {expected: _outcomes(expected, heard, spread[expected.axis]) for expected in EXPECTED}
    kinds = {kind: [ok for one, found in outcomes.items() if one.what == kind for ok in found] for kind in RANDOM}
    return [
        Table(
            f"{scorer.name}: {len(songs)} songs in {len(heard) // len(songs)} versions each",
            ["what should be", "n", "is so (%)", "95 %", "random scorer"],
            [[kind, *_count_cells(found), f"{100 * RANDOM[kind]:.0f}"] for kind, found in kinds.items()],
            notes=[
                _notice(scorer.name.partition("@")[0], kinds, outcomes),
                f"To keep musicality is to change it by at most {BOUND:g} standard deviations of the clean songs' "
                "scores. Unlike `cmi probe`, the intervals assume that versions of a song are independent.",
            ],
        ),
        Table(
            "Each version",
            ["what should be", "version", "score", "n", "is so (%)", "95 %"],
            [[one.what, one.name, one.axis, *_count_cells(found)] for one, found in outcomes.items()],
            labels=3,
        ),
    ]


def _notice(name: str, kinds: Mapping[str, list[bool]], outcomes: Mapping[Expected, list[bool]]) -> str:
    """Two sentences: how often scores fall as they should, and what moves them that should not."""
    fall, fit, still = (kinds[kind] for kind in (FALL, FIT, STILL))
    falls = (
        f"{FALL.capitalize()} in {percent(sum(fall) / len(fall), 0)} % of {len(fall)} cases, and {FIT} in "
        f"{percent(sum(fit) / len(fit), 0)} % of {len(fit)}."
    )
    if all(still):
        return f"{falls} Another file of the same song never moves it."
    worst = max((one for one in outcomes if one.what == STILL), key=lambda one: outcomes[one].count(False))
    moved = percent(still.count(False) / len(still), 0)
    return (
        f"{falls} Another file of the same song should not move {name}, and does in {moved} %, {worst.name} most often."
    )


def _outcomes(expected: Expected, heard: Mapping[VersionKey, Score], spread: float) -> list[bool]:
    """Whether each song that has the version behaves as expected; some flaws cannot be applied to every song."""
    found = []
    for key, score in heard.items():
        if (key.name, key.strength) == expected.version:
            before = heard[VersionKey(key.song, expected.against)]
            change = getattr(score, expected.axis) - getattr(before, expected.axis)
            found.append(abs(change) <= BOUND * spread if expected.what == STILL else change < 0)
    return found


def _count_cells(found: Iterable[bool]) -> tuple[str, str, str]:
    """Number, share of passes and interval, as cells."""
    verdicts = list(found)
    n, right = len(verdicts), sum(verdicts)
    return str(n), percent(right / n if n else None, 0), interval(wilson(right, n), 0, 100)

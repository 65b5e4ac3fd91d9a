"""`cmi probe`: does a scorer respond to what it should, and only to that?

Changes      the same music in another file, or a paraphrased caption: mean and largest |change of score| over the
             songs, in units of the spread (standard deviation) of the clean songs' scores
Falls        a flaw: the share of songs whose musicality falls at strength 0.5, with Wilson's interval; and the trend,
             Spearman's correlation of strength (0 is the clean song) and score, averaged over the songs; ideally -1
Orders       a matching and a wrong prompt: the share of songs whose alignment is higher under the matching one

Ties and constants count against the scorer: an equal score has not fallen, and five equal scores have a trend of 0.
Verdicts compare the estimate with the bound; with few songs, look at the interval.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.audio import content_hash
from cmi.probe import versions as probes
from cmi.probe.versions import CLEAN, FEWEST, STRENGTHS, Composed, Song
from cmi.report.tables import to_plain
from cmi.reward.model.validation import validation_notes
from cmi.reward.scoring.score_log import score_takes
from cmi.reward.scoring.scorers import NamedScorer, require_scores
from cmi.stats import Interval, bootstrap, bootstrap_interval, spearman, wilson
from cmi.studio.flaws import FLAWS, Family
from cmi.studio.render import soundfont
from cmi.take import Score

CHUNK = 32  # takes on disk at once: 120 MB of 20 s
HALF = 0.5  # the strength at which an attentive listener notices a flaw
RANDOM_CHANGE = 2 / math.sqrt(math.pi)  # mean |difference|, in spreads, of two independent normal scores


@dataclass(frozen=True)
class Bounds:
    change: float = 0.1  # greatest mean change, in spreads
    paraphrase: float = 0.5  # greatest mean change, in spreads; a paraphrase never means exactly the same
    fall: float = 0.8  # of the songs, at least
    trend: float = -0.6  # at most
    order: float = 0.8  # of the songs, at least


@dataclass(frozen=True)
class ScoreChange:
    """How much scores change when they should not; `mean` and `largest` are in spreads."""

    probe: str
    axis: str
    n: int
    mean: float
    interval: Interval
    largest: float
    bound: float

    @property
    def passed(self) -> bool:
        return self.mean <= self.bound


@dataclass(frozen=True)
class Fall:
    """How reliably a flaw lowers musicality; `curve` is the mean change at each of STRENGTHS, in spreads."""

    flaw: str
    family: Family
    n: int
    share: float
    interval: Interval
    trend: float
    trend_interval: Interval
    curve: tuple[float, ...]
    fall_bound: float
    trend_bound: float

    @property
    def passed(self) -> bool:
        return self.share >= self.fall_bound and self.trend <= self.trend_bound


@dataclass(frozen=True)
class Order:
    """How often a matching prompt has the higher alignment; without a bound there is no verdict."""

    probe: str
    n: int
    share: float
    interval: Interval
    chance: float
    bound: float | None

    @property
    def passed(self) -> bool | None:
        return None if self.bound is None else self.share >= self.bound


@dataclass(frozen=True)
class ProbeReport:
    model: str
    source: str
    soundfont: str  # '' if nothing was rendered
    seed: int
    songs: int
    seconds: float
    takes: int
    spread: dict[str, float]  # by axis
    changes: list[ScoreChange]
    falls: list[Fall]
    orders: list[Order]
    notes: list[str]

    @property
    def verdicts(self) -> list[bool]:
        asked = [order.passed for order in self.orders if order.passed is not None]
        return [*(change.passed for change in self.changes), *(fall.passed for fall in self.falls), *asked]

    def record(self) -> dict[str, Any]:
        """Return a JSON record; values relative to a spread of 0 are None."""
        about = {key: value for key, value in vars(self).items() if key not in ("changes", "falls", "orders")}
        findings = {
            name: [to_plain({**asdict(finding), "passed": finding.passed}) for finding in getattr(self, name)]
            for name in ("changes", "falls", "orders")
        }
        return {**about, "passed": sum(self.verdicts), "probes": len(self.verdicts), **findings}


class VersionKey(NamedTuple):
    song: int
    name: str
    strength: float = 0.0


VersionScores = Mapping[VersionKey, Score]


def probe(
    scorer: NamedScorer,
    songs: Sequence[Song],
    seed: int = 0,
    bounds: Bounds = Bounds(),  # noqa: B008
    on_scored: Callable[[int, int], None] = lambda done, total: None,
    logs: Sequence[Path] = (),
) -> ProbeReport:
    """Score every version of the songs and report; `on_scored` is called with the number of takes done and in all."""
    if len(songs) < FEWEST:
        raise InputError(f"{len(songs)} songs, expected {FEWEST} or more")
    return _report(scorer.name, songs, seed, bounds, score_versions(scorer, songs, seed, on_scored, logs))


def score_versions(
    scorer: NamedScorer,
    songs: Sequence[Song],
    seed: int,
    on_scored: Callable[[int, int], None],
    logs: Sequence[Path] = (),
    only: Collection[tuple[str, float]] | None = None,
) -> dict[VersionKey, Score]:
    """Score the versions of the songs, or only those of these names and strengths.

    Files are in a temporary folder, at most CHUNK versions and the clean songs at a time.
    """
    with TemporaryDirectory(prefix="cmi-probe-") as name:
        clean = [Path(name) / f"{i}.wav" for i in range(len(songs))]
        for path, song in zip(clean, songs, strict=True):
            probes.write_sound(path, song.sound(), probes.RATE)
        versions = [one for one in probes.plan(songs, clean, seed) if only is None or (one.name, one.strength) in only]
        scored: dict[VersionKey, Score] = {}
        on_scored(0, len(versions))
        for start in range(0, len(versions), CHUNK):
            chunk = versions[start : start + CHUNK]
            with TemporaryDirectory(prefix="chunk-", dir=name) as folder:
                takes = [version.take(Path(folder), clean[version.song]) for version in chunk]
                scores = require_scores(score_takes(takes, scorer, logs, identify=content_hash))
            scored |= {VersionKey(v.song, v.name, v.strength): score for v, score in zip(chunk, scores, strict=True)}
            on_scored(len(scored), len(versions))
    return scored


def _report(model: str, songs: Sequence[Song], seed: int, bounds: Bounds, scored: VersionScores) -> ProbeReport:
    composed = [song for song in songs if isinstance(song, Composed)]
    axes = Score._fields if composed else ("musicality",)  # without captions, alignment is not defined
    clean = {axis: _scores(scored, CLEAN, axis) for axis in axes}
    spread = {axis: float(np.std(list(values.values()), ddof=1)) for axis, values in clean.items()}
    changes = [_change(scored, name, axis, bounds.change) for name in probes.UNCHANGED for axis in clean]
    if composed:
        changes.append(_change(scored, probes.PARAPHRASE, "alignment", bounds.paraphrase))
    notes = [f"All clean songs have the same {axis}." for axis, value in spread.items() if not value]
    if composed and not _scores(scored, probes.SUNG, "alignment"):
        notes.append("Lyrics are not probed: singing needs the studio extra (pip install 'cmi[studio]').")
    notes += validation_notes(model)
    return ProbeReport(
        model=model,
        source=f"{len(songs)} pieces by the studio" if composed else f"{len(songs)} recordings",
        soundfont=f"{soundfont().name}@{content_hash(soundfont())[:12]}" if composed else "",
        seed=seed,
        songs=len(songs),
        seconds=max(song.seconds for song in songs),
        takes=len(scored),
        spread=spread,
        changes=changes,
        falls=[fall for flaw in FLAWS if (fall := _fall(scored, flaw, spread["musicality"], bounds)) is not None],
        orders=list(_orders(scored, bounds.order)),
        notes=notes,
    )


def _scores(scored: VersionScores, name: str, axis: str, strength: float = 0.0) -> dict[int, float]:
    """Return the scores on an axis by song."""
    return {
        key.song: getattr(score, axis) for key, score in scored.items() if (key.name, key.strength) == (name, strength)
    }


def _change(scored: VersionScores, name: str, axis: str, bound: float) -> ScoreChange:
    before, after = _scores(scored, CLEAN, axis), _scores(scored, name, axis)
    scores = np.array([before[song] for song in after])
    moved = np.abs(np.array(list(after.values())) - scores)
    n, spread = len(scores), float(np.std(scores, ddof=1))
    means = bootstrap_interval(bootstrap(lambda weights: weights @ moved / n, np.arange(n)), n)
    return ScoreChange(
        probe=name,
        axis=axis,
        n=n,
        mean=_in_spreads(float(moved.mean()), spread),
        interval=Interval(_in_spreads(means.low, spread), _in_spreads(means.high, spread)),
        largest=_in_spreads(float(moved.max()), spread),
        bound=bound,
    )


def _in_spreads(change: float, spread: float) -> float:
    """Return a change in units of the spread; no change is 0 even if the spread is 0."""
    if not change or math.isnan(change):
        return change
    return change / spread if spread else math.inf


def _fall(scored: VersionScores, flaw: str, spread: float, bounds: Bounds) -> Fall | None:
    """Return the effect of a flaw, or None if it applies to no song."""
    clean = _scores(scored, CLEAN, "musicality")
    steps = [_scores(scored, flaw, "musicality", strength) for strength in STRENGTHS]
    lines = np.array([[clean[song], *(step[song] for step in steps)] for song in steps[0]])  # (songs, strengths)
    if not len(lines):
        return None
    n = len(lines)
    fell = int((lines[:, 1 + STRENGTHS.index(HALF)] < lines[:, 0]).sum())
    trends = np.array([_trend(line) for line in lines])
    draws = bootstrap(lambda weights: weights @ trends / n, np.arange(n))
    curve = (lines[:, 1:] - lines[:, :1]).mean(axis=0) / (spread or 1.0)
    return Fall(
        flaw=flaw,
        family=FLAWS[flaw].family,
        n=n,
        share=fell / n,
        interval=wilson(fell, n),
        trend=float(trends.mean()),
        trend_interval=bootstrap_interval(draws, n),
        curve=tuple(curve.tolist()),
        fall_bound=bounds.fall,
        trend_bound=bounds.trend,
    )


def _trend(line: NDArray[np.float64]) -> float:
    trend = spearman((0.0, *STRENGTHS), line)
    return 0.0 if math.isnan(trend) else trend


def _orders(scored: VersionScores, bound: float) -> Iterator[Order]:
    """Yield the comparisons of prompts: which should have the higher alignment, and the bound if it is required."""
    own, others = probes.OWN_REFERENCE, probes.OTHER_REFERENCES
    comparisons: list[tuple[str, str, tuple[str, ...], float | None]] = [
        ("caption above no caption", CLEAN, (probes.EMPTY,), None),
        ("caption above one of a wrong style", CLEAN, (probes.WRONG_STYLE,), bound),
        ("caption above a wrong one", CLEAN, (probes.WRONG_CAPTION,), bound),
        ("sung lyrics above shuffled ones", probes.SUNG, (probes.SHUFFLED_LYRICS,), bound),
        ("itself as reference above another song", own, others[:1], bound),
        ("itself as reference above two others", own, others, bound),
    ]
    for name, fitting, unfitting, needed in comparisons:
        better = _scores(scored, fitting, "alignment")
        worse = [_scores(scored, other, "alignment") for other in unfitting]
        songs = [song for song in better if all(song in scores for scores in worse)]
        if songs:
            won = sum(all(better[song] > scores[song] for scores in worse) for song in songs)
            n = len(songs)
            yield Order(name, n, won / n, wilson(won, n), 1 / (1 + len(unfitting)), needed)

"""A judge and experts that are simulated over pairs whose truth is known: labels as noisy as real ones, told by a seed.

The judge, an LLM that hears both takes of a pair
    opinion      drawn once for a pair: a tie as often as `tied` says, else right with a probability that grows with the
                 margin from `faint` to `plain`; of the kinds of flaws that it is deaf to, in half of the cases
    answer       to one asking: with probability `first` the take that came first, whatever the opinion
    verdict      the answer or, asked in both orders, the answer that is the same in both; none if they contradict
    confidence   5 with probability `overconfident`, else what the margin warrants

An LLM mostly repeats its errors when it is asked again, so the opinion does not depend on the order. Of such a judge
asked in both orders a share `first` of all verdicts contradict, ties apart. CMI-Pref-Pseudo lost 11 % (musicality) and
9 % (alignment) of its pairs that way, and had 7 % and 23 % ties: the defaults (appendix B of the paper).

The experts
    preferences  wrong in a share `wrong` of the pairs, with the confidence that the margin warrants
    ratings      the mean of several raters' marks from 1 to 5, each the take's known quality with the rater's noise

The margin of a pair, 0 to 1: on musicality the strength of the worse take's flaw, else what its confidence says.
"""

import os
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi.preferences import Labelled, preference_row
from cmi.reward.train.loss import HIGHEST, LOWEST
from cmi.take import Axis, Choice

JUDGE, EXPERT = "simulated judge", "simulated expert"
SUREST = 5
WORST_MARK, BEST_MARK = 1.5, 4.5  # what quality 0 and 1 are on average: raters seldom use the ends of a scale
_OTHER: dict[Choice, Choice] = {"a": "b", "b": "a"}


@dataclass(frozen=True)
class Hearing:
    """On one axis, how probably the judge is right at margin 0 and at margin 1, and how often it calls a tie."""

    faint: float
    plain: float
    tied: float


@dataclass(frozen=True)
class Judge:
    seed: int = 0
    musicality: Hearing = Hearing(0.55, 0.9, 0.07)
    alignment: Hearing = Hearing(0.5, 0.85, 0.22)
    first: float = 0.1
    deaf: float = 0.15  # of the kinds of flaws
    overconfident: float = 0.7
    both_orders: bool = True

    def hearing(self, axis: Axis) -> Hearing:
        return self.alignment if axis == "alignment" else self.musicality


@dataclass(frozen=True)
class Experts:
    seed: int = 0
    wrong: float = 0.08
    raters: int = 3
    noise: float = 0.6  # the standard deviation of one rater's marks


class Truth(NamedTuple):
    """What is known of a pair on its axis. `kind` is what is wrong with the worse take."""

    better: Choice
    margin: float
    kind: str


def truth_of(labelled: Labelled) -> Truth:
    """InputError for a tie, and where neither a flaw's strength nor a confidence tells the margin."""
    preference, about = labelled.preference, labelled.about.get("truth", {})
    if preference.choice not in _OTHER:
        raise InputError(f"pair {labelled.id}: a tie, expected a pair whose better take is known")
    if preference.axis == "musicality" and about.get("strength"):
        return Truth(preference.choice, float(about["strength"]), str(about.get("flaw", "")))
    if preference.confidence is None:
        raise InputError(f"pair {labelled.id}: neither 'truth.strength' nor 'confidence' tells how plain the truth is")
    return Truth(preference.choice, (preference.confidence - 1) / (SUREST - 1), str(about.get("kind", "")))


def chance_right(judge: Judge, axis: Axis, margin: float, deaf: bool = False) -> float:
    """How probably an opinion that is no tie is right."""
    hearing = judge.hearing(axis)
    return 0.5 if deaf else hearing.faint + (hearing.plain - hearing.faint) * margin


def is_deaf(judge: Judge, axis: Axis, kind: str) -> bool:
    return _draws(judge.seed, "deaf", axis, kind).random() < judge.deaf


def opinion(judge: Judge, labelled: Labelled) -> Choice:
    """What the judge makes of a pair: 'a', 'b' or, tied, 'both'."""
    axis, truth = labelled.preference.axis, truth_of(labelled)
    rng = _draws(judge.seed, "opinion", labelled.id)
    if rng.random() < judge.hearing(axis).tied:
        return "both"
    right = rng.random() < chance_right(judge, axis, truth.margin, is_deaf(judge, axis, truth.kind))
    return truth.better if right else _OTHER[truth.better]


def answer(judge: Judge, labelled: Labelled, swapped: bool = False) -> Choice:
    """The take that the judge names, by the pair's own letters, when it hears a before b or, swapped, b before a."""
    if _draws(judge.seed, "order", labelled.id, str(swapped)).random() < judge.first:
        return "b" if swapped else "a"
    return opinion(judge, labelled)


def verdict(judge: Judge, labelled: Labelled) -> Choice | None:
    """None if the judge is asked in both orders and contradicts itself."""
    once = answer(judge, labelled)
    return once if not judge.both_orders or answer(judge, labelled, swapped=True) == once else None


def judged(rows: Iterable[Labelled], judge: Judge) -> Iterator[Labelled]:
    """The pairs as the judge labels them; those that it contradicts itself on are left out."""
    for labelled in rows:
        choice = verdict(judge, labelled)
        if choice is not None:
            sure = _draws(judge.seed, "sure", labelled.id).random() < judge.overconfident
            yield _relabelled(labelled, choice, SUREST if sure else _warranted(labelled), JUDGE)


def preferred(rows: Iterable[Labelled], experts: Experts) -> Iterator[Labelled]:
    """The pairs as the experts label them."""
    for labelled in rows:
        better = truth_of(labelled).better
        wrong = _draws(experts.seed, "expert", labelled.id).random() < experts.wrong
        yield _relabelled(labelled, _OTHER[better] if wrong else better, _warranted(labelled), EXPERT)


def qualities(labelled: Labelled) -> dict[Choice, dict[Axis, float]]:
    """Of each take what is known of it, from 0 (worst) to 1.

    A flaw's strength takes as much off musicality; both takes of an alignment pair have the same flaw. The better take
    fits its prompt, and so does another rendering of the same piece; of another piece it is not known.
    """
    truth, about = truth_of(labelled), labelled.about.get("truth", {})
    better, worse = truth.better, _OTHER[truth.better]
    if labelled.preference.axis == "alignment":
        sound = 1 - float(about.get("strength", 0.0))
        return {
            better: {"musicality": sound, "alignment": 1.0},
            worse: {"musicality": sound, "alignment": 1 - truth.margin},
        }
    fits: dict[Axis, float] = {"alignment": 1.0} if about.get("kind") == "same" else {}
    return {better: {"musicality": 1.0, "alignment": 1.0}, worse: {"musicality": 1 - truth.margin, **fits}}


def rated(rows: Iterable[Labelled], experts: Experts, source: Path, target: Path) -> Iterator[dict[str, Any]]:
    """A line of ratings for each take of the pairs, as `cmi.reward.train.data` reads them."""
    for labelled in rows:
        row = moved(labelled, source, target)
        prompt = {name: row[name] for name in ("text", "lyrics", "reference")}
        for take, known in sorted(qualities(labelled).items()):
            name = f"{labelled.id} {take}"
            marks: dict[str, float] = {
                axis: _mark(quality, experts, f"{name} {axis}") for axis, quality in sorted(known.items())
            }
            yield {"id": name, "audio": row[take], **prompt, **marks, "split": row.get("split", ""), "rater": EXPERT}


def _mark(quality: float, experts: Experts, name: str) -> float:
    rng = _draws(experts.seed, "mark", name)
    middle = WORST_MARK + (BEST_MARK - WORST_MARK) * quality
    marks = [min(HIGHEST, max(LOWEST, round(rng.gauss(middle, experts.noise)))) for _ in range(experts.raters)]
    return round(sum(marks) / len(marks), 2)


def moved(labelled: Labelled, source: Path, target: Path) -> dict[str, Any]:
    """The line of a preference read from a file in the folder `source`, for a file in the folder `target`."""
    row = preference_row(labelled, source)
    way = os.path.relpath(source.resolve(), target.resolve())
    return row | {name: Path(way, row[name]).as_posix() for name in ("reference", "a", "b") if row[name]}


def without_prompt(row: Mapping[str, Any]) -> dict[str, Any]:
    """A line of preferences or ratings as if nothing had been asked for."""
    return {**row, "text": "", "lyrics": "", "reference": ""}


def _relabelled(labelled: Labelled, choice: Choice, confidence: int, rater: str) -> Labelled:
    label = replace(labelled.preference, choice=choice, confidence=confidence, rater=rater)
    return labelled._replace(preference=label)


def _warranted(labelled: Labelled) -> int:
    return 1 + round((SUREST - 1) * truth_of(labelled).margin)


def _draws(seed: int, *about: str) -> random.Random:
    return random.Random(f"cmi.noisy_judge {seed} {' '.join(about)}")  # noqa: S311

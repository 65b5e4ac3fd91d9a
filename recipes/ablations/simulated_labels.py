"""Labels of pairs whose truth is known, as noisy as real ones and reproducible from a seed.

The judge, simulated by `cmi.testing.simulated_judge`
    verdict      its answer or, if it is asked in both orders, the answer that is the same in both; none if they differ
    confidence   5 with probability `overconfident`, else what the margin warrants

CMI-Pref-Pseudo lost 11 % (musicality) and 9 % (alignment) of its pairs to contradictions, and had 7 % and 23 % ties:
the defaults (appendix B of the paper).

The experts
    preferences  wrong in a share `wrong` of the pairs, with the confidence that the margin warrants
    ratings      the mean of several raters' marks from 1 to 5, each the take's known quality with the rater's noise
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cmi.judge.verdict import OTHER
from cmi.preferences import Preference, preference_row
from cmi.reward.train.loss import HIGHEST, LOWEST
from cmi.take import Axis, Choice
from cmi.testing.simulated_judge import SUREST, NoisyJudge, answer, draws, truth_of

JUDGE, EXPERT = "simulated judge", "simulated expert"
WORST_MARK, BEST_MARK = 1.5, 4.5  # what quality 0 and 1 are on average: raters seldom use the ends of a scale


@dataclass(frozen=True)
class Experts:
    seed: int = 0
    wrong: float = 0.08
    raters: int = 3
    noise: float = 0.6  # the standard deviation of one rater's marks


def verdict(judge: NoisyJudge, labelled: Preference) -> Choice | None:
    """None if the judge is asked in both orders and contradicts itself."""
    once = answer(judge, labelled)
    return once if not judge.both_orders or answer(judge, labelled, swapped=True) == once else None


def judged(rows: Iterable[Preference], judge: NoisyJudge) -> Iterator[Preference]:
    """The pairs as the judge labels them; those that it contradicts itself on are left out."""
    for labelled in rows:
        choice = verdict(judge, labelled)
        if choice is not None:
            sure = draws(judge.seed, "sure", labelled.id).random() < judge.overconfident
            yield _relabelled(labelled, choice, SUREST if sure else _warranted(labelled), JUDGE)


def preferred(rows: Iterable[Preference], experts: Experts) -> Iterator[Preference]:
    """The pairs as the experts label them."""
    for labelled in rows:
        better = truth_of(labelled).better
        wrong = draws(experts.seed, "expert", labelled.id).random() < experts.wrong
        yield _relabelled(labelled, OTHER[better] if wrong else better, _warranted(labelled), EXPERT)


def qualities(labelled: Preference) -> dict[Choice, dict[Axis, float]]:
    """Of each take what is known of it, from 0 (worst) to 1.

    A flaw's strength takes as much off musicality; both takes of an alignment pair have the same flaw. The better take
    fits its prompt, and so does another rendering of the same piece; of another piece it is not known.
    """
    truth, about = truth_of(labelled), labelled.about.get("truth", {})
    better, worse = truth.better, OTHER[truth.better]
    if labelled.axis == "alignment":
        sound = 1 - float(about.get("strength", 0.0))
        return {
            better: {"musicality": sound, "alignment": 1.0},
            worse: {"musicality": sound, "alignment": 1 - truth.margin},
        }
    fits: dict[Axis, float] = {"alignment": 1.0} if about.get("kind") == "same" else {}
    return {better: {"musicality": 1.0, "alignment": 1.0}, worse: {"musicality": 1 - truth.margin, **fits}}


def rated(rows: Iterable[Preference], experts: Experts, folder: Path) -> Iterator[dict[str, Any]]:
    """A row of ratings for each take of the pairs, for a file in `folder`."""
    for labelled in rows:
        row = preference_row(labelled, folder)
        prompt = {name: row[name] for name in ("text", "lyrics", "reference")}
        for take, known in sorted(qualities(labelled).items()):
            name = f"{labelled.id} {take}"
            marks: dict[str, float] = {
                axis: _mark(quality, experts, f"{name} {axis}") for axis, quality in sorted(known.items())
            }
            yield {"id": name, "audio": row[take], **prompt, **marks, "split": row.get("split", ""), "rater": EXPERT}


def _mark(quality: float, experts: Experts, name: str) -> float:
    rng = draws(experts.seed, "mark", name)
    middle = WORST_MARK + (BEST_MARK - WORST_MARK) * quality
    marks = [min(HIGHEST, max(LOWEST, round(rng.gauss(middle, experts.noise)))) for _ in range(experts.raters)]
    return round(sum(marks) / len(marks), 2)


def _relabelled(labelled: Preference, choice: Choice, confidence: int, rater: str) -> Preference:
    return replace(labelled, choice=choice, confidence=confidence, rater=rater)


def _warranted(labelled: Preference) -> int:
    return 1 + round((SUREST - 1) * truth_of(labelled).margin)

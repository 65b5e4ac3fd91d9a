"""Flag annotators who deserve a look. Nobody is dropped: every person has a row with a verdict and its reasons.

Measures of a person on each axis
    gold          share of right answers on gold pairs
    consistency   share of hidden repeats (with the takes swapped) in which the same take was preferred
    others        share of ordinary pairs in which they agree with the majority of the others, if there is one
    first         share of votes for the take shown first, without repeats, with an exact binomial test against 1/2
and over both axes: median time per vote, and share of confidences of 1 or 5.

Verdicts
    can't tell yet  too few votes, or too few gold pairs and repeats to rule out random votes
    look            gold pairs and repeats speak against careful listening, or another measure is off by more than
                    chance explains; `reasons` says which
    ok              gold pairs and repeats rule out voting at random, and nothing is off

The test is sequential, because a dashboard is looked at after every vote. Somebody who votes at random is right on a
gold pair and alike on a repeat with probability 1/2; careful listeners are in GOLD_EXPECTED and CONSISTENCY_EXPECTED of
them. `against_chance` is the likelihood of the answers if careful, divided by that if random, on all gold pairs and
repeats of an axis, averaged over the axes. `against_care` is the inverse ratio, averaged over the axes and over gold
pairs, repeats and both together, so somebody who fails only one of these is found too. Such an average has the
expectation 1 under what it speaks against, however the answers of one vote depend on one another; so it ever reaches
1 / ERROR with probability ERROR at most (Ville's inequality), at whichever moment one looks. ok needs against_chance,
and look needs against_care, of 1 / ERROR. `recipes/arena/screening.py` simulates how often each verdict is wrong.

Agreement with the others is off if its 99 % Wilson interval (the 95 % one is shown) lies below the mean share of all
people. Position is off if its p value, Holm-adjusted for people and axes, is below 0.01. The median time is off below a
THIRD of the study's, and confidences if SAME_CONFIDENCE of them are equal.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any, NamedTuple

from cmi.arena.statistics.inputs import AXES, Annotator, Axis, choice, confidence, grouped, study_votes
from cmi.arena.store.study import CountedVote, Side
from cmi.stats import Share, holm, mcnemar_exact, wilson

ERROR = 0.05  # probability of calling somebody who votes at random ok, and of looking at a careful listener
GOLD_EXPECTED = 0.8
CONSISTENCY_EXPECTED = 0.7
THIRD = 1 / 3
SAME_CONFIDENCE = 0.95
VERDICT_LEVEL = 0.99
LARGEST = 300.0  # logarithm of a likelihood ratio; floats end at 709


class Reason(NamedTuple):
    """A reason for a verdict: in English, and as codes with values, which pages word in other languages."""

    sentence: str
    parts: list[dict[str, Any]]


class Measures(NamedTuple):
    gold: Share
    consistency: Share
    others: Share
    first: Share

    @property
    def position_p(self) -> float:
        return mcnemar_exact(self.first.hits, self.first.n - self.first.hits)

    @property
    def against_chance(self) -> float:
        """Likelihood ratio of a careful listener and one who votes at random, on gold pairs and repeats."""
        return _ratio(self.gold, GOLD_EXPECTED) * _ratio(self.consistency, CONSISTENCY_EXPECTED)

    @property
    def against_care(self) -> float:
        """The inverse ratio, averaged over gold pairs, repeats, and both together."""
        gold, repeats = 1 / _ratio(self.gold, GOLD_EXPECTED), 1 / _ratio(self.consistency, CONSISTENCY_EXPECTED)
        return (gold + repeats + gold * repeats) / 3


def _ratio(share: Share, careful: float) -> float:
    misses = share.n - share.hits
    exponent = share.hits * math.log(careful / 0.5) + misses * math.log((1 - careful) / 0.5)
    return math.exp(max(-LARGEST, min(LARGEST, exponent)))


def screening(votes: Sequence[CountedVote], people: Sequence[Annotator], minimum_votes: int) -> dict[str, Any]:
    """`people`: a row per person, with or without votes; `expected`: the shares to compare with."""
    names = {one.person: one.name for one in people}
    by_person = grouped(votes, lambda vote: vote.person)
    persons = [*names, *sorted(set(by_person) - set(names))]
    by_view, study = {vote.view: vote for vote in votes}, study_votes(votes)
    tally = {axis: Counter((vote.pair, choice(vote, axis)) for vote in study) for axis in AXES}
    measured = {
        person: {axis: _measure(by_person.get(person, []), axis, by_view, tally[axis]) for axis in AXES}
        for person in persons
    }
    expected = {axis: pool_shares([measured[person][axis].others for person in persons]) for axis in AXES}
    tests = [(person, axis) for person in persons for axis in AXES]
    adjusted = dict(zip(tests, holm([measured[p][axis].position_p for p, axis in tests]), strict=True))
    usual = median(vote.seconds for vote in votes) if votes else None
    rows = []
    for person in persons:
        mine = by_person.get(person, [])
        weights = {
            name: fmean(getattr(one, name) for one in measured[person].values())
            for name in ("against_chance", "against_care")
        }
        off: list[Reason] = []
        if mine:
            positions = {axis: adjusted[person, axis] for axis in AXES}
            off = [*_shares_off(measured[person], expected, positions), *_habits_off(mine, usual)]
        verdict, reasons = _judge(len(mine), minimum_votes, measured[person], off, **weights)
        about = {"person": person, "name": names.get(person), "votes": len(mine), "verdict": verdict}
        parts = [part for one in reasons for part in one.parts]
        told = {"reasons": [one.sentence for one in reasons], "reason_parts": parts}
        rows.append({**about, **told, **weights, **_habits(mine), **_axis_columns(measured[person])})
    shares = {"gold": GOLD_EXPECTED, "consistency": CONSISTENCY_EXPECTED}
    others = {f"{axis}_others": share for axis, share in expected.items()}
    return {"people": rows, "minimum_votes": minimum_votes, "error": ERROR, "expected": {**shares, **others}}


def _measure(
    mine: Sequence[CountedVote], axis: Axis, by_view: Mapping[str, CountedVote], tally: Mapping[tuple[str, Side], int]
) -> Measures:
    """`tally` counts first votes by ordinary pair and side."""
    firsts = [vote for vote in mine if vote.repeat_of is None]
    gold = [choice(vote, axis) == vote.gold[axis] for vote in firsts if vote.gold and axis in vote.gold]
    steady = [
        choice(vote, axis) == choice(by_view[vote.repeat_of], axis)
        for vote in mine
        if vote.repeat_of is not None and vote.repeat_of in by_view
    ]
    with_others = []
    for vote in study_votes(mine):
        said = choice(vote, axis)
        lead = tally[vote.pair, said] - 1 - tally[vote.pair, "b" if said == "a" else "a"]
        if lead:
            with_others.append(lead > 0)
    first = [(choice(vote, axis) == "a") != vote.swapped for vote in firsts]
    return Measures(*(Share(sum(hits), len(hits)) for hits in (gold, steady, with_others, first)))


def share_columns(share: Share, name: str) -> dict[str, Any]:
    value, (low, high) = (share.value, share.interval) if share.n else (None, (None, None))
    return {f"{name}_n": share.n, name: value, f"{name}_low": low, f"{name}_high": high}


def is_below(share: Share, expected: float) -> bool:
    """Whether a share is below what is expected by more than chance explains."""
    return share.n > 0 and wilson(*share, level=VERDICT_LEVEL).high < expected


def pool_shares(shares: Sequence[Share]) -> float | None:
    n = sum(share.n for share in shares)
    return sum(share.hits for share in shares) / n if n else None


def _judge(
    votes: int,
    minimum_votes: int,
    measures: Mapping[Axis, Measures],
    off: list[Reason],
    against_chance: float,
    against_care: float,
) -> tuple[str, list[Reason]]:
    """The verdict and its reasons; `off` are those that have nothing to do with gold pairs and repeats."""
    if votes < minimum_votes:
        few = _part("few-votes", votes=votes, minimum=minimum_votes)
        return "can't tell yet", [Reason(f"{votes} of at least {minimum_votes} votes", [few])]
    if against_care >= 1 / ERROR:
        return "look", [_count_checks(measures), *off]
    if off:
        return "look", off
    if against_chance >= 1 / ERROR:
        return "ok", []
    checks = _count_checks(measures)
    sentence = f"gold pairs and repeats do not suffice: {checks.sentence}"
    return "can't tell yet", [Reason(sentence, [_part("few-checks"), *checks.parts])]


def _part(code: str, **values: Any) -> dict[str, Any]:
    return {"code": code, **values}


def _count_checks(measures: Mapping[Axis, Measures]) -> Reason:
    sentences, parts = [], []
    for axis, one in measures.items():
        gold, repeats = one.gold, one.consistency
        sentences.append(
            f"{axis}: {gold.hits} of {gold.n} gold pairs right, {repeats.hits} of {repeats.n} repeats alike"
        )
        counts = {"right": gold.hits, "gold": gold.n, "alike": repeats.hits, "repeats": repeats.n}
        parts.append(_part("checks", axis=axis, **counts))
    return Reason("; ".join(sentences), parts)


def _shares_off(
    measures: Mapping[Axis, Measures], expected: Mapping[Axis, float | None], position: Mapping[Axis, float]
) -> list[Reason]:
    reasons = []
    for axis, one in measures.items():
        usual, (others, pairs), (first, votes) = expected[axis], one.others, one.first
        if usual is not None and is_below(one.others, usual):
            part = _part("others", axis=axis, hits=others, n=pairs)
            reasons.append(Reason(f"{axis}: with the others on {others} of {pairs} pairs", [part]))
        if position[axis] < 1 - VERDICT_LEVEL:
            part = _part("first", axis=axis, hits=first, n=votes)
            reasons.append(Reason(f"{axis}: the first take preferred in {first} of {votes} votes", [part]))
    return reasons


def _habits(mine: Sequence[CountedVote]) -> dict[str, Any]:
    given = [confidence(vote, axis) for vote in mine for axis in AXES]
    extremes = sum(one in (1, 5) for one in given) / len(given) if given else None
    return {
        "median_seconds": median(vote.seconds for vote in mine) if mine else None,
        "confidence_extremes": extremes,
    }


def _habits_off(mine: Sequence[CountedVote], usual_seconds: float | None) -> list[Reason]:
    reasons = []
    seconds = median(vote.seconds for vote in mine)
    if usual_seconds is not None and seconds < THIRD * usual_seconds:
        mine_and_usual = f"{seconds:.0f}", f"{usual_seconds:.0f}"
        part = _part("fast", seconds=mine_and_usual[0], usual=mine_and_usual[1])
        reasons.append(Reason("{} s per vote where all take {} s".format(*mine_and_usual), [part]))
    given = Counter(confidence(vote, axis) for vote in mine for axis in AXES)
    value, times = given.most_common(1)[0]
    if times >= SAME_CONFIDENCE * given.total():
        part = _part("confidence", value=value, hits=times, n=given.total())
        reasons.append(Reason(f"confidence {value} in {times} of {given.total()} answers", [part]))
    return reasons


def _axis_columns(measures: Mapping[Axis, Measures]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for axis, one in measures.items():
        for name in ("gold", "consistency", "others", "first"):
            columns |= share_columns(getattr(one, name), f"{axis}_{name}")
        columns[f"{axis}_first_p"] = one.position_p if one.first.n else None
    return columns

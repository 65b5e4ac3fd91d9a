"""A judge that knows the pairs' true winners and makes errors at given rates, for tests and ablations.

    simulated:right=0.8,tied=0.05,first=0.1,slip=0.02,seed=1

opinion    drawn once per pair: a tie with probability `tied`, else right with a probability that grows with the margin
           from `faint` to `plain`; for kinds of flaws that the judge does not notice, it is 0.5
answer     per question: with probability `first` the take that came first, else the opinion
slip       probability that an answer of `SimulatedJudge` names the other take

The opinion does not depend on the order, because an LLM mostly repeats its errors. KeyedPair in both orders, a share
`first` of the verdicts contradict each other, apart from ties. A pair's margin, 0 to 1, is the strength of the worse
take's flaw on musicality, else it follows from the confidence.
"""

import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from cmi._util.errors import InputError
from cmi.judge.judges import KeyedPair, KeyedVerdict
from cmi.judge.verdict import OTHER, Opinion, Verdict
from cmi.preferences import NamedPair, Preference
from cmi.take import Axis, Choice, Pair

SUREST = 5  # confidence at which the margin is 1


@dataclass(frozen=True)
class Errors:
    """Probabilities of a right opinion, a tie, naming the first take regardless, and a slip."""

    right: float = 0.9
    tied: float = 0.07
    first: float = 0.1
    slip: float = 0.0
    seed: int = 0


def parse_errors(text: str) -> Errors:
    """Parse 'right=0.8,first=0.1'; the rest keeps its default."""
    known = {field.name for field in fields(Errors)}
    values: dict[str, float] = {}
    for item in filter(None, text.split(",")):
        name, _, value = item.partition("=")
        if name not in known:
            raise InputError(f"simulated judge: {name!r}, expected one of {', '.join(sorted(known))}")
        try:
            values[name] = int(value) if name == "seed" else float(value)
        except ValueError as error:
            raise InputError(f"simulated judge: {name} is {value!r}, expected a number") from error
        if name != "seed" and not 0 <= values[name] <= 1:
            raise InputError(f"simulated judge: {name} is {value}, expected 0 to 1")
    return Errors(**values)  # type: ignore[arg-type]


class SimulatedJudge:
    """Judges only the given `pairs`."""

    def __init__(self, pairs: Sequence[NamedPair], errors: Errors) -> None:
        self.errors = errors
        hearing = Hearing(errors.right, errors.right, errors.tied)
        self._judge = NoisyJudge(errors.seed, hearing, hearing, first=errors.first, deaf=0.0)
        self._known = {pair.pair: pair for pair in pairs}

    @property
    def name(self) -> str:
        said = ",".join(f"{field.name}={getattr(self.errors, field.name):g}" for field in fields(Errors))
        return f"simulated:{said}"

    def verdicts(self, asked: Sequence[KeyedPair]) -> Generator[KeyedVerdict, None, None]:
        for key, pair in asked:
            swapped = pair not in self._known
            known = self._known.get(Pair(pair.prompt, pair.b, pair.a) if swapped else pair)
            if known is None or not known.known:
                yield key, InputError("the simulated judge needs the pair's winner in the file")
                continue
            opinions: dict[Axis, Opinion] = {}
            for axis, winner in known.known.items():
                named = self._answer(known, axis, winner, key, swapped)
                opinions[axis] = Opinion(OTHER[named] if swapped else named)
            yield key, Verdict(opinions)

    def _answer(self, known: NamedPair, axis: Axis, winner: Choice, key: str, swapped: bool) -> Choice:
        """The take named, in terms of the pair's own a and b."""
        labelled = Preference(known.pair, axis, winner, SUREST, id=f"{known.id} {axis}")
        named = answer(self._judge, labelled, swapped)
        rng = random.Random(f"cmi.testing.simulated_judge {self.errors.seed} {key} {axis}")  # noqa: S311
        return OTHER[named] if rng.random() < self.errors.slip else named


@dataclass(frozen=True)
class Hearing:
    """Probabilities on one axis: right at margin 0, right at margin 1, and a tie."""

    faint: float
    plain: float
    tied: float


@dataclass(frozen=True)
class NoisyJudge:
    """Error rates of a simulated judge; by default those of CMI-Pref-Pseudo (appendix B of the paper)."""

    seed: int = 0
    musicality: Hearing = Hearing(0.55, 0.9, 0.07)
    alignment: Hearing = Hearing(0.5, 0.85, 0.22)
    first: float = 0.1
    deaf: float = 0.15  # share of the kinds of flaws that it does not notice; the name is a key of ablation records
    overconfident: float = 0.7
    both_orders: bool = True

    def hearing(self, axis: Axis) -> Hearing:
        return self.alignment if axis == "alignment" else self.musicality


class KnownWinner(NamedTuple):
    """A pair's better take, margin, and kind of flaw of the worse take."""

    better: Choice
    margin: float
    kind: str


def truth_of(labelled: Preference) -> KnownWinner:
    """Read a pair's truth; InputError for a tie or without a strength and a confidence."""
    about = labelled.about.get("truth", {})
    if labelled.choice not in ("a", "b"):
        raise InputError(f"pair {labelled.id}: a tie, expected a pair whose better take is known")
    if labelled.axis == "musicality" and about.get("strength"):
        return KnownWinner(labelled.choice, float(about["strength"]), str(about.get("flaw", "")))
    if labelled.confidence is None:
        raise InputError(f"pair {labelled.id}: needs 'truth.strength' or 'confidence'")
    return KnownWinner(labelled.choice, (labelled.confidence - 1) / (SUREST - 1), str(about.get("kind", "")))


def chance_right(judge: NoisyJudge, axis: Axis, margin: float, is_unnoticed: bool = False) -> float:
    """Probability that an opinion other than a tie is right."""
    hearing = judge.hearing(axis)
    return 0.5 if is_unnoticed else hearing.faint + (hearing.plain - hearing.faint) * margin


def is_unnoticed(judge: NoisyJudge, axis: Axis, kind: str) -> bool:
    return draws(judge.seed, "deaf", axis, kind).random() < judge.deaf


def opinion(judge: NoisyJudge, labelled: Preference) -> Choice:
    """The judge's opinion of a pair: 'a', 'b' or, for a tie, 'both'."""
    axis, truth = labelled.axis, truth_of(labelled)
    rng = draws(judge.seed, "opinion", labelled.id)
    if rng.random() < judge.hearing(axis).tied:
        return "both"
    right = rng.random() < chance_right(judge, axis, truth.margin, is_unnoticed(judge, axis, truth.kind))
    return truth.better if right else OTHER[truth.better]


def answer(judge: NoisyJudge, labelled: Preference, swapped: bool = False) -> Choice:
    """The take that the judge names, in terms of the pair's own a and b; `swapped` if it hears b first."""
    if draws(judge.seed, "order", labelled.id, str(swapped)).random() < judge.first:
        return "b" if swapped else "a"
    return opinion(judge, labelled)


def draws(seed: int, *about: str) -> random.Random:
    return random.Random(f"cmi.noisy_judge {seed} {' '.join(about)}")  # noqa: S311

"""A judge that does not listen: it knows the pairs' true winners and errs as it is told to, for tests and ablations.

    simulated:right=0.8,tied=0.05,first=0.1,slip=0.02,seed=1

opinion    drawn once for a pair: a tie as often as `tied` says, else right with a probability that grows with the
           margin from `faint` to `plain`; for kinds of flaws that it does not notice, in half of the cases
answer     to one asking: with probability `first` the take that came first, whatever the opinion
slip       the share of askings in which `SimulatedJudge` names the other take, drawn anew for each

An LLM mostly repeats its errors when it is asked again, so the opinion does not depend on the order. Of such a judge
asked in both orders a share `first` of all verdicts contradict, ties apart. The margin of a pair, 0 to 1, is on
musicality the strength of the worse take's flaw, else what its confidence says.
"""

import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from cmi._util.errors import InputError
from cmi.judge.judges import Asked, Told
from cmi.judge.verdict import OTHER, Opinion, Verdict
from cmi.preferences import NamedPair, Preference
from cmi.take import Axis, Choice, Pair

SUREST = 5  # as sure as truth can be: `right` is then the chance of a right opinion


@dataclass(frozen=True)
class Errors:
    """Shares: of right opinions, of ties, of answers that name the first take whatever it is, of slips."""

    right: float = 0.9
    tied: float = 0.07
    first: float = 0.1
    slip: float = 0.0
    seed: int = 0


def parse_errors(text: str) -> Errors:
    """From 'right=0.8,first=0.1'; what is not said has its default."""
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
    """Knows the winners of `pairs`, and of no others."""

    def __init__(self, pairs: Sequence[NamedPair], errors: Errors) -> None:
        self.errors = errors
        hearing = Hearing(errors.right, errors.right, errors.tied)
        self._judge = NoisyJudge(errors.seed, hearing, hearing, first=errors.first, deaf=0.0)
        self._known = {pair.pair: pair for pair in pairs}

    @property
    def name(self) -> str:
        said = ",".join(f"{field.name}={getattr(self.errors, field.name):g}" for field in fields(Errors))
        return f"simulated:{said}"

    def verdicts(self, asked: Sequence[Asked]) -> Generator[Told, None, None]:
        for key, pair in asked:
            swapped = pair not in self._known
            known = self._known.get(Pair(pair.prompt, pair.b, pair.a) if swapped else pair)
            if known is None or not known.known:
                yield key, InputError("the simulated judge knows pairs only whose winner is in the file")
                continue
            opinions: dict[Axis, Opinion] = {}
            for axis, winner in known.known.items():
                named = self._answer(known, axis, winner, key, swapped)
                opinions[axis] = Opinion(OTHER[named] if swapped else named)
            yield key, Verdict(opinions)

    def _answer(self, known: NamedPair, axis: Axis, winner: Choice, key: str, swapped: bool) -> Choice:
        """The take that is named, by the pair's own letters."""
        labelled = Preference(known.pair, axis, winner, SUREST, id=f"{known.id} {axis}")
        named = answer(self._judge, labelled, swapped)
        rng = random.Random(f"cmi.testing.simulated_judge {self.errors.seed} {key} {axis}")  # noqa: S311
        return OTHER[named] if rng.random() < self.errors.slip else named


@dataclass(frozen=True)
class Hearing:
    """On one axis, how probably the judge is right at margin 0 and at margin 1, and how often it calls a tie."""

    faint: float
    plain: float
    tied: float


@dataclass(frozen=True)
class NoisyJudge:
    """How a simulated judge errs; CMI-Pref-Pseudo's shares by default (appendix B of the paper)."""

    seed: int = 0
    musicality: Hearing = Hearing(0.55, 0.9, 0.07)
    alignment: Hearing = Hearing(0.5, 0.85, 0.22)
    first: float = 0.1
    deaf: float = 0.15  # of the kinds of flaws
    overconfident: float = 0.7
    both_orders: bool = True

    def hearing(self, axis: Axis) -> Hearing:
        return self.alignment if axis == "alignment" else self.musicality


class KnownWinner(NamedTuple):
    """What is known of a pair on its axis. `kind` is what is wrong with the worse take."""

    better: Choice
    margin: float
    kind: str


def truth_of(labelled: Preference) -> KnownWinner:
    """InputError for a tie, and where neither a flaw's strength nor a confidence tells the margin."""
    about = labelled.about.get("truth", {})
    if labelled.choice not in ("a", "b"):
        raise InputError(f"pair {labelled.id}: a tie, expected a pair whose better take is known")
    if labelled.axis == "musicality" and about.get("strength"):
        return KnownWinner(labelled.choice, float(about["strength"]), str(about.get("flaw", "")))
    if labelled.confidence is None:
        raise InputError(f"pair {labelled.id}: neither 'truth.strength' nor 'confidence' tells how plain the truth is")
    return KnownWinner(labelled.choice, (labelled.confidence - 1) / (SUREST - 1), str(about.get("kind", "")))


def chance_right(judge: NoisyJudge, axis: Axis, margin: float, deaf: bool = False) -> float:
    """How probably an opinion that is no tie is right."""
    hearing = judge.hearing(axis)
    return 0.5 if deaf else hearing.faint + (hearing.plain - hearing.faint) * margin


def is_deaf(judge: NoisyJudge, axis: Axis, kind: str) -> bool:
    return draws(judge.seed, "deaf", axis, kind).random() < judge.deaf


def opinion(judge: NoisyJudge, labelled: Preference) -> Choice:
    """What the judge makes of a pair: 'a', 'b' or, tied, 'both'."""
    axis, truth = labelled.axis, truth_of(labelled)
    rng = draws(judge.seed, "opinion", labelled.id)
    if rng.random() < judge.hearing(axis).tied:
        return "both"
    right = rng.random() < chance_right(judge, axis, truth.margin, is_deaf(judge, axis, truth.kind))
    return truth.better if right else OTHER[truth.better]


def answer(judge: NoisyJudge, labelled: Preference, swapped: bool = False) -> Choice:
    """The take that the judge names, by the pair's own letters, when it hears a before b or, swapped, b before a."""
    if draws(judge.seed, "order", labelled.id, str(swapped)).random() < judge.first:
        return "b" if swapped else "a"
    return opinion(judge, labelled)


def draws(seed: int, *about: str) -> random.Random:
    return random.Random(f"cmi.noisy_judge {seed} {' '.join(about)}")  # noqa: S311

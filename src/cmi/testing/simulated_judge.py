"""A judge that hears nothing: it knows the pairs' true winners and errs as it is told to, for tests and ablations.

It is the simulated judge of `cmi.reward.train.noisy_judge`, with its share of `right` opinions, ties and position
bias; and with `slip`, the share of askings in which it names the other take, drawn anew for each.

    simulated:right=0.8,tied=0.05,first=0.1,slip=0.02,seed=1
"""

import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, fields

from cmi._util.errors import InputError, MissingExtra
from cmi.judge.judges import Asked, Told
from cmi.judge.pairs import NamedPair
from cmi.judge.verdict import OTHER, Opinion, Verdict
from cmi.preferences import Labelled
from cmi.take import Axis, Choice, Pair, Preference

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
        try:
            from cmi.reward.train import noisy_judge
        except ModuleNotFoundError as error:
            raise MissingExtra("the simulated judge", "train") from error
        self.errors = errors
        self._noisy = noisy_judge
        hearing = noisy_judge.Hearing(errors.right, errors.right, errors.tied)
        self._judge = noisy_judge.Judge(
            seed=errors.seed, musicality=hearing, alignment=hearing, first=errors.first, deaf=0.0
        )
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
        labelled = Labelled(f"{known.id} {axis}", Preference(known.pair, axis, winner, SUREST), {})
        named = self._noisy.answer(self._judge, labelled, swapped)
        rng = random.Random(f"cmi.testing.simulated_judge {self.errors.seed} {key} {axis}")  # noqa: S311
        return OTHER[named] if rng.random() < self.errors.slip else named

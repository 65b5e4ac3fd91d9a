"""A judge's opinions about a pair, or its marks for a take."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, get_args

from cmi.take import Axis, Choice, Pair

OTHER: dict[Choice, Choice] = {"a": "b", "b": "a", "both": "both", "neither": "neither"}
TIES: tuple[Choice, ...] = ("both", "neither")


@dataclass(frozen=True)
class Opinion:
    """A choice on one axis, with marks for both takes if the judge gives them."""

    choice: Choice
    score_a: float | None = None
    score_b: float | None = None

    @property
    def swapped(self) -> "Opinion":
        """The same opinion with a and b exchanged."""
        return Opinion(OTHER[self.choice], self.score_b, self.score_a)

    @property
    def at_odds(self) -> bool:
        """Whether the marks contradict the choice."""
        if self.score_a is None or self.score_b is None or self.choice in TIES:
            return False
        return self.score_b > self.score_a if self.choice == "a" else self.score_a > self.score_b


@dataclass(frozen=True)
class Verdict:
    """A judge's opinions about a pair or its `marks` for a take, by axis, or `why` there are none; `raw` is its answer.

    `reasoning` is what a reasoning model wrote before it; `cut` names the recordings that were truncated.
    """

    opinions: Mapping[Axis, Opinion] = field(default_factory=dict)
    reason: str = ""
    raw: str = ""
    why: str = ""
    reasoning: str = ""
    cut: str = ""
    marks: Mapping[Axis, float] = field(default_factory=dict)

    @property
    def swapped(self) -> "Verdict":
        """The same verdict with a and b exchanged."""
        return replace(self, opinions={axis: opinion.swapped for axis, opinion in self.opinions.items()})

    def to_json(self) -> dict[str, Any]:
        opinions = {axis: [o.choice, o.score_a, o.score_b] for axis, o in self.opinions.items()}
        record = {"opinions": opinions, "reason": self.reason, "raw": self.raw, "why": self.why}
        return record | {name: value for name in ("reasoning", "cut", "marks") if (value := getattr(self, name))}


def fault_in(verdict: Verdict) -> str:
    """Say what is wrong with a verdict from a user's class; '' if nothing is."""
    if not isinstance(verdict.opinions, Mapping):
        return f"opinions of type {type(verdict.opinions).__name__}, expected a dict by axis"
    for axis, opinion in verdict.opinions.items():
        if axis not in get_args(Axis):
            return f"an opinion on {axis!r}, expected {', '.join(get_args(Axis))}"
        if not isinstance(opinion, Opinion) or opinion.choice not in get_args(Choice):
            return f"{opinion!r} on {axis}, expected an Opinion with the choice {', '.join(get_args(Choice))}"
        marks = [mark for mark in (opinion.score_a, opinion.score_b) if mark is not None]
        if not all(isinstance(mark, int | float) and math.isfinite(mark) for mark in marks):
            return f"marks {opinion.score_a!r} and {opinion.score_b!r} on {axis}, expected finite numbers or None"
    texts = (verdict.reason, verdict.raw, verdict.why, verdict.reasoning, verdict.cut)
    return (
        "" if all(isinstance(text, str) for text in texts) else "a reason, raw, why, reasoning or cut that is not text"
    )


def verdict_from_json(record: Mapping[str, Any]) -> Verdict:
    opinions = {axis: Opinion(*values) for axis, values in record["opinions"].items()}
    more = (record.get("reasoning", ""), record.get("cut", ""), record.get("marks", {}))
    return Verdict(opinions, record["reason"], record["raw"], record["why"], *more)


class Judge(Protocol):
    """Returns one verdict per pair, in order; the takes are heard in the order a, b."""

    def judge(self, pairs: Sequence[Pair]) -> list[Verdict]: ...

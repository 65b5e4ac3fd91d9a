"""What a judge says of a pair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from cmi.take import Axis, Choice, Pair

OTHER: dict[Choice, Choice] = {"a": "b", "b": "a", "both": "both", "neither": "neither"}
TIES: tuple[Choice, ...] = ("both", "neither")


@dataclass(frozen=True)
class Opinion:
    """On one axis: the choice, and the marks of both takes where the judge gives marks."""

    choice: Choice
    score_a: float | None = None
    score_b: float | None = None

    @property
    def swapped(self) -> "Opinion":
        """The same opinion where a is called b."""
        return Opinion(OTHER[self.choice], self.score_b, self.score_a)

    @property
    def at_odds(self) -> bool:
        """Whether the marks say the contrary of the choice."""
        if self.score_a is None or self.score_b is None or self.choice in TIES:
            return False
        return self.score_b > self.score_a if self.choice == "a" else self.score_a > self.score_b


@dataclass(frozen=True)
class Verdict:
    """A judge's opinions, by axis. There are none where `why` says why not; `raw` is what it said, as it came."""

    opinions: Mapping[Axis, Opinion] = field(default_factory=dict)
    reason: str = ""
    raw: str = ""
    why: str = ""

    @property
    def swapped(self) -> "Verdict":
        """The same verdict where a is called b."""
        return Verdict(
            {axis: opinion.swapped for axis, opinion in self.opinions.items()}, self.reason, self.raw, self.why
        )

    def to_json(self) -> dict[str, Any]:
        opinions = {axis: [o.choice, o.score_a, o.score_b] for axis, o in self.opinions.items()}
        return {"opinions": opinions, "reason": self.reason, "raw": self.raw, "why": self.why}


def verdict_from_json(record: Mapping[str, Any]) -> Verdict:
    opinions = {axis: Opinion(*values) for axis, values in record["opinions"].items()}
    return Verdict(opinions, record["reason"], record["raw"], record["why"])


class Judge(Protocol):
    """One verdict per pair, in their order; the takes are heard in the order a, b."""

    def judge(self, pairs: Sequence[Pair]) -> list[Verdict]: ...

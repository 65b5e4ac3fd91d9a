"""What is known of the demonstration's takes, in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cmi.demo.run import Demo
from cmi.reward.pick.pick import Ranked

MARKS = {True: "✓", False: "✗", None: "?"}


@dataclass(frozen=True)
class TakeRow:
    """A take by its place in the ranking, and the truth about it."""

    rank: int
    ranked: Ranked
    truth: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.ranked.candidate.name

    @property
    def quality(self) -> float:
        return float(self.truth["quality"])

    @property
    def flaw(self) -> str:
        """'no flaw', or 'hum 0.43': its name and strength."""
        return f"{self.truth['flaw']} {self.truth['strength']:.2f}" if self.truth["flaw"] else "no flaw"

    @property
    def asked(self) -> str:
        """'style ✓, tempo ✗': whether each thing that was asked for is there; '?' where listeners might disagree."""
        return ", ".join(f"{what} {MARKS[met]}" for what, met in self.truth["met"].items())


def take_rows(demo: Demo) -> list[TakeRow]:
    """The best first, by the scorer."""
    ranking = demo.pick.ranking
    return [TakeRow(place, one, demo.truths[one.candidate.name]) for place, one in enumerate(ranking, 1)]


def prompt_text(demo: Demo) -> str:
    return demo.pick.ranking[0].candidate.take.prompt.text


def picked_sentence(demo: Demo) -> str:
    """Which take is best, and how good the pick is by the truth."""
    rows = take_rows(demo)
    picked = rows[0].quality
    better = sum(row.quality > picked for row in rows)
    mean = sum(row.quality for row in rows) / len(rows)
    place = "no take is better" if not better else f"{better} of {len(rows)} are better"
    return (
        f"The best: {rows[0].name}. By the truth, from 0 to 1, its quality is {picked:.2f}: {place}; "
        f"a random take has {mean:.2f}."
    )

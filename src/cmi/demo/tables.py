"""The demonstration's tables for the terminal."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cmi.demo.run import Demo
from cmi.probe.accuracy import ALL, Accuracy, Proportion
from cmi.report.numbers import interval, number, percent
from cmi.report.tables import Table
from cmi.reward.pick.pick import Ranked

MARKS = {True: "✓", False: "✗", None: "?"}


@dataclass(frozen=True)
class TakeRow:
    """A take with its rank and the truth about it."""

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
        """'style ✓, tempo ✗': which of the requested attributes are met; '?' if listeners might disagree."""
        return ", ".join(f"{what} {MARKS[met]}" for what, met in self.truth["met"].items())


def take_rows(demo: Demo) -> list[TakeRow]:
    """The takes, the best first."""
    ranking = demo.pick.ranking
    return [TakeRow(place, one, demo.truths[one.candidate.name]) for place, one in enumerate(ranking, 1)]


def prompt_text(demo: Demo) -> str:
    return demo.pick.ranking[0].candidate.take.prompt.text


def picked_sentence(demo: Demo) -> str:
    """Name the best take, and say how good it truly is."""
    rows = take_rows(demo)
    picked = rows[0].quality
    better = sum(row.quality > picked for row in rows)
    mean = sum(row.quality for row in rows) / len(rows)
    place = "no take is better" if not better else f"{better} of {len(rows)} are better"
    return (
        f"The best: {rows[0].name}. By the truth, from 0 to 1, its quality is {picked:.2f}: {place}; "
        f"a random take has {mean:.2f}."
    )


PAIRS_NOTE = (
    "The nulls use only loudness, length, brightness or the number of notes, and the studio chose pairs on which these "
    "are near chance. The pieces are new: nano was trained on those of another seed."
)


def demo_tables(demo: Demo) -> list[Table]:
    return [_ranking(demo), _pairs(demo), demo.probe[0], demo.mir[0], demo.bench[0]]


def _ranking(demo: Demo) -> Table:
    rows = [
        [
            *(str(row.rank), row.name, number(row.ranked.mean, 3), number(row.ranked.score.musicality, 3)),
            *(number(row.ranked.score.alignment, 3), number(row.quality, 3), row.flaw, row.asked),
        ]
        for row in take_rows(demo)
    ]
    headers = ["rank", "take", "score", "musicality", "alignment", "truth", "flaw", "of what was asked"]
    notes = [f"Asked for: {prompt_text(demo)}", picked_sentence(demo)]
    return Table(f"Takes ranked by {demo.model}", headers, rows, labels=2, notes=notes)


def judged_pairs(demo: Demo) -> Iterator[tuple[Accuracy, Literal["scorer", "null"], str, Proportion]]:
    """How often the scorer, then each null, prefers the better take of a pair: for each axis, with its name."""
    for found in demo.accuracies:
        if found.group == ALL:
            yield found, "scorer", demo.model, found.scorer
            yield from ((found, "null", f"{name} wins", null) for name, null in found.nulls.items())


def _pairs(demo: Demo) -> Table:
    rows = [
        [
            *(found.axis, by if kind == "scorer" else f"({by})", str(found.n)),
            *(percent(share.value), interval(share.interval, 0, 100)),
        ]
        for found, kind, by, share in judged_pairs(demo)
    ]
    return Table(
        "Pairs judged: how often the better take wins",
        ["axis", "by", "n", "right (%)", "95 %"],
        rows,
        labels=2,
        notes=[PAIRS_NOTE],
    )

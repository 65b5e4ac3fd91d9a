"""The demonstration in a terminal: the ranked takes, then one row per measurement, with comments."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cmi.demo.run import Demo, JudgedPair
from cmi.probe.accuracy import ALL, Accuracy, Proportion
from cmi.report.numbers import interval, number, percent
from cmi.report.tables import Table
from cmi.reward.model.validation import validation_notes
from cmi.reward.pick.pick import Ranked

MARKS = {True: "✓", False: "✗", None: "?"}
PAIRS_NOTE = (
    "The nulls use only loudness, length, brightness or the number of notes, and the studio chose pairs on which these "
    "are near chance. The pieces are new: nano was trained on those of another seed."
)


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

    @property
    def wrong(self) -> str:
        """'hum 0.43; wrong style': the flaw, and the requested attributes that are not met."""
        missed = [what for what, met in self.truth["met"].items() if met is False]
        return "; ".join([self.flaw, *([f"wrong {', '.join(missed)}"] if missed else [])])


def take_rows(demo: Demo) -> list[TakeRow]:
    """The takes, the best first."""
    ranking = demo.pick.ranking
    return [TakeRow(place, one, demo.truths[one.candidate.name]) for place, one in enumerate(ranking, 1)]


def prompt_text(demo: Demo) -> str:
    return demo.pick.ranking[0].candidate.take.prompt.text


def short_name(demo: Demo) -> str:
    """The scorer without its revision."""
    return demo.model.partition("@")[0]


def notice_takes(demo: Demo) -> str:
    """Two sentences: how good the pick truly is, and the largest mistake in the order."""
    rows = take_rows(demo)
    picked = rows[0]
    better = sum(row.quality > picked.quality for row in rows)
    mean = sum(row.quality for row in rows) / len(rows)
    place = "no take is better" if not better else f"{better} of {len(rows)} are better"
    first = (
        f"{short_name(demo)} picks {picked.name}: by the truth, from 0 to 1, its quality is {picked.quality:.2f}, "
        f"{place}, and a random take has {mean:.2f}."
    )
    truly = {row.name: 1 + sum(other.quality > row.quality for other in rows) for row in rows}
    worst = max(rows, key=lambda row: abs(row.rank - truly[row.name]))
    if worst.rank == truly[worst.name]:
        return f"{first} The other takes come in their true order, too."
    mistake = f"it ranks {worst.rank} and the truth {truly[worst.name]}"
    return f"{first} Its largest mistake is {worst.name} ({worst.wrong}), which {mistake}: listen for yourself."


def whole_pairs(demo: Demo) -> list[Accuracy]:
    """How often the better take of a pair wins, by axis."""
    return [found for found in demo.accuracies if found.group == ALL]


def judged_pairs(demo: Demo) -> Iterator[tuple[Accuracy, Literal["scorer", "null"], str, Proportion]]:
    """How often the scorer, then each null, prefers the better take of a pair: for each axis, with its name."""
    for found in whole_pairs(demo):
        yield found, "scorer", demo.model, found.scorer
        yield from ((found, "null", f"{name} wins", null) for name, null in found.nulls.items())


def notice_pairs(demo: Demo) -> str:
    """Two sentences: how often the scorer is right, and whether that is more than a null's luck."""
    found = whole_pairs(demo)
    shares = " and ".join(
        f"{percent(one.scorer.value, 0)} % on {one.axis} (best null: {percent(one.nulls[one.best_null].value, 0)})"
        for one in found
    )
    first = f"{short_name(demo)} finds the better take in {shares}."
    close = [one.axis for one in found if one.scorer.interval.low <= one.nulls[one.best_null].interval.high]
    if not close:
        return f"{first} Few as the pairs are, its intervals lie above those of every null."
    return (
        f"{first} With so few pairs its interval overlaps the best null's on {' and '.join(close)}: that may be luck."
    )


def pairs_to_hear(demo: Demo) -> dict[str, JudgedPair]:
    """The pair that the scorer judges with the largest margin, and the one that it is most wrong about."""
    ordered = sorted(demo.judged, key=lambda one: one.margin)
    found = {"Judged right, by the largest margin": ordered[-1]} if ordered and ordered[-1].margin > 0 else {}
    return found | ({"Judged wrong": ordered[0]} if ordered and ordered[0].margin <= 0 else {})


def demo_tables(demo: Demo) -> list[Table]:
    """A screenful for the terminal, at most 80 columns wide."""
    return [_ranking(demo), _measured(demo)]


def _ranking(demo: Demo) -> Table:
    rows = [
        [str(row.rank), row.name, row.wrong, number(row.ranked.mean), number(row.quality)] for row in take_rows(demo)
    ]
    headers = ["rank", "take", "what is wrong with it", "score", "truth"]
    return Table(f"Takes ranked by {demo.model}", headers, rows, labels=3, notes=[notice_takes(demo)])


def _measured(demo: Demo) -> Table:
    name, listener = short_name(demo), demo.mir.tables[0].headers[3]
    rows = [
        [name, f"the better take, {one.axis}", str(one.n), *_share(one.scorer), *_share(one.nulls[one.best_null])[:1]]
        for one in whole_pairs(demo)
    ]
    rows += [[name, *row] for row in demo.probe[0].rows]
    rows += [
        [listener, f"{task}: {metric}", n, value, ends, null]
        for task, metric, n, value, ends, null, *_ in demo.mir.tables[0].rows
    ]
    rows += [
        [model, "CMI-Bench: metrics above the null", str(len(above)), percent(sum(above) / len(above), 0), "-", "-"]
        for model, above in demo.bench.above.items()
    ]
    headers = ["by", "what", "n", "right %", "95 %", "null"]
    return Table("Measured here", headers, rows, labels=2, notes=validation_notes(demo.model))


def _share(found: Proportion) -> Sequence[str]:
    return percent(found.value, 0), interval(found.interval, 0, 100)

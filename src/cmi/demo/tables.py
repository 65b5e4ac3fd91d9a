"""The demonstration for a terminal."""

from cmi.demo.run import Demo
from cmi.demo.words import picked_sentence, prompt_text, take_rows
from cmi.report.numbers import interval, number, percent
from cmi.report.tables import Table
from cmi.reward.probe.accuracy import ALL, Proportion

PAIRS_NOTE = (
    "The nulls know nothing but loudness, length, brightness or the number of notes, and the studio chose pairs that "
    "these hardly tell. The pieces are new: nano was trained on those of another seed."
)


def demo_tables(demo: Demo) -> list[Table]:
    """Takes ranked, pairs judged, the probe's summary, what can be heard, CMI-Bench's scores."""
    return [_ranking(demo), preferences(demo), demo.probe[0], demo.mir[0], demo.bench[0]]


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


def preferences(demo: Demo) -> Table:
    """How often the scorer and each null prefer the better take of a pair."""
    rows = []
    for found in demo.accuracies:
        if found.group == ALL:
            rows.append([found.axis, demo.model, str(found.n), *_share(found.scorer)])
            rows += [[found.axis, f"({name} wins)", str(found.n), *_share(null)] for name, null in found.nulls.items()]
    return Table(
        "Pairs judged: how often the better take wins",
        ["axis", "by", "n", "right (%)", "95 %"],
        rows,
        labels=2,
        notes=[PAIRS_NOTE],
    )


def _share(share: Proportion) -> tuple[str, str]:
    return percent(share.value), interval(share.interval, 0, 100)

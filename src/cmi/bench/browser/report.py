"""What a page holds, in a table: answers, unparsed ones, and metrics that have no score of an item."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cmi.bench.browser.items import AnswerSet
from cmi.report.tables import Table


def browse_records(sets: Sequence[AnswerSet]) -> list[dict[str, Any]]:
    return [
        {
            **{"model": one.model, "dataset": one.dataset, "answers": len(one.items), "unparsed": one.unparsed},
            "unanswered": sum(not item.answered for item in one.items),
            "item_metrics": [metric.name for metric in one.metrics],
            "whole_set_metrics": list(one.whole_set),
            "not_computed": list(one.not_computed),
        }
        for one in sets
    ]


def browse_table(sets: Sequence[AnswerSet], page: Path, with_sound: int) -> Table:
    headers = ["model", "data set", "scored by item", "of the whole set only", "answers", "unparsed", "unanswered"]
    rows = [
        [
            *(record["model"], record["dataset"], ", ".join(record["item_metrics"]) or "-"),
            *(", ".join(record["whole_set_metrics"]) or "-", str(record["answers"])),
            *(str(record["unparsed"]), str(record["unanswered"])),
        ]
        for record in browse_records(sets)
    ]
    total = sum(len(one.items) for one in sets)
    notes = [f"{note}." for note in dict.fromkeys(f"not computed, {why}" for one in sets for why in one.not_computed)]
    return Table(f"{page}: {total} answers, {with_sound} with sound", headers, rows, 4, notes)

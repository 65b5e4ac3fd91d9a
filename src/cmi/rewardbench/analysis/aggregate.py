"""One number for each data set, as in Table 4 of the paper.

PAM            the mean of SRCC on musicality and on alignment
MusicEval      SRCC on musicality
Music Arena    accuracy by the mean of both scores
CMI-Pref       the mean of the accuracies on musicality and on alignment
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cmi.report.numbers import number
from cmi.report.tables import Table
from cmi.rewardbench.evaluation.cells import ACCURACY, CORRELATIONS, Statistic
from cmi.rewardbench.evaluation.tables import published_rows, style
from cmi.rewardbench.items import RatedItem
from cmi.rewardbench.tasks import (
    ALIGNMENT_PREFERENCE,
    ALIGNMENT_REGRESSION,
    MUSICALITY_PREFERENCE,
    MUSICALITY_REGRESSION,
    OVERALL_BY_MEAN,
    Protocol,
    Scores,
    Task,
    answers,
    ask,
    credit,
)
from cmi.stats.comparison import Metric

SRCC = next(metric for metric in CORRELATIONS if metric.name == "SRCC")


class Average(NamedTuple):
    """A column of the table: the mean of a metric over tasks of a data set."""

    column: str
    title: str
    dataset: str
    metric: Metric
    tasks: tuple[Task, ...]


PARTS = (
    Average("pam_mean_srcc", "PAM mean SRCC", "pam", SRCC, (MUSICALITY_REGRESSION, ALIGNMENT_REGRESSION)),
    Average("musiceval_srcc", "MusicEval SRCC", "musiceval", SRCC, (MUSICALITY_REGRESSION,)),
    Average("music_arena_acc", "Music Arena ACC", "music-arena", ACCURACY, (OVERALL_BY_MEAN,)),
    Average(
        "cmi_pref_mean_acc", "CMI-Pref mean ACC", "cmi-pref", ACCURACY, (MUSICALITY_PREFERENCE, ALIGNMENT_PREFERENCE)
    ),
)


def aggregate(items: Sequence[RatedItem], scores: Scores, protocol: Protocol) -> dict[str, float | None]:
    """Return the four numbers of a model; None if the data set, or a task of it, is missing."""
    return {part.column: _mean(items, scores, protocol, part) for part in PARTS}


def _mean(items: Sequence[RatedItem], scores: Scores, protocol: Protocol, part: Average) -> float | None:
    values = []
    for asked in ask([item for item in items if item.dataset == part.dataset], part.tasks):
        given = answers(asked, scores)
        numbers = credit(given, asked.truth, protocol) if asked.task.is_preference else given
        values.append(Statistic(part.metric, np.stack([numbers, asked.truth], axis=1), ~np.isnan(numbers)).value())
    whole = len(values) == len(part.tasks) and all(map(math.isfinite, values))
    return sum(values) / len(values) if whole else None


def aggregate_table(found: dict[str, dict[str, float | None]], protocol: Protocol) -> Table:
    """Return the user's models, then the published rows."""
    rows = [
        [model, *(number(one[part.column], *style(part.metric.name)) for part in PARTS)] for model, one in found.items()
    ]
    rows += [[row.model, *(row.numbers[part.column] for part in PARTS)] for row in published_rows("table4")]
    notes = ["Accuracies in percent; Music Arena by the mean of both scores. Published rows by the rules of `paper`."]
    return Table(f"Table 4, aggregated, protocol {protocol}", ["model", *(p.title for p in PARTS)], rows, notes=notes)

"""All analyses of the paper's appendices, as tables and as JSON records.

modality, kind, month, confidence, duration, question    every task in groups (Tables 17, 20, 21)
windows        scores with different windows (Tables 18, 19)
aggregate      one number for each data set (Table 4)
predictors     musicality against alignment as predictors of the overall preference (Table 15)
agreement      raters with each other, and the two axes with each other (Tables 6, 7)
context        musicality with the prompt and without (Table 14)
best-of-k      the best take of each prompt, and several best ones, as in RewardBench 2
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cmi.report.tables import Table, to_plain
from cmi.rewardbench.analysis import aggregate as aggregating
from cmi.rewardbench.analysis import agreement as agreeing
from cmi.rewardbench.analysis import best_of_k as ranking_takes
from cmi.rewardbench.analysis import paired_runs
from cmi.rewardbench.analysis import predictors as predicting
from cmi.rewardbench.evaluation.cells import EVERYTHING
from cmi.rewardbench.evaluation.tables import cell_tables, group_tables, published_group_tables
from cmi.rewardbench.runs.sources import Source
from cmi.rewardbench.tasks import TASKS, Protocol

GROUPS = ("modality", "kind", "month", "confidence", "duration", "question")
GROUP_METRICS = ("ACC", "SRCC")  # what the paper's tables by group show


class Analysis(NamedTuple):
    tables: list[Table]
    records: list[dict[str, Any]]


class AnalysisSetting(NamedTuple):
    protocol: Protocol
    resamples: int


def grouped(name: str) -> Callable[[Source, AnalysisSetting], Analysis]:
    """Return the analysis by one grouping; its result is empty if no item is in a group."""

    def analyse(source: Source, setting: AnalysisSetting) -> Analysis:
        by = source.groupings.get(name)
        if by is None:
            return Analysis([], [])
        found = source.evaluate(setting.protocol, setting.resamples, by, TASKS)
        shown = [
            cell
            for cell in found.cells
            if cell.group != EVERYTHING and cell.metric in GROUP_METRICS and not cell.is_null
        ]
        tables = cell_tables(shown, f"by {name}, protocol {setting.protocol}")
        tables += group_tables(shown, name, setting.protocol)
        return Analysis(tables, [cell.to_json() for cell in shown])

    return analyse


def windows(source: Source, _setting: AnalysisSetting) -> Analysis:
    changes = paired_runs.window_changes(source)
    return Analysis([paired_runs.windows_table(changes)] if changes else [], [change._asdict() for change in changes])


def aggregate(source: Source, setting: AnalysisSetting) -> Analysis:
    found = {name: aggregating.aggregate(source.items, s, setting.protocol) for name, s in source.models.items()}
    known = {name: one for name, one in found.items() if any(value is not None for value in one.values())}
    table = aggregating.aggregate_table(known, setting.protocol)
    return Analysis([table] if known else [], [{"model": name, **one} for name, one in known.items()])


def predictors(source: Source, _setting: AnalysisSetting) -> Analysis:
    found = [one for name, scores in source.models.items() for one in predicting.predictors(source.items, name, scores)]
    if not found:
        return Analysis([], [])
    fitted = {name: predicting.weights(source.items, scores) for name, scores in source.models.items()}
    return Analysis([predicting.predictors_table(found, fitted)], [one._asdict() for one in found])


def agreement(source: Source, _setting: AnalysisSetting) -> Analysis:
    raters, axes = agreeing.between_raters(source.items), agreeing.between_axes(source.items)
    tables = [agreeing.raters_table(raters)] if raters else []
    tables += [agreeing.axes_table(axes)] if axes else []
    return Analysis(tables, [*raters, *axes])


def context(source: Source, setting: AnalysisSetting) -> Analysis:
    cells, versus = paired_runs.context(source, *setting)
    tables = [paired_runs.context_table(cells, versus)] if versus else []
    return Analysis(tables, [one.to_json() for one in versus])


def best_of_k(source: Source, setting: AnalysisSetting) -> Analysis:
    groups = ranking_takes.take_groups(source.items)
    models = source.models | source.nulls
    found = list(ranking_takes.group_credits(groups, models, setting.resamples))
    records = [one._asdict() | {"is_null": one.model in source.nulls} for one in found]
    return Analysis(ranking_takes.best_of_k_tables(found, source.nulls), records)


ANALYSES: Mapping[str, Callable[[Source, AnalysisSetting], Analysis]] = {
    **{name: grouped(name) for name in GROUPS},
    "windows": windows,
    "aggregate": aggregate,
    "predictors": predictors,
    "agreement": agreement,
    "context": context,
    "best-of-k": best_of_k,
}


def published_tables() -> list[Table]:
    """Return the published numbers of all analyses that have some: Tables 4, 14, 15 and 17 to 21."""
    return [
        aggregating.aggregate_table({}, "paper"),
        paired_runs.context_table([], []),
        predicting.predictors_table([], {}),
        *published_group_tables(),
        paired_runs.windows_table([]),
    ]


def analyse(sources: Iterable[Source], names: Sequence[str], setting: AnalysisSetting) -> dict[str, Analysis]:
    """Run the named analyses on all sources; a result may be empty."""
    found: dict[str, Analysis] = {}
    for name in names:
        parts = [ANALYSES[name](source, setting) for source in sources]
        tables = [table for part in parts for table in part.tables]
        found[name] = Analysis(tables, [to_plain(record) for part in parts for record in part.records])
    return found


def flat(found: Mapping[str, Analysis]) -> list[dict[str, Any]]:
    """Return all records in one list with the same fields, for a spreadsheet."""
    rows = [{"analysis": name, **record} for name, one in found.items() for record in one.records]
    fields = dict.fromkeys(field for row in rows for field in row)
    return [{field: row.get(field) for field in fields} for row in rows]

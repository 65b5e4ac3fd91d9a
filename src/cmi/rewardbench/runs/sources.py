"""Read the sources of tables and analyses: run folders, and results.jsonl files of the authors' code.

Sources with the same items and labels are merged, which allows comparing their models.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cmi._util.errors import InputError
from cmi.report.tables import Table
from cmi.rewardbench.evaluation.ceilings import ceiling_table, ceilings
from cmi.rewardbench.evaluation.cells import RESAMPLES, Grouping, Results, evaluate
from cmi.rewardbench.evaluation.nulls import TakeFeatures, null_scores
from cmi.rewardbench.items import RatedItem
from cmi.rewardbench.runs.released_items import as_items
from cmi.rewardbench.runs.released_results import read_released
from cmi.rewardbench.runs.run_folder import About, System, read_run
from cmi.rewardbench.tasks import TASKS, Key, Protocol, Scores, Task


@dataclass(frozen=True)
class Source:
    """Items with the scores of models and the features for nulls."""

    items: tuple[RatedItem, ...]
    systems: tuple[System, ...]
    heard: dict[Key, tuple[TakeFeatures | None, ...]]
    notes: tuple[str, ...] = ()

    @property
    def models(self) -> dict[str, Scores]:
        return {system.about.name: system.scores for system in self.systems}

    @cached_property
    def nulls(self) -> dict[str, Scores]:
        return null_scores(self.items, self.heard)

    @property
    def ceilings(self) -> list[Table]:
        """The accuracy of people's own ratings, if known."""
        found = ceilings(self.items)
        return [ceiling_table(found)] if found else []

    def evaluate(
        self,
        protocol: Protocol,
        resamples: int = RESAMPLES,
        by: Grouping | None = None,
        tasks: Sequence[Task] = TASKS,
    ) -> Results:
        return evaluate(self.items, self.models, self.nulls, protocol, resamples, by, tasks)


def read_sources(paths: Iterable[Path]) -> list[Source]:
    """Read folders of `cmi rewardbench run` and results.jsonl files."""
    found: list[Source] = []
    for path in paths:
        source = _read(path)
        if not source.systems:
            raise InputError(f"{path}: no model was scored there yet")
        same = next((i for i, other in enumerate(found) if _labels(source) == _labels(other)), None)
        if same is None:
            found.append(source)
        else:
            found[same] = _joined(found[same], source)
    return found


def _read(path: Path) -> Source:
    if path.is_dir():
        run = read_run(path)
        return Source(tuple(run.items), tuple(run.systems), run.heard)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    released = as_items(read_released(path))
    notes = (f"{path}: {released.left_out} rows have no known label.",) if released.left_out else ()
    return Source(tuple(released.items), (System(About(str(path)), released.scores),), {}, notes)


def _labels(source: Source) -> dict[Key, tuple[object, ...]]:
    return {(i.dataset, i.id): (i.asked, dict(i.ratings), dict(i.votes)) for i in source.items}


def _joined(one: Source, other: Source) -> Source:
    names = {system.about.name for system in one.systems}
    twice = [system.about.name for system in other.systems if system.about.name in names]
    if twice:
        raise InputError(f"{twice[0]} was scored in two of the sources; leave one of them out")
    return Source(one.items, (*one.systems, *other.systems), {**other.heard, **one.heard}, (*one.notes, *other.notes))

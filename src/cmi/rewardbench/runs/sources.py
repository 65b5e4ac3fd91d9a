"""Read the sources of tables and analyses: run folders, and results.jsonl files of the authors' code.

Sources with the same items and labels are merged, which allows comparing their models.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from cmi._util.errors import InputError
from cmi.features import TakeFeatures
from cmi.report.tables import Table
from cmi.reward.model.validation import validation_notes
from cmi.rewardbench.evaluation.ceilings import ceiling_table, ceilings
from cmi.rewardbench.evaluation.cells import RESAMPLES, Grouping, Results, evaluate
from cmi.rewardbench.evaluation.nulls import null_scores
from cmi.rewardbench.items import RatedItem
from cmi.rewardbench.runs.looks import Look, log_looks, looks_table
from cmi.rewardbench.runs.released_results import CONFIDENCES, as_items, duration_bin, read_released
from cmi.rewardbench.runs.run_folder import About, System, read_run
from cmi.rewardbench.tasks import TASKS, Key, Protocol, Scores, Task, Unread, key


@dataclass(frozen=True)
class Source:
    """Items with the scores of models and the features for nulls."""

    items: tuple[RatedItem, ...]
    systems: tuple[System, ...]
    heard: dict[Key, tuple[TakeFeatures | None, ...]]
    notes: tuple[str, ...] = ()
    looks: tuple[Look, ...] = ()  # at test sets
    looks_unlogged: str = ""  # why looks could not be logged

    @property
    def models(self) -> dict[str, Scores]:
        return {system.about.name: system.scores for system in self.systems}

    @property
    def unread(self) -> dict[str, Unread]:
        """The unparsed answers of each judge."""
        return {system.about.name: system.unread for system in self.systems if system.about.is_judge}

    @cached_property
    def nulls(self) -> dict[str, Scores]:
        return null_scores(self.items, self.heard)

    @property
    def ceilings(self) -> list[Table]:
        """The accuracy of people's own ratings, if known."""
        found = ceilings(self.items)
        return [ceiling_table(found)] if found else []

    @property
    def look_tables(self) -> list[Table]:
        """How often the test sets were looked at, if there are any."""
        return [looks_table(self.looks, self.looks_unlogged)] if self.looks else []

    @property
    def groupings(self) -> dict[str, Grouping]:
        """The groupings of items for analyses, by their names; durations only if takes were measured."""
        found: dict[str, Grouping] = {
            "modality": by_modality,
            "kind": lambda item, _: "vocal" if item.prompt.lyrics else "instrumental",
            "month": _by_month,
            "confidence": _by_confidence,
            "question": lambda item, _: item.about.get("question"),  # in data sets with several (cmi-real)
        }
        return found | ({"duration": self._by_duration} if self.heard else {})

    def _by_duration(self, item: RatedItem, _task: Task) -> str | None:
        """Group by the mean length of an item's takes, in the paper's bins."""
        return duration_bin([None if one is None else one.seconds for one in self.heard.get(key(item), (None,))])

    def evaluate(
        self,
        protocol: Protocol,
        resamples: int = RESAMPLES,
        by: Grouping | None = None,
        tasks: Sequence[Task] = TASKS,
    ) -> Results:
        return evaluate(self.items, self.models, self.nulls, protocol, resamples, by, tasks, self.unread)


def _by_month(item: RatedItem, _task: Task) -> str | None:
    """Group by month; the first two of Music Arena are one group, as in Table 20 of the paper."""
    month = item.about.get("month")
    return "2025-07 and 08" if item.dataset == "music-arena" and month in ("2025-07", "2025-08") else month


def by_modality(item: RatedItem, _task: Task) -> str:
    return item.prompt.modality


def _by_confidence(item: RatedItem, task: Task) -> str | None:
    """Group by the confidence of the task's vote: below, at or above the middle."""
    axis = task.axis(item)
    sure = item.votes[axis].confidence if axis is not None and item.is_pair else None
    return None if sure is None else next(name for name, is_in in CONFIDENCES.items() if is_in(sure))


def read_sources(paths: Iterable[Path]) -> list[Source]:
    """Read folders of `cmi rewardbench run` and results.jsonl files, and log a look at each test set among them."""
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
    return [_with_looks(source) for source in found]


def _with_looks(source: Source) -> Source:
    looks, unlogged = log_looks(source.items, list(source.models))
    return replace(source, looks=tuple(looks), looks_unlogged=unlogged)


def _read(path: Path) -> Source:
    if path.is_dir():
        run = read_run(path)
        abouts = [system.about for system in run.systems]
        hearing = (f"{about.name}: {about.hearing}." for about in abouts if about.hearing)
        return Source(*run, notes=(*hearing, *validation_notes(*(about.model for about in abouts))))
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    released = as_items(read_released(path))
    notes = (f"{path}: {released.left_out} rows have no known label.",) if released.left_out else ()
    return Source(tuple(released.items), (System(About(str(path)), released.scores),), {}, notes)


def _labels(source: Source) -> dict[Key, tuple[object, ...]]:
    return {key(i): (i.asked, dict(i.ratings), dict(i.votes)) for i in source.items}


def _joined(one: Source, other: Source) -> Source:
    names = {system.about.name for system in one.systems}
    twice = [system.about.name for system in other.systems if system.about.name in names]
    if twice:
        raise InputError(f"{twice[0]} was scored in two of the sources; leave one of them out")
    return Source(one.items, (*one.systems, *other.systems), {**other.heard, **one.heard}, (*one.notes, *other.notes))

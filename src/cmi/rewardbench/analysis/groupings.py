"""Groupings of items for analyses: modality, kind of music, month, confidence, duration, question."""

from collections.abc import Mapping, Sequence

from cmi.rewardbench.evaluation.cells import Grouping
from cmi.rewardbench.evaluation.nulls import TakeFeatures
from cmi.rewardbench.items import RatedItem
from cmi.rewardbench.runs.released_results import CONFIDENCES, duration_bin
from cmi.rewardbench.tasks import Key, Task, key


def by_modality(item: RatedItem, _task: Task) -> str:
    return item.prompt.modality


def by_kind(item: RatedItem, _task: Task) -> str:
    return "vocal" if item.prompt.lyrics else "instrumental"


def by_month(item: RatedItem, _task: Task) -> str | None:
    return item.about.get("month")


def by_confidence(item: RatedItem, task: Task) -> str | None:
    """Group by the confidence of the task's vote: below, at or above the middle."""
    axis = task.axis(item)
    sure = item.votes[axis].confidence if axis is not None and item.is_pair else None
    return None if sure is None else next(name for name, is_in in CONFIDENCES.items() if is_in(sure))


def by_question(item: RatedItem, _task: Task) -> str | None:
    """Group by question, in data sets with several (cmi-real)."""
    return item.about.get("question")


def by_duration(heard: Mapping[Key, Sequence[TakeFeatures | None]]) -> Grouping:
    """Group by the mean length of an item's takes, in the paper's bins."""

    def group(item: RatedItem, _task: Task) -> str | None:
        return duration_bin([None if one is None else one.seconds for one in heard.get(key(item), (None,))])

    return group


def groupings(heard: Mapping[Key, Sequence[TakeFeatures | None]]) -> dict[str, Grouping]:
    """Return every grouping by its name; durations only if takes were measured."""
    found: dict[str, Grouping] = {
        "modality": by_modality,
        "kind": by_kind,
        "month": by_month,
        "confidence": by_confidence,
        "question": by_question,
    }
    return found | ({"duration": by_duration(heard)} if heard else {})

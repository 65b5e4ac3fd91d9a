"""The five tasks of CMI-RewardBench: which label is predicted by which score, and the credit of a prediction.

Tasks
    musicality regression                 people's musicality ratings against musicality scores (PAM, MusicEval)
    text alignment regression             alignment ratings against alignment scores (PAM)
    musicality preference                 which take is preferred for its musicality, or overall (Music Arena, CMI-Pref)
    text alignment preference             which take follows a prompt without reference audio (CMI-Pref)
    compositional alignment preference    which take follows a prompt with reference audio (CMI-Pref)

An overall preference is predicted by the musicality score, as in the authors' code.

Metrics
    Regression: LCC (Pearson), SRCC (Spearman), K-Tau (Kendall's tau-b). Preference: ACC, the mean credit of the pairs.

Credit of a pair, by protocol
    paper     1 or 0, with equal scores as a vote for b; 0.5 if people said both or neither
    strict    1 or 0, and 0.5 for equal scores; pairs for which people said both or neither are left out

A judge's tie gets 0.5 under either protocol: it is an answer, not an accident of equal scores. If no answer of a judge
could be read, the pair gets 0 under `paper`, and is left out under `strict`; it is counted as unparsed.

A pair with an unscored take is left out under either protocol, and counted as unscored.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi.rewardbench.items import RatedItem
from cmi.stats.comparison import Array as Array
from cmi.take import Axis, Choice, Score

Protocol = Literal["paper", "strict"]
Key = tuple[str, str]  # an item's data set and id
Scores = Mapping[Key, Sequence[Score | None]]  # of each item's takes, in their order; None if unscored
Unread = frozenset[tuple[Key, str]]  # the items and axes on which no answer of a judge could be read
Answer = Literal["musicality", "alignment", "mean"]

DECIDED: Mapping[Choice, float] = {"a": 1.0, "b": 0.0, "both": 0.5, "neither": 0.5}


@dataclass(frozen=True)
class Task:
    """`asked` are the axes of labels, of which an item's first counts; `answer` is the score that predicts it."""

    name: str
    is_preference: bool
    asked: tuple[Axis, ...]
    answer: Answer
    with_reference: bool | None = None  # None: either

    def axis(self, item: RatedItem) -> Axis | None:
        """Return the axis of the item's label for this task; None if the item is not part of it."""
        if item.is_pair != self.is_preference:
            return None
        if self.with_reference is not None and self.with_reference != (item.prompt.reference is not None):
            return None
        labels: Iterable[Axis] = item.votes if self.is_preference else item.ratings
        return next((axis for axis in self.asked if axis in labels), None)


MUSICALITY_REGRESSION = Task("musicality regression", False, ("musicality", "overall"), "musicality")
ALIGNMENT_REGRESSION = Task("text alignment regression", False, ("alignment",), "alignment")
MUSICALITY_PREFERENCE = Task("musicality preference", True, ("musicality", "overall"), "musicality")
TEXT_ALIGNMENT = Task("text alignment preference", True, ("alignment",), "alignment", with_reference=False)
COMPOSITIONAL_ALIGNMENT = Task(
    "compositional alignment preference", True, ("alignment",), "alignment", with_reference=True
)
TASKS = (
    MUSICALITY_REGRESSION,
    ALIGNMENT_REGRESSION,
    MUSICALITY_PREFERENCE,
    TEXT_ALIGNMENT,
    COMPOSITIONAL_ALIGNMENT,
)
# For analyses: both kinds of prompts together, and the overall preference by both scores (section 4.2 of the paper).
ALIGNMENT_PREFERENCE = Task("alignment preference", True, ("alignment",), "alignment")
OVERALL_BY_MEAN = Task("overall preference, by the mean score", True, ("overall",), "mean")


class TaskData(NamedTuple):
    """One task on one data set."""

    task: Task
    dataset: str
    items: tuple[RatedItem, ...]
    truth: Array  # (n,)  ratings; or 1 if people preferred a, 0 for b, 0.5 for both and neither
    clusters: NDArray[np.int64]  # (n,)  codes of `Item.cluster`
    others: NDArray[np.int64]  # (n,)  codes of `Item.other_cluster`; -1 for none


def key(item: RatedItem) -> Key:
    return item.dataset, item.id


def ask(items: Iterable[RatedItem], tasks: Sequence[Task] = TASKS) -> list[TaskData]:
    """Return every task on every data set that has items for it, in the order of the tasks."""
    chosen: dict[tuple[int, str], list[tuple[RatedItem, float]]] = {}
    for item in items:
        for place, task in enumerate(tasks):
            axis = task.axis(item)
            if axis is not None:
                truth = DECIDED[item.votes[axis].choice] if task.is_preference else item.ratings[axis]
                chosen.setdefault((place, item.dataset), []).append((item, truth))
    return [
        TaskData(
            tasks[place],
            dataset,
            tuple(item for item, _ in rows),
            np.array([truth for _, truth in rows]),
            *_codes([item for item, _ in rows]),
        )
        for (place, dataset), rows in sorted(chosen.items(), key=lambda entry: entry[0][0])
    ]


def _codes(items: Sequence[RatedItem]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Code each item's cluster and other cluster with the same codes: (n,) and (n,)."""
    names = sorted({item.cluster for item in items} | {item.other_cluster for item in items if item.other_cluster})
    codes = {name: code for code, name in enumerate(names)}
    others = [-1 if item.other_cluster is None else codes[item.other_cluster] for item in items]
    return np.array([codes[item.cluster] for item in items]), np.array(others)


def answers(asked: TaskData, scores: Scores) -> Array:
    """Return each rated take's score, or the score of a minus that of b: (n,), NaN if one is missing."""
    found = np.full(len(asked.items), np.nan)
    for i, item in enumerate(asked.items):
        given = scores.get(key(item), ())
        values = [_answer(score, asked.task.answer) for score in given if score is not None]
        if len(values) == len(item.takes):
            found[i] = values[0] - values[1] if item.is_pair else values[0]
    return found


def _answer(score: Score, by: Answer) -> float:
    return (score.musicality + score.alignment) / 2 if by == "mean" else float(getattr(score, by))


def unread_items(asked: TaskData, unread: Unread) -> NDArray[np.bool_]:
    """Tell on which items no answer of a judge could be read: (n,)."""
    axes = Score._fields if asked.task.answer == "mean" else (asked.task.answer,)
    return np.array([any((key(item), axis) in unread for axis in axes) for item in asked.items], bool)


def credit(
    differences: Array, truth: Array, protocol: Protocol, judge_unread: NDArray[np.bool_] | None = None
) -> Array:
    """Return the credit of each pair: (n,), NaN if it does not count. `judge_unread` (n,) is given for a judge."""
    by_sign = 0.5 + np.sign(differences) * (truth - 0.5)
    if protocol == "strict":
        return np.where(truth == 0.5, np.nan, by_sign)
    if judge_unread is not None:
        return np.where(judge_unread, 0.0, by_sign)
    earned = np.where(truth == 0.5, 0.5, (differences > 0) == (truth == 1))
    return np.where(np.isnan(differences), np.nan, earned)

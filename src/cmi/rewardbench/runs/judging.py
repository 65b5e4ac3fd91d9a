"""A judge in the benchmark: which prompt is put to which item, and verdicts as the items' scores.

Each item is judged by the prompt that fits it, on each axis that its tasks need. A prompt fits if it compares pairs and
the item is one, or rates takes and the item is one; if it judges the axis (an overall verdict stands for musicality);
and if the item has what the prompt requires. Of several the most specific is used: one that requires a reference, then
one that requires a text. So several prompts, such as one for each task, fill one row of a table.

Of a pair, the chosen take gets 1 and the other 0, or each 0.5 after a tie, and both orders are averaged. A rated take
gets its mark. An axis on which no answer could be read is listed as unread.
"""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cmi._util.errors import InputError
from cmi.judge.labels import pair_scores
from cmi.judge.prompt_file import Role
from cmi.judge.run import Judged
from cmi.preferences import NamedPair
from cmi.rewardbench.items import RatedItem
from cmi.rewardbench.tasks import TASKS, Key, key
from cmi.take import Axis, Pair, Score, Take

_SPECIFIC = ("", "text", "reference")  # what prompts require, the most specific last


class JudgedItem(NamedTuple):
    """The scores of an item's takes, and the axes on which a judge was asked and no answer could be read."""

    scores: tuple[Score, ...]
    unread: tuple[Axis, ...] = ()


class Assignment(NamedTuple):
    """The items that a prompt is put to, with the axes that it decides."""

    items: dict[str, RatedItem]  # by name
    axes: dict[str, list[Axis]]

    @property
    def judged_axes(self) -> set[Axis]:
        return {axis for axes in self.axes.values() for axis in axes}

    @property
    def pairs(self) -> list[NamedPair]:
        found = {name: item for name, item in self.items.items() if item.is_pair}
        return [NamedPair(name, Pair(item.prompt, *item.takes), {}, {}) for name, item in found.items()]

    @property
    def takes(self) -> dict[str, Take]:
        return {name: item.asked[0] for name, item in self.items.items() if not item.is_pair}


def assign(items: Iterable[RatedItem], roles: Mapping[str, Role | None]) -> dict[str, Assignment]:
    """Return the items for each prompt, by its name; the role None is a judge of pairs that needs no prompt."""
    found = {name: Assignment({}, {}) for name in roles}
    for item in items:
        if item.other_prompt is None:
            for axis in _axes_of(item):
                chosen = _choose(item, axis, roles)
                if chosen is not None:
                    name = f"{item.dataset} {item.id}"
                    found[chosen].items[name] = item
                    found[chosen].axes.setdefault(name, []).append(axis)
    return {name: one for name, one in found.items() if one.items}


def _axes_of(item: RatedItem) -> list[Axis]:
    """The axes whose scores the item's tasks need."""
    needed = {task.answer for task in TASKS if task.axis(item) is not None}
    return [axis for axis in Score._fields if axis in needed]  # type: ignore[misc]


def _choose(item: RatedItem, axis: Axis, roles: Mapping[str, Role | None]) -> str | None:
    fitting = [name for name, role in roles.items() if _fits(item, axis, role)]
    if not fitting:
        return None
    specific = {name: _SPECIFIC.index(role.requires if (role := roles[name]) else "") for name in fitting}
    best = [name for name in fitting if specific[name] == max(specific.values())]
    if len(best) > 1:
        raise InputError(f"prompts {' and '.join(best)} both judge the {axis} of {item.dataset}: name one of them")
    return best[0]


def _fits(item: RatedItem, axis: Axis, role: Role | None) -> bool:
    if role is None:
        return item.is_pair
    judged = set(role.axes if item.is_pair else role.marks)
    return bool(judged & {axis, *(["overall"] if axis == "musicality" else [])}) and not role.missing_in(item.prompt)


def joint_name(judged: Iterable[Judged]) -> str:
    """Name a judge with all of its prompts."""
    names = dict.fromkeys(run.judge for run in judged)
    (model, *_), prompts = next(iter(names)).partition(", prompt "), [name.partition(", prompt ")[2] for name in names]
    return f"{model}, prompts {', '.join(prompts)}" if len(names) > 1 else next(iter(names))


def item_scores(asked: Mapping[str, Assignment], judged: Mapping[str, Judged]) -> dict[Key, JudgedItem]:
    """Return the scores of all items with an answer, from the verdicts on each prompt's pairs or takes."""
    values: dict[Key, dict[Axis, tuple[float, ...]]] = {}
    unread: dict[Key, list[Axis]] = {}
    items: dict[Key, RatedItem] = {}
    for prompt, assignment in asked.items():
        scores, heard = _scores(judged[prompt]), {asking.pair for asking in judged[prompt].verdicts}
        for name, axes in assignment.axes.items():
            item = assignment.items[name]
            for axis in axes if name in heard else []:
                items[key(item)] = item
                given = tuple(float(getattr(score, axis)) for score in scores.get(name, ()))
                if given and not any(map(math.isnan, given)):
                    values.setdefault(key(item), {})[axis] = given
                else:
                    unread.setdefault(key(item), []).append(axis)
    return {
        at: JudgedItem(_joined(values.get(at, {}), len(item.takes)), tuple(unread.get(at, ())))
        for at, item in items.items()
    }


def _scores(run: Judged) -> dict[str, tuple[Score, ...]]:
    found: dict[str, tuple[Score, ...]] = dict(pair_scores(run))
    for asking, verdict in run.verdicts.items():
        if marks := verdict.marks:
            musicality = marks.get("musicality", marks.get("overall", math.nan))
            found[asking.pair] = (Score(musicality, marks.get("alignment", math.nan)),)
    return found


def _joined(values: Mapping[Axis, tuple[float, ...]], takes: int) -> tuple[Score, ...]:
    missing = (math.nan,) * takes
    return tuple(
        Score(*both) for both in zip(values.get("musicality", missing), values.get("alignment", missing), strict=True)
    )

"""A data set as labels in the common format (`cmi.preferences`): preferences and ratings, each with its split.

Splits    train, valid and test, as published; others keep their names. If a set has train but no valid split, a tenth
          of train becomes valid, drawn by prompt; if it has no splits, all three are drawn by prompt. No prompt is then
          in two splits (`cmi.preferences.draw_split`).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from cmi.preferences import COLUMNS, RATINGS, Preference, Rating, draw_split, prompt_key, split_name
from cmi.rewardbench.data import ALL, Found, own, studio
from cmi.rewardbench.data.rows import LeftOut, first_of
from cmi.rewardbench.items import RatedItem
from cmi.take import Pair, Take

EXACT_CONFIDENCE = "x_confidence"  # column of a confidence that was rounded
MIDDLE = 3  # of the scale of confidence


def read_labels(found: Found) -> Iterator[Preference | Rating | LeftOut]:
    """Yield a data set's labels, and the reasons to leave rows out."""
    if found.dataset.name == own.NAME:
        yield from own.labels(found.folder)
    elif found.dataset.name == studio.NAME:
        yield from own.labels(first_of(found.folder, "preferences.jsonl"))
    else:
        for each in found.dataset.survey(found.folder, ALL):
            if isinstance(each, LeftOut):
                yield each
            elif each.other_prompt is not None:
                yield LeftOut("its takes answer two prompts", each.about.get("split", ""))
            else:
                yield from labels_of(each)


def labels_of(item: RatedItem) -> Iterator[Preference | Rating]:
    """Yield a preference for each axis of a pair, or the ratings of a take."""
    columns = COLUMNS if item.is_pair else RATINGS
    known = {columns.own(name): value for name, value in item.about.items() if name != "rater" or not item.is_pair}
    about: Mapping[str, Any] = {"source": item.dataset, **known}
    if not item.is_pair:
        yield Rating(item.id, Take(item.prompt, item.takes[0]), dict(item.ratings), dict(about))
        return
    pair, rater = Pair(item.prompt, *item.takes), item.about.get("rater", "")
    for axis, vote in item.votes.items():
        sure = whole_confidence(vote.confidence)
        stated = {} if sure == vote.confidence else {EXACT_CONFIDENCE: vote.confidence}
        yield Preference(pair, axis, vote.choice, sure, rater, f"{item.id}-{axis}", {**about, **stated})


def whole_confidence(confidence: float | None) -> int | None:
    """Round a confidence away from the middle of its scale, so that it stays on its side.

    >>> [whole_confidence(value) for value in (1.5, 2.5, 3.0, 3.5, None)]
    [1, 2, 3, 4, None]
    """
    if confidence is None:
        return None
    return math.ceil(confidence) if confidence > MIDDLE else math.floor(confidence)


def stated_splits(labels: Iterable[Preference | Rating]) -> set[str]:
    """Return the splits that the rows of a data set state, for `split_of`."""
    return {split_name(label.about["split"]) for label in labels if label.about.get("split")}


def split_of(label: Preference | Rating, stated: Set[str]) -> str:
    """Return the split of a row of a data set whose rows state the splits `stated`."""
    if not stated:
        return draw_split(prompt_key(label))
    own_split = split_name(label.about.get("split", ""))
    is_held_out = own_split == "train" and "valid" not in stated and draw_split(prompt_key(label)) == "valid"
    return "valid" if is_held_out else own_split

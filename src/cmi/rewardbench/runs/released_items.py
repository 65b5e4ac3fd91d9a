"""Convert the rows of the authors' results.jsonl to items and scores, for all tables and analyses.

A model's predictions are its scores; rows without a known label are left out.
"""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from cmi._util.fields import text_field
from cmi.rewardbench.items import RatedItem, Vote
from cmi.rewardbench.runs.released_results import (
    ARENA,
    CHOICES,
    MUSICEVAL,
    NAMES,
    PAM,
    RATED,
    Released,
    Row,
    audio_fields,
    month,
    number,
)
from cmi.rewardbench.tasks import Key
from cmi.take import Axis, Prompt, Score


class Read(NamedTuple):
    items: list[RatedItem]
    scores: dict[Key, tuple[Score | None, ...]]
    left_out: int  # rows without a known label


def as_items(rows: Iterable[Released]) -> Read:
    items, scores, left_out = [], {}, 0
    for one in rows:
        item = _item(one)
        if item is None:
            left_out += 1
            continue
        items.append(item)
        scores[item.dataset, item.id] = tuple(_score(one.row, suffix) for suffix in ("", "_b")[: len(item.takes)])
    return Read(items, scores, left_out)


def _item(one: Released) -> RatedItem | None:
    row, where = one.row, one.where
    reference = text_field(dict(row), "ref-audio-path", where)
    text, lyrics = (text_field(dict(row), field, where) for field in ("prompt", "lyrics"))
    prompt = Prompt(text, lyrics, Path(reference) if reference else None)
    takes = tuple(Path(text_field(dict(row), field, where)) for field in audio_fields(one))
    about = {"month": month(row)} if one.dataset == ARENA else {}
    name, dataset = where.rsplit(" ", 1)[-1], NAMES[one.dataset]
    if one.dataset in (PAM, MUSICEVAL):
        axes: tuple[Axis, ...] = ("musicality", "alignment") if one.dataset == PAM else ("musicality",)
        ratings = {axis: value for axis in axes if math.isfinite(value := number(row.get(RATED[axis])))}
        return RatedItem(name, dataset, prompt, takes, ratings=ratings, about=about) if ratings else None
    votes = dict(_votes(one))
    return RatedItem(name, dataset, prompt, takes, votes=votes, about=about) if votes else None


def _votes(one: Released) -> Iterator[tuple[Axis, Vote]]:
    fields: dict[Axis, str] = {"musicality": "preference-musicality", "alignment": "preference-alignment"}
    if one.dataset == ARENA:
        fields = {"overall": "preference"}
    for axis, field in fields.items():
        choice = CHOICES.get(str(one.row.get(field)).lower())
        sure = number(one.row.get(f"confidence_{field}"))
        if choice is not None:
            yield axis, Vote(choice, sure if math.isfinite(sure) else None)


def _score(row: Row, suffix: str) -> Score | None:
    musicality, alignment = (number(row.get(f"predicted_{field}{suffix}")) for field in RATED.values())
    return None if math.isnan(musicality) and math.isnan(alignment) else Score(musicality, alignment)

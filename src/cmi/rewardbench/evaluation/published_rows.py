"""Tables 2, 3 and 4 of the CMI-RewardBench paper, and where each of their numbers belongs among our cells.

The files in published/ hold the numbers as they were printed, accuracies in percent. The paper disagrees with itself:
    Qwen2-audio on Music Arena          5.99 in Table 2, 35.99 in Table 20
    the last row on CMI-Pref            78.20 in Table 2; 78.10 in Table 21, which alone gives the mean of Table 4
    Music Arena in Tables 2 and 4       other numbers; Table 4 is said to go by both scores together
"""

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from cmi.rewardbench.tasks import (
    ALIGNMENT_REGRESSION,
    COMPOSITIONAL_ALIGNMENT,
    MUSICALITY_PREFERENCE,
    MUSICALITY_REGRESSION,
    TEXT_ALIGNMENT,
    Task,
)

TableName = Literal["table2", "table3", "table4"]


class Place(NamedTuple):
    """Where a cell stands."""

    dataset: str
    task: str
    group: str
    metric: str


class Column(NamedTuple):
    title: str
    place: Place


class PublishedRow(NamedTuple):
    model: str
    numbers: Mapping[str, str]  # by column, as printed; '' where the paper has none
    source: str


def _place(dataset: str, task: Task, metric: str, group: str = "all") -> Place:
    return Place(dataset, task.name, group, metric)


def _correlations(prefix: str, title: str, dataset: str, task: Task) -> dict[str, Column]:
    names = {"lcc": "LCC", "srcc": "SRCC", "ktau": "K-Tau"}
    return {f"{prefix}_{key}": Column(f"{title} {name}", _place(dataset, task, name)) for key, name in names.items()}


COLUMNS: Mapping[str, Mapping[str, Column]] = {
    "table2": {
        **_correlations("pam", "PAM", "pam", MUSICALITY_REGRESSION),
        **_correlations("musiceval", "MusicEval", "musiceval", MUSICALITY_REGRESSION),
        "music_arena_acc": Column("Music Arena ACC", _place("music-arena", MUSICALITY_PREFERENCE, "ACC")),
        "cmi_pref_acc": Column("CMI-Pref ACC", _place("cmi-pref", MUSICALITY_PREFERENCE, "ACC")),
    },
    "table3": {
        **_correlations("pam", "PAM", "pam", ALIGNMENT_REGRESSION),
        "text_acc": Column("text", _place("cmi-pref", TEXT_ALIGNMENT, "ACC", "text")),
        "text_lyrics_acc": Column("text+lyrics", _place("cmi-pref", TEXT_ALIGNMENT, "ACC", "text+lyrics")),
        "text_audio_acc": Column("text+audio", _place("cmi-pref", COMPOSITIONAL_ALIGNMENT, "ACC", "text+audio")),
        "text_lyrics_audio_acc": Column(
            "text+lyrics+audio", _place("cmi-pref", COMPOSITIONAL_ALIGNMENT, "ACC", "text+lyrics+audio")
        ),
        "without_audio_acc": Column("w/o audio", _place("cmi-pref", TEXT_ALIGNMENT, "ACC")),
        "with_audio_acc": Column("w/ audio", _place("cmi-pref", COMPOSITIONAL_ALIGNMENT, "ACC")),
    },
}


@cache
def published_rows(table: TableName) -> tuple[PublishedRow, ...]:
    text = files("cmi.rewardbench.evaluation").joinpath("published", f"{table}.csv").read_text(encoding="utf-8")
    rows = []
    for line in csv.DictReader(text.splitlines()):
        model, source = line.pop("model"), line.pop("source")
        rows.append(PublishedRow(model, line, source))
    return tuple(rows)

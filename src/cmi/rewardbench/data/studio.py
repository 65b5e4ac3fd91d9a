"""A preference set of `cmi studio make`: pairs whose winner is known because the other take was corrupted."""

from collections.abc import Iterator
from pathlib import Path

from cmi.rewardbench.data import DataSet
from cmi.rewardbench.data.own import read_file
from cmi.rewardbench.data.rows import LeftOut, first_of, kept, of_split
from cmi.rewardbench.items import RatedItem

NAME = "studio"
DATA_SET = DataSet(
    NAME,
    "pairs whose winner is known, made here",
    "yours",
    "make it: cmi studio make FOLDER, then studio=FOLDER",
)


def read(folder: Path, split: str | None = "test") -> Iterator[RatedItem]:
    return kept(survey(folder, split))


def survey(folder: Path, split: str | None = "test") -> Iterator[RatedItem | LeftOut]:
    """Yield an item for each pair."""
    return of_split(read_file(first_of(folder, "preferences.jsonl"), NAME), split)

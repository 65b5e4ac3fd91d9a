"""A preference set of `cmi studio make`: pairs whose winner is known because the other take was corrupted."""

from collections.abc import Iterator
from pathlib import Path

from cmi.rewardbench.data import DataSet, own
from cmi.rewardbench.data.rows import first_of
from cmi.rewardbench.items import RatedItem

NAME = "studio"
DATA_SET = DataSet(
    NAME,
    "pairs whose winner is known, made here",
    "yours",
    "make it: cmi studio make FOLDER, then studio=FOLDER",
)


def rows(folder: Path) -> Iterator[RatedItem]:
    return own.rows(first_of(folder, "preferences.jsonl"), NAME)

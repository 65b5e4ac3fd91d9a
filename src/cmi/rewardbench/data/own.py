"""Your own preferences or ratings, in any format and with any columns that `cmi.preferences` reads.

The rows of one rater on one pair become one item with several axes; a second row on an axis starts another item. Other
columns with text or numbers (`split`, `month`, `generator_a`, ...) are kept in `Item.about`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.records import Columns, read_table
from cmi.preferences import (
    COLUMNS,
    FILES,
    RATED,
    RATING_FILES,
    RATINGS,
    Preference,
    Rating,
    find_file,
    group_by_rater,
    read_preferences,
    read_ratings,
)
from cmi.rewardbench.data import ALL, DataSet
from cmi.rewardbench.data.rows import with_splits as with_splits
from cmi.rewardbench.items import RatedItem, Vote
from cmi.take import Axis

NAME = "own"
DATA_SET = DataSet(
    NAME,
    "your own preferences or ratings",
    "yours",
    "name the file: mine.jsonl, or own=FILE",
    split=ALL,
    draws_split=True,
)
EITHER = Columns(tuple(dict.fromkeys((*COLUMNS.main, *RATINGS.main))), (*COLUMNS.others, *RATINGS.others))


def rows(path: Path, dataset: str = NAME) -> Iterator[RatedItem]:
    """Read the items of a file of preferences or of ratings, or of those in a folder."""
    for file in _files(path):
        if _has_ratings(file):
            yield from (_rated(one, dataset) for one in read_ratings(file))
        else:
            yield from (_pair(group, dataset) for group in group_by_rater(read_preferences(file)))


def labels(path: Path) -> Iterator[Preference | Rating]:
    """Read the same rows as they are, with all their columns."""
    for file in _files(path):
        yield from read_ratings(file) if _has_ratings(file) else read_preferences(file)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [find_file(path)]
    found = [next((path / name for name in names if (path / name).is_file()), None) for names in (FILES, RATING_FILES)]
    if not any(found):
        raise InputError(f"{path}: no file of preferences or ratings in it")
    return [file for file in found if file is not None]


def _has_ratings(file: Path) -> bool:
    """Tell whether a file holds ratings or preferences; its first row tells which."""
    place, row = next(read_table(file), ("", None))
    if row is None:
        raise InputError(f"{file}: no row in it, expected preferences or ratings")
    if "choice" not in row and not any(axis in row for axis in RATED):
        EITHER.require_known(row, f"{file} {place}", "field")
        raise InputError(
            f"{file} {place}: neither 'choice' of a preference nor 'musicality' or 'alignment' of a rated take"
        )
    return "choice" not in row


def _pair(group: Mapping[Axis, Preference], dataset: str) -> RatedItem:
    first = next(iter(group.values()))
    votes = {axis: Vote(one.choice, one.confidence) for axis, one in group.items()}
    about = _in_words(first.about) | ({"rater": first.rater} if first.rater else {})
    return RatedItem(first.id, dataset, first.prompt, (first.pair.a, first.pair.b), votes=votes, about=about)


def _rated(one: Rating, dataset: str) -> RatedItem:
    return RatedItem(one.id, dataset, one.prompt, (one.take.audio,), one.ratings, about=_in_words(one.about))


def _in_words(about: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in about.items() if isinstance(value, str | int | float)}

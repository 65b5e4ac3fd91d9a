"""Your own preferences or ratings, as JSON lines or as CSV with a header.

Preferences    the rows of `cmi.preferences`: a, b, axis, choice; optionally id, text, lyrics, reference, confidence,
               rater. Rows about the same pair by the same rater are one item with several axes; a second row on an axis
               starts another item.
Ratings        a take a row: audio, and musicality, alignment or both, from 1 to 5; optionally id, text, lyrics,
               reference.

Paths start at the file's folder; here they may lead anywhere. What else a row says in text or numbers (`split`,
`month`, `generator_a`, `generator_b`, `generator`, ...) is kept in `Item.about`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from cmi._util.columns import Columns
from cmi._util.errors import InputError
from cmi.preferences import COLUMNS, FIELDS, pair_of
from cmi.rewardbench.data.rows import LeftOut, Row, is_nan, kept, label, number, of_split, text
from cmi.rewardbench.items import Item, Vote
from cmi.take import RATINGS, Axis, Preference, prompt_of, recording, rows_of, with_ids

NAME = "own"
AXES: dict[str, Axis] = {"musicality": "musicality", "alignment": "alignment", "overall": "overall"}
CHOICES = {"a": "a", "b": "b", "both": "both", "neither": "neither"}
RATED: tuple[Axis, ...] = ("musicality", "alignment")
EITHER = Columns(tuple(dict.fromkeys((*COLUMNS.main, *RATINGS.main))), (*COLUMNS.others, *RATINGS.others))


def read(folder: Path, split: str | None = None) -> Iterator[Item]:
    return kept(survey(folder, split))


def survey(folder: Path, split: str | None = None) -> Iterator[Item | LeftOut]:
    """Each pair or take of the file `folder`."""
    return of_split(read_file(folder, NAME), split)


def read_file(path: Path, dataset: str) -> Iterator[Item | LeftOut]:
    """The items of a file in one of the two formats; its first row tells which."""
    first = next(rows_of(path), None)
    if first is None:
        raise InputError(f"{path}: no row in it, expected preferences or ratings")
    place, row = first
    if "choice" in row:
        return iter(_pairs(with_ids(path, rows_of(path, COLUMNS)), path.parent, dataset))
    if any(axis in row for axis in RATED):
        return (_rated(*given, path.parent, dataset) for given in with_ids(path, rows_of(path, RATINGS)))
    EITHER.require_known(row, f"{path} {place}", "field")
    raise InputError(
        f"{path} {place}: neither 'choice' of a preference nor 'musicality' or 'alignment' of a rated take"
    )


def _pairs(rows: Iterable[tuple[str, str, Row]], folder: Path, dataset: str) -> list[Item]:
    items: list[Item] = []
    latest: dict[tuple[object, ...], int] = {}
    for name, where, row in rows:
        preference = _preference(row, where, folder)
        pair, vote = preference.pair, Vote(preference.choice, preference.confidence)
        key = (pair.prompt, pair.a, pair.b, preference.rater)
        known = latest.get(key)
        if known is None or preference.axis in items[known].votes:
            latest[key] = len(items)
            about = _about(row, FIELDS) | ({"rater": preference.rater} if preference.rater else {})
            items.append(Item(name, dataset, pair.prompt, (pair.a, pair.b), votes={preference.axis: vote}, about=about))
        else:
            item = items[known]
            joined = {**item.votes, preference.axis: vote}
            items[known] = Item(item.id, dataset, item.prompt, item.takes, votes=joined, about=item.about)
    return items


def _preference(row: Row, where: str, folder: Path) -> Preference:
    axis, choice = (label(row, field, where, known) for field, known in (("axis", AXES), ("choice", CHOICES)))
    for field, value in (("axis", axis), ("choice", choice)):
        if value is None:
            raise InputError(f"{where}: {field!r} is missing")
    sure = number(row, "confidence", where)
    if sure is not None and sure != int(sure):
        raise InputError(f"{where}: 'confidence' is {sure:g}, expected a whole number from 1 to 5")
    pair = pair_of(_present(row), where, folder)
    return Preference(pair, axis, choice, None if sure is None else int(sure), text(row, "rater", where))  # type: ignore[arg-type]


def _rated(name: str, where: str, row: Row, folder: Path, dataset: str) -> Item:
    ratings = {axis: value for axis in RATED if (value := number(row, axis, where)) is not None}
    if not ratings:
        raise InputError(f"{where}: neither 'musicality' nor 'alignment' is rated")
    take = recording(_present(row), "audio", where, folder)
    about = _about(row, ("id", "audio", "text", "lyrics", "reference", *RATED))
    return Item(name, dataset, prompt_of(_present(row), where, folder), (take,), ratings, about=about)


def _present(row: Row) -> Row:
    """Without what data frames write where there is nothing."""
    return {name: value for name, value in row.items() if not is_nan(value)}


def _about(row: Row, known: Iterable[str]) -> dict[str, str]:
    others = {name: value for name, value in row.items() if name not in known}
    return {name: str(value) for name, value in others.items() if isinstance(value, str | int | float) and value != ""}

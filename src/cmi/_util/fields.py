"""The fields of a row in a user's file or a published data set.

A field is absent if it is missing, null, blank, NaN, or one of the words 'None', 'null' and 'nan' alone. Anything else
that is not what was expected is an InputError that names the row.
"""

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.printable import is_whole

Row = Mapping[str, Any]

LOWEST, HIGHEST = 1, 5  # of ratings and of confidences
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_ABSENT = {"", "none", "null", "nan"}  # what spreadsheets and data frames write for nothing


def text_field(row: Row, field: str, where: str) -> str:
    """Return a field's text, '' if it is absent."""
    value = _words(row, field, where)
    if not is_whole(value):
        raise InputError(f"{where}: {field!r} contains an incomplete character (a lone surrogate)")
    return value


def path_field(row: Row, field: str, where: str) -> str:
    """Return a field's text if a file can have that name; a name that is not UTF-8 has surrogates in it."""
    value = _words(row, field, where)
    try:
        is_name = b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        raise InputError(f"{where}: {field!r} is {value!r}, which cannot be the name of a file")
    return value


def number_field(row: Row, field: str, where: str) -> float | None:
    """Return a rating or a confidence from 1 to 5, written as a number or as text; None if it is absent."""
    value = row.get(field)
    if value is None or isinstance(value, str) or is_nan(value):
        value = _words(row, field, where)
        if not value:
            return None
        with suppress(ValueError):
            value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not LOWEST <= value <= HIGHEST:
        raise InputError(f"{where}: {field!r} is {value!r}, expected a number from {LOWEST} to {HIGHEST}")
    return float(value)


def bool_field(row: Row, field: str, where: str) -> bool | None:
    """Return true or false, written as such or as text (yes, no, 1, 0); None if it is absent."""
    value = row.get(field)
    if isinstance(value, bool):
        return value
    written = str(value) if isinstance(value, int) else _words(row, field, where).strip()
    if not written:
        return None
    if written.lower() not in _BOOLEANS:
        raise InputError(f"{where}: {field!r} is {written!r}, expected true or false")
    return _BOOLEANS[written.lower()]


def label_field(row: Row, field: str, where: str, known: Mapping[str, str]) -> str | None:
    """Return what a label means, whatever its case; None if it is absent."""
    written = text_field(row, field, where).strip()
    if not written:
        return None
    if written.lower() not in known:
        raise InputError(f"{where}: {field!r} is {written!r}, expected one of {', '.join(known)}")
    return known[written.lower()]


def number_rows(path: Path, rows: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield each row with its id (its number from 1 if it has none) and its place. Ids must differ."""
    seen: set[str] = set()
    for number, (place, row) in enumerate(rows, 1):
        where = f"{path} {place}"
        name = _identifier(row, where) or str(number)
        if name in seen:
            raise InputError(f"{where}: 'id' is {name!r}, the id of an earlier row")
        seen.add(name)
        yield name, where, row


def is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _words(row: Row, field: str, where: str) -> str:
    value = row.get(field)
    if value is None or is_nan(value):
        return ""
    if not isinstance(value, str):
        raise InputError(f"{where}: {field!r} is {type(value).__name__}, expected text")
    return "" if value.strip().lower() in _ABSENT else value


def _identifier(row: Row, where: str) -> str:
    value = row.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{where}: 'id' is {type(value).__name__}, expected text or a whole number")
    text_field(row, "id", where)
    return value or ""

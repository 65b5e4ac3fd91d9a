"""Records out of a file, one at a time: JSON-lines or one JSON array, plain or gzip; or CSV with a header.

Memory holds one record, however long the file. What can't be read is one sentence that names the file and the place.
"""

import csv
import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from cmi._util.columns import Columns
from cmi._util.errors import InputError

LARGEST_RECORD = 64 * 2**20  # characters
_CHUNK = 2**16
_GZIP_MAGIC = b"\x1f\x8b"


def read_records(path: Path, known: Columns | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each record with its place ('line 12' or 'record 12'), for errors that name it.

    With `known`, a field of another name is an InputError.
    """
    try:
        with _open(path) as file:
            for place, record in _records(path, file):
                if known is not None:
                    known.require_known(record, f"{path} {place}", "field")
                yield place, record
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not UTF-8 text (byte 0x{error.object[error.start]:02x}); save it as UTF-8"
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: a broken gzip file ({error}); fetch it again") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _open(path: Path) -> TextIO:
    with path.open("rb") as file:
        is_gzip = file.read(2) == _GZIP_MAGIC
    opener = gzip.open if is_gzip else open
    return opener(path, "rt", encoding="utf-8-sig", newline="\n")


def _records(path: Path, file: TextIO) -> Iterator[tuple[str, dict[str, Any]]]:
    head = _skip_blank(file)
    if head == "[":
        places = ((f"record {i}", record) for i, record in enumerate(_array(path, file), 1))
    else:
        places = ((f"line {i}", record) for i, record in _lines(path, file, head))
    for place, record in places:
        if not isinstance(record, dict):
            raise InputError(f"{path} {place}: {type(record).__name__}, expected an object such as {{...}}")
        yield place, record


def _skip_blank(file: TextIO) -> str:
    """The first character that is not white space, or nothing."""
    character = file.read(1)
    while character.isspace():
        character = file.read(1)
    return character


def _lines(path: Path, file: TextIO, head: str) -> Iterator[tuple[int, Any]]:
    number = 0
    while line := head + file.readline(LARGEST_RECORD):
        head, number = "", number + 1
        if len(line) >= LARGEST_RECORD:
            raise InputError(f"{path} line {number}: longer than {LARGEST_RECORD:,} characters")
        if line.strip():
            try:
                yield number, json.loads(line)
            except (json.JSONDecodeError, RecursionError, ValueError) as error:
                raise InputError(f"{path} line {number}: not JSON ({error})") from error


def _array(path: Path, file: TextIO) -> Iterator[Any]:
    """The elements of a JSON array whose opening bracket has been read."""
    decoder = json.JSONDecoder()
    buffer, wanted, number = "", _CHUNK, 0
    while True:
        chunk = file.read(wanted)
        buffer = (buffer + chunk).lstrip(" \t\r\n,")
        wanted = _CHUNK
        while buffer:
            if buffer[0] == "]":
                return
            try:
                element, end = decoder.raw_decode(buffer)
            except (ValueError, RecursionError) as error:
                if not chunk or len(buffer) > LARGEST_RECORD or isinstance(error, RecursionError):
                    raise InputError(f"{path} record {number + 1}: not JSON, or cut off ({error})") from error
                wanted = max(_CHUNK, len(buffer))  # doubling keeps a long record's cost linear
                break
            number += 1
            yield element
            buffer = buffer[end:].lstrip(" \t\r\n,")
        if not chunk:
            raise InputError(f"{path}: cut off after record {number}: the array's closing ']' is missing")


def csv_records(
    path: Path, columns: Sequence[str] = (), known: Columns | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row of a CSV file with its place. InputError if the header lacks one of `columns`, or has one twice.

    With `known`, a column of another name is an InputError too.
    """
    line = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            header = [] if reader.fieldnames is None else list(reader.fieldnames)
            if known is not None:
                known.require_known(header, f"{path} line 1")
            _check_header(path, header, columns)
            line = reader.line_num + 1
            for row in reader:
                if None in row:
                    raise InputError(f"{path} line {line}: more fields than the header's {len(header)}")
                yield f"line {line}", row
                line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path} line {line}: not CSV ({error})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text; save it as UTF-8") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _check_header(path: Path, header: Sequence[str], columns: Sequence[str]) -> None:
    missing = [column for column in columns if column not in header]
    if missing:
        raise InputError(f"{path} line 1: no column {missing[0]!r} in the header ({', '.join(header) or 'empty'})")
    if len(set(header)) < len(header):
        raise InputError(f"{path} line 1: the header has a column twice ({', '.join(header)})")

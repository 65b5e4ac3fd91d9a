"""Stream the records of a file: JSON lines, one JSON array or CSV with a header, plain or gzip; or Parquet.

Errors name the file and the line, record or row. An unknown column is an error that suggests the nearest known one,
because a misspelt column would be ignored silently otherwise. Users may add columns of their own that begin with `x_`.
"""

import csv
import gzip
import json
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from cmi._util.errors import InputError
from cmi._util.hub import require_packages
from cmi._util.json_text import parse_json
from cmi._util.remote import open_file

JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
LARGEST_RECORD = 64 * 2**20  # characters
_CHUNK = 2**16
_GZIP_MAGIC = b"\x1f\x8b"
_ROWS_AT_ONCE = 256
_JSON_TYPES = (str, int, float, list, dict)
OWN = "x_"
_LONGEST_SHOWN = 40  # characters of a name

# Common names for our columns that a spelling check does not find.
_SYNONYMS = {
    "text": ("prompt", "caption", "description", "instruction", "query"),
    "audio": ("path", "file", "filename", "wav", "mp3", "flac", "recording", "sound", "take"),
    "lyrics": ("words", "verse"),
    "reference": ("ref", "example", "like"),
    "choice": ("preference", "preferred", "winner", "label", "vote", "verdict", "answer"),
    "rater": ("annotator", "judge", "user", "worker", "evaluator", "listener", "person"),
    "axis": ("dimension", "criterion", "aspect", "question"),
    "confidence": ("certainty", "sureness"),
    "id": ("name", "key", "uid", "index", "number"),
    "group": ("prompt_id", "cluster"),
    "musicality": ("quality", "overall_quality"),
    "alignment": ("adherence", "relevance"),
    "generator": ("model", "system"),
    "a": ("audio_a", "path_a", "file_a", "take_a", "audio1", "first_audio"),
    "b": ("audio_b", "path_b", "file_b", "take_b", "audio2", "second_audio"),
    "generator_a": ("model_a",),
    "generator_b": ("model_b",),
}
_MEANT = {synonym: column for column, synonyms in _SYNONYMS.items() for synonym in synonyms}


@dataclass(frozen=True)
class Columns:
    """The columns of a kind of file: messages list the `main` ones; `others` are accepted too."""

    main: tuple[str, ...]
    others: tuple[str, ...] = ()

    def require_known(self, found: Collection[str], where: str, called: str = "column") -> None:
        """InputError if a column is unknown. `called` is what the file's format calls a column."""
        unknown = [name for name in found if not self._knows(name)]
        if unknown:
            raise InputError(f"{where}: {self._sentence(unknown[0], found, called)}")

    def own(self, name: str) -> str:
        """Return `name` if it is a known column, else with the prefix of users' own columns."""
        return name if self._knows(name) else OWN + name

    def _knows(self, name: str) -> bool:
        return name in self.main or name in self.others or name.startswith(OWN)

    def _sentence(self, name: str, found: Collection[str], called: str) -> str:
        spelling = name.strip().lower()
        candidates = [one for one in (*self.main, *self.others) if one not in found]
        close = get_close_matches(spelling, candidates, n=1, cutoff=0.7)
        nearest = _MEANT[spelling] if _MEANT.get(spelling) in candidates else next(iter(close), None)
        shown = name if len(name) <= _LONGEST_SHOWN else name[:_LONGEST_SHOWN] + "..."
        question = f"; did you mean {nearest!r}?" if nearest else f"; call one of your own {OWN}{shown.strip()}."
        return f"unknown {called} {shown!r}{question} Known {called}s: {', '.join(self.main)}"


def read_table(
    path: Path, known: Columns | None = None, required: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each record of a file with its place; the file's name tells the format.

    A CSV or Parquet file must have the `required` columns. With `known`, a column of another name is an InputError.
    """
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    match suffix.lower():
        case ".csv":
            return csv_records(path, required, known)
        case ".parquet":
            return parquet_records(path, required, known)
        case json_suffix if json_suffix in JSON_SUFFIXES:
            return read_records(path, known)
    missing = "no such file or folder, " if not path.exists() else ""
    raise InputError(f"{path}: {missing}expected a file named .jsonl, .json, .csv or .parquet")


def read_records(path: Path, known: Columns | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each record of a JSON file with its place ('line 12' or 'record 12') for error messages.

    With `known`, a field of another name is an InputError.
    """
    with _reading(path), _open(path, newline="\n") as file:
        for place, record in _records(path, file):
            if known is not None:
                known.require_known(record, f"{path} {place}", "field")
            yield place, record


def read_text(path: Path) -> str:
    """Return the content of a UTF-8 file."""
    with _reading(path):
        return path.read_text(encoding="utf-8-sig")


def read_json(path: Path) -> Any:
    """Return the value that a JSON file holds as a whole."""
    try:
        return parse_json(read_text(path))
    except ValueError as error:
        raise InputError(f"{path}: not JSON, or cut off ({error})") from error


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn errors of reading and decoding into InputErrors."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not UTF-8 text (byte 0x{error.object[error.start]:02x}); save it as UTF-8"
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: a broken gzip file ({error}); download it again") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


@contextmanager
def _open(path: Path, newline: str) -> Iterator[TextIO]:
    with open_file(path) as file:
        is_gzip = file.read(2) == _GZIP_MAGIC
        file.seek(0)
        content: Any = gzip.GzipFile(fileobj=file) if is_gzip else file
        with TextIOWrapper(content, encoding="utf-8-sig", newline=newline) as text:
            yield text


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
    """Return the first character that is not white space, or ''."""
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
                yield number, parse_json(line)
            except ValueError as error:
                raise InputError(f"{path} line {number}: not JSON ({error})") from error


def _array(path: Path, file: TextIO) -> Iterator[Any]:
    """Yield the elements of a JSON array whose opening bracket has been read."""
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
    """Yield each row of a CSV file with its place. InputError if a column is missing or occurs twice.

    With `known`, a column of another name is an InputError too.
    """
    line = 1
    with _reading(path), _open(path, newline="") as file:
        reader = csv.DictReader(file, strict=True)
        try:
            header = [] if reader.fieldnames is None else list(reader.fieldnames)
            _check_header(f"{path} line 1", header, columns, known)
            line = reader.line_num + 1
            for row in reader:
                if None in row:
                    raise InputError(f"{path} line {line}: more fields than the header's {len(header)}")
                yield f"line {line}", row
                line = reader.line_num + 1
        except csv.Error as error:
            raise InputError(f"{path} line {line}: not CSV ({error})") from error


def parquet_records(
    path: Path, columns: Sequence[str] = (), known: Columns | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each row of a Parquet file with its place; dates and the like become text."""
    require_packages(f"reading {path.name}", "rewardbench", "pyarrow")
    import pyarrow
    from pyarrow.parquet import ParquetFile

    number = 0
    try:
        with open_file(path) as raw, ParquetFile(raw, pre_buffer=False) as file:
            _check_header(str(path), file.schema_arrow.names, columns, known)
            for batch in file.iter_batches(_ROWS_AT_ONCE):
                for row in batch.to_pylist():
                    number += 1
                    plain = {k: v if v is None or isinstance(v, _JSON_TYPES) else str(v) for k, v in row.items()}
                    yield f"row {number}", plain
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        reason = error.strerror or reason if isinstance(error, OSError) else f"not a complete Parquet file ({reason})"
        raise InputError(f"{path}: {reason}") from error


def _check_header(where: str, header: Sequence[str], columns: Sequence[str], known: Columns | None) -> None:
    if known is not None:
        known.require_known(header, where)
    missing = [column for column in columns if column not in header]
    if missing:
        raise InputError(f"{where}: no column {missing[0]!r} in the header ({', '.join(header) or 'empty'})")
    if len(set(header)) < len(header):
        raise InputError(f"{where}: the header has a column twice ({', '.join(header)})")

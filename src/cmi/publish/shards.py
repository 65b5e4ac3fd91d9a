"""Rows and recordings as Parquet files, as data sets on the hub have them; each file is written whole.

    data/SPLIT-00000-of-00001.parquet         rows; recordings are named by their content, audio/SHA256.flac
    data/recordings-00000-of-00012.parquet    each recording once, with its bytes and its provenance

The metadata of a file names a hash of what is in it, so a stopped command does not write a file again.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.files import whole_file
from cmi._util.printable import ESCAPE
from cmi.rewardbench.data.published import RECORDINGS

if TYPE_CHECKING:
    import pyarrow

LARGEST_SHARD = 400_000_000  # bytes of recordings
LARGEST_GROUP = 32_000_000  # bytes of recordings in memory at once
ROWS_AT_ONCE, ROWS_PER_SHARD = 1000, 100_000
CONTENT_KEY = "cmi"  # in the metadata of a file
AUDIO = "audio"

Cells = Mapping[str, Any]
ColumnTypes = Mapping[str, str]  # by column: bool, int64, double or string


class StoredRecording(NamedTuple):
    """A recording's file, its name in the data set, and the cells beside its bytes."""

    path: Path
    name: str
    size: int
    cells: Cells


class CellTypes:
    """Finds the type of each column from its cells: numbers or booleans if all are, else text."""

    def __init__(self) -> None:
        self._seen: dict[str, set[type]] = {}

    def add(self, cells: Cells) -> None:
        for name, value in cells.items():
            kinds = self._seen.setdefault(name, set())
            if value is not None:
                is_large = isinstance(value, int) and abs(value) >= 2**63
                kinds.add(str if is_large else type(value))

    def of(self, name: str) -> str:
        kinds = self._seen.get(name, set())
        if kinds and kinds <= {int, float}:
            return "int64" if kinds == {int} else "double"
        return "bool" if kinds == {bool} else "string"

    def __iter__(self) -> Iterator[str]:
        return iter(self._seen)


def split_file(split: str) -> str:
    """Return the name of a split in file names: letters, digits and underscores, 'train' if no split is stated.

    >>> split_file("held out"), split_file(""), split_file("recordings")
    ('held_out', 'train', 'recordings_')
    """
    name = re.sub(r"\W+", "_", split, flags=re.ASCII) or "train"
    return f"{name}_" if name == RECORDINGS else name


def plan_recordings(recordings: Sequence[StoredRecording], largest: int = LARGEST_SHARD) -> list[list[StoredRecording]]:
    """Divide recordings among files of at most `largest` bytes, or of one recording."""
    shards: list[list[StoredRecording]] = []
    room = 0
    for one in recordings:
        if not shards or one.size > room:
            shards.append([])
            room = largest
        shards[-1].append(one)
        room -= one.size
    return shards


def write_recordings(
    shards: Sequence[Sequence[StoredRecording]], columns: ColumnTypes, folder: Path
) -> Iterator[tuple[int, bool]]:
    """Write each file unless it is complete; yield its number of recordings and whether it was there."""
    for i, shard in enumerate(shards):
        path = folder / shard_name(RECORDINGS, i, len(shards))
        key = _key_of([[one.name, one.cells] for one in shard], columns)
        is_there = _key_in(path) == key
        if not is_there:
            _write(path, _recording_groups(shard), columns, key, with_audio=True)
        yield len(shard), is_there


def write_rows(
    rows: Iterable[tuple[str, Cells]], counts: Mapping[str, int], columns: ColumnTypes, folder: Path
) -> None:
    """Write rows, each with its split's name in file names; `counts` says how many rows each split has."""
    writers: dict[str, RowWriter] = {}
    with ExitStack() as stack:
        for split, cells in rows:
            if split not in writers:
                writers[split] = stack.enter_context(RowWriter(folder, split, counts[split], columns))
            writers[split].add(cells)


class RowWriter:
    """Writes the rows of one split, a thousand at a time, to files of a hundred thousand."""

    def __init__(self, folder: Path, split: str, count: int, columns: ColumnTypes) -> None:
        self._folder, self._split, self._columns = folder, split, columns
        self._shards = max(1, -(-count // ROWS_PER_SHARD))
        self._shard = self._in_shard = 0
        self._buffer: list[Cells] = []
        self._stack = ExitStack()
        self._writer: Any = None

    def __enter__(self) -> "RowWriter":
        return self

    def __exit__(self, *error: Any) -> None:
        if error[0] is None:
            self._flush()
        self._stack.__exit__(*error)

    def add(self, cells: Cells) -> None:
        if self._in_shard == ROWS_PER_SHARD:
            self._flush()
            self._stack.close()
            self._writer, self._shard, self._in_shard = None, self._shard + 1, 0
        self._buffer.append(cells)
        self._in_shard += 1
        if len(self._buffer) == ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        if not self._buffer:
            return
        schema = schema_of(self._columns, with_audio=False)
        if self._writer is None:
            path = self._folder / shard_name(self._split, self._shard, self._shards)
            self._writer = _open_writer(self._stack, path, schema)
        self._writer.write_table(_table(self._buffer, schema))
        self._buffer = []


def shard_name(split: str, number: int, total: int) -> str:
    return f"{split}-{number:05d}-of-{total:05d}.parquet"


def schema_of(columns: ColumnTypes, with_audio: bool, key: str = "") -> "pyarrow.Schema":
    """Return the schema, with the features that the hub's `datasets` library reads."""
    import pyarrow

    features: dict[str, Any] = {AUDIO: {"_type": "Audio"}} if with_audio else {}
    fields = [(AUDIO, pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())]))] if with_audio else []
    for name, kind in columns.items():
        fields.append((name, pyarrow.type_for_alias(kind)))
        features[name] = {"dtype": {"double": "float64"}.get(kind, kind), "_type": "Value"}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    return pyarrow.schema(fields, metadata | ({CONTENT_KEY: key} if key else {}))


def _write(path: Path, groups: Iterable[list[Cells]], columns: ColumnTypes, key: str, with_audio: bool) -> None:
    schema = schema_of(columns, with_audio, key)
    with ExitStack() as stack:
        writer = _open_writer(stack, path, schema)
        for group in groups:
            writer.write_table(_table(group, schema))


def _open_writer(stack: ExitStack, path: Path, schema: "pyarrow.Schema") -> Any:
    from pyarrow.parquet import ParquetWriter

    unfinished = stack.enter_context(whole_file(path))
    # Recordings are compressed already, and no two of them are alike.
    compression = {name: "zstd" for name in schema.names if name != AUDIO or not _has_audio(schema)}
    how = (
        {"compression": compression | {f"{AUDIO}.bytes": "none", f"{AUDIO}.path": "none"}} if _has_audio(schema) else {}
    )
    return stack.enter_context(ParquetWriter(unfinished, schema, use_dictionary=list(compression), **how))


def _has_audio(schema: "pyarrow.Schema") -> bool:
    return AUDIO in schema.names and schema.field(AUDIO).type.num_fields > 0


def _table(rows: Sequence[Cells], schema: "pyarrow.Schema") -> "pyarrow.Table":
    import pyarrow

    columns = []
    for field in schema:
        cells = [row.get(field.name) for row in rows]
        is_text = pyarrow.types.is_string(field.type)
        columns.append(pyarrow.array([_as_text(cell) for cell in cells] if is_text else cells, field.type))
    return pyarrow.Table.from_arrays(columns, schema=schema)


def _as_text(value: Any) -> str | None:
    """Return a cell of a column of text; a value that is not text as JSON."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", ESCAPE).decode()


def _recording_groups(shard: Iterable[StoredRecording]) -> Iterator[list[Cells]]:
    group: list[Cells] = []
    size = 0
    for one in shard:
        if group and size + one.size > LARGEST_GROUP:
            yield group
            group, size = [], 0
        group.append({AUDIO: {"bytes": _read(one), "path": one.name}, **one.cells})
        size += one.size
    if group:
        yield group


def _read(recording: StoredRecording) -> bytes:
    try:
        content = recording.path.read_bytes()
    except OSError as error:
        raise InputError(f"{recording.path}: {error.strerror or error}") from error
    if hashlib.sha256(content).hexdigest() not in recording.name:
        raise InputError(f"{recording.path}: changed while it was being published; run the same command again")
    return content


def _key_of(rows: Iterable[Any], columns: ColumnTypes) -> str:
    digest = hashlib.sha256(json.dumps(dict(columns)).encode())
    for row in rows:
        digest.update(json.dumps(row, sort_keys=True, default=str).encode())
    return digest.hexdigest()


def _key_in(path: Path) -> str:
    """Return the key that a file was written with; '' if there is no such file."""
    import pyarrow.parquet

    try:
        metadata = pyarrow.parquet.read_schema(path).metadata or {}
    except (OSError, pyarrow.ArrowException):
        return ""
    return str(metadata.get(CONTENT_KEY.encode(), b"").decode())

"""Unpack Parquet files with audio: rows as JSON lines, and each recording once, named by its hash.

    data/test-00000-of-00001.parquet    as on the hub; a split may have several
    prepared/test.jsonl                 its rows, with audio replaced by the path of its file
    prepared/audio/<sha256>.wav
    prepared/from.json                  the sizes of the Parquet files that this was made from

`prepared` appears when it is complete.
"""

import hashlib
import json
import math
import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from cmi._util.errors import InputError
from cmi._util.files import cannot_write, locked, move_into_place, write_whole
from cmi._util.hub import require_packages

if TYPE_CHECKING:
    import pyarrow

PREPARED = "prepared"
ROWS_AT_ONCE = 8
BUFFER = 2**20  # bytes of a column read at once; by default a whole row group
SHARD = re.compile(r"(?P<split>[\w.]+?)-\d+-of-\d+")


def prepare(folder: Path) -> Path:
    """Unpack the Parquet files in `folder`/data unless that was done; return the folder."""
    shards = sorted((folder / "data").glob("*.parquet"))
    if not shards:
        raise InputError(f"{folder}: no data/*.parquet in it, expected a data set as it was published")
    made_of = {shard.name: shard.stat().st_size for shard in shards}
    done = folder / PREPARED
    if _made_of(done) == made_of:
        return done
    require_packages(f"reading {shards[0].name}", "rewardbench", "pyarrow")
    unfinished = folder / f"{PREPARED}.partial"
    try:
        with locked(folder / f"{PREPARED}.lock"):
            if _made_of(done) != made_of:  # no other process made it meanwhile
                _write_all(shards, unfinished)
                (unfinished / "from.json").write_text(json.dumps(made_of), encoding="utf-8")
                move_into_place(unfinished, done)
    except OSError as error:
        raise cannot_write(error.filename or unfinished, error) from error
    return done


def _made_of(done: Path) -> Any:
    try:
        return json.loads((done / "from.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _write_all(shards: list[Path], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)  # from a killed run
    (folder / "audio").mkdir(parents=True)
    for shard in shards:
        match = SHARD.fullmatch(shard.stem)
        split = match["split"] if match else shard.stem
        with (folder / f"{split}.jsonl").open("a", encoding="utf-8") as file:
            for number, row in enumerate(_rows(shard), 1):
                cells = {name: _cell(value, folder, f"{shard.stem}-{number}") for name, value in row.items()}
                file.write(json.dumps(cells, ensure_ascii=False, allow_nan=False) + "\n")


def _rows(shard: Path) -> Iterator[dict[str, Any]]:
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(shard, buffer_size=BUFFER, pre_buffer=False) as file:
            sounds = _audio_columns(shard, file.schema_arrow)
            for batch in file.iter_batches(ROWS_AT_ONCE):
                for row in batch.to_pylist():
                    yield row | {name: row[name] or {"bytes": None, "path": None} for name in sounds}
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{shard}: not a complete Parquet file ({reason}); download it again") from error


def _audio_columns(shard: Path, schema: "pyarrow.Schema") -> list[str]:
    """Return the columns with audio; InputError unless all others hold text, lists of text or numbers."""
    from pyarrow import types

    plain = (types.is_string, types.is_large_string, types.is_integer, types.is_floating, types.is_boolean)
    for field in schema:
        is_tags = types.is_list(field.type) and types.is_string(field.type.value_type)
        is_plain = is_tags or types.is_null(field.type) or any(is_kind(field.type) for is_kind in plain)
        if not (is_plain or _is_audio(field.type)):
            raise InputError(f"{shard}: column {field.name!r} is {field.type}, expected text, numbers or audio")
    return [field.name for field in schema if _is_audio(field.type)]


def _is_audio(kind: "pyarrow.DataType") -> bool:
    from pyarrow import types

    return types.is_struct(kind) and {kind.field(i).name for i in range(kind.num_fields)} >= {"bytes", "path"}


def _cell(value: Any, folder: Path, place: str) -> Any:
    """Convert a cell to JSON: NaN to null, audio to the path of its file (which is missing if the cell was empty)."""
    if isinstance(value, dict):
        content, name = value["bytes"], str(value["path"] or "")
        return {"file": _keep(content, name, folder) if content else f"audio/none-{place}", "name": name}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _keep(content: bytes, name: str, folder: Path) -> str:
    suffix = PurePosixPath(name).suffix.lower()
    suffix = suffix if re.fullmatch(r"\.[a-z0-9]{1,5}", suffix) else ".audio"
    path = folder / "audio" / (hashlib.sha256(content).hexdigest() + suffix)
    if not path.exists():
        write_whole(path, content)
    return f"audio/{path.name}"

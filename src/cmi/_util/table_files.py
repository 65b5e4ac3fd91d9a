"""Write rows as JSON lines, CSV or Parquet, by the file's suffix; `cmi._util.records` reads them."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.files import whole_file
from cmi._util.hub import require_packages
from cmi._util.printable import ESCAPE

SUFFIXES = (".jsonl", ".csv", ".parquet")


def write_table(rows: Iterable[Mapping[str, Any]], path: Path, header: Sequence[str]) -> None:
    """Write rows atomically; `header` has the columns of a file without rows."""
    require_table_file(path)
    writers = {".jsonl": _write_jsonl, ".csv": _write_csv, ".parquet": _write_parquet}
    with whole_file(path) as unfinished:
        writers[path.suffix.lower()](rows, unfinished, header)


def require_table_file(path: Path) -> None:
    """Raise InputError unless `write_table` can write a file of this suffix."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: expected a name that ends in {', '.join(SUFFIXES)}")
    if path.suffix.lower() == ".parquet":
        require_packages(f"writing {path.name}", "rewardbench", "pyarrow")


def _write_jsonl(rows: Iterable[Mapping[str, Any]], path: Path, header: Sequence[str]) -> None:
    with path.open("w", encoding="utf-8", errors=ESCAPE) as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _write_csv(rows: Iterable[Mapping[str, Any]], path: Path, header: Sequence[str]) -> None:
    found = list(rows)
    with path.open("w", encoding="utf-8", errors=ESCAPE, newline="") as file:
        writer = csv.DictWriter(file, _columns(found, header))
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in found)


def _write_parquet(rows: Iterable[Mapping[str, Any]], path: Path, header: Sequence[str]) -> None:
    import pyarrow
    import pyarrow.parquet

    found = list(rows)
    columns = {name: _parquet_cells([row.get(name) for row in found]) for name in _columns(found, header)}
    arrays = {
        name: pyarrow.array(cells, pyarrow.string() if set(cells) <= {None} else None)
        for name, cells in columns.items()
    }
    pyarrow.parquet.write_table(pyarrow.table(arrays), path)


def _columns(rows: Sequence[Mapping[str, Any]], header: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(rows))) if rows else list(header)


def _parquet_cells(values: list[Any]) -> list[Any]:
    """Return a column of numbers or booleans unchanged, any other as text."""
    kinds = {type(value) for value in values if value is not None}
    is_plain = kinds <= {int, float} or kinds == {bool}
    if is_plain and all(abs(value) < 2**63 for value in values if isinstance(value, int)):
        return values
    return [None if value is None else _cell(value).encode("utf-8", ESCAPE).decode() for value in values]


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)

"""Pairs, preferences, ratings and takes as Hugging Face `datasets`, and back.

    OUT/data/SPLIT-00000-of-00001.parquet    rows with their recordings: a, b, audio and reference are of type Audio
    OUT/README.md                            front matter that the hub and `load_dataset` read

The folder is ready for `hf upload`, and `load_dataset("OUT")` reads it. It has every column of the rows, raters' names
too, and no data card. What others will see goes through `cmi data publish` first, whose folder is a source here.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from cmi._util.errors import InputError, reason_of
from cmi._util.files import make_folder, whole_file, write_whole
from cmi._util.hub import quiet_hub, require_packages
from cmi._util.records import OWN
from cmi.audio import AUDIO_SUFFIXES
from cmi.preferences import COLUMNS, FILES, RATED, RATING_FILES, RATINGS, write_rows
from cmi.publish.shards import LARGEST_GROUP, LARGEST_SHARD, ROWS_AT_ONCE, CellTypes, shard_name, split_file
from cmi.publish.sources import MANIFEST, DataRow, DataSource

if TYPE_CHECKING:
    from datasets import Dataset, Features

RECORDINGS = ("a", "b", "audio", "reference")
CARD = """---
configs:
- config_name: default
  data_files:
{files}---

{rows:,} rows, written by `cmi data to-datasets`.
"""
_MAGIC = {b"RIFF": ".wav", b"fLaC": ".flac", b"OggS": ".ogg", b"ID3": ".mp3", b"\xff\xfb": ".mp3", b"FORM": ".aiff"}

Advance = Callable[[int], None]


class Converted(NamedTuple):
    rows: int
    recordings: int
    path: Path


def write_dataset(source: DataSource, out: Path, on_rows: Advance = lambda count: None) -> Converted:
    """Write rows and recordings as a folder that `datasets` loads."""
    require_packages("writing Hugging Face datasets", "plugs", "datasets", "pyarrow")
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    if (out / "README.md").exists():
        raise InputError(f"{out}: has a README.md already; choose another folder")
    survey = _survey(source)
    features = _features(survey.types, survey.sounds)
    schema = features.arrow_schema
    make_folder(out / "data")
    for left in (out / "data").iterdir():  # by a stopped command: README.md is written last
        left.unlink()
    for split, shards in survey.shards().items():
        rows = (_cells(row, features) for row in _rows(source) if _split_of(row) == split)
        for i, count in enumerate(shards):
            path = out / "data" / shard_name(split, i, len(shards))
            with whole_file(path) as unfinished, ParquetWriter(unfinished, schema) as writer:
                for group in _groups(islice(rows, count)):
                    writer.write_table(pyarrow.Table.from_pylist(group, schema))
                    on_rows(len(group))
    lines = (f"  - split: {split}\n    path: data/{split}-*\n" for split in survey.sizes)
    write_whole(out / "README.md", CARD.format(files="".join(lines), rows=survey.rows))
    return Converted(survey.rows, len(survey.recordings), out)


def _groups(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows in groups of recordings that fit in memory."""
    group: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        group.append(row)
        size += sum(len(row[name]["bytes"]) for name in RECORDINGS if name in row)
        if size > LARGEST_GROUP or len(group) == ROWS_AT_ONCE:
            yield group
            group, size = [], 0
    if group:
        yield group


class _Survey:
    """What one pass over the rows finds: the types of cells, and the bytes of each row's recordings, by split."""

    def __init__(self) -> None:
        self.types = CellTypes()
        self.sounds: set[str] = set()  # columns
        self.recordings: set[Path] = set()
        self.sizes: dict[str, list[int]] = {}

    @property
    def rows(self) -> int:
        return sum(map(len, self.sizes.values()))

    def shards(self) -> dict[str, list[int]]:
        """Return the number of rows in each file of a split, at most LARGEST_SHARD bytes or one row."""
        found: dict[str, list[int]] = {}
        for split, sizes in self.sizes.items():
            counts, room = list[int](), 0
            for size in sizes:
                if not counts or size > room:
                    counts.append(0)
                    room = LARGEST_SHARD
                counts[-1] += 1
                room -= size
            found[split] = counts
        return found


def _survey(source: DataSource) -> _Survey:
    survey = _Survey()
    for row in _rows(source):
        survey.types.add(_plain(row))
        sounds = _sounds(row)
        survey.sounds |= set(sounds)
        survey.recordings |= set(sounds.values())
        try:
            size = sum(path.stat().st_size for path in sounds.values())
        except OSError as error:
            raise InputError(f"{error.filename}: {error.strerror}") from error
        survey.sizes.setdefault(_split_of(row), []).append(size)
    if not survey.rows:
        raise InputError(f"{source.path}: no rows in it")
    return survey


def _rows(source: DataSource) -> Iterator[DataRow]:
    return (row for row in source.rows() if isinstance(row, DataRow))


def _split_of(row: DataRow) -> str:
    return split_file(str(row.cells.get("split", "")))


def _sounds(row: DataRow) -> dict[str, Path]:
    reference = row.prompt.reference
    return {**row.takes, **({"reference": reference} if isinstance(reference, Path) else {})}


def _plain(row: DataRow) -> dict[str, Any]:
    return {"id": row.id, "text": row.prompt.text, "lyrics": row.prompt.lyrics, **row.cells}


def _features(types: CellTypes, sounds: set[str]) -> "Features":
    from datasets import Audio, Features, Value

    plain = {name: Value({"double": "float64"}.get(types.of(name), types.of(name))) for name in types}
    return Features({**plain, **{name: Audio() for name in RECORDINGS if name in sounds}})


def _cells(row: DataRow, features: "Features") -> dict[str, Any]:
    from datasets import Value

    cells: dict[str, Any] = {}
    for name, value in _plain(row).items():
        is_text = features[name] == Value("string")
        cells[name] = json.dumps(value, ensure_ascii=False) if is_text and not isinstance(value, str) else value
    for name, path in _sounds(row).items():
        cells[name] = {"bytes": path.read_bytes(), "path": f"{path.stem[:80]}{path.suffix}"}
    return cells


def read_dataset(
    given: str,
    out: Path,
    config: str = "",
    split: str = "",
    revision: str | None = None,
    renamed: Mapping[str, str] | None = None,
    on_rows: Advance = lambda count: None,
) -> Converted:
    """Write a data set, by its name on the hub or as a folder, as a folder of recordings and a file of rows.

    Columns are ours, or `renamed` to ours (theirs -> ours); any other column is kept as x_NAME. A row with a and b is a
    pair or a preference, one with audio a take or a rating.
    """
    require_packages("reading Hugging Face datasets", "plugs", "datasets", "pyarrow")
    make_folder(out)
    # The library's cache takes folders of one name for each other.
    with TemporaryDirectory(prefix=".cmi-datasets-", dir=out) as cache:
        parts = _load(given, config, split, revision, cache if Path(given).is_dir() else None)
        names = _names(list(next(iter(parts.values())).features), renamed or {}, given)
        path = out / _file_name(set(names.values()), given)
        if path.exists():
            raise InputError(f"{path}: exists; choose another folder")
        recordings: set[Path] = set()
        rows = _read_rows(parts, names, given, out / "audio", recordings)
        write_rows(_counted(rows, on_rows), path)
    return Converted(sum(map(len, parts.values())), len(recordings), path)


def _read_rows(
    parts: "Mapping[str, Dataset]", names: Mapping[str, str], given: str, folder: Path, recordings: set[Path]
) -> Iterator[dict[str, Any]]:
    """Yield the rows in our columns, after their recordings are in the folder."""
    make_folder(folder)
    states_split = len(parts) > 1 and "split" not in names.values()
    for part, dataset in parts.items():
        for place, row in enumerate(_undecoded(dataset, names)):
            cells = {names[name]: value for name, value in row.items() if value is not None}
            for column in (name for name in RECORDINGS if name in cells):
                saved = _save(cells[column], folder, f"{given} {part} row {place}: {column!r}", Path(given))
                recordings.add(saved)
                cells[column] = f"{folder.name}/{saved.name}"
            yield cells | ({"split": part} if states_split else {})


def _counted(rows: Iterable[dict[str, Any]], on_rows: Advance) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield row
        on_rows(1)


def _load(given: str, config: str, split: str, revision: str | None, cache: str | None) -> "dict[str, Dataset]":
    from datasets import DatasetDict, load_dataset, load_from_disk

    try:
        with quiet_hub():
            if (Path(given) / "dataset_info.json").is_file() or (Path(given) / "dataset_dict.json").is_file():
                found = load_from_disk(given)
            else:
                found = load_dataset(given, config or None, revision=revision, cache_dir=cache)
    except Exception as error:  # the library raises its own errors, pyarrow's, the hub's and the system's
        raise InputError(f"{given}: `datasets` cannot load it: {reason_of(error)}") from error
    parts = dict(found) if isinstance(found, DatasetDict) else {str(found.split or "train"): found}
    if split and split not in parts:
        raise InputError(f"{given}: no split {split!r}; there are {', '.join(parts)}")
    chosen = {name: part for name, part in parts.items() if split in ("", name) and len(part)}
    if not chosen:
        raise InputError(f"{given}: no rows in it")
    return chosen


def _names(columns: list[str], renamed: Mapping[str, str], given: str) -> dict[str, str]:
    """Return our name of each column."""
    known = {*COLUMNS.main, *COLUMNS.others, *RATINGS.main, *RATINGS.others}
    if absent := [name for name in renamed if name not in columns]:
        raise InputError(f"{given}: no column {absent[0]!r}; there are {', '.join(columns)}")
    if strange := [name for name in renamed.values() if name not in known]:
        raise InputError(
            f"--rename: {strange[0]!r} is not a column that cmi knows: choose from {', '.join(sorted(known))}"
        )
    names = {
        name: renamed.get(name) or (name if name in known or name.startswith(OWN) else f"{OWN}{name}")
        for name in columns
    }
    if twice := [name for name, count in Counter(names.values()).items() if count > 1]:
        raise InputError(f"{given}: two columns would be called {twice[0]!r}; rename one with --rename")
    return names


def _file_name(columns: set[str], given: str) -> str:
    if {"a", "b"} <= columns:
        return FILES[0]
    if "audio" in columns:
        return RATING_FILES[0] if columns & set(RATED) else MANIFEST
    there = ", ".join(sorted(columns))
    raise InputError(
        f"{given}: neither 'a' and 'b' nor 'audio' among its columns ({there}); name them with --rename THEIRS=OURS"
    )


def _undecoded(dataset: "Dataset", names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the rows with recordings as bytes; decoding would need another package, and lose the file."""
    from datasets import Audio

    for name, kind in dataset.features.items():
        if isinstance(kind, Audio):
            dataset = dataset.cast_column(name, Audio(decode=False))
        elif names[name] in RECORDINGS and "bytes" not in str(kind):
            raise InputError(f"column {name!r} holds {kind}, expected recordings (Audio)")
    yield from dataset


def _save(sound: Any, folder: Path, where: str, given: Path) -> Path:
    """Write a recording under the hash of its bytes.

    A recording without bytes is a file: of the data set's folder, or one that the library fetched. No row may name
    another file of this machine.
    """
    from datasets.config import HF_CACHE_HOME

    content = sound.get("bytes") if isinstance(sound, dict) else None
    name = str(sound.get("path") or "") if isinstance(sound, dict) else ""
    if content is None:
        roots = [root.resolve() for root in (given, Path(HF_CACHE_HOME)) if root.is_dir()]
        file = Path(name).resolve()
        if not name or not file.is_file() or not any(file.is_relative_to(root) for root in roots):
            raise InputError(f"{where} has no audio bytes and no path to a file of the data set")
        content = file.read_bytes()
    suffix = Path(name).suffix.lower()
    if suffix not in AUDIO_SUFFIXES:
        suffix = next((kind for magic, kind in _MAGIC.items() if content.startswith(magic)), "")
    if not suffix:
        raise InputError(f"{where} is not in a known audio format, by its name or its first bytes")
    path = folder / f"{hashlib.sha256(content).hexdigest()}{suffix}"
    if not path.exists():
        write_whole(path, content)
    return path

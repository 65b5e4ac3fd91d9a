"""Rows of preferences, pairs, ratings, takes, prompts and known data sets, in one shape.

A source is given as on other command lines: the name of a data set, NAME=FOLDER, or a file or folder of your own.
Folders may hold preferences or ratings (a studio set, an arena's export, a judge's labels), takes.jsonl, what
`cmi data publish` wrote, or a subfolder of takes for each prompt.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.fields import is_nan, number_field
from cmi._util.records import read_table
from cmi.preferences import FILES, RATED, RATING_FILES, RATINGS, Preference, PreferenceRow, Rating, read_rows
from cmi.rewardbench.data import ALL, DataSet, data_sets, find, own, published, studio
from cmi.rewardbench.data.labels import EXACT_CONFIDENCE, labels_of
from cmi.rewardbench.data.parquet import PREPARED
from cmi.rewardbench.data.rows import LeftOut
from cmi.rewardbench.items import RatedItem
from cmi.take import PROMPT, TAKES, Audio, Prompt, read_prompts, take_rows

MANIFEST = "takes.jsonl"
_OF_FILES = (own.NAME, studio.NAME, published.NAME)  # data sets that are files in our own formats


class DataRow(NamedTuple):
    """A row: its prompt, its recordings by column (a and b, or audio) and its other cells, without empty ones."""

    id: str
    prompt: Prompt
    takes: dict[str, Path]
    cells: dict[str, Any]

    @property
    def systems(self) -> dict[str, str]:
        """The system that made each recording, by column; '' if it is not stated."""
        names = {"audio": "generator", "a": "generator_a", "b": "generator_b"}
        return {column: str(self.cells.get(names[column], "")) for column in self.takes}


@dataclass(frozen=True)
class DataSource:
    """Where rows come from: files in our formats, or a known data set with its folder."""

    name: str
    path: Path
    files: tuple[Path, ...] = ()
    dataset: DataSet | None = None

    @property
    def is_judged(self) -> bool:
        """Tell whether the labels are a model's, made by `cmi judge label`: raters are then not people."""
        return any((file.parent / "labels.json").is_file() for file in self.files)

    def rows(self) -> Iterator[DataRow | LeftOut]:
        """Yield the rows, and the reasons to leave others out."""
        if self.dataset is None:
            for file in self.files:
                for row in _rows_of_file(file):
                    if file.parent.name == PREPARED:
                        published.require_inside((*row.takes.values(), row.prompt.reference), file, row.id)
                    yield row
        else:
            for each in self.dataset.survey(self.path, ALL):
                yield from map(_row_of_label, labels_of(each)) if isinstance(each, RatedItem) else (each,)


def find_source(given: str, root: Path | None = None) -> DataSource:
    """Find a data set by name in `root`, NAME=FOLDER, or a file or folder."""
    name = given.partition("=")[0]
    if name not in data_sets() and Path(given).exists():
        path = Path(given)
    else:
        found = find(given, root)
        if found.dataset.name not in _OF_FILES:
            return DataSource(found.dataset.name, found.folder, dataset=found.dataset)
        path = found.folder
    return DataSource(path.resolve().name, path, tuple(_files(path)))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    labels = [next((path / name for name in names if (path / name).is_file()), None) for names in (FILES, RATING_FILES)]
    if found := [file for file in labels if file is not None]:
        return found
    if (path / MANIFEST).is_file():
        return [path / MANIFEST]
    return published.files(path) if (path / "data").is_dir() else [path]


def _rows_of_file(file: Path) -> Iterator[DataRow]:
    _, first = (None, {"a": "", "b": ""}) if file.is_dir() else next(read_table(file), ("", {}))
    if "a" in first and "b" in first:
        yield from map(_row_of_pair, read_rows(file))
    elif "audio" in first:
        for name, take, where, cells in take_rows(file, RATINGS):
            rated: dict[str, Any] = {axis: number_field(cells, axis, where) for axis in RATED}
            others = {column: value for column, value in cells.items() if column not in (*TAKES.main, *RATED)}
            yield DataRow(name, take.prompt, _paths(audio=take.audio), _present({**rated, **others}))
    elif any(column in first for column in PROMPT.main):
        for asked in read_prompts(file):
            yield DataRow(asked.id, asked.prompt, {}, _present({"split": asked.split, **asked.about}))
    elif first:
        raise InputError(
            f"{file}: neither 'a' and 'b' of pairs, nor 'audio' of takes, nor a prompt ({', '.join(first)})"
        )
    else:
        raise InputError(f"{file}: no row in it, expected preferences, pairs, ratings, takes or prompts")


def _row_of_label(label: Preference | Rating) -> DataRow:
    if isinstance(label, Preference):
        row = _row_of_pair(label)
        exact = row.cells.pop(EXACT_CONFIDENCE, None)
        return row if exact is None else row._replace(cells={**row.cells, "confidence": exact})
    rated: dict[str, Any] = dict(label.ratings.items())
    return DataRow(label.id, label.prompt, _paths(audio=label.take.audio), _present(rated | label.about))


def _row_of_pair(row: Preference | PreferenceRow) -> DataRow:
    said = {"axis": row.axis, "choice": row.choice, "confidence": row.confidence, "rater": row.rater}
    return DataRow(row.id, row.pair.prompt, _paths(a=row.pair.a, b=row.pair.b), _present({**said, **row.about}))


def _paths(**audio: Audio) -> dict[str, Path]:
    return {column: one for column, one in audio.items() if isinstance(one, Path)}


def _present(cells: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in cells.items() if value not in (None, "") and not is_nan(value)}

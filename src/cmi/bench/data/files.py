"""Finding and reading a data set's files. What can't be read is one sentence that names the file and the line."""

import csv
import io
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath

from cmi._util.errors import InputError
from cmi.audio import AUDIO_SUFFIXES


class Sounds:
    """The audio files under a folder, found by their names without folder and suffix.

    So a recording is found wherever the folder keeps it and however it was encoded. Links are followed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def paths(self) -> list[str]:
        """Every audio file, relative to the folder, in order."""
        files = (file for file in walk(self.folder) if file.suffix.lower() in AUDIO_SUFFIXES)
        return sorted(file.relative_to(self.folder).as_posix() for file in files)

    @cached_property
    def _by_name(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in self.paths:
            found.setdefault(Path(path).stem, path)
        return found

    def find(self, *names: str) -> str:
        """The file with the first of these names that is there; if none is, that first name itself."""
        return next((self._by_name[name] for name in names if name in self._by_name), names[0])

    def has(self, path: str) -> bool:
        """Is there such a file in the folder? A path that leads out of it is none."""
        parts = PurePosixPath(path).parts
        return ".." not in parts and parts[:1] != ("/",) and (self.folder / path).is_file()


def walk(folder: Path) -> Iterator[Path]:
    """Every visible file under a folder; a folder that links lead to twice is visited once."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    seen: set[str] = set()
    for parent, folders, files in os.walk(folder, followlinks=True):
        here = os.path.realpath(parent)
        if here in seen:
            folders.clear()
            continue
        seen.add(here)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(files) if not name.startswith("."))


def find_files(folder: Path, *patterns: str) -> list[Path]:
    """The files whose names match the first of the patterns that matches any; InputError if none does."""
    files = list(walk(folder))
    for pattern in patterns:
        if found := [file for file in files if file.match(pattern)]:
            return found
    raise InputError(f"{folder}: no file named {' or '.join(patterns)} under it")


def find_file(folder: Path, *patterns: str) -> Path:
    """The one file that is looked for; InputError if there are several."""
    found = find_files(folder, *patterns)
    if len(found) > 1:
        raise InputError(f"{folder}: both {found[0]} and {found[1]}; name the folder that holds one of them")
    return found[0]


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte 0x{error.object[error.start]:02x})") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def read_table(path: Path, columns: Sequence[str], delimiter: str = ",") -> Iterator[tuple[str, dict[str, str]]]:
    """Each row of a table that has a header, with its place for errors; cells are stripped of outer blanks.

    Every row has every one of `columns`. Between tabs, the last column may go on: it is then kept with its tabs.
    """
    reader = csv.reader(io.StringIO(read_text(path), newline=""), delimiter=delimiter)
    try:
        header = [name.strip() for name in next(reader, [])]
        if absent := [name for name in columns if name not in header]:
            raise InputError(f"{path} line 1: no column {' or '.join(map(repr, absent))}")
        for cells in reader:
            if not any(cells):
                continue
            cells = [cell.strip() for cell in cells]
            if len(cells) < len(header) or (len(cells) > len(header) and delimiter != "\t"):
                raise InputError(f"{path} line {reader.line_num}: {len(cells)} cells, expected {len(header)}")
            row = dict(zip(header, cells, strict=False))
            row[header[-1]] = "\t".join(cells[len(header) - 1 :])
            yield f"{path} line {reader.line_num}", row
    except csv.Error as error:
        raise InputError(f"{path} line {reader.line_num}: {error}") from error


def number(text: str, place: str) -> float:
    """A finite number; InputError names the place."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value - value != 0:
        raise InputError(f"{place}: {text[:40]!r} is no number")
    return value

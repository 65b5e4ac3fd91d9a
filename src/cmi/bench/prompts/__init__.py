"""The wordings of questions: one file per question, in which each table is a variant.

    major, minor        what kind of task it is, as the authors' records have it
    [plain]             a variant by its name, with its `wording`; `few_shot = true` if it gives examples of answers

In a wording, {labels} stands for the data set's classes.

All wordings are ours. Those of the paper come with the authors' annotation files (`cmi bench data make released`).
"""

from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from cmi._util.config import check_config, read_table
from cmi._util.errors import InputError

if TYPE_CHECKING:
    from cmi.bench.catalog import BenchDataset


@dataclass(frozen=True)
class TaskKind:
    major: str
    minor: str


@dataclass(frozen=True)
class Wording:
    wording: str
    few_shot: bool = False

    def __post_init__(self) -> None:
        if not self.wording.strip():
            raise ValueError("has an empty 'wording'")


@dataclass(frozen=True)
class Wordings:
    """The wordings of a data set's question."""

    name: str
    major: str
    minor: str
    variants: dict[str, Wording]

    def variant(self, name: str) -> Wording:
        if name not in self.variants:
            raise InputError(f"no prompt variant {name!r} for {self.name}; there are {', '.join(self.variants)}")
        return self.variants[name]


def wordings_of(dataset: "BenchDataset", folder: Path | None = None) -> Wordings:
    """Return the wordings of a data set, or those in a file of the same name in `folder`."""
    own = dataset.prompts
    name = own if isinstance(own, str) else own.name
    path = folder / f"{name}.toml" if folder else None
    if folder and not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    if path and path.exists():
        return read_wordings(path, name, dataset.classes)
    if isinstance(own, Wordings):
        return own
    return read_wordings(files("cmi.bench.prompts").joinpath(f"{name}.toml"), name, dataset.classes)


def read_wordings(path: Path | Traversable, name: str, labels: tuple[str, ...]) -> Wordings:
    """Read wordings from a file."""
    where = str(path) if isinstance(path, Path) else path.name
    table = read_table(path, where)
    kind = check_config({key: table.pop(key) for key in ("major", "minor") if key in table}, TaskKind, where)
    stated = check_config(table, dict[str, Wording], where)
    if not stated:
        raise InputError(f"{where}: no variant, such as a table [plain] with a 'wording'")
    listed = ", ".join(labels)
    variants = {
        key: replace(one, wording=one.wording.strip().replace("{labels}", listed)) for key, one in stated.items()
    }
    return Wordings(name, kind.major, kind.minor, variants)

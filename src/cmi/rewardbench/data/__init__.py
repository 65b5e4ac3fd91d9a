"""The data sets of the benchmark: their sources and readers.

On the command line a data set is NAME, a folder in `data_folder()`; NAME=FOLDER; or the path of a file of your own.
"""

import os
import pkgutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol

from cmi._util.cache import cache_folder
from cmi._util.errors import InputError
from cmi.report.tables import Table
from cmi.rewardbench.data.rows import LeftOut
from cmi.rewardbench.items import RatedItem

HUB = "https://huggingface.co"
TABLE_1 = ("pam", "musiceval", "music-arena", "cmi-pref", "cmi-pref-pseudo")


class Reader(Protocol):
    """The interface of this package's modules. `split` None is all splits; the default is the benchmark's split."""

    def read(self, folder: Path, split: str | None = ...) -> Iterator[RatedItem]: ...

    def survey(self, folder: Path, split: str | None = ...) -> Iterator[RatedItem | LeftOut]: ...


@dataclass(frozen=True)
class DataSet:
    """A data set and its source.

    It is downloaded from `hub`, an id on the hub, or from `url`, an archive or a file, or by a `recipe`, from public
    repositories (`cmi.rewardbench.data.recipes`). `files` are patterns of the files that we need, `size` is the stated
    size of the download in bytes, and `samples` and `tested` (used by the benchmark) are from the paper's Table 1.
    """

    name: str
    title: str
    licence: str
    origin: str
    hub: str = ""
    url: str = ""
    recipe: bool = False
    files: tuple[str, ...] = ("*",)
    size: int | None = None
    samples: int | None = None
    tested: int | None = None

    @property
    def is_downloadable(self) -> bool:
        return bool(self.hub or self.url or self.recipe)

    @property
    def reader(self) -> Reader:
        return import_module(f"{__name__}.{self.name.replace('-', '_')}")


class DataSets(Mapping[str, DataSet]):
    """The data sets by name: those of the paper's Table 1 first. Each is the `DATA_SET` of a module of this package."""

    @cached_property
    def _found(self) -> dict[str, DataSet]:
        names = [module.name for module in pkgutil.iter_modules(__path__)]
        modules = [import_module(f"{__name__}.{name}") for name in names]
        found: list[DataSet] = [module.DATA_SET for module in modules if hasattr(module, "DATA_SET")]
        order = {name: place for place, name in enumerate(TABLE_1)}
        return {
            each.name: each for each in sorted(found, key=lambda each: (order.get(each.name, len(order)), each.name))
        }

    def __getitem__(self, name: str) -> DataSet:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


DATA_SETS = DataSets()


class Found(NamedTuple):
    """A data set and its folder."""

    dataset: DataSet
    folder: Path


def data_folder() -> Path:
    """Return the folder of data sets: $CMI_DATA, or `data` in `cmi._util.cache.cache_folder()`."""
    own = os.environ.get("CMI_DATA")
    return Path(own).expanduser() if own else cache_folder() / "data"


def named(name: str) -> DataSet:
    """Return the data set of that name; InputError if there is none."""
    if name not in DATA_SETS:
        raise InputError(f"no data set is called {name!r}, expected one of {', '.join(DATA_SETS)}")
    return DATA_SETS[name]


def find(given: str, root: Path | None = None) -> Found:
    """Find a data set: NAME in `root` (by default `data_folder()`), NAME=FOLDER, or a file."""
    name, equals, folder = given.partition("=")
    if equals:
        found = Found(named(name), Path(folder))
    elif name in DATA_SETS:
        found = Found(DATA_SETS[name], (data_folder() if root is None else root) / name)
    elif Path(given).exists():
        found = Found(DATA_SETS["own"], Path(given))
    else:
        raise InputError(f"{given!r} is neither a file nor a data set; those are {', '.join(DATA_SETS)}")
    if not found.folder.exists():
        get = f"cmi data get {found.dataset.name}" if found.dataset.is_downloadable else found.dataset.origin
        raise InputError(f"{found.dataset.name}: not at {found.folder}; {get}")
    return found


class Counts(NamedTuple):
    """The numbers of rows kept, rows left out by reason, and items without their recordings."""

    kept: int
    left_out: dict[str, int]
    absent: int

    @property
    def rows(self) -> int:
        return self.kept + sum(self.left_out.values())


def count(found: Iterable[RatedItem | LeftOut]) -> Counts:
    """Count rows, and the items whose recordings are missing."""
    left_out: Counter[str] = Counter()
    kept = absent = 0
    for each in found:
        if isinstance(each, LeftOut):
            left_out[each.reason] += 1
        else:
            kept += 1
            sounds = (*each.takes, each.prompt.reference)
            absent += any(isinstance(sound, Path) and not sound.exists() for sound in sounds)
    return Counts(kept, dict(sorted(left_out.items())), absent)


def counts_table(dataset: DataSet, counts: Counts) -> Table:
    """Return the counts beside those of the paper's Table 1."""
    rows = [["rows", f"{counts.rows:,}", _paper(dataset.samples)]]
    rows += [[f"left out: {reason}", f"{number:,}", ""] for reason, number in counts.left_out.items()]
    rows += [["kept", f"{counts.kept:,}", _paper(dataset.tested)]]
    notes = [f"{counts.absent:,} of those kept name a recording that is missing."] if counts.absent else []
    return Table(dataset.name, ["", "here", "paper"], rows, notes=notes)


def _paper(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"

"""The data sets of the benchmark: their sources and readers.

On the command line a data set is NAME, a folder in `data_folder()`; NAME=FOLDER; or the path of a file of your own.
"""

import os
import pkgutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from cmi._util.cache import cache_folder
from cmi._util.errors import InputError
from cmi.report import numbers
from cmi.report.tables import Table
from cmi.rewardbench.data.rows import LeftOut, of_split
from cmi.rewardbench.items import RatedItem

HUB = "https://huggingface.co"
ALL = "all"  # splits
TABLE_1 = ("pam", "musiceval", "music-arena", "cmi-pref", "cmi-pref-pseudo")


@dataclass(frozen=True)
class DataSet:
    """A data set and its source.

    It is downloaded from `hub`, an id on the hub, or from `url`, an archive or a file, or by a `recipe`, from public
    repositories (`cmi.rewardbench.data.recipes`). `files` are patterns of the files that we need, `size` is the stated
    size of the download in bytes, and `samples` and `tested` (used by the benchmark) are from the paper's Table 1.
    `split` is the benchmark's; with `draws_split`, splits are drawn by prompt if no row states one.

    The module of the data set reads it: `rows(folder)` yields its items, and the reasons to leave others out.
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
    split: str = "test"
    draws_split: bool = False

    @property
    def is_downloadable(self) -> bool:
        return bool(self.hub or self.url or self.recipe)

    def survey(self, folder: Path, split: str = "") -> Iterator[RatedItem | LeftOut]:
        """Yield each row of a split, or of ALL; by default of the benchmark's split."""
        module = import_module(f"{__name__}.{self.name.replace('-', '_')}")
        rows, wanted = module.rows(folder), split or self.split
        if wanted == ALL:
            return iter(rows)
        return of_split(module.with_splits(rows) if self.draws_split else rows, wanted)

    def read(self, folder: Path, split: str = "") -> Iterator[RatedItem]:
        return (each for each in self.survey(folder, split) if isinstance(each, RatedItem))


@cache
def data_sets() -> dict[str, DataSet]:
    """Return the data sets by name: those of the paper's Table 1 first. Each is the `DATA_SET` of a module here."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    modules = [import_module(f"{__name__}.{name}") for name in names]
    found = {module.DATA_SET.name: module.DATA_SET for module in modules if hasattr(module, "DATA_SET")}
    return {name: found[name] for name in (*TABLE_1, *sorted(found.keys() - set(TABLE_1)))}


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
    known = data_sets()
    if name not in known:
        raise InputError(f"no data set is called {name!r}, expected one of {', '.join(known)}")
    return known[name]


def find(given: str, root: Path | None = None) -> Found:
    """Find a data set: NAME in `root` (by default `data_folder()`), NAME=FOLDER, or a file."""
    name, equals, folder = given.partition("=")
    if equals:
        found = Found(named(name), Path(folder))
    elif name in data_sets():
        found = Found(data_sets()[name], (data_folder() if root is None else root) / name)
    elif Path(given).exists():
        found = Found(data_sets()["own"], Path(given))
    else:
        raise InputError(f"{given!r} is neither a file nor a data set; those are {', '.join(data_sets())}")
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
    rows = [["rows", numbers.count(counts.rows), numbers.count(dataset.samples)]]
    rows += [[f"left out: {reason}", numbers.count(number), ""] for reason, number in counts.left_out.items()]
    rows += [["kept", numbers.count(counts.kept), numbers.count(dataset.tested)]]
    notes = [f"{counts.absent:,} of those kept name a recording that is missing."] if counts.absent else []
    return Table(dataset.name, ["", "here", "paper"], rows, notes=notes)

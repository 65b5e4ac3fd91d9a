"""The data sets of CMI-Bench: a lazy registry of the modules in `cmi.bench.data`.

A corpus is what its publisher distributes; one or several data sets are made from it. A data set names its task, a
module of `cmi.bench.tasks`. To add a corpus or a task, add one file to either package.
"""

import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from cmi._util.config import read_config
from cmi._util.errors import InputError
from cmi.bench.prompts import Wordings

if TYPE_CHECKING:
    from cmi.bench.data._reading import LabelledClip, Sounds

    CorpusReader = Callable[[Path, Sounds], Iterator[LabelledClip]]


@dataclass(frozen=True)
class BenchDataset:
    """One data set, as the authors name it in their files."""

    name: str
    row: str  # its row in Table 3 of the paper, or a new one after those
    task: str  # its module in cmi.bench.tasks
    size: int  # test items, by Table 1 of the paper
    prompts: str | Wordings  # a file of cmi.bench.prompts without its .toml, or the wordings themselves
    classes: tuple[str, ...] = ()  # the possible labels; empty if answers are free text
    is_multi_label: bool = False  # an answer may name any number of the classes
    clip: str = ""  # a regular expression for the end of an audio path that numbers the clips of a recording

    def recording(self, audio_path: str) -> str:
        """Return the recording that a clip was cut from, judging by its path."""
        return re.sub(self.clip, "", audio_path) if self.clip else audio_path


@dataclass(frozen=True, kw_only=True)
class CorpusDescription:
    """The description of a corpus."""

    title: str
    datasets: tuple[BenchDataset, ...]
    licence: str
    where: str
    verified: str  # what our records were compared with
    notes: tuple[str, ...] = ()  # how its records differ from the paper's


@dataclass(frozen=True, kw_only=True)
class Corpus(CorpusDescription):
    """A collection of files and the data sets that are made from it."""

    name: str  # as typed on the command line
    read: "CorpusReader"  # all questions of all splits, with or without audio


@cache
def _descriptions() -> dict[str, CorpusDescription]:
    return read_config(files("cmi.bench.data").joinpath("corpora.toml"), dict[str, CorpusDescription])


def describe(name: str, read: "CorpusReader", classes: tuple[str, ...] = ()) -> Corpus:
    """Return the corpus that `corpora.toml` describes under `name`, with `classes` if the file has none."""
    corpus = Corpus(name=name, read=read, **vars(_descriptions()[name]))
    return replace(corpus, datasets=tuple(replace(one, classes=one.classes or classes) for one in corpus.datasets))


class Catalog(Mapping[str, BenchDataset]):
    """The data sets by name, in the order of the published table. Modules are imported on first use."""

    @cached_property
    def corpora(self) -> dict[str, Corpus]:
        """The corpora by name, in the order of their first data sets; those without a data set come last."""
        package = import_module("cmi.bench.data")
        names = [module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_")]
        found: list[Corpus] = [import_module(f"{package.__name__}.{name}").CORPUS for name in names]
        order = _published_order()
        found.sort(key=lambda c: min((order.get(d.row, len(order)) for d in c.datasets), default=len(order) + 1))
        return {corpus.name: corpus for corpus in found}

    @cached_property
    def _datasets(self) -> dict[str, BenchDataset]:
        order = _published_order()
        every = [dataset for corpus in self.corpora.values() for dataset in corpus.datasets]
        return {d.name: d for d in sorted(every, key=lambda d: order.get(d.row, len(order)))}

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The rows of the table; EMO is one row of two data sets."""
        return tuple(dict.fromkeys(dataset.row for dataset in self.values()))

    @cached_property
    def multi_label(self) -> tuple[str, ...]:
        """The names of the data sets of tags."""
        return tuple(dataset.name for dataset in self.values() if dataset.is_multi_label)

    def __getitem__(self, name: str) -> BenchDataset:
        return self._datasets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._datasets)

    def __len__(self) -> int:
        return len(self._datasets)


DATASETS = Catalog()


def _published_order() -> dict[str, int]:
    from cmi.bench.scoring.tables import published_rows

    rows = dict.fromkeys(line.row for line in published_rows())
    return {row: place for place, row in enumerate(rows)}


def find_corpus(name: str) -> Corpus:
    """Return the corpus of that name; the InputError lists the known names."""
    corpus = DATASETS.corpora.get(name.lower().replace("_", "-"))
    if corpus is None:
        raise InputError(f"no data set is named {name!r}; there are {', '.join(DATASETS.corpora)}")
    return corpus


def split_name(stem: str) -> tuple[str, BenchDataset] | None:
    """Split a file's stem into a prefix and a data set: `ltu_as_GTZAN` is (`ltu_as`, GTZAN)."""
    for dataset in sorted(DATASETS.values(), key=lambda d: -len(d.name)):
        head, tail = stem[: -len(dataset.name)], stem[-len(dataset.name) :]
        if tail.lower() == dataset.name.lower() and (not head or head[-1] in "_-"):
            return head.rstrip("_-"), dataset
    return None

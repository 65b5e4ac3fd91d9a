"""Read takes from manifests and folders into one pool.

A manifest    rows as `cmi.take.read_takes` reads them; `generator` is the take's system, and a take without one is of
              a system without a name. `cmi generate` and `cmi studio generate` write such files, called takes.jsonl; a
              folder that holds one stands for it.
A folder      of takes, one subfolder for each prompt (`cmi.take.read_take_folders`); a file is named after its system.

Takes of one prompt are those with the same text, lyrics and reference, whatever file they come from.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cmi._util.errors import InputError
from cmi._util.fields import text_field
from cmi._util.printable import printable
from cmi.take import TAKES, Prompt, read_take_folders, take_rows

MANIFESTS = ("takes.jsonl", "takes.csv", "takes.parquet")


class PooledTake(NamedTuple):
    """A take with the number of its prompt in the pool."""

    path: Path
    prompt: int
    system: str
    sha256: str  # according to the manifest; '' if it does not say
    split: str


@dataclass
class TakePool:
    """Takes and their prompts, each prompt once: a hundred thousand takes of long lyrics fit in memory."""

    prompts: list[Prompt]
    takes: list[PooledTake]

    @property
    def systems(self) -> list[str]:
        return sorted({take.system for take in self.takes})


def read_pool(sources: Iterable[Path]) -> TakePool:
    """Read the takes of manifests and folders."""
    pool = TakePool([], [])
    numbers: dict[Prompt, int] = {}
    for source in sources:
        before = len(pool.takes)
        for prompt, path, system, sha256, split in _read(source):
            number = numbers.setdefault(prompt, len(numbers))
            if number == len(pool.prompts):
                pool.prompts.append(prompt)
            pool.takes.append(PooledTake(path, number, system, sha256, split))
        if len(pool.takes) == before:
            raise InputError(f"{source}: no takes in it")
    return pool


def _read(source: Path) -> Iterator[tuple[Prompt, Path, str, str, str]]:
    if not source.exists():
        raise InputError(f"{source}: no such file or folder")
    manifest = next((source / name for name in MANIFESTS if (source / name).is_file()), source)
    if manifest.is_dir():
        for _, prompt, files in read_take_folders(manifest):
            yield from ((prompt, file, printable(file.stem), "", "") for file in files)
        return
    for _, take, where, row in take_rows(manifest, TAKES):
        system, sha256, split = (text_field(row, name, where) for name in ("generator", "sha256", "split"))
        assert isinstance(take.audio, Path)
        yield take.prompt, take.audio, system, sha256, split

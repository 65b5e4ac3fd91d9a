"""A folder that `cmi data publish` wrote, here or on the hub.

Layout
    data/SPLIT-*.parquet         preferences or ratings, in the common format (`cmi.preferences`)
    data/recordings-*.parquet    each recording once; rows name it by its content: audio/SHA256.flac
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from cmi.rewardbench.data import ALL, DataSet, own
from cmi.rewardbench.data.parquet import prepare
from cmi.rewardbench.data.rows import inside
from cmi.rewardbench.items import RatedItem
from cmi.take import Audio

NAME = "published"
RECORDINGS = "recordings"
DATA_SET = DataSet(
    NAME,
    "what `cmi data publish` wrote",
    "yours",
    "name its folder: published=FOLDER",
    split=ALL,
)


def files(folder: Path) -> list[Path]:
    """Unpack the recordings, and return the files of rows beside them: one for each split."""
    return [file for file in sorted(prepare(folder).glob("*.jsonl")) if file.stem != RECORDINGS]


def rows(folder: Path) -> Iterator[RatedItem]:
    for file in files(folder):
        for item in own.rows(file, NAME):
            require_inside((*item.takes, item.prompt.reference), file, item.id)
            yield item


def require_inside(sounds: Iterable[Audio | None], file: Path, name: str) -> None:
    """InputError if a row names a recording outside of the data set: a stranger must not name files of this machine."""
    for sound in sounds:
        if isinstance(sound, Path):
            given = sound.relative_to(file.parent) if sound.is_relative_to(file.parent) else sound
            inside(file.parent, given.as_posix(), f"{file} row {name!r}")

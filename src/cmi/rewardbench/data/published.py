"""A folder that `cmi data publish` wrote, here or on the hub.

Layout
    data/SPLIT-*.parquet         preferences or ratings, in the common format (`cmi.preferences`)
    data/recordings-*.parquet    each recording once; rows name it by its content: audio/SHA256.flac
"""

from collections.abc import Iterator
from pathlib import Path

from cmi.rewardbench.data import ALL, DataSet, own
from cmi.rewardbench.data.parquet import prepare
from cmi.rewardbench.data.rows import inside
from cmi.rewardbench.items import RatedItem

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
            for audio in (*item.takes, item.prompt.reference):
                if isinstance(audio, Path):  # a stranger's file must not name files of this machine
                    given = audio.relative_to(file.parent) if audio.is_relative_to(file.parent) else audio
                    inside(file.parent, given.as_posix(), f"{file} item {item.id!r}")
            yield item

"""GTZAN: one of ten genres (Tzanetakis and Cook 2002), in the fault-filtered split of Kereliuk, Sturm and Larsen 2015.

Files
    <genre>.<number>.wav or .au     1000 excerpts of 30 s, `blues.00000` and so on

The filtered split leaves out repetitions, mislabelled and distorted excerpts, and keeps artists apart; `jazz.00054`,
which is broken in most copies, is left out as well: 442 train, 197 dev, 290 test.
"""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

from cmi._util.config import read_config
from cmi.bench.catalog import describe
from cmi.bench.data._reading import LabelledClip, Sounds

SECONDS = 30.0


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    for name, split in splits().items():
        genre = name.partition(".")[0]
        yield LabelledClip("GTZAN", name, genre, sounds.find(name), 0.0, SECONDS, split)


@cache
def splits() -> dict[str, str]:
    """Return the split of each excerpt of the filtered set: `blues.00029` is `train`."""
    table = read_config(files("cmi.bench.data").joinpath("gtzan_split.toml"), dict[str, dict[str, str]])
    return {
        f"{genre}.{number:05d}": split
        for split, genres in table.items()
        for genre, ranges in genres.items()
        for number in _numbers(ranges)
    }


def _numbers(ranges: str) -> Iterator[int]:
    """'0-2 7' is 0, 1, 2, 7."""
    for part in ranges.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


CORPUS = describe("gtzan", read)

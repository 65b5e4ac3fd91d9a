"""MusicCaps: captions of ten-second clips from AudioSet (Agostinelli et al. 2023).

Files
    musiccaps-public.csv        one clip a row
    <ytid>.wav                  the ten seconds that the row names, cut from the video; audio is not published with it

Test are the clips of AudioSet's evaluation set: 2858, of which the paper's authors could still get 2813.
"""

from collections.abc import Iterator
from pathlib import Path

from cmi._util.errors import InputError
from cmi.bench.catalog import describe
from cmi.bench.data._reading import LabelledClip, Sounds, find_file, read_table

TABLE = "musiccaps-public.csv"
SECONDS = 10.0
_SPLITS = {"true": "test", "false": "train"}


def read_captions(table: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the id, the caption and the split of each clip."""
    for place, row in read_table(table, ["ytid", "caption", "is_audioset_eval"]):
        split = _SPLITS.get(row["is_audioset_eval"].lower())
        if split is None:
            raise InputError(f"{place}: 'is_audioset_eval' is {row['is_audioset_eval']!r}, expected True or False")
        yield row["ytid"], row["caption"], split


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    for clip, caption, split in read_captions(find_file(folder, TABLE)):
        yield LabelledClip("MusicCaps", clip, caption, sounds.find(clip), 0.0, SECONDS, split)


CORPUS = describe("musiccaps", read)

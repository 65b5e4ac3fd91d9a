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

SECONDS = 10.0
_SPLITS = {"true": "test", "false": "train"}


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    table = find_file(folder, "musiccaps-public.csv")
    for place, row in read_table(table, ["ytid", "caption", "is_audioset_eval"]):
        split = _SPLITS.get(row["is_audioset_eval"].lower())
        if split is None:
            raise InputError(f"{place}: 'is_audioset_eval' is {row['is_audioset_eval']!r}, expected True or False")
        yield LabelledClip("MusicCaps", row["ytid"], row["caption"], sounds.find(row["ytid"]), 0.0, SECONDS, split)


CORPUS = describe("musiccaps", read)

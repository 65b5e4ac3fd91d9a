"""MTG-Jamendo: tags of full tracks (Bogdanov et al. 2019): genres, instruments, moods and themes, the 50 most frequent.

Files
    data/splits/split-0/autotagging_<subset>-<split>.tsv    github.com/MTG/mtg-jamendo-dataset
    48/948.mp3 or 48/948.low.mp3                            the tracks, whole or as `raw_30s/audio-low`

A folder that holds some of the four subsets gives these. The first 30 s of a track are asked about.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from cmi.bench.catalog import describe
from cmi.bench.data._reading import LabelledClip, Sounds, find_files, read_table

SECONDS = 30.0
SUBSETS = {
    "genre": "MTG_genre",
    "instrument": "MTG_instrument",
    "moodtheme": "MTG_emotion",
    "top50tags": "MTG_top50tags",
}

_FILE = re.compile(r"autotagging_([a-z0-9]+)-(train|validation|test)")


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    for path in find_files(folder, "split-0/autotagging_*.tsv"):
        named = _FILE.fullmatch(path.stem)
        if not named or named[1] not in SUBSETS:
            continue
        split = "dev" if named[2] == "validation" else named[2]
        for _, row in read_table(path, ["TRACK_ID", "PATH", "TAGS"], "\t"):
            track = Path(row["PATH"]).stem
            audio, tags = sounds.find(track, f"{track}.low"), names(row["TAGS"])
            yield LabelledClip(SUBSETS[named[1]], row["TRACK_ID"], tags, audio, 0.0, SECONDS, split)


def names(tags: str) -> str:
    """'genre---rock<tab>genre---indie' is 'indie, rock'."""
    return ", ".join(sorted(tag.rpartition("---")[2] for tag in tags.split("\t") if tag))


CORPUS = describe("mtg-jamendo", read)

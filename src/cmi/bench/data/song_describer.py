"""Song Describer (SDD): captions of two-minute excerpts from MTG-Jamendo (Manco et al. 2023).

Files
    song_describer.csv                      one caption a row
    audio/34/1004034.2min.mp3               the excerpts

Each of the 1106 captions of 706 tracks is a question of its own about the first 30 s; all are the test split.
"""

from collections.abc import Iterator
from pathlib import Path

from cmi.bench.catalog import describe
from cmi.bench.data._reading import LabelledClip, Sounds, find_file, read_table

SECONDS = 30.0


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    for _, row in read_table(find_file(folder, "song_describer.csv"), ["caption_id", "caption", "path"]):
        track = Path(row["path"]).stem
        audio = sounds.find(f"{track}.2min", track)
        yield LabelledClip("SDD", row["caption_id"], row["caption"], audio, 0.0, SECONDS)


CORPUS = describe("song-describer", read)

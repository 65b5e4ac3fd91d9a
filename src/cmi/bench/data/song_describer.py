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

TABLE = "song_describer.csv"
SECONDS = 30.0


def read_captions(table: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the id and the words of each caption, and the path of its track."""
    for _, row in read_table(table, ["caption_id", "caption", "path"]):
        yield row["caption_id"], row["caption"], row["path"]


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    for name, caption, path in read_captions(find_file(folder, TABLE)):
        track = Path(path).stem
        yield LabelledClip("SDD", name, caption, sounds.find(f"{track}.2min", track), 0.0, SECONDS)


CORPUS = describe("song-describer", read)

"""MagnaTagATune: any of the 50 most frequent tags (Law et al. 2009).

Files
    annotations_final.csv       tab-separated: a clip a row, a tag a column, `mp3_path` last
    <0-9a-f>/<clip>.mp3         29-second clips in sixteen folders

Folders 0 to b are train, c is dev, d to f are test: 5329 clips, of which 997 have none of the 50 tags and so an empty
answer; the paper counts them. Tags are named in the order of their frequency.
"""

from collections.abc import Iterator
from pathlib import Path

from cmi._util.errors import InputError
from cmi.bench.catalog import describe
from cmi.bench.data._reading import LabelledClip, Sounds, find_file, read_table

SECONDS = 30.0
TAGS = tuple(
    "guitar,classical,slow,techno,strings,drums,electronic,rock,fast,piano,ambient,beat,violin,vocal,synth,female,"
    "indian,opera,male,singing,vocals,no vocals,harpsichord,loud,quiet,flute,woman,male vocal,no vocal,pop,soft,sitar,"
    "solo,man,classic,choir,voice,new age,dance,male voice,female vocal,beats,harp,cello,no voice,weird,country,metal,"
    "female voice,choral".split(",")
)

_FOLDERS = dict.fromkeys("0123456789ab", "train") | {"c": "dev"} | dict.fromkeys("def", "test")


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    table = find_file(folder, "annotations_final.csv")
    for place, row in read_table(table, ["clip_id", *TAGS, "mp3_path"], "\t"):
        path = row["mp3_path"]
        split = _FOLDERS.get(path[:1])
        if split is None or path[1:2] != "/":
            raise InputError(f"{place}: 'mp3_path' is {path[:40]!r}, expected a folder from 0 to f and a file")
        tags = ", ".join(tag for tag in TAGS if row[tag] == "1")
        yield LabelledClip("MTT", row["clip_id"], tags, sounds.find(Path(path).stem), 0.0, SECONDS, split)


CORPUS = describe("magnatagatune", read, tuple(sorted(TAGS)))

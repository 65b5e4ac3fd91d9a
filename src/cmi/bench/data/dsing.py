"""DSing: lyrics of sung lines (Roa Dabike and Barker 2019), from Smule's DAMP Sing! 300x30x2.

Files
    DSing Preconstructed/test.csv       github.com/groadabike/Kaldi-Dsing-task: recording, start, end and text of a line
    <recording>.m4a                     from Smule, on application; m4a needs the codec extra to be decoded

The benchmark asks about the 482 lines of the test split.
"""

from collections.abc import Iterator
from pathlib import Path

from cmi.bench.catalog import describe
from cmi.bench.data._reading import LabelledClip, Sounds, find_file, number, read_table


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    table = find_file(folder, "DSing Preconstructed/test.csv", "test.csv")
    for place, row in read_table(table, ["utterance_id", "recording", "start", "end", "text"]):
        start, end = (number(row[name], place) for name in ("start", "end"))
        yield LabelledClip(
            "DSing", row["utterance_id"], row["text"], sounds.find(Path(row["recording"]).stem), start, end
        )


CORPUS = describe("dsing", read)

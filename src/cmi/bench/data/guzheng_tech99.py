"""Guzheng_Tech99: playing techniques of the guzheng, note by note (Li et al. 2023).

Files
    data/label/<split>/<number>.csv     onset_time, offset_time, IPT, note
    data/audio/<split>/<number>.flac    99 solo pieces

Clips are 10 s, from 0 to the last note; an event belongs to the clip in which it begins. The truth is on the
recording's clock. Splits are the data set's own; its `validation` keeps that name, as in the released annotations.

Technique names follow the released annotations, which differ from the data set's card: they drop `boxian`, the plain
pluck that the card calls Plucks, and call `lianmo` and `liantuo` Plucks, which the card counts as Glissando.
"""

from collections.abc import Iterator
from pathlib import Path

from cmi._util.errors import InputError
from cmi.bench.catalog import describe
from cmi.bench.data._reading import LabelledClip, Sounds, clips_of_events, find_files, number, read_table
from cmi.bench.tasks import playing_technique

SECONDS = 10.0
SPLITS = ("train", "validation", "test")
TECHNIQUES = {
    "chanyin": "Vibrato",
    "dianyin": "Point Note",
    "shanghua": "Upward Portamento",
    "xiahua": "Downward Portamento",
    "huazhi": "Glissando",
    "guazou": "Glissando",
    "lianmo": "Plucks",
    "liantuo": "Plucks",
    "yaozhi": "Tremolo",
    "boxian": None,
}
NONE_HEARD = str([("0.0", "10.0", "No Tech")])

Note = tuple[float, float, str | None]  # onset, offset, technique


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    for path in find_files(folder, "label/*/*.csv"):
        split = path.parent.name
        notes = list(_notes(path)) if split in SPLITS else []
        for clip, places in clips_of_events([onset for onset, _, _ in notes], SECONDS):
            truth, id_ = written([notes[place] for place in places]), f"{path.stem}-{clip.start:.0f}"
            yield LabelledClip("Guzheng_Tech", id_, truth, sounds.find(path.stem), clip.start, clip.end, split)


def _notes(path: Path) -> Iterator[Note]:
    for place, row in read_table(path, ["onset_time", "offset_time", "IPT"]):
        if row["IPT"] not in TECHNIQUES:
            raise InputError(f"{place}: technique {row['IPT'][:40]!r} is none of: {', '.join(TECHNIQUES)}")
        yield number(row["onset_time"], place), number(row["offset_time"], place), TECHNIQUES[row["IPT"]]


def written(notes: list[Note]) -> str:
    events = [(f"{onset:.4f}", f"{offset:.4f}", technique) for onset, offset, technique in notes if technique]
    return str(events) if events else NONE_HEARD


CORPUS = describe("guzheng-tech99", read, playing_technique.TECHNIQUES)

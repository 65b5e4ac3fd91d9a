"""MedleyDB melody: the fundamental frequency of the melody, wherever it moves (Bittner et al. 2014, definition 2).

Files
    melody2/<track>_MELODY2.csv         a line every 5.8 ms: seconds, hertz (0 where there is no melody)
    audio/<track>_MIX.wav               the mixes

Clips are 10 s. The truth lists each frame as (seconds with four decimals, MIDI number), on the recording's clock;
MIDI 0 is silence. Splits are those of MARBLE: 26 tracks test, 15 dev, the others train.
"""

import math
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from cmi._util.config import read_config
from cmi._util.errors import InputError
from cmi._util.records import read_text
from cmi.bench.catalog import describe
from cmi.bench.data._reading import LabelledClip, Sounds, clips_of_events, find_files, number

SECONDS = 10.0
Frame = tuple[float, float]  # seconds, hertz


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    splits = read_config(files("cmi.bench.data").joinpath("medleydb_split.toml"), dict[str, list[str]])
    for path in find_files(folder, "*_MELODY2.csv"):
        track = path.stem.removesuffix("_MELODY2")
        split = next((split for split, tracks in splits.items() if track in tracks), "train")
        frames = parse(read_text(path), path)
        for clip, places in clips_of_events([time for time, _ in frames], SECONDS):
            if places:
                truth = written([frames[place] for place in places])
                id_ = f"{track}-{clip.start:.0f}"
                yield LabelledClip("MedleyDB", id_, truth, sounds.find(f"{track}_MIX"), clip.start, clip.end, split)


def parse(text: str, name: str | Path = "melody") -> list[Frame]:
    """Parse a melody file; the InputError names a bad line."""
    frames = []
    for i, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        values = [number(cell, f"{name} line {i}") for cell in line.split(",")]
        if len(values) != 2 or min(values) < 0:
            raise InputError(f"{name} line {i}: {line.strip()[:40]!r}, expected seconds and hertz")
        frames.append((values[0], values[1]))
    return frames


def written(frames: list[Frame]) -> str:
    return str([(f"{time:.4f}", midi(hertz)) for time, hertz in frames])


def midi(hertz: float) -> int:
    """Return the nearest MIDI number; 0 for silence."""
    return round(12 * math.log2(hertz / 440) + 69) if hertz else 0


CORPUS = describe("medleydb", read)

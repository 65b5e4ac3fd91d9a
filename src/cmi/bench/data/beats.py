"""Beat files: one beat a line, its time in seconds and, where known, its place in the bar (1 for a downbeat).

The truth is rounded to 10 ms, as in the released annotations. These list all beats of the file, also the few after the
30 s that a listener is given; so do we.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cmi._util.errors import InputError
from cmi.bench.data.example import Example
from cmi.bench.data.files import number, read_text

SECONDS = 30.0


class Beat(NamedTuple):
    time: float
    place: int | None  # in the bar, from 1


def parse(text: str, name: str | Path = "beats") -> list[Beat]:
    """The beats that a file lists, in its order; InputError names the line that is none."""
    beats = []
    for i, line in enumerate(text.splitlines(), 1):
        cells = line.split()
        if not cells:
            continue
        values = [number(cell, f"{name} line {i}") for cell in cells]
        if len(values) > 2 or values[0] < 0:
            raise InputError(f"{name} line {i}: {line.strip()[:40]!r}, expected a time and a place in the bar")
        beats.append(Beat(values[0], int(values[1]) if len(values) == 2 else None))
    return beats


def written(times: list[float]) -> str:
    """Times as an answer gives them: '0.5s,1.02s'."""
    return ",".join(f"{round(time * 100) / 100}s" for time in times)


def examples(path: Path, prefix: str, id_: str, audio: str, split: str) -> Iterator[Example]:
    """One question about the beats of a file and, if it marks downbeats, one about these."""
    beats = parse(read_text(path), path)
    downbeats = [beat for beat in beats if beat.place == 1]
    for question, asked in (("beat", beats), ("downbeat", downbeats)):
        if asked:
            times = written([beat.time for beat in asked])
            yield Example(f"{prefix}_{question}", id_, times, audio, 0.0, SECONDS, split)

"""What every data set comes down to: a clip of a recording and the answer that is true of it."""

from typing import NamedTuple


class Example(NamedTuple):
    """One question of one data set, before it is put into words."""

    dataset: str  # its name in cmi.bench.catalog
    id: str  # of this question, unique within the data set
    output: str  # the expected answer, as the authors write it
    audio: str  # relative to the audio folder; a name that is not there if the recording is missing
    start: float = 0.0  # seconds into the recording
    end: float | None = None  # None: to the end
    split: str = "test"
    wording: str = ""  # the question that came with it; empty: ours

"""The authors' annotation files with their test audio, as they are: their questions, their truths, their spans.

Files
    CMI_<data set>.jsonl or .jsonl.gz       one record a line
    <what follows data/ in `audio_path`>    the audio folder may be the `data` or `testdata` folder, or hold it

Records get the ids that answers to the whole files are joined by: `<data set>/<k>` for the k-th record of its split.
"""

from collections.abc import Iterator
from pathlib import Path

from cmi.bench.catalog import DATASETS, describe
from cmi.bench.data._reading import LabelledClip, Sounds
from cmi.bench.scoring.responses import audio_key, find_annotations, read_instructions


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    for dataset, path in find_annotations(folder).items():
        for id_, asked in read_instructions(path, DATASETS[dataset], all_splits=True):
            span = asked.audio_start, asked.audio_end
            audio = locate(asked.audio_path, sounds)
            yield LabelledClip(dataset, id_, asked.output, audio, *span, asked.split, asked.instruction)


def locate(audio_path: str, sounds: Sounds) -> str:
    """Return a record's recording in the audio folder; if it is missing, its path within the data."""
    tail = audio_key(audio_path)
    return next((path for path in (tail, f"testdata/{tail}", f"data/{tail}", audio_path) if sounds.has(path)), tail)


CORPUS = describe("released", read)

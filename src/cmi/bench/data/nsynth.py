"""NSynth: the instrument family and the MIDI pitch of a single note (Engel et al. 2017).

Files
    nsynth-test/examples.json           what is known of each note
    nsynth-test/audio/<note>.wav        4 s each

The benchmark asks about the 4096 notes of NSynth's own test split.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.records import read_json
from cmi.bench.catalog import describe
from cmi.bench.data._reading import LabelledClip, Sounds, find_file

QUESTIONS = {"Nsynth_instrument": "instrument_family_str", "Nsynth_pitch": "pitch"}


def read(folder: Path, sounds: Sounds) -> Iterator[LabelledClip]:
    path = find_file(folder, "nsynth-test/examples.json", "examples.json")
    notes = read_json(path)
    if not isinstance(notes, dict):
        raise InputError(f"{path}: expected an object that holds an object for each note")
    for note, facts in notes.items():
        for dataset, field in QUESTIONS.items():
            yield LabelledClip(dataset, note, _fact(path, note, facts, field), sounds.find(note))


def _fact(path: Path, note: str, facts: Any, field: str) -> str:
    value = facts.get(field) if isinstance(facts, dict) else None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"{path}: note {note!r} has no {field!r}")
    return str(value)


CORPUS = describe("nsynth", read)

"""Make a small MIR set with exact truth in CMI-Bench's layout: key, beats, downbeats, melody, pitch, instrument.

    annotations/CMI_GS_key.jsonl, CMI_gtzan_beat.jsonl, ...    instructions about the studio's clips (`Instruction`)
    audio/                                                     30 s of composed pieces, 4 s of single notes
    settings.json                                              the seed and the seconds that the set was made with

`cmi bench score ANSWERS --annotations FOLDER/annotations` scores answers as for published sets. The truth comes from
the notes, not from an analysis.
"""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cmi._util.files import claim, make_folder, write_whole
from cmi.bench.instruction import Instruction
from cmi.features.key import TONICS
from cmi.studio.compose import compose
from cmi.studio.piece import Attributes, InstrumentPart, MusicalKey, Note, Piece, even_beats
from cmi.studio.recordings import RATE, SECONDS, write_flac
from cmi.studio.render import render

NOTE_SECONDS = 4
# NSynth's families, with programs whose recordings are in tune and have a fast attack.
FAMILIES = {
    "bass": 33, "brass": 56, "guitar": 24, "keyboard": 0, "organ": 16, "reed": 71, "string": 40, "synth_lead": 80,
}  # fmt: skip
LOWEST, HIGHEST = 43, 81  # MIDI pitches of single notes

PROMPTS = {
    "GS_key": "Name the key of this music, one of the 24 major and minor keys, for example: A minor",
    "gtzan_beat": "List the times of all beats in seconds, in this format: 0.5s,1.0s,1.5s",
    "gtzan_downbeat": "List the times of all downbeats in seconds, in this format: 0.5s,2.5s,4.5s",
    "MedleyDB": "Write the melody as a list of (seconds, MIDI pitch), for example: [(0.0, 60), (0.5, 62)]",
    "Nsynth_pitch": "Which MIDI pitch sounds? Middle C is 60.",
    "Nsynth_instrument": f"Which instrument family plays: {', '.join(FAMILIES)}?",
}


class MirClip(NamedTuple):
    name: str
    piece: Piece
    seconds: int
    answers: dict[str, str]  # by data set


def make_mir_set(
    folder: Path, count: int, seed: int, on_made: Callable[[], None] = lambda: None, seconds: int = SECONDS
) -> dict[str, int]:
    """Write `count` pieces and as many single notes; return the number of instructions per data set.

    Existing audio is kept. InputError if the folder has a set of another seed or length.
    """
    claim(folder, {"seed": seed, "seconds": seconds}, "cmi studio mir")
    for name in ("audio", "annotations"):
        make_folder(folder / name)
    records: dict[str, list[str]] = {name: [] for name in PROMPTS}
    for clip in _clips(count, seed, seconds):
        path = folder / "audio" / f"{clip.name}.flac"
        if not path.exists():
            write_flac(render(clip.piece, RATE)[: clip.seconds * RATE], path)
        for dataset, answer in clip.answers.items():
            place = f"audio/{path.name}", 0.0, float(clip.seconds)
            uuid = f"{dataset}-{clip.name}"
            asked = Instruction(PROMPTS[dataset], answer, *place, source="cmi studio", uuid=uuid)
            records[dataset].append(json.dumps(asked.to_record()) + "\n")
        on_made()
    for dataset, lines in records.items():
        write_whole(folder / "annotations" / f"CMI_{dataset}.jsonl", "".join(lines))
    return {dataset: len(lines) for dataset, lines in records.items()}


def _clips(count: int, seed: int, seconds: int) -> Iterator[MirClip]:
    rng = random.Random(f"cmi.studio.mir {seed}")  # noqa: S311
    for i in range(count):
        piece = compose(rng.randrange(2**31), seconds=seconds)
        yield MirClip(f"piece{i:04d}", piece, seconds, piece_answers(piece, seconds))
    for i in range(count):
        family, pitch = rng.choice(list(FAMILIES)), rng.randint(LOWEST, HIGHEST)
        note = single_note(FAMILIES[family], pitch)
        yield MirClip(f"note{i:04d}", note, NOTE_SECONDS, {"Nsynth_pitch": str(pitch), "Nsynth_instrument": family})


def piece_answers(piece: Piece, seconds: int) -> dict[str, str]:
    """The true answers about the first `seconds`."""
    melody = next(part for part in piece.parts if part.role == "melody")
    return {
        "GS_key": f"{TONICS[piece.key.tonic]} {piece.key.mode}",
        "gtzan_beat": _times(piece.beats[:-1], seconds),
        "gtzan_downbeat": _times(piece.downbeats, seconds),
        "MedleyDB": str(melody_of(piece, melody, seconds)),
    }


def melody_of(piece: Piece, part: InstrumentPart, seconds: int = SECONDS) -> list[tuple[float, int]]:
    """Onset and pitch of each note; the highest of simultaneous ones."""
    tops: dict[float, int] = {}
    for note, start in zip(part.notes, np.round(piece.clock([n.start for n in part.notes]), 3).tolist(), strict=True):
        tops[start] = max(note.pitch, tops.get(start, 0))
    return [(start, pitch) for start, pitch in sorted(tops.items()) if start < seconds]


def single_note(program: int, pitch: int) -> Piece:
    part = InstrumentPart("melody", "instrument", program, (Note(0, NOTE_SECONDS - 1, pitch, 100),))
    about = Attributes("single note", "plain", 60.0, "sparse")
    return Piece(f"note {pitch}", (part,), even_beats(NOTE_SECONDS, 60.0), 4, MusicalKey(pitch % 12, "major"), about)


def _times(times: tuple[float, ...], seconds: int) -> str:
    return ",".join(f"{round(time, 3)}s" for time in times if time < seconds)

"""Reads compositions with free licences as notes, into one small file, for `train_composition.py`.

    python recipes/nano/pieces.py PIECES.npz --pop909 DIR --nottingham DIR --scores lieder=DIR quartets=DIR \\
        --midi simutrans=DIR openttd=DIR blupi=DIR freedink=DIR freedoom=DIR

Sources
    POP909 (MIT, music-x-lab/POP909-Dataset): the folder of songs; beats as annotated there
    Nottingham (GPL-3, jukedeck/nottingham-dataset): the folder of MIDI files
    scores: folders of MusicXML, as OpenScore's Lieder and StringQuartets (CC0)
    midi: folders of MIDI files or of games' WAD files, as those of Debian's simutrans-data (Artistic), openttd-openmsx
        (GPL-2), planetblupi-music-midi (GPL-3), freedink-data (several), freedoom (BSD)

A piece is rows of notes (start and length in beats, pitch, velocity, part), the times of beats, beats in a bar, and a
General MIDI program for each part (-1: drums). Repeats are played once; grace notes are left out. At most LONGEST beats
of a piece are kept, from its middle.
"""

import argparse
import hashlib
import io
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

LONGEST = 320  # beats
TICKS = 48  # of a beat
FEWEST = 24  # notes
STEPS = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
Array = NDArray[np.float32]


class Written(NamedTuple):
    """A composition."""

    source: str
    name: str
    notes: Array  # (n, 5): start, length, pitch, velocity, part; sorted
    beats: Array  # (b + 1,), seconds
    metre: int
    programs: tuple[int, ...]  # of each part; -1 is drums


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--pop909", type=Path)
    parser.add_argument("--nottingham", type=Path)
    parser.add_argument("--scores", nargs="*", default=[], metavar="NAME=DIR")
    parser.add_argument("--midi", nargs="*", default=[], metavar="NAME=DIR")
    arguments = parser.parse_args()
    found = list(read_all(arguments))
    write_pieces(arguments.out, found)
    for source in sorted({piece.source for piece in found}):
        own = [piece for piece in found if piece.source == source]
        print(f"{source}: {len(own)} pieces, {sum(len(piece.notes) for piece in own)} notes")


def read_all(arguments: argparse.Namespace) -> Iterator[Written]:
    if arguments.pop909:
        for folder in sorted(path for path in arguments.pop909.iterdir() if path.is_dir()):
            marked = np.loadtxt(folder / "beat_midi.txt", ndmin=2)
            midi = (folder / f"{folder.name}.mid").read_bytes()
            yield from _kept(read_midi(midi, "pop909", folder.name, marked))
    if arguments.nottingham:
        for path in sorted(arguments.nottingham.glob("*.mid")):
            yield from _kept(read_midi(path.read_bytes(), "nottingham", path.stem))
    for named in arguments.scores:
        source, folder = named.split("=")
        for path in sorted(Path(folder).rglob("*.mxl")):
            yield from _kept(read_musicxml(path, source))
    for named in arguments.midi:
        source, folder = named.split("=")
        for path in sorted(Path(folder).rglob("*")):
            if path.suffix.lower() == ".mid":
                yield from _kept(read_midi(path.read_bytes(), source, path.stem))
            elif path.suffix.lower() == ".wad":
                for name, midi in read_wad(path.read_bytes()):
                    yield from _kept(read_midi(midi, source, name))


def read_midi(content: bytes, source: str, name: str, marked: NDArray[np.float64] | None = None) -> Written | None:
    """A MIDI file; `marked` are rows of seconds, and 1 in the last column where a bar begins."""
    import pretty_midi  # type: ignore[import-untyped]
    from mido import KeySignatureError  # type: ignore[import-untyped]

    try:
        midi = pretty_midi.PrettyMIDI(io.BytesIO(content))
    except (OSError, ValueError, KeyError, IndexError, EOFError, KeySignatureError):
        return None
    end = midi.get_end_time()
    metre = midi.time_signature_changes[0].numerator if midi.time_signature_changes else 4
    if marked is not None:
        first = int(np.argmax(marked[:, 2] > 0))
        beats, metre = marked[first:, 0], 4
    else:
        count = int(midi.time_to_tick(end) / midi.resolution) + 2
        beats = np.array([midi.tick_to_time(i * midi.resolution) for i in range(count)])
    if len(beats) < 16 or metre not in (2, 3, 4, 6):
        return None
    rows: list[Array] = []
    programs: list[int] = []
    for part in midi.instruments:
        played = [(note.start, note.end, note.pitch, note.velocity) for note in part.notes if note.start >= beats[0]]
        if not played:
            continue
        own = np.array(played, float)
        places = np.interp(own[:, :2], beats, np.arange(len(beats)))
        rows.append(np.column_stack([places[:, 0], places[:, 1] - places[:, 0], own[:, 2:], _all(len(own), len(rows))]))
        programs.append(-1 if part.is_drum else int(part.program))
    return Written(source, name, _sorted(rows), beats.astype(np.float32), metre, tuple(programs)) if rows else None


def read_wad(content: bytes) -> Iterator[tuple[str, bytes]]:
    """The MIDI files of a game's archive."""
    count, table = struct.unpack("<ii", content[4:12])
    for place in range(table, table + 16 * count, 16):
        begin, size, name = struct.unpack("<ii8s", content[place : place + 16])
        if content[begin : begin + 4] == b"MThd":
            yield name.rstrip(b"\0").decode("latin-1"), content[begin : begin + size]


def read_musicxml(path: Path, source: str) -> Written | None:
    """A compressed MusicXML file; each staff is a part."""
    with zipfile.ZipFile(path) as archive:
        inner = next(name for name in archive.namelist() if name.endswith(".xml") and not name.startswith("META"))
        root = ElementTree.fromstring(archive.read(inner))  # noqa: S314
    metre = int(root.findtext(".//time/beats", "4").split("+")[0])
    quarters = 4 / int(root.findtext(".//time/beat-type", "4"))  # in a beat
    tempo = next((float(sound.attrib["tempo"]) for sound in root.iter("sound") if "tempo" in sound.attrib), 100.0)
    if metre in (6, 9, 12) and quarters == 0.5:
        metre, quarters = metre // 3, 1.5
    if metre not in (2, 3, 4, 6):
        return None
    rows: list[Array] = []
    for part in root.iter("part"):
        staves: dict[str, list[list[float]]] = {}
        held: dict[tuple[str, int], list[float]] = {}
        at, divisions = 0.0, 1.0
        for measure in part.iter("measure"):
            begin = last = longest = at
            for element in measure:
                if element.tag == "attributes":
                    divisions = float(element.findtext("divisions", str(divisions)))
                length = float(element.findtext("duration", "0")) / divisions / quarters
                if element.tag == "backup":
                    at -= length
                elif element.tag == "forward":
                    at += length
                elif element.tag == "note":
                    start = last if element.find("chord") is not None else at
                    _write(element, start, length, staves, held)
                    last, at = start, start + length if element.find("chord") is None else at
                longest = max(longest, at)
            at = longest if longest > begin else begin
        rows += [np.array([*own]) for own in staves.values() if own]
    rows = [np.column_stack([own, _all(len(own), i)]) for i, own in enumerate(rows)]
    if not rows:
        return None
    last_beat = int(max((own[:, 0] + own[:, 1]).max() for own in rows)) + 2
    beats = np.arange(last_beat) * 60 / (tempo / quarters)
    return Written(source, path.stem, _sorted(rows), beats.astype(np.float32), metre, (0,) * len(rows))


def _write(
    element: ElementTree.Element,
    start: float,
    length: float,
    staves: dict[str, list[list[float]]],
    held: dict[tuple[str, int], list[float]],
) -> None:
    """Add a note to its staff, or to the note that it is tied to."""
    step = element.findtext("pitch/step")
    if step is None or not length or element.find("cue") is not None:
        return
    alter = float(element.findtext("pitch/alter", "0"))
    pitch = 12 * (int(element.findtext("pitch/octave", "4")) + 1) + STEPS[step] + round(alter)
    staff, ties = element.findtext("staff", "1"), {tie.attrib.get("type") for tie in element.iter("tie")}
    before = held.get((staff, pitch))
    if "stop" in ties and before is not None and abs(before[0] + before[1] - start) < 0.01:
        before[1] += length
    else:
        before = [start, length, float(pitch), 80.0]
        staves.setdefault(staff, []).append(before)
    held[staff, pitch] = before


def _all(count: int, value: int) -> Array:
    return np.full(count, value, np.float32)


def _sorted(rows: list[Array]) -> Array:
    notes = np.concatenate(rows).astype(np.float32)
    return notes[np.lexsort((notes[:, 2], notes[:, 4], notes[:, 0]))]


def _kept(piece: Written | None) -> Iterator[Written]:
    """At most LONGEST beats, if there are notes enough."""
    if piece is None:
        return
    bars = max(0, (len(piece.beats) - 1 - LONGEST) // 2 // piece.metre)
    first = bars * piece.metre
    inside = (piece.notes[:, 0] >= first) & (piece.notes[:, 0] < first + LONGEST)
    notes = piece.notes[inside] - np.array([first, 0, 0, 0, 0], np.float32)
    notes[:, 1] = np.clip(notes[:, 1], 1 / TICKS, 16)
    beats = piece.beats[first : first + LONGEST + 1] - piece.beats[first]
    if len(notes) >= FEWEST and notes[:, 0].max() >= 16:
        yield piece._replace(notes=notes, beats=beats)


def write_pieces(path: Path, pieces: list[Written]) -> None:
    notes = np.concatenate([piece.notes for piece in pieces])
    starts = [np.diff(np.round(piece.notes[:, 0] * TICKS), prepend=0) for piece in pieces]
    np.savez_compressed(
        path,
        names=np.array([f"{piece.source}/{piece.name}" for piece in pieces]),
        counts=np.array([len(piece.notes) for piece in pieces], np.int32),
        starts=np.concatenate(starts).astype(np.uint16),
        lengths=np.round(notes[:, 1] * TICKS).clip(1).astype(np.uint16),
        rest=notes[:, 2:].T.astype(np.uint8),
        beat_counts=np.array([len(piece.beats) - 1 for piece in pieces], np.int32),
        beats=np.concatenate([np.diff(piece.beats) for piece in pieces]).astype(np.float16),
        metres=np.array([piece.metre for piece in pieces], np.uint8),
        part_counts=np.array([len(piece.programs) for piece in pieces], np.int32),
        programs=np.concatenate([piece.programs for piece in pieces]).astype(np.int16),
    )


def read_pieces(path: Path) -> list[Written]:
    with np.load(path) as stored:
        kept = {name: stored[name] for name in stored.files}
    note_ends, beat_ends, part_ends = (np.cumsum(kept[name]) for name in ("counts", "beat_counts", "part_counts"))
    pieces = []
    for i, name in enumerate(kept["names"].tolist()):
        own = slice(note_ends[i] - kept["counts"][i], note_ends[i])
        starts = np.cumsum(kept["starts"][own], dtype=np.int64) / TICKS
        notes = np.column_stack([starts, kept["lengths"][own] / TICKS, kept["rest"][:, own].T]).astype(np.float32)
        lengths = kept["beats"][beat_ends[i] - kept["beat_counts"][i] : beat_ends[i]].astype(np.float32)
        programs = kept["programs"][part_ends[i] - kept["part_counts"][i] : part_ends[i]].tolist()
        source, _, rest = name.partition("/")
        beats = np.concatenate([[0], np.cumsum(lengths)]).astype(np.float32)
        pieces.append(Written(source, rest, notes, beats, int(kept["metres"][i]), tuple(programs)))
    return pieces


def is_test(piece: Written, share: float = 0.15) -> bool:
    """Whether a piece is only for tests, by a hash of its name."""
    return int(hashlib.sha256(f"{piece.source}/{piece.name}".encode()).hexdigest()[:8], 16) < share * 2**32


if __name__ == "__main__":
    main()

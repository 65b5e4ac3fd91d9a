"""Pieces from music21's corpus: Bach's chorales and the fiddle tunes of Ryan's Mammoth Collection.

Notes, lengths, parts, metre and bars are the score's, with ties joined and repeats played once. A pickup is preceded by
rests, so bars begin on every `metre`th beat. A beat is the metre's: a dotted quarter in 6/8. The key is the one stated;
scores in which music21's analysis finds another, or that do not end on the tonic, are not on the list. Missing tempos,
instruments and mood are those of the kind; all notes have one velocity.
"""

import importlib.util
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.config import read_config
from cmi._util.errors import InputError, MissingExtra
from cmi.studio.piece import (
    INSTRUMENTS,
    Attributes,
    Density,
    InstrumentPart,
    MusicalKey,
    Note,
    Piece,
    Role,
    by_start,
    even_beats,
)

VELOCITY = 80


class Kind(NamedTuple):
    suffix: str
    style: str
    mood: str
    tempo: float  # beats a minute, if the score has no mark
    instrument: str
    titles: tuple[str, ...]


KINDS = read_config(files("cmi.studio") / "corpus.toml", dict[str, Kind])
SPARSE, BUSY = 1.5, 3.5  # onsets a second


def corpus_names() -> list[str]:
    """Names for `read_score`: 'bach/bwv10.7', 'ryansMammoth/AlbemarleHornpipe', ..."""
    return [f"{folder}/{title}" for folder, kind in KINDS.items() for title in kind.titles]


def repeated(piece: Piece, seconds: float) -> Piece:
    """Repeat the piece until it lasts at least `seconds`."""
    times, count, length = -(-seconds // piece.seconds), len(piece.beats) - 1, piece.seconds
    if times <= 1:
        return piece
    rounds = range(int(times))
    parts = tuple(
        replace(part, notes=tuple(n._replace(start=n.start + i * count) for i in rounds for n in part.notes))
        for part in piece.parts
    )
    beats = (*(beat + i * length for i in rounds for beat in piece.beats[:-1]), times * length)
    return replace(piece, parts=parts, beats=beats)


def read_score(name: str) -> Piece:
    """Read a score of the corpus as a piece."""
    kind, path = _locate(name)
    try:
        from music21 import converter
    except ImportError as error:
        raise MissingExtra("music21's corpus", "studio") from error
    score: Any = converter.parse(path, forceSource=True, storePickle=False)  # music21 would keep a copy in /tmp
    metre, beat, lead = _metre(name, score)
    parts = [part for part in score.parts if part.recurse().notes]
    notes = [_notes(part, beat, lead) for part in parts]
    bars = max(-(-(note.start + note.length - 1e-6) // metre) for part in notes for note in part)
    tempo = _tempo(score, beat) or kind.tempo
    beats = even_beats(int(bars) * metre, tempo)
    return Piece(
        name=name,
        parts=tuple(_part(kind, i, len(parts), played) for i, played in enumerate(notes)),
        beats=beats,
        metre=metre,
        key=_key(name, score),
        attributes=Attributes(kind.style, kind.mood, tempo, _density(notes, beats[-1])),
    )


def _locate(name: str) -> tuple[Kind, Path]:
    package = importlib.util.find_spec("music21")
    if package is None or not package.submodule_search_locations:
        raise MissingExtra("music21's corpus", "studio")
    folder, _, title = name.partition("/")
    kind = KINDS.get(folder)
    if kind is None or name not in corpus_names():
        raise InputError(f"{name!r} is not one of the corpus's scores in corpus_names()")
    return kind, Path(package.submodule_search_locations[0]) / "corpus" / folder / f"{title}{kind.suffix}"


def _metre(name: str, score: Any) -> tuple[int, float, float]:
    """Beats in a bar, quarters in a beat, and beats of rest before a pickup."""
    top = score.parts[0]
    signatures = {signature.ratioString: signature for signature in top.recurse().getElementsByClass("TimeSignature")}
    if len(signatures) != 1:
        raise InputError(f"{name}: {len(signatures)} metres, expected one")
    signature = next(iter(signatures.values()))
    beat = float(signature.beatDuration.quarterLength)
    pickup = float(top.getElementsByClass("Measure").first().duration.quarterLength) / beat
    metre = int(signature.beatCount)
    return metre, beat, metre - pickup if pickup < metre else 0.0


def _key(name: str, score: Any) -> MusicalKey:
    stated = score.recurse().getElementsByClass("Key").first()
    if stated is None or stated.mode not in ("major", "minor"):
        raise InputError(f"{name}: states no major or minor key")
    return MusicalKey(stated.tonic.pitchClass, stated.mode)


def _notes(part: Any, beat: float, lead: float) -> tuple[Note, ...]:
    """A part's notes in beats, without grace notes."""
    return by_start(
        Note(float(element.offset) / beat + lead, float(element.quarterLength) / beat, pitch.midi, VELOCITY)
        for element in part.stripTies().flatten().notes
        if element.quarterLength and element.classes[0] != "ChordSymbol"
        for pitch in element.pitches
    )


def _tempo(score: Any, beat: float) -> float | None:
    mark = score.recurse().getElementsByClass("MetronomeMark").first()
    quarters = mark.getQuarterBPM() if mark else None
    return float(quarters) / beat if quarters else None


def _part(kind: Kind, index: int, parts: int, notes: tuple[Note, ...]) -> InstrumentPart:
    role: Role = "melody" if index == 0 else "bass" if index == parts - 1 else "harmony"
    return InstrumentPart(role, kind.instrument, INSTRUMENTS[kind.instrument].program, notes)


def _density(notes: list[tuple[Note, ...]], seconds: float) -> Density:
    """Classify by distinct note onsets per second."""
    onsets = len({round(note.start, 3) for part in notes for note in part}) / seconds
    return "sparse" if onsets < SPARSE else "busy" if onsets > BUSY else "moderate"

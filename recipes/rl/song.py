"""Songs as tokens: how a song is recorded and who plays, then its notes bar by bar.

    BEGIN  FLAW [STRENGTH]  TEMPO  METRE  (INSTRUMENT ROLE)+  (BAR (POSITION (PART PITCH LENGTH LOUDNESS)+)*)+  END

FLAW and STRENGTH say what the studio does to the take: the generator is free to ask for a good or a bad recording, and
what it asked for is known. A note's position is in twelfths of a beat, so that triplets and sixteenths are exact.
`ALLOWED` says which token may follow which, so that whatever is sampled is a song; `read_song` reads any tokens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple, get_args

import numpy as np

from cmi.studio.flaws import FLAWS
from cmi.studio.pairs import NOT_USED
from cmi.studio.piece import INSTRUMENTS, Attributes, InstrumentPart, MusicalKey, Note, Piece, Role, even_beats

TICKS = 12  # of a beat
MOST_PARTS = 6
MOST_BARS = 16
CLEAN = "clean"
STRENGTHS = (0.25, 0.5, 0.75, 1.0)
TEMPOS = tuple(range(40, 221, 4))
METRES = (3, 4)
LENGTHS = (1, 2, 3, 4, 5, 6, 8, 9, 11, 12, 14, 17, 20, 24, 30, 36, 47)  # ticks
LOUDNESSES = tuple(range(48, 128, 10))  # velocities
FLAW_NAMES = (CLEAN, *(name for name in FLAWS if name not in NOT_USED))
DRUMS = "drums"
PLAYERS = (*(name for name in INSTRUMENTS if name != DRUMS), DRUMS)
ROLES: tuple[Role, ...] = get_args(Role)

VALUES: dict[str, Sequence[Any]] = {
    "PAD": [0],
    "BEGIN": [0],
    "END": [0],
    "FLAW": FLAW_NAMES,
    "STRENGTH": STRENGTHS,
    "TEMPO": TEMPOS,
    "METRE": METRES,
    "INSTRUMENT": PLAYERS,
    "ROLE": ROLES,
    "BAR": [0],
    "POSITION": range(TICKS * max(METRES)),
    "PART": range(MOST_PARTS),
    "PITCH": range(128),
    "LENGTH": LENGTHS,
    "LOUDNESS": LOUDNESSES,
}
KINDS = tuple(VALUES)
KIND_OF = np.array([place for place, kind in enumerate(KINDS) for _ in VALUES[kind]])  # (vocabulary,)
FIRST = {kind: int(np.argmax(place == KIND_OF)) for place, kind in enumerate(KINDS)}
PAD, BEGIN, END, BAR = (FIRST[kind] for kind in ("PAD", "BEGIN", "END", "BAR"))
VOCABULARY = len(KIND_OF)
_FOLLOWS = {
    "PAD": "PAD",
    "BEGIN": "FLAW",
    "END": "PAD",
    "FLAW": "STRENGTH TEMPO",
    "STRENGTH": "TEMPO",
    "TEMPO": "METRE",
    "METRE": "INSTRUMENT",
    "INSTRUMENT": "ROLE",
    "ROLE": "INSTRUMENT BAR",
    "BAR": "POSITION BAR END",
    "POSITION": "PART",
    "PART": "PITCH",
    "PITCH": "LENGTH",
    "LENGTH": "LOUDNESS",
    "LOUDNESS": "PART POSITION BAR END",
}


class Production(NamedTuple):
    flaw: str = CLEAN
    strength: float = 0.0


@dataclass(frozen=True)
class Song:
    piece: Piece
    production: Production


def token(kind: str, value: object) -> int:
    return FIRST[kind] + list(VALUES[kind]).index(value)


def nearest(kind: str, value: float) -> int:
    known = np.array([float(one) for one in VALUES[kind]])
    return FIRST[kind] + int(np.argmin(abs(known - value)))


def _allowed() -> np.ndarray:
    """(vocabulary, vocabulary): whether the second may follow the first."""
    by_kind = np.array([[other in _FOLLOWS[kind].split() for other in KINDS] for kind in KINDS])
    table = by_kind[KIND_OF][:, KIND_OF]
    clean = token("FLAW", CLEAN)
    flawed = np.array([token("FLAW", name) for name in FLAW_NAMES if name != CLEAN])
    table[clean, KINDS.index("STRENGTH") == KIND_OF] = False
    table[np.ix_(flawed, np.flatnonzero(KINDS.index("TEMPO") == KIND_OF))] = False
    return table


ALLOWED = _allowed()


def write_song(song: Song, bars: int) -> list[int]:
    """The tokens of a song's first bars; notes are moved to the nearest value that there is a token for."""
    piece, production = song.piece, song.production
    tokens = [BEGIN, token("FLAW", production.flaw)]
    if production.flaw != CLEAN:
        tokens.append(nearest("STRENGTH", production.strength))
    tokens += [nearest("TEMPO", piece.attributes.tempo), token("METRE", piece.metre)]
    parts = piece.parts[:MOST_PARTS]
    for part in parts:
        tokens += [token("INSTRUMENT", DRUMS if part.role == "drums" else part.instrument), token("ROLE", part.role)]
    notes = sorted((round(note.start * TICKS), place, note) for place, part in enumerate(parts) for note in part.notes)
    length = piece.metre * TICKS
    for bar in range(min(bars, (len(piece.beats) - 1) // piece.metre)):
        tokens.append(BAR)
        within = [one for one in notes if bar * length <= one[0] < (bar + 1) * length]
        for tick, together in groupby(within, key=lambda one: one[0]):
            tokens.append(token("POSITION", tick - bar * length))
            for _, place, note in together:
                tokens += [token("PART", place), token("PITCH", note.pitch)]
                tokens += [nearest("LENGTH", note.length * TICKS), nearest("LOUDNESS", note.velocity)]
    return [*tokens, END]


def read_song(tokens: Sequence[int]) -> Song:
    """The song of any tokens: what is out of place is passed over, so that every song can be played."""
    production, tempo, metre = Production(), 120, 4
    players: list[tuple[str, Role]] = []
    found: list[list[Note]] = [[] for _ in range(MOST_PARTS)]
    bar, position, part, pitch, length = -1, 0, 0, 60, TICKS
    instrument = ""
    for kind, value in _read(tokens):
        if kind == "FLAW":
            production = Production(str(value), 0.0 if value == CLEAN else STRENGTHS[-1])
        elif kind == "STRENGTH" and production.flaw != CLEAN:
            production = production._replace(strength=float(value))
        elif kind == "TEMPO":
            tempo = int(value)
        elif kind == "METRE":
            metre = int(value)
        elif kind == "INSTRUMENT":
            instrument = str(value)
        elif kind == "ROLE" and instrument and len(players) < MOST_PARTS:
            role: Role = "drums" if instrument == DRUMS else "melody" if value == "drums" else value
            players.append((instrument, role))
        elif kind == "BAR":
            bar, position = min(bar + 1, MOST_BARS - 1), 0
        elif kind == "POSITION":
            position = min(int(value), metre * TICKS - 1)
        elif kind == "PART":
            part = int(value)
        elif kind == "PITCH":
            pitch = int(value)
        elif kind == "LENGTH":
            length = int(value)
        elif kind == "LOUDNESS" and bar >= 0:
            start = bar * metre + position / TICKS
            found[part].append(Note(start, length / TICKS, pitch, int(value)))
    return Song(_piece(players or [("piano", "harmony")], found, max(bar + 1, 1), tempo, metre), production)


def _piece(
    players: Sequence[tuple[str, Role]], found: Sequence[Sequence[Note]], bars: int, tempo: int, metre: int
) -> Piece:
    """Notes of parts that nobody plays go to the first player."""
    notes = [list(found[place]) for place in range(len(players))]
    notes[0] += [note for part in found[len(players) :] for note in part]
    parts = tuple(
        InstrumentPart(role, name, 0 if role == "drums" else INSTRUMENTS[name].program, tuple(sorted(set(own))))
        for (name, role), own in zip(players, notes, strict=True)
    )
    about = Attributes("", "", float(tempo), "moderate")
    return Piece("song", parts, even_beats(bars * metre, tempo), metre, MusicalKey(0, "major"), about)


def _read(tokens: Sequence[int]) -> Iterator[tuple[str, Any]]:
    for one in tokens:
        kind = KINDS[KIND_OF[one]]
        if kind == "END":
            return
        yield kind, VALUES[kind][one - FIRST[kind]]

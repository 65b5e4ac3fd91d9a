"""A small composer: turns a seed and a few wishes into a piece with known key, metre, tempo and form.

Conventions
    Every draw comes from one generator seeded by `seed`, so the same call gives the same piece in any process.
    Styles are data (`styles`); form and chords make a `chart`, from which `players` make the notes.
    Every pitch lies in the scale of the key or is the leading tone of a minor key; the first and last chords are tonic.
"""

import math
import random
from collections.abc import Sequence
from itertools import permutations
from typing import get_args

from cmi._util.errors import InputError
from cmi.studio.chart import Chart, lay_out
from cmi.studio.piece import INSTRUMENTS, Attributes, Density, Mode, MusicalKey, Piece, Role, even_beats
from cmi.studio.players import play
from cmi.studio.styles import STYLES

SLOWEST, FASTEST = 40, 220  # beats a minute
_LONGEST = 3600  # seconds
_MODES: tuple[Mode, ...] = get_args(Mode)
_DENSITIES: tuple[Density, ...] = get_args(Density)


def compose(
    seed: int,
    *,
    style: str | None = None,
    tempo: float | None = None,
    metre: int | None = None,
    mode: Mode | None = None,
    instruments: Sequence[str] | None = None,
    density: Density | None = None,
    seconds: float = 30.0,
) -> Piece:
    """Compose a piece of at least `seconds`; the other properties are drawn from `seed`.

    `instruments` names all that play ('drums' is one). Each takes the role that suits it best; the chord instrument
    also plays melody and bass if no other does.
    """
    _check(tempo, mode, density, seconds)
    rng = random.Random(f"cmi.studio.compose {seed}")  # noqa: S311
    name = rng.choice(_possible_styles(style, tempo, metre, instruments))
    chosen = STYLES[name]
    drawn_tempo, drawn_metre = float(rng.randint(*chosen.tempos)), rng.choice(chosen.metres)
    drawn_mode, drawn_density = rng.choice(_MODES), rng.choice((*_DENSITIES, "moderate"))
    tempo = drawn_tempo if tempo is None else float(tempo)
    metre, mode, density = metre or drawn_metre, mode or drawn_mode, density or drawn_density
    key, mood = MusicalKey(rng.randrange(12), mode), rng.choice(chosen.moods[mode])
    if instruments is None:
        drawn = {role: rng.choice(choices) for role, choices in chosen.players.items()}
        players = {role: instrument for role, instrument in drawn.items() if instrument}
    else:
        players = _assign_roles(instruments)
    bars, sections = lay_out(rng, chosen.harmony[mode], key, metre, _count_bars(seconds, tempo, metre))
    chart = Chart(rng, chosen, key, metre, _DENSITIES.index(density) + 1, bars)
    return Piece(
        name=f"{name.replace(' ', '-')}-{seed}",
        parts=tuple(play(chart, role, instrument) for role, instrument in players.items()),
        beats=even_beats(len(bars) * metre, tempo),
        metre=metre,
        key=key,
        attributes=Attributes(name, mood, tempo, density),
        sections=sections,
    )


def _check(tempo: float | None, mode: str | None, density: str | None, seconds: float) -> None:
    if tempo is not None and not SLOWEST <= tempo <= FASTEST:
        raise InputError(f"tempo {tempo} is not between {SLOWEST} and {FASTEST} beats a minute")
    if mode is not None and mode not in _MODES:
        raise InputError(f"mode {mode!r} is not one of {', '.join(_MODES)}")
    if density is not None and density not in _DENSITIES:
        raise InputError(f"density {density!r} is not one of {', '.join(_DENSITIES)}")
    if not 0 < seconds <= _LONGEST:
        raise InputError(f"seconds {seconds} is not above 0 and at most {_LONGEST}")


def _possible_styles(
    style: str | None, tempo: float | None, metre: int | None, instruments: Sequence[str] | None
) -> list[str]:
    """Styles that can play what is asked for, if possible at a usual tempo."""
    if style is not None and style not in STYLES:
        raise InputError(f"style {style!r} is not one of {', '.join(STYLES)}")
    able = [style] if style else list(STYLES)
    metres = sorted({beats for name in able for beats in STYLES[name].metres})
    if metre is not None and metre not in metres:
        raise InputError(f"metre {metre} is not one that {style or 'a style'} plays in: {', '.join(map(str, metres))}")
    able = [name for name in able if metre is None or metre in STYLES[name].metres]
    if instruments is not None and "drums" in instruments:
        drummed = [name for name, known in STYLES.items() if known.groove]
        able = [name for name in able if name in drummed]
        if not able:
            raise InputError(f"style {style!r} has no drums; these have: {', '.join(drummed)}")
    own = [name for name in able if tempo is None or STYLES[name].tempos[0] <= tempo <= STYLES[name].tempos[1]]
    return own or able


def _assign_roles(instruments: Sequence[str]) -> dict[Role, str]:
    """Assign each instrument its most natural role, with one on the chords."""
    for name in instruments:
        if name != "drums" and name not in INSTRUMENTS:
            raise InputError(f"instrument {name!r} is not one of drums, {', '.join(INSTRUMENTS)}")
    pitched = [INSTRUMENTS[name].roles for name in instruments if name != "drums"]
    roles: tuple[Role, ...] = ("melody", "harmony", "bass", "pad")
    castings = [
        (sum(able.index(role) for able, role in zip(pitched, cast, strict=True)), cast)
        for cast in permutations(roles, len(pitched))
        if "harmony" in cast and all(role in able for able, role in zip(pitched, cast, strict=True))
    ]
    if not castings or instruments.count("drums") > 1:
        chordal = ", ".join(name for name, known in INSTRUMENTS.items() if "harmony" in known.roles)
        raise InputError(
            f"instruments {', '.join(instruments) or '(none)'} must take a role each of melody, harmony, bass, pad and "
            f"drums, one of these the harmony: {chordal}"
        )
    cast = dict(zip(min(castings)[1], (name for name in instruments if name != "drums"), strict=True))
    players = {role: cast.get(role, cast["harmony"]) for role in roles if role in cast or role != "pad"}
    return players | ({"drums": "drums"} if "drums" in instruments else {})


def _count_bars(seconds: float, tempo: float, metre: int) -> int:
    """The fewest bars that last `seconds`."""
    bars = max(1, math.floor(seconds * tempo / 60 / metre))
    while bars * metre * 60 / tempo < seconds:
        bars += 1
    return bars

"""Ways to make a composition worse: other notes, other rhythms, other order. To teach with, not to measure with.

Each takes the notes of an excerpt (start and length in beats, pitch, velocity, part), a strength above 0 up to 1, a
random generator and what else is known (`Known`), and returns other notes. Nothing here shares code with the flaws of
`cmi.studio.flaws`, which are for measuring.

    pitches-permuted  the pitches of some notes of each part change places
    pitches-in-key    some notes at random pitches of the excerpt's own scale
    pitches-anywhere  some notes at random pitches
    slips             some notes a semitone or two away
    part-late         one part late by a part of a bar
    part-transposed   one part in another key
    bars-moved        groups of bars in another order, in all parts or in one
    rhythm-permuted   lengths and distances of notes of a part change places
    onsets-moved      some notes begin elsewhere
    chained           a part goes on by what follows its last few notes elsewhere in the piece: an order-1 to -6 chain
    drifting          a part walks at random through the scale
    other-piece       a part of another piece in place of one's own
    looped            half a bar or one again and again
    patched           snippets of the piece one after the other
    continued         another piece from some point on

Of these nothing is learned from (`UNSEEN`), to see what carries over:

    octaves-moved     some notes an octave or two away
    reversed          the last note first
    mirrored          pitches of a part upside down
    parts-shuffled    each bar of a part from another place of that part
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

START, LENGTH, PITCH, VELOCITY, PART = range(5)
GRID = 12  # places of a beat at which notes begin
Notes = NDArray[np.float32]


class Known(NamedTuple):
    """What corruptions need beside the excerpt."""

    beats: int  # of the excerpt, whole bars
    metre: int
    drums: tuple[bool, ...]  # which parts
    piece: Notes  # all of the piece
    other: Notes  # an excerpt of another piece, as long
    other_drums: tuple[bool, ...]


Corruption = Callable[[Notes, float, Generator, Known], Notes]


def pitched_parts(notes: Notes, known: Known) -> list[int]:
    return [part for part in np.unique(notes[:, PART]).astype(int).tolist() if not known.drums[part]]


def _some(
    notes: Notes, strength: float, rng: Generator, known: Known, parts: list[int] | None = None
) -> NDArray[np.intp]:
    """Places of a share of the pitched notes, at least two."""
    able = np.flatnonzero(np.isin(notes[:, PART], pitched_parts(notes, known) if parts is None else parts))
    return rng.permutation(able)[: max(2, round(strength * len(able)))]


def _one_part(notes: Notes, rng: Generator, known: Known) -> int:
    """One pitched part, by how many notes it has."""
    parts = pitched_parts(notes, known)
    counts = np.array([(notes[:, PART] == part).sum() for part in parts], float)
    return int(rng.choice(parts, p=counts / counts.sum()))


def _touched(notes: Notes, rng: Generator, known: Known) -> list[int] | None:
    """All parts, or one of them."""
    return None if rng.random() < 0.5 else [_one_part(notes, rng, known)]


def pitches_permuted(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    out = notes.copy()
    for part in _touched(notes, rng, known) or pitched_parts(notes, known):
        chosen = _some(notes, strength, rng, known, [part])
        out[chosen, PITCH] = notes[rng.permutation(chosen), PITCH]
    return out


def _scale(notes: Notes, known: Known) -> NDArray[np.intp]:
    """The seven pitch classes that sound longest."""
    own = notes[np.isin(notes[:, PART], pitched_parts(notes, known))]
    heard = np.bincount(own[:, PITCH].astype(int) % 12, weights=own[:, LENGTH], minlength=12)
    return np.argsort(-heard)[:7]


def _redrawn(notes: Notes, strength: float, rng: Generator, known: Known, classes: NDArray[np.intp]) -> Notes:
    out = notes.copy()
    for part in _touched(notes, rng, known) or pitched_parts(notes, known):
        own = notes[notes[:, PART] == part, PITCH]
        reach = np.arange(max(24, own.min() - 2), min(103, own.max() + 3))
        reach = reach[np.isin(reach % 12, classes)]
        chosen = _some(notes, strength, rng, known, [part])
        if len(reach):
            out[chosen, PITCH] = rng.choice(reach, len(chosen))
    return out


def pitches_in_key(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    return _redrawn(notes, strength, rng, known, _scale(notes, known))


def pitches_anywhere(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    return _redrawn(notes, strength, rng, known, np.arange(12))


def slips(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    out = notes.copy()
    chosen = _some(notes, 0.6 * strength, rng, known, _touched(notes, rng, known))
    out[chosen, PITCH] += rng.choice((-2, -1, -1, 1, 1, 2), len(chosen))
    return out


def part_late(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    out = notes.copy()
    part = _one_part(notes, rng, known)
    places = np.arange(1, known.metre * 4) / 4
    late = rng.choice(places[places % known.metre != 0])
    moved = (out[:, PART] == part) & (out[:, START] >= (1 - strength) * known.beats)
    out[moved, START] = (out[moved, START] + late) % known.beats
    return out


def part_transposed(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    out = notes.copy()
    part = _one_part(notes, rng, known)
    begin = rng.uniform(0, 1 - strength) * known.beats
    moved = (out[:, PART] == part) & (out[:, START] >= begin) & (out[:, START] < begin + strength * known.beats)
    out[moved, PITCH] += rng.choice((-6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6))
    return out


def _arranged(notes: Notes, order: NDArray[np.intp], size: float) -> Notes:
    """Blocks of `size` beats: block `order[i]` in place i; a note ends with its block."""
    found = []
    for place, block in enumerate(order.tolist()):
        own = notes[(notes[:, START] >= block * size) & (notes[:, START] < (block + 1) * size)].copy()
        own[:, LENGTH] = np.minimum(own[:, LENGTH], (block + 1) * size - own[:, START])
        own[:, START] += (place - block) * size
        found.append(own)
    return np.concatenate(found)


def _moved_order(count: int, strength: float, rng: Generator) -> NDArray[np.intp]:
    order = np.arange(count)
    chosen = rng.permutation(count)[: max(2, round(strength * count))]
    order[chosen] = rng.permutation(chosen)
    return order


def bars_moved(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    size = known.metre * rng.choice((0.5, 1, 1, 2))
    count = int(known.beats // size)
    if rng.random() < 0.6:
        return _arranged(notes, _moved_order(count, strength, rng), size)
    alone = notes[:, PART] == _one_part(notes, rng, known)
    return np.concatenate([_arranged(notes[alone], _moved_order(count, strength, rng), size), notes[~alone]])


def rhythm_permuted(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    """Distances from one onset of a part to the next change places, and lengths with them."""
    out = [notes[:0]]
    touched = _touched(notes, rng, known) or np.unique(notes[:, PART]).astype(int).tolist()
    for part in np.unique(notes[:, PART]).astype(int).tolist():
        own = notes[notes[:, PART] == part].copy()
        starts, place = np.unique(own[:, START], return_inverse=True)
        if part in touched and len(starts) > 3:
            gaps = np.diff(starts)
            order = _moved_order(len(gaps), strength, rng)
            played = np.concatenate([starts[:1], starts[0] + np.cumsum(gaps[order])])
            stretched = np.concatenate([gaps[order] / gaps, [1]])
            own[:, START] = played[place]
            own[:, LENGTH] *= stretched[place].clip(0.25, 4)
        out.append(own)
    return np.concatenate(out)


def onsets_moved(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    out = notes.copy()
    able = rng.permutation(len(notes))[: max(2, round(strength * len(notes)))]
    free = rng.random() < 0.5  # off the grid, or on other places of it
    move = rng.uniform(-0.6, 0.6, len(able)) if free else rng.integers(-6, 7, len(able)) / 6
    out[able, START] = np.clip(out[able, START] + move, 0, known.beats - 0.1)
    return out


def chained(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    """The chords of a part, each after those that it follows elsewhere; low orders are strong."""
    part = _one_part(notes, rng, known)
    order = max(1, round(6.5 - 5.5 * strength))
    source = known.piece[known.piece[:, PART] == part]
    starts, place = np.unique(source[:, START], return_inverse=True)
    if len(starts) < 12:
        return drifting(notes, strength, rng, known)
    gaps = np.append(np.diff(starts), 1.0).clip(0, 4)
    groups = np.split(np.arange(len(source)), np.cumsum(np.bincount(place))[:-1])
    source = source[np.argsort(place, kind="stable")]
    symbols = [
        (*np.sort(source[own, PITCH]).astype(int).tolist(), round(12 * gap))
        for own, gap in zip(groups, gaps, strict=True)
    ]
    follow: dict[tuple[object, ...], list[int]] = {}
    for i in range(len(symbols) - 1):
        for n in range(min(order, i + 1) + 1):
            follow.setdefault(tuple(symbols[i + 1 - n : i + 1]), []).append(i + 1)
    past, at, out = [int(rng.integers(len(symbols)))], 0.0, [notes[notes[:, PART] != part]]
    while at < known.beats:
        own = source[groups[past[-1]]].copy()
        own[:, START] = at
        out.append(own)
        at += max(gaps[past[-1]], 1 / GRID)
        for n in range(order, -1, -1):
            choices = follow.get(tuple(symbols[i] for i in past[len(past) - n :]) if n else ())
            if choices and (len(choices) > 1 or n <= 1 or rng.random() < 0.3):
                break
        past.append(int(rng.choice(choices or [0])))
        past = past[-8:]
    return np.concatenate(out)


def drifting(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    part = _one_part(notes, rng, known)
    out, chosen = notes.copy(), np.flatnonzero(notes[:, PART] == part)
    scale = _scale(notes, known) if rng.random() < 0.8 else np.arange(12)
    steps = np.array([p for p in range(24, 104) if p % 12 in scale])
    middle = float(notes[chosen, PITCH].mean())
    at = int(np.argmin(np.abs(steps - middle)))
    begin = rng.uniform(0, 1 - strength) * known.beats
    for i in chosen:
        at += int(rng.choice((-4, -3, -2, -1, -1, 0, 1, 1, 2, 3, 4)))
        at += int(np.sign(middle - steps[np.clip(at, 0, len(steps) - 1)])) if rng.random() < 0.2 else 0
        at = int(np.clip(at, 0, len(steps) - 1))
        if begin <= notes[i, START] < begin + strength * known.beats:
            out[i, PITCH] = steps[at]
    return out


def other_piece(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    others = [p for p in np.unique(known.other[:, PART]).astype(int).tolist() if not known.other_drums[p]]
    part = _one_part(notes, rng, known)
    if not others or len(pitched_parts(notes, known)) < 2:
        return continued(notes, strength, rng, known)
    foreign = known.other[known.other[:, PART] == rng.choice(others)].copy()
    foreign[:, PART] = part
    foreign[:, PITCH] += 12 * np.round((notes[notes[:, PART] == part, PITCH].mean() - foreign[:, PITCH].mean()) / 12)
    begin = (1 - strength) * known.beats
    kept = notes[(notes[:, PART] != part) | (notes[:, START] < begin)]
    return np.concatenate([kept, foreign[foreign[:, START] >= begin]])


def looped(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    size = known.metre * rng.choice((0.5, 1))
    count = int(known.beats // size)
    order, block = np.arange(count), int(rng.integers(max(1, count - 1)))
    stuck = max(3, round((0.4 + 0.6 * strength) * count))
    begin = int(rng.integers(0, max(1, count - stuck + 1)))
    order[begin : begin + stuck] = block
    return _arranged(notes, order, size)


def patched(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    """Snippets of one to six beats of the whole piece, at times transposed."""
    whole = int(max(known.piece[:, START].max(), 8))
    begin, found = (1 - strength) * known.beats, []
    found.append(notes[notes[:, START] < begin])
    at = begin
    while at < known.beats:
        size = int(rng.integers(1, 7))
        source = int(rng.integers(0, max(1, whole - size)))
        own = known.piece[(known.piece[:, START] >= source) & (known.piece[:, START] < source + size)].copy()
        own[:, START] += at - source
        own[:, LENGTH] = np.minimum(own[:, LENGTH], at + size - own[:, START])
        if rng.random() < 0.4:
            drums = np.array(known.drums)[own[:, PART].astype(int)]
            own[~drums, PITCH] += rng.choice((-5, -4, -3, -2, -1, 1, 2, 3, 4, 5))
        found.append(own)
        at += size
    out = np.concatenate(found)
    return out[out[:, START] < known.beats]


def continued(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    """Another piece from some point on, in turns."""
    size = known.metre * rng.choice((1, 2, 4))
    foreign = known.other.copy()
    own_parts, other_parts = ([p for p, d in enumerate(x) if not d] for x in (known.drums, known.other_drums))
    if not own_parts or not other_parts:
        return patched(notes, strength, rng, known)
    to = {p: own_parts[i % len(own_parts)] for i, p in enumerate(other_parts)}
    foreign = foreign[np.isin(foreign[:, PART], other_parts)]
    foreign[:, PART] = [to[int(p)] for p in foreign[:, PART]]
    turns = rng.random(int(known.beats // size) + 1) < 0.5 * strength + 0.1
    turns[len(turns) // 2] = True
    mine, theirs = (turns[(x[:, START] // size).astype(int).clip(0, len(turns) - 1)] for x in (notes, foreign))
    return np.concatenate([notes[~mine], foreign[theirs]])


def octaves_moved(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    out, chosen = notes.copy(), _some(notes, strength, rng, known)
    out[chosen, PITCH] += rng.choice((-24, -12, 12, 24), len(chosen))
    return out


def reversed_(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    begin = (1 - strength) * known.beats
    out, moved = notes.copy(), notes[:, START] >= begin
    out[moved, START] = (begin + known.beats - notes[moved, START] - notes[moved, LENGTH]).clip(0)
    return out


def mirrored(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    out, part = notes.copy(), _one_part(notes, rng, known)
    moved = (notes[:, PART] == part) & (notes[:, START] >= (1 - strength) * known.beats)
    if moved.any():
        out[moved, PITCH] = 2 * round(float(notes[moved, PITCH].mean())) - notes[moved, PITCH]
    return out


def parts_shuffled(notes: Notes, strength: float, rng: Generator, known: Known) -> Notes:
    count = known.beats // known.metre
    found = [notes[~np.isin(notes[:, PART], pitched_parts(notes, known))]]
    parts = (notes[notes[:, PART] == part] for part in pitched_parts(notes, known))
    found += [_arranged(own, _moved_order(count, strength, rng), known.metre) for own in parts]
    return np.concatenate(found)


SEEN: dict[str, Corruption] = {
    "pitches-permuted": pitches_permuted,
    "pitches-in-key": pitches_in_key,
    "pitches-anywhere": pitches_anywhere,
    "slips": slips,
    "part-late": part_late,
    "part-transposed": part_transposed,
    "bars-moved": bars_moved,
    "rhythm-permuted": rhythm_permuted,
    "onsets-moved": onsets_moved,
    "chained": chained,
    "drifting": drifting,
    "other-piece": other_piece,
    "looped": looped,
    "patched": patched,
    "continued": continued,
}
UNSEEN: dict[str, Corruption] = {
    "octaves-moved": octaves_moved,
    "reversed": reversed_,
    "mirrored": mirrored,
    "parts-shuffled": parts_shuffled,
}


def tidied(notes: Notes, known: Known) -> Notes:
    """Sorted, within the excerpt, at pitches that can be played, each pitch of a part once at a time."""
    out = notes[(notes[:, START] >= 0) & (notes[:, START] < known.beats)].copy()
    low, high = out[:, PITCH] < 24, out[:, PITCH] > 103
    drums = np.array(known.drums)[out[:, PART].astype(int)]
    out[low & ~drums, PITCH] += 12 * np.ceil((24 - out[low & ~drums, PITCH]) / 12)
    out[high & ~drums, PITCH] -= 12 * np.ceil((out[high & ~drums, PITCH] - 103) / 12)
    out[:, LENGTH] = np.minimum(out[:, LENGTH].clip(1 / GRID), known.beats - out[:, START] + 0.5)
    keys = np.round(out[:, START] * 24) * 1e5 + out[:, PART] * 1e3 + out[:, PITCH]
    return out[np.unique(keys, return_index=True)[1]]

"""Players turn the chart into parts: chords in the nearest voicing, bass and drums by the style's grids."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import pairwise

from cmi.studio.chart import WHOLE_BAR, Bar, Chart, Chord, pitch, steps_within, strikes, struck, velocity
from cmi.studio.melody import melody
from cmi.studio.piece import DRUMS, INSTRUMENTS, InstrumentPart, Note, Role, by_start
from cmi.studio.styles import Groove

_BREATH = 0.98  # share of the time to its next sounding that a pitch may last

_HARMONY_RANGE = (50, 69)
_POWER_LOWEST = 40
_BASS_RANGE = (31, 48)

_LOUDNESS: dict[Role, int] = {"harmony": 64, "bass": 80, "pad": 50}
_DRUM_LOUDNESS = {"kick": 94, "snare": 90, "clap": 86, "crash": 84, "low tom": 88, "mid tom": 86, "high tom": 84}
_DRUM_LENGTH = 0.25
_TIMEKEEPERS = ("closed hat", "ride", "shaker", "tambourine", "pedal hat")  # who plays in an intro


def play(chart: Chart, role: Role, instrument: str) -> InstrumentPart:
    """Write the part of `instrument` in this role."""
    if role == "drums":
        return InstrumentPart(role, instrument, 0, _finish(chart, _drums(chart)))
    program, _, centre = INSTRUMENTS[instrument]
    players: dict[Role, Callable[[], list[Note]]] = {
        "melody": lambda: melody(chart, centre),
        "harmony": lambda: _comping(chart),
        "bass": lambda: _bass(chart),
        "pad": lambda: _pad(chart),
    }
    return InstrumentPart(role, instrument, program, _finish(chart, players[role]()))


def _finish(chart: Chart, notes: Iterable[Note]) -> tuple[Note, ...]:
    """Swing and sort the notes, and release each pitch before it sounds again."""
    swung = {}
    for note in notes:
        start, end = _swing(chart, note.start), _swing(chart, note.start + note.length)
        swung[start, note.pitch] = Note(start, end - start, note.pitch, note.velocity)
    following: dict[int, float] = {}
    released = []
    for note in reversed(by_start(swung.values())):
        free = (following.get(note.pitch, float("inf")) - note.start) * _BREATH
        following[note.pitch] = note.start
        released.append(note._replace(length=min(note.length, free)))
    return by_start(released)


def _swing(chart: Chart, time: float) -> float:
    middle, unit = chart.style.swing, chart.style.swung
    if middle == 0.5:
        return time
    whole, part = divmod(time / unit, 1)
    bent = part * middle / 0.5 if part < 0.5 else middle + (part - 0.5) * (1 - middle) / 0.5
    return (whole + bent) * unit


# The chords


def _comping(chart: Chart) -> list[Note]:
    comp, notes = chart.style.comp, list[Note]()
    voicings = iter(_choose_voicings(chart))
    for bar in chart.bars:
        grid = WHOLE_BAR if bar.last else comp.grids[chart.metre]
        # one note at a time is a chord only when there are enough of them
        broken = comp.figure == "arpeggio" and chart.level > 1 and not bar.last
        for chord, hits in struck(bar, grid, chart.metre, chart.level):
            voicing = next(voicings)
            end = chord.start + chord.length
            for i, (start, length) in enumerate(hits):
                sounding = end - start if comp.rings else length
                loudness = velocity(chart, bar, start, _LOUDNESS["harmony"])
                voices = (voicing[comp.order[i % len(comp.order)] % len(voicing)],) if broken else voicing
                notes.extend(Note(start, sounding * comp.gate, voice, loudness) for voice in voices)
    return notes


def _pad(chart: Chart) -> list[Note]:
    """Held chords, after the intro."""
    voicings = iter(_choose_voicings(chart))
    held = [(bar, chord, next(voicings)) for bar in chart.bars for chord in bar.chords]
    return [
        Note(chord.start, chord.length * _BREATH, voice, velocity(chart, bar, chord.start, _LOUDNESS["pad"]))
        for bar, chord, voicing in held
        if bar.letter != "intro"
        for voice in voicing
    ]


def _choose_voicings(chart: Chart) -> list[tuple[int, ...]]:
    """A voicing for each chord, nearest to the previous one."""
    chords = [chord for bar in chart.bars for chord in bar.chords]
    if chart.style.comp.figure == "power":
        return [_power(chord) for chord in chords]
    voiced: list[tuple[int, ...]] = []
    for chord in chords:
        previous = voiced[-1] if voiced else ()
        voiced.append(min(_voicings(chord.pitch_classes), key=lambda voicing: _distance(previous, voicing)))
    return voiced


def _power(chord: Chord) -> tuple[int, ...]:
    """Root, fifth and octave, which sound well distorted."""
    root, _, fifth, *_ = chord.pitch_classes
    lowest = _POWER_LOWEST + (root - _POWER_LOWEST) % 12
    return lowest, lowest + (fifth - root) % 12, lowest + 12


@lru_cache(maxsize=512)
def _voicings(pitch_classes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """All close positions in range, and drop-2 voicings of four voices."""
    low, high = _HARMONY_RANGE
    lowest = [start for start in range(low, high) if start % 12 in pitch_classes]
    close = [tuple(sorted(start + (tone - start) % 12 for tone in pitch_classes)) for start in lowest]
    close = [voicing for voicing in close if voicing[-1] <= high]
    dropped = [tuple(sorted((*v[:-2], v[-2] - 12, v[-1]))) for v in close if len(v) > 3 and v[-2] - 12 >= low]
    return tuple(close + dropped)


def _distance(previous: tuple[int, ...], voicing: tuple[int, ...]) -> float:
    """Distance that the voices move, plus costs for extreme registers and semitone clashes."""
    moved = sum(abs(a - b) for a, b in zip(reversed(previous), reversed(voicing), strict=False))
    rubs = sum(upper - lower == 1 for lower, upper in pairwise(voicing))
    return moved + 6 * rubs + 0.4 * abs(sum(voicing) / len(voicing) - sum(_HARMONY_RANGE) / 2)


# The bass


def _bass(chart: Chart) -> list[Note]:
    bass, notes = chart.style.bass, list[Note]()
    low, high = steps_within(chart.key, *_BASS_RANGE)
    roots = _roots(chart, low, high)
    following = iter([*roots[1:], roots[-1]])
    for bar in chart.bars:
        grid = WHOLE_BAR if bar.last else bass.grids[chart.metre]
        for chord, hits in struck(bar, grid, chart.metre, chart.level):
            root, after = roots.pop(0), next(following)
            step = root
            for i, (start, length) in enumerate(hits):
                if bass.figure == "walk" and 0 < i == len(hits) - 1 and after != root:
                    step = _approach(chart, chord, step, after)
                else:
                    step = _bass_step(bass.figure, i, root, high)
                loudness = velocity(chart, bar, start, _LOUDNESS["bass"])
                notes.append(Note(start, length * bass.gate, pitch(chart.key, step, chord.raised), loudness))
    return notes


def _roots(chart: Chart, low: int, high: int) -> list[int]:
    """The chords' roots, each nearest to the previous one."""
    roots = [(2 * low + high) // 3]
    for chord in (chord for bar in chart.bars for chord in bar.chords):
        octaves = [step for step in range(low, high + 1) if step % 7 == chord.degrees[0]]
        roots.append(min(octaves, key=lambda step: abs(step - roots[-1])))
    return roots[1:]


def _bass_step(figure: str, i: int, root: int, high: int) -> int:
    """The `i`th note over a chord."""
    fifth = root + 4 if root + 4 <= high else root - 3
    if figure == "root":
        return root
    if figure == "octave":
        return root + 7 * (i % 2)
    if figure == "fifth":
        return fifth if i % 2 else root
    return (root, root + 2, fifth, root + 2)[i % 4]


def _approach(chart: Chart, chord: Chord, step: int, after: int) -> int:
    """A neighbour of the next root, if possible on the side from which the line comes."""
    near, far = (after - 1, after + 1) if step < after else (after + 1, after - 1)
    gap = abs(pitch(chart.key, near, chord.raised) - pitch(chart.key, after))
    return near if near != step and gap <= 2 else far


# The drums


def _drums(chart: Chart) -> list[Note]:
    groove = chart.style.groove
    assert groove is not None
    notes = []
    for bar in chart.bars:
        hits = [
            (drum, start)
            for drum, grid in _lanes(groove, chart.metre, bar).items()
            for start, _ in strikes(grid, chart.metre, chart.level)
        ]
        if bar.ends_section and not bar.last and groove.fill:
            fill_start = chart.metre - 1
            hits = [(drum, start) for drum, start in hits if start < fill_start or drum in _TIMEKEEPERS]
            hits += [(drum, fill_start + i / len(groove.fill)) for i, drum in enumerate(groove.fill)]
        for drum, start in hits:
            loudness = velocity(chart, bar, bar.start + start, _DRUM_LOUDNESS.get(drum, 66))
            notes.append(Note(bar.start + start, _DRUM_LENGTH, DRUMS[drum], loudness))
    return notes


def _lanes(groove: Groove, metre: int, bar: Bar) -> dict[str, str]:
    """The grids of a bar: fewer in an intro, one stroke at the end."""
    lanes = dict(groove.lanes[metre])
    if bar.last:
        return {"kick": WHOLE_BAR, "crash" if groove.crash else next(iter(lanes)): WHOLE_BAR}
    if bar.letter == "intro":
        return {drum: grid for drum, grid in lanes.items() if drum in _TIMEKEEPERS} or lanes
    if bar.opens_section and groove.crash:
        lanes["crash"] = WHOLE_BAR
    return lanes

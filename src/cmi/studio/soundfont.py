"""Play single tones from a SoundFont 2 file, exactly in tune and on time.

Supported are key and velocity ranges, layers, tuning, loops, volume, filter and pitch envelopes, velocity and pan. Not
supported are vibrato, reverb, chorus, exclusive classes and modulators other than velocity to level, so tones are dry
and steady. Velocity v plays at (v / 127) squared, as in the standard.

Existing synthesizers were not exact enough: with TimGM6mb, symusic 0.5.9 plays piano and organ off pitch, ignores
velocity and pitch bends, cuts notes off without release, and gives samples of up to 1e22 that differ between runs.
"""

import struct
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import soxr
from numpy.typing import NDArray
from scipy.signal import lfilter

from cmi._util.errors import InputError

DRUM_BANK = 128
SILENCE = 0.01  # of a recording's peak
INAUDIBLE = 0.7  # of 100 dB
MEMORY = 5 * 10**8  # bytes of the tone cache

_Samples = NDArray[np.float32]
_TABLES = {
    "phdr": [("name", "S20"), ("preset", "<u2"), ("bank", "<u2"), ("bag", "<u2"), ("unused", "V12")],
    "pbag": [("gen", "<u2"), ("mod", "<u2")],
    "pgen": [("op", "<u2"), ("amount", "<i2")],
    "inst": [("name", "S20"), ("bag", "<u2")],
    "ibag": [("gen", "<u2"), ("mod", "<u2")],
    "igen": [("op", "<u2"), ("amount", "<i2")],
    "shdr": [
        ("name", "S20"),
        *((field, "<u4") for field in ("start", "end", "loop_start", "loop_end", "rate")),
        ("root", "u1"),
        ("correction", "i1"),
        ("link", "<u2"),
        ("type", "<u2"),
    ],
}
# the generators' numbers in the standard, section 8.1.2
_INSTRUMENT, _SAMPLE, _KEYS, _VELOCITIES = 41, 53, 43, 44
_NOT_ADDITIVE = {_INSTRUMENT, _SAMPLE, _KEYS, _VELOCITIES, 0, 1, 2, 3, 4, 12, 45, 46, 47, 50, 54, 57, 58}
_ANY = 127 << 8  # a range from 0 to 127
_NO_TIME = -12_000  # timecents; a millisecond, but the default where none is meant
_DEFAULTS = {8: 13_500, 56: 100, 58: -1} | dict.fromkeys((25, 26, 27, 28, 30, 33, 34, 35, 36, 38), _NO_TIME)
_OPEN_FILTER = 13_500  # cents above 8.176 Hz, about 20 kHz
_EDGE = 0.05  # seconds made beyond a tone's end, where the resampler runs out of sound


class Envelope(NamedTuple):
    delay: float  # seconds, as all but `sustain`
    attack: float
    hold: float
    decay: float
    sustain: float  # 0 (nothing is lost) to 1 (all of it)


@dataclass(frozen=True, eq=False)
class Region:
    """How one recording in the font plays a range of notes."""

    recordings: NDArray[np.int16]  # the font's
    keys: tuple[int, int]
    velocities: tuple[int, int]
    start: int  # samples into the recordings, as are the next three
    end: int
    loop_start: int
    loop_end: int
    looped: bool
    rate: int
    root: int  # the key that plays it as recorded, but for `tune`
    scale: int  # cents a key
    tune: int  # cents
    level: float
    pan: float  # -0.5 (left) to 0.5
    volume: Envelope  # sustain in units of 100 dB
    release: float  # seconds for 100 dB
    modulation: Envelope
    pitch_swing: float  # cents at the modulation's peak
    filter: float  # cents above 8.176 Hz
    filter_swing: float
    resonance: float  # dB


class SoundfontVoice(NamedTuple):
    """The regions that sound together for a key."""

    key: int
    regions: tuple[Region, ...]

    @property
    def release(self) -> float:
        """Seconds to lose 100 dB after the key is released, of the slowest region."""
        return max(region.release for region in self.regions)


class Font:
    """A SoundFont 2 file: the regions of each (bank, program), and the recordings they play."""

    def __init__(self, path: Path) -> None:
        chunks = _chunks(path)
        missing = [name for name in ("smpl", *_TABLES) if name not in chunks]
        if missing:
            raise InputError(f"{path}: not a complete SoundFont 2 file: {missing[0]!r} is missing")
        tables = {name: np.frombuffer(chunks[name], np.dtype(fields)) for name, fields in _TABLES.items()}
        if any(tables["shdr"]["type"][:-1] & 0x10):
            raise InputError(f"{path}: a compressed SoundFont (SF3), expected SoundFont 2")
        self.path = path
        self._tables = tables
        self._recordings = np.frombuffer(chunks["smpl"], "<i2")
        self._presets = {(int(head["bank"]), int(head["preset"])): i for i, head in enumerate(tables["phdr"][:-1])}

    @lru_cache(maxsize=10_000)  # noqa: B019  fonts are few and stay open
    def voice(self, bank: int, program: int, key: int, velocity: int) -> SoundfontVoice:
        """The voice of a note, by the nearest regions."""
        regions = self._preset(bank, program)
        distances = [_outside(key, region.keys) + 128 * _outside(velocity, region.velocities) for region in regions]
        nearest = (region for region, far in zip(regions, distances, strict=True) if far == min(distances))
        return SoundfontVoice(key, tuple(nearest))

    @lru_cache(maxsize=1000)  # noqa: B019
    def _preset(self, bank: int, program: int) -> list[Region]:
        if (bank, program) not in self._presets:
            what = "drum kit" if bank == DRUM_BANK else "program"
            raise InputError(f"{self.path}: no {what} {program} in this soundfont")
        tables, regions = self._tables, []
        for preset in _zones(tables["phdr"], tables["pbag"], tables["pgen"], self._presets[bank, program], _INSTRUMENT):
            for zone in _zones(tables["inst"], tables["ibag"], tables["igen"], preset[_INSTRUMENT], _SAMPLE):
                rest = {op: n for op, n in preset.items() if op not in _NOT_ADDITIVE}
                added = {op: zone.get(op, _DEFAULTS.get(op, 0)) + n for op, n in rest.items()}
                ranges = (_overlap(preset.get(op, _ANY), zone.get(op, _ANY)) for op in (_KEYS, _VELOCITIES))
                sample = tables["shdr"][zone[_SAMPLE]]
                regions.append(_region(self._recordings, sample, _DEFAULTS | zone | added, *ranges))
        return regions


class _KeptSamples(OrderedDict[tuple[SoundfontVoice, float, float, int], _Samples]):
    size = 0  # bytes


_tones = _KeptSamples()


open_font = lru_cache(maxsize=2)(Font)


def tone(voice: SoundfontVoice, cents: float, seconds: float, rate: int) -> _Samples:
    """The voice's sound, of shape (2, n), out of tune by `cents` and held for `seconds` or as long as it lasts.

    The read-only result may be longer. It does not depend on earlier requests: lengths are rounded up to powers of two.
    """
    request = (voice, cents, 2.0 ** np.ceil(np.log2(max(seconds, 0.25))), rate)
    found = _tones.pop(request, None)
    if found is None:
        found = _make_tone(*request)
        _tones.size += found[0].nbytes
    _tones[request] = found  # as the most recent
    while _tones.size > MEMORY:
        _tones.size -= _tones.popitem(last=False)[1][0].nbytes
    return found


def forget_tones() -> None:
    """Clear the tone cache."""
    _tones.clear()
    _tones.size = 0


@lru_cache(maxsize=256)
def release(seconds: float, rate: int) -> _Samples:
    """Release envelope that falls by 100 dB in `seconds` and ends at -40 dB."""
    fall = np.geomspace(1, 1e-2, max(2, round(0.4 * seconds * rate)))
    return ((fall - fall[-1]) / (1 - fall[-1])).astype(np.float32)


def _make_tone(voice: SoundfontVoice, cents: float, seconds: float, rate: int) -> _Samples:
    layers = [_layer(region, voice.key, cents, seconds, rate) for region in voice.regions]
    sound = np.zeros((2, max(layer.size for layer in layers)), np.float32)
    for region, layer in zip(voice.regions, layers, strict=True):
        for channel, side in zip(sound, (0.5 - region.pan, 0.5 + region.pan), strict=True):
            channel[: layer.size] += layer * np.float32(side**0.5)
    if not any(region.pan for region in voice.regions):
        sound = np.broadcast_to(sound[0].copy(), sound.shape)  # both channels share memory
    sound.flags.writeable = False
    return sound


def _layer(region: Region, key: int, cents: float, seconds: float, rate: int) -> _Samples:
    time = np.arange(round(min(seconds, _lasts(region.volume)) * rate), dtype=np.float32) / np.float32(rate)
    rise, lost = _rise_and_loss(region.modulation, time)
    swing = rise - lost
    bend = (key - region.root) * region.scale + region.tune + cents
    if region.pitch_swing:
        sound = _played_bent(region, bend + region.pitch_swing * swing, rate)
    else:
        sound = _played(region, bend, time.size, rate)
    time, swing = time[: sound.size], swing[: sound.size]
    sound = _low_passed(sound, region.filter + np.float32(region.filter_swing) * swing, region.resonance, rate)
    return sound * (_volume(region.volume, time) * np.float32(region.level))


def _played(region: Region, bend: float, count: int, rate: int) -> _Samples:
    """Up to `count` samples of the recording, transposed by `bend` cents."""
    source_rate = region.rate * 2 ** (bend / 1200)
    unrolled = _unrolled(region, int((count / rate + _EDGE) * source_rate) + 1)
    return soxr.resample(unrolled, source_rate, rate, quality="MQ")[:count]


def _played_bent(region: Region, bends: NDArray[np.floating[Any]], rate: int) -> _Samples:
    """The recording with a varying transposition."""
    steps = region.rate / rate * np.exp2(bends / 1200)
    positions = np.cumsum(steps, dtype=np.float64) - steps[0]
    unrolled = _unrolled(region, int(positions[-1]) + 2)
    whole = positions.astype(np.int32)
    whole = whole[: np.searchsorted(whole, unrolled.size - 1)]
    before, after = unrolled[whole], unrolled[1:][whole]
    return before + (positions[: whole.size] - whole).astype(np.float32) * (after - before)


def _unrolled(region: Region, count: int) -> _Samples:
    """The first `count` samples of the recording, with its loop repeated."""
    end = region.start + count
    if not region.looped:
        recording = region.recordings[region.start : min(end, region.end)]
    elif end <= region.loop_end:
        recording = region.recordings[region.start : end]
    else:
        around = region.recordings[region.loop_start : region.loop_end]
        times = -(-(end - region.loop_end) // around.size)
        recording = np.concatenate([region.recordings[region.start : region.loop_end], *[around] * times])[:count]
    return recording.astype(np.float32) / np.float32(32_768)


def _low_passed(sound: _Samples, cutoffs: _Samples, resonance: float, rate: int) -> _Samples:
    """Filter with a varying cutoff by crossfading fixed filters an octave apart."""
    lowest, highest = float(cutoffs.min()), float(cutoffs.max())
    if lowest >= _OPEN_FILTER:
        return sound
    if lowest == highest:
        return _low_pass(sound, lowest, resonance, rate)
    mixed = np.zeros_like(sound)
    for step in np.arange(np.floor(lowest / 1200), np.ceil(highest / 1200) + 1) * 1200:
        weight = np.clip(1 - np.abs(cutoffs - np.float32(step)) / np.float32(1200), 0, 1)
        heard = weight.size - int(np.argmax(weight[::-1] > 0))  # cutoffs usually fall, so high ones end early
        mixed[:heard] += weight[:heard] * _low_pass(sound[:heard], step, resonance, rate)
    return mixed


def _low_pass(sound: _Samples, cutoff: float, resonance: float, rate: int) -> _Samples:
    """The two-pole low-pass of the audio EQ cookbook."""
    hertz = min(8.176 * 2 ** (cutoff / 1200), 0.45 * rate)
    angle = 2 * np.pi * hertz / rate
    alpha = np.sin(angle) / (2 * 10 ** ((resonance - 3.01) / 20))
    rise = (1 - np.cos(angle)) / 2
    return lfilter([rise, 2 * rise, rise], [1 + alpha, -2 * np.cos(angle), 1 - alpha], sound).astype(np.float32)


def _lasts(volume: Envelope) -> float:
    """Seconds until a decaying sound is inaudible; infinite if it sustains."""
    until = volume.delay + volume.attack + volume.hold + INAUDIBLE * volume.decay
    return until if volume.sustain >= INAUDIBLE else np.inf


def _volume(envelope: Envelope, time: _Samples) -> _Samples:
    rise, lost = _rise_and_loss(envelope, time)
    return rise * np.exp(lost * np.float32(-5 * np.log(10)))  # 100 dB are five tens


def _rise_and_loss(envelope: Envelope, time: _Samples) -> tuple[_Samples, _Samples]:
    """From 0 to 1 in the attack, and from 0 to the sustain's loss in the decay."""
    rise = np.clip((time - np.float32(envelope.delay)) / np.float32(envelope.attack), 0, 1)
    since = time - np.float32(envelope.delay + envelope.attack + envelope.hold)
    return rise, np.clip(since / np.float32(envelope.decay), 0, np.float32(envelope.sustain))


def _chunks(path: Path) -> dict[str, memoryview]:
    """The chunks of a RIFF file by name."""
    try:
        content = memoryview(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    if bytes(content[:4]) != b"RIFF" or bytes(content[8:12]) != b"sfbk":
        raise InputError(f"{path}: not a SoundFont 2 file")
    return dict(_leaves(content[12:]))


def _leaves(content: memoryview) -> Iterator[tuple[str, memoryview]]:
    while len(content) >= 8:
        name, size = struct.unpack("<4sI", content[:8])
        body = content[8 : 8 + size]
        if name == b"LIST":
            yield from _leaves(body[4:])
        else:
            yield name.decode("latin-1"), body
        content = content[8 + size + size % 2 :]


def _zones(
    heads: NDArray[Any], bags: NDArray[Any], gens: NDArray[Any], index: int, last: int
) -> Iterator[dict[int, int]]:
    """Yield the generators of each zone of a preset or instrument, on top of the global zone's."""
    shared: dict[int, int] = {}
    for bag in range(heads["bag"][index], heads["bag"][index + 1]):
        these = gens[bags["gen"][bag] : bags["gen"][bag + 1]]
        zone = dict(zip(these["op"].tolist(), these["amount"].tolist(), strict=True))
        if last in zone:
            yield shared | zone
        elif bag == heads["bag"][index]:
            shared = zone


def _overlap(one: int, other: int) -> tuple[int, int]:
    """Intersection of two ranges, each packed in two bytes."""
    return max(one & 255, other & 255), min(one >> 8 & 255, other >> 8 & 255)


def _outside(value: int, limits: tuple[int, int]) -> int:
    """How far a value lies outside a range."""
    return max(limits[0] - value, value - limits[1], 0)


def _region(
    recordings: NDArray[np.int16],
    sample: Any,
    gens: dict[int, int],
    keys: tuple[int, int],
    velocities: tuple[int, int],
) -> Region:
    def amount(op: int, coarse: int | None = None) -> int:
        return gens.get(op, 0) + (32_768 * gens.get(coarse, 0) if coarse is not None else 0)

    start, end = int(sample["start"]) + amount(0, 4), int(sample["end"]) + amount(1, 12)
    loop_start, loop_end = int(sample["loop_start"]) + amount(2, 45), int(sample["loop_end"]) + amount(3, 50)
    looped = bool(amount(54) & 1) and loop_end > loop_start
    loudness = np.abs(recordings[start:end].astype(np.int32))
    start += int(np.argmax(loudness > SILENCE * loudness.max(initial=0)))  # skip silence, so that notes are on time
    return Region(
        recordings=recordings,
        keys=keys,
        velocities=velocities,
        start=min(start, loop_start) if looped else start,
        end=end,
        loop_start=loop_start,
        loop_end=loop_end,
        looped=looped,
        rate=int(sample["rate"]),
        root=int(sample["root"]) if gens[58] < 0 else gens[58],
        scale=gens[56],
        tune=100 * amount(51) + amount(52) + int(sample["correction"]),
        level=10 ** (-0.4 * amount(48) / 200),  # fonts are made for players that apply 0.4 of the attenuation
        pan=float(np.clip(amount(17) / 1000, -0.5, 0.5)),
        volume=_envelope(gens, 33),
        release=_seconds(gens[38]),
        modulation=_envelope(gens, 25),
        pitch_swing=float(amount(7)),
        filter=float(gens[8]),
        filter_swing=float(amount(11)),
        resonance=amount(9) / 10,
    )


def _envelope(gens: dict[int, int], first: int) -> Envelope:
    """The envelope whose five generators begin with number `first`."""
    delay, attack, hold, decay = (_seconds(gens[first + i]) for i in range(4))
    delay, hold = (0.0 if gens[first + i] <= _NO_TIME else seconds for i, seconds in ((0, delay), (2, hold)))
    return Envelope(delay, attack, hold, decay, float(np.clip(gens.get(first + 4, 0) / 1000, 0, 1)))


def _seconds(timecents: int) -> float:
    return 2 ** (timecents / 1200)

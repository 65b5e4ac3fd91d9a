"""Excerpts of compositions, clean and corrupted, as tones to be played; and their sound, mixed on a GPU.

A group is an excerpt of a piece in several versions. All are played in the same way (`Plan`: instruments, tempo, key,
velocities, unsteadiness, room), but for a second clean version, which has a plan of its own: so what is harmless is not
learned. Velocities follow the place in the bar and the part alone, and notes begin on a grid of a twelfth of a beat
before they are made unsteady, so that neither tells a composition from what a program wrote.
"""

from typing import NamedTuple

import numpy as np
import torch
from corruptions import GRID, LENGTH, PART, PITCH, START, Corruption, Known, Notes, pitched_parts, tidied
from numpy.random import Generator
from numpy.typing import NDArray
from pieces import Written
from tones import BASSES, DRUMS, HIGHEST, LONG, LOWEST, RATE, Bank
from torch import Tensor

SECONDS = 30
SIZE = SECONDS * RATE
FEWEST = 20  # notes of an excerpt
DRUMMED = 0.4  # share of excerpts without drums that get some
RELEASE = 0.12  # seconds, of most instruments
Rows = NDArray[np.float32]  # (n, 4): row of the bank, first sample, samples held, gain


class Plan(NamedTuple):
    """How a group is played."""

    tempo: float  # factor of seconds
    key: int  # semitones
    rows: tuple[int, ...]  # of the bank, the first of each part's instrument
    gains: tuple[float, ...]
    drums: tuple[bool, ...]
    jitter: float  # seconds
    accent: float
    staccato: float  # share of lengths
    effects: tuple[float, ...]  # tilt in dB an octave, low-pass in Hz, wet share, seconds of room, noise in dB
    seed: int


class Excerpt(NamedTuple):
    notes: Notes
    known: Known
    beats: NDArray[np.float32]  # seconds
    source: str
    name: str
    programs: tuple[int, ...]


class Version(NamedTuple):
    kind: str  # 'clean', 'again' or a corruption
    strength: float
    rows: Rows
    effects: tuple[float, ...]
    seed: int


def cut(piece: Written, other: Written, drummer: Written | None, rng: Generator) -> Excerpt:
    """About 30 s of whole bars, from a random bar on; a shorter piece is repeated. A drummer may play along."""
    usual = float(np.median(np.diff(piece.beats)))
    factor = float(rng.uniform(max(0.75, min(1.0, 0.25 / usual)), min(1.3, max(1.0, 1.2 / usual))))  # of the tempo
    beat = factor * usual
    bars = max(2, int(np.ceil((SECONDS + 1) / beat / piece.metre)))
    count = bars * piece.metre
    whole = _whole(piece)
    last = max(0, int(whole[:, START].max()) + 1 - count)
    first = int(rng.integers(0, last // piece.metre + 1)) * piece.metre
    notes = _part_of(whole, first, count)
    theirs = _whole(other)
    begin = int(rng.integers(0, max(1, int(theirs[:, START].max()) - count) // other.metre + 1)) * other.metre
    programs = piece.programs
    if drummer is not None and drummer.metre == piece.metre and -1 not in programs:
        beaten = _drummed(drummer, count, len(programs), rng)
        notes, programs = np.concatenate([notes, beaten]), (*programs, -1)
    drums = tuple(program < 0 for program in programs)
    other_drums = tuple(program < 0 for program in other.programs)
    known = Known(count, piece.metre, drums, whole, _part_of(theirs, begin, count), other_drums)
    durations = (
        np.resize(np.diff(piece.beats)[first:], count) if first < len(piece.beats) - 1 else np.full(count, usual)
    )
    durations = factor * durations.clip(0.7 * usual, 1.4 * usual)
    beats = np.concatenate([[0], np.cumsum(durations)]).astype(np.float32)
    return Excerpt(notes, known, beats, piece.source, piece.name, programs)


def _drummed(drummer: Written, count: int, part: int, rng: Generator) -> Notes:
    """Two or four bars of another piece's drums, again and again."""
    own = [p for p, program in enumerate(drummer.programs) if program < 0]
    whole = _whole(drummer)
    whole = whole[np.isin(whole[:, PART], own)]
    size = drummer.metre * int(rng.choice((2, 4)))
    places = np.unique(whole[:, START] // size)
    first = float(rng.choice(places)) * size if len(places) else 0.0
    bars = whole[(whole[:, START] >= first) & (whole[:, START] < first + size)]
    found = [bars + np.array([i * size - first, 0, 0, 0, 0], np.float32) for i in range(-(-count // size))]
    out = np.concatenate(found)
    out[:, PART] = part
    return out[out[:, START] < count]


def _whole(piece: Written) -> Notes:
    notes = piece.notes.copy()
    notes[:, START] = np.round(notes[:, START] * GRID) / GRID
    notes[:, LENGTH] = (np.round(notes[:, LENGTH] * GRID) / GRID).clip(1 / GRID)
    return notes


def _part_of(notes: Notes, first: int, count: int) -> Notes:
    """From a beat on; if there is less than asked for, again from the piece's beginning."""
    out = notes[(notes[:, START] >= first) & (notes[:, START] < first + count)].copy()
    out[:, START] -= first
    end = max(4.0, float(np.ceil((notes[:, START].max() + 1) / 4) * 4)) - first
    while end < count:
        more = notes[notes[:, START] < count - end].copy()
        more[:, START] += end
        out = np.concatenate([out, more])
        end += max(4.0, float(np.ceil((notes[:, START].max() + 1) / 4) * 4))
    return out


def draw_plan(excerpt: Excerpt, bank: Bank, rng: Generator) -> Plan:
    programs = excerpt.programs
    fonts = sorted({voice["font"] for voice in bank.voices})
    font = str(rng.choice(fonts))
    pitched = [voice for voice in bank.pitched if voice["font"] == font]
    kit = next(voice for voice in bank.drums if voice["font"] == font)
    alone = rng.random() < 0.35
    piano = pitched[0] if rng.random() < 0.5 else pitched[int(rng.integers(len(pitched)))]
    rows, gains = [], []
    for part, program in enumerate(programs):
        own = excerpt.notes[excerpt.notes[:, PART] == part, PITCH]
        low = len(own) > 0 and own.mean() < 48
        able = [voice for voice in pitched if low or voice["program"] not in BASSES]
        near = min(able, key=lambda voice: abs(voice["program"] - program))
        voice = piano if alone else near if program and rng.random() < 0.4 else able[int(rng.integers(len(able)))]
        rows.append(int((kit if program < 0 else voice)["first"]))
        gains.append(float(10 ** (rng.uniform(-9, 3) / 20)))
    tempo = float(rng.uniform(0.97, 1.12))
    effects = (
        float(rng.normal(0, 1.5)),
        float(rng.choice((8000, 8000, rng.uniform(2500, 8000)))),
        float(rng.choice((0, rng.uniform(0.03, 0.4)))),
        float(rng.uniform(0.15, 1.5)),
        float(rng.choice((-100, rng.uniform(-70, -35)))),
    )
    jitter = float(rng.choice((0, rng.uniform(0, 0.02))))
    drums = tuple(program < 0 for program in programs)
    return Plan(
        *(tempo, int(rng.integers(-5, 7)), tuple(rows), tuple(gains), drums, jitter),
        *(float(rng.uniform(0, 0.4)), float(rng.uniform(0.7, 1.05)), effects, int(rng.integers(2**31))),
    )


def play(notes: Notes, excerpt: Excerpt, plan: Plan) -> Rows:
    """The tones of notes."""
    notes = tidied(notes, excerpt.known)
    drums = np.array(plan.drums)[notes[:, PART].astype(int)]
    pitch = np.where(drums, notes[:, PITCH], notes[:, PITCH] + plan.key).astype(int)
    pitch = np.where(pitch < LOWEST, pitch + 12, np.where(pitch > HIGHEST, pitch - 12, pitch))
    first = np.array(plan.rows)[notes[:, PART].astype(int)]
    key = np.array([_drum(p) for p in range(128)])
    row = np.where(drums, first + key[notes[:, PITCH].astype(int).clip(0, 127)], first + pitch - LOWEST)
    places = np.arange(len(excerpt.beats))
    begin = np.interp(notes[:, START], places, excerpt.beats)
    end = np.interp(notes[:, START] + notes[:, LENGTH] * plan.staccato, places, excerpt.beats)
    rng = np.random.default_rng(plan.seed)
    begin, end = begin * plan.tempo, end * plan.tempo
    begin = (begin + plan.jitter * rng.standard_normal(len(begin))).clip(0)
    metre = excerpt.known.metre
    weight = np.where(notes[:, START] % metre == 0, 1.0, np.where(notes[:, START] % 1 == 0, 0.5, 0.0))
    gain = np.array(plan.gains)[notes[:, PART].astype(int)] * (1 - plan.accent * (1 - weight))
    gain = gain * 10 ** (rng.normal(0, 1.0, len(gain)) / 20)
    rows = np.column_stack([row, begin * RATE, (end - begin).clip(0.05) * RATE, gain]).astype(np.float32)
    return rows[rows[:, 1] < SIZE - 200]


def _drum(key: int) -> int:
    return min(range(len(DRUMS)), key=lambda i: abs(DRUMS[i] - key))


def make_group(
    pieces: list[Written],
    index: int,
    bank: Bank,
    seed: int,
    kinds: dict[str, Corruption],
    strengths: tuple[float, ...] = (),
    count: int = 6,
) -> tuple[Excerpt, Plan, list[Version]]:
    """Versions of one excerpt: of `count` kinds at random strengths, or of all at given ones."""
    rng = np.random.default_rng(seed)
    drummers = [i for i, piece in enumerate(pieces) if -1 in piece.programs]

    def draw(piece: Written) -> Excerpt:
        drummer = pieces[int(rng.choice(drummers))] if drummers and rng.random() < DRUMMED else None
        return cut(piece, pieces[int(rng.integers(len(pieces)))], drummer, rng)

    excerpt = draw(pieces[index])
    while len(excerpt.notes) < FEWEST or not pitched_parts(excerpt.notes, excerpt.known):
        excerpt = draw(pieces[int(rng.integers(len(pieces)))])
    plan, again = (draw_plan(excerpt, bank, rng) for _ in range(2))
    versions = [
        Version("clean", 0.0, play(excerpt.notes, excerpt, plan), plan.effects, plan.seed),
        Version("again", 0.0, play(excerpt.notes, excerpt, again), again.effects, again.seed),
    ]
    chosen = [(k, s) for k in kinds for s in strengths]
    if not strengths:
        chosen = [(str(k), float(rng.uniform(0.1, 1))) for k in rng.choice(list(kinds), count, replace=False)]
    for kind, strength in chosen:
        notes = kinds[kind](excerpt.notes.copy(), strength, rng, excerpt.known)
        versions.append(Version(kind, strength, play(notes, excerpt, plan), plan.effects, plan.seed))
    return excerpt, plan, versions


def mix(versions: list[Version], bank: Bank) -> Tensor:
    """The sound of versions: (B, SIZE), at one level."""
    device = bank.sounds.device
    rows = np.concatenate([np.column_stack([v.rows, np.full(len(v.rows), i)]) for i, v in enumerate(versions)])
    notes = torch.from_numpy(rows).to(device, torch.float64)
    out = torch.zeros(len(versions) * (SIZE + LONG), device=device)
    tail = round(RELEASE * RATE)
    total = (notes[:, 2] + 3 * tail).clamp(max=LONG).long()
    for low, high in ((0, 8_000), (8_000, 16_000), (16_000, 32_000), (32_000, LONG)):
        for chosen in notes[(total > low) & (total <= high)].split(8_000_000 // high):
            if len(chosen):
                _add(out, chosen, bank, high, tail)
    sound = _affected(out.view(len(versions), -1)[:, :SIZE], versions)
    return 0.1 * sound / sound.square().mean(dim=1, keepdim=True).sqrt().clamp(min=1e-6)


def _add(out: Tensor, notes: Tensor, bank: Bank, length: int, tail: int) -> None:
    """Add tones, each at its place."""
    at = torch.arange(length, device=out.device)
    held = notes[:, 2:3].float()
    envelope = torch.exp(-(at - held).clamp(min=0) / tail * 2.3)
    envelope = envelope * (at < held + 3 * tail)
    tones = bank.sounds[notes[:, 0].long(), :length].float() * envelope * notes[:, 3:4].float()
    places = (notes[:, 4] * (SIZE + LONG) + notes[:, 1]).long()[:, None] + at
    out.index_add_(0, places.flatten(), tones.flatten())


def _affected(sound: Tensor, versions: list[Version]) -> Tensor:
    """A tone of its own, a room and noise: the same for all versions of a plan."""
    device = sound.device
    tilt, cutoff, wet, room, noise = torch.tensor([v.effects for v in versions], device=device).T[:, :, None]
    spectrum = torch.fft.rfft(sound, n=SIZE + LONG)
    hertz = torch.linspace(0, RATE / 2, spectrum.shape[1], device=device).clamp(min=30)[None]
    gain = 10 ** (tilt * (hertz / 800).log2() / 20) / (1 + (hertz / cutoff) ** 8).sqrt().where(cutoff < 8000, 1.0)
    seconds = torch.arange(LONG, device=device)[None] / RATE
    drawn = torch.stack([_noise(v.seed, LONG, device) for v in versions])
    tail = drawn * torch.exp(-6.9 * seconds / room)
    tail = tail / tail.square().sum(dim=1, keepdim=True).sqrt()
    response = (1 - wet) + wet * torch.fft.rfft(tail, n=SIZE + LONG)
    heard = torch.fft.irfft(spectrum * gain * response, n=SIZE + LONG)[:, :SIZE]
    level = heard.square().mean(dim=1, keepdim=True).sqrt()
    return heard + torch.randn_like(heard) * level * 10 ** (noise / 20)


def _noise(seed: int, count: int, device: torch.device) -> Tensor:
    return torch.randn(count, generator=torch.Generator(device).manual_seed(seed), device=device)

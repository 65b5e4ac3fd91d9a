"""What an audit asks: pairs as they are, and pairs made of them whose right answer nobody can doubt.

    as it is        the pairs themselves; with a known winner (a studio set has them) they test flaws and misfits
    same clip       a take against itself: no winner
    silence         a take against as much silence
    noise           a take against white noise that is as loud
    other prompt    a take against the take of another pair: which of them was made for this prompt?

Everything is drawn by a seed; the right answer is a as often as b.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from cmi._util.errors import InputError
from cmi.audio import Waveform, load
from cmi.preferences import NamedPair
from cmi.take import Audio, Axis, Choice, Pair

Kind = Literal["as it is", "same clip", "silence", "noise", "other prompt"]
RATE = 16_000  # of sounds that are made
SECONDS = 30.0  # of silence and noise, at most


class AuditItem(NamedTuple):
    """One pair of an audit. `expected` is the right choice by axis; {} where none is known, or there is none."""

    kind: Kind
    pair: NamedPair

    @property
    def expected(self) -> dict[Axis, Choice]:
        return self.pair.known


def audit_items(pairs: Sequence[NamedPair], count: int, seed: int = 0) -> list[AuditItem]:
    """`count` items of each kind, or as many as there are pairs."""
    rng = random.Random(f"cmi.judge.audit {seed}")  # noqa: S311
    sample = rng.sample(list(pairs), min(count, len(pairs)))
    if len(sample) < 2:
        raise InputError("an audit needs two pairs at least")
    items = [AuditItem("as it is", pair._replace(id=f"as it is: {pair.id}")) for pair in sample]
    for number, pair in enumerate(sample):
        items += _made(pair, sample[(number + 1) % len(sample)], rng)
    return items


def _made(pair: NamedPair, other: NamedPair, rng: random.Random) -> Iterator[AuditItem]:
    good = _better(pair)
    yield AuditItem("same clip", _named("same clip", pair, good, good, None, rng))
    length = _length(good)
    yield AuditItem("silence", _named("silence", pair, good, _silence(length), "musicality", rng))
    yield AuditItem("noise", _named("noise", pair, good, _noise(good, rng), "musicality", rng))
    if pair.pair.prompt.text and pair.pair.prompt != other.pair.prompt:
        yield AuditItem("other prompt", _named("other prompt", pair, good, _better(other), "alignment", rng))


def _named(kind: Kind, pair: NamedPair, right: Audio, wrong: Audio, axis: Axis | None, rng: random.Random) -> NamedPair:
    is_first = rng.random() < 0.5
    a, b = (right, wrong) if is_first else (wrong, right)
    known: dict[Axis, Choice] = {axis: "a" if is_first else "b"} if axis else {}
    return NamedPair(f"{kind}: {pair.id}", Pair(pair.pair.prompt, a, b), known, {})


def _better(pair: NamedPair) -> Audio:
    """The take that is known to be the better one on any axis, else a."""
    return pair.pair.b if "b" in pair.known.values() else pair.pair.a


def _sound(audio: Audio) -> Waveform:
    return load(audio, RATE, SECONDS) if isinstance(audio, Path) else audio


def _length(audio: Audio) -> int:
    """In samples at RATE."""
    sound = _sound(audio)
    return round(min(sound.seconds, SECONDS) * RATE)


def _silence(length: int) -> Waveform:
    return Waveform(np.zeros(length, np.float32), RATE)


def _noise(like: Audio, rng: random.Random) -> Waveform:
    level = float(np.sqrt(np.mean(_sound(like).samples.astype(np.float64) ** 2)))
    samples = np.random.default_rng(rng.getrandbits(32)).normal(0, max(level, 0.01), _length(like))
    return Waveform(samples.clip(-1, 1).astype(np.float32), RATE)

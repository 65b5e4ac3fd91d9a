"""The pairs of an audit: original ones, and ones made from them whose right answer is obvious.

    as it is        original pairs; those with a known winner (from a studio set) test flaws and misfits
    same clip       a take against itself: no winner
    silence         a take against silence of the same length
    noise           a take against white noise of the same loudness
    other prompt    a take against another pair's take: only one was made for this prompt

A seed decides everything; the right answer is a as often as b.
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
RATE = 16_000
SECONDS = 30.0  # of silence and noise, at most


class AuditItem(NamedTuple):
    """One pair of an audit; `expected` is the right choice by axis, {} if there is none."""

    kind: Kind
    pair: NamedPair

    @property
    def expected(self) -> dict[Axis, Choice]:
        return self.pair.known


def audit_items(pairs: Sequence[NamedPair], count: int, seed: int = 0) -> list[AuditItem]:
    """Make `count` items of each kind, or as many as there are pairs."""
    rng = random.Random(f"cmi.judge.audit {seed}")  # noqa: S311
    sample = rng.sample(list(pairs), min(count, len(pairs)))
    if len(sample) < 2:
        raise InputError("an audit needs at least two pairs")
    items = [AuditItem("as it is", pair._replace(id=f"as it is: {pair.id}")) for pair in sample]
    for number, pair in enumerate(sample):
        items += _make_items(pair, sample[(number + 1) % len(sample)], rng)
    return items


def _make_items(pair: NamedPair, other: NamedPair, rng: random.Random) -> Iterator[AuditItem]:
    good = _better(pair)
    yield AuditItem("same clip", _name_pair("same clip", pair, good, good, None, rng))
    silence = Waveform(np.zeros(_length(good), np.float32), RATE)
    yield AuditItem("silence", _name_pair("silence", pair, good, silence, "musicality", rng))
    yield AuditItem("noise", _name_pair("noise", pair, good, _noise(good, rng), "musicality", rng))
    if pair.pair.prompt.text and pair.pair.prompt != other.pair.prompt:
        yield AuditItem("other prompt", _name_pair("other prompt", pair, good, _better(other), "alignment", rng))


def _name_pair(
    kind: Kind, pair: NamedPair, right: Audio, wrong: Audio, axis: Axis | None, rng: random.Random
) -> NamedPair:
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
    return round(min(_sound(audio).seconds, SECONDS) * RATE)


def _noise(like: Audio, rng: random.Random) -> Waveform:
    level = float(np.sqrt(np.mean(_sound(like).samples.astype(np.float64) ** 2)))
    samples = np.random.default_rng(rng.getrandbits(32)).normal(0, max(level, 0.01), _length(like))
    return Waveform(samples.clip(-1, 1).astype(np.float32), RATE)

"""Audit a judge: does the order of the takes sway it, does it contradict itself, does it use the audio?

Original pairs, asked in both orders and again
    position           share of decided answers that name the first take; 0.5 if the order does not matter
    consistency        pairs that get the same answer in both orders
    self-consistency   questions that get the same answer when repeated
    ties, unparsed     answers without a winner; answers that are not a verdict
    at odds            answers whose marks contradict their choice

Pairs made from them with an obvious right answer, both orders together
    same clip          a take against itself: no winner
    silence, noise     a take against silence of the same length, or white noise of the same loudness
    other prompt       a take against another pair's take: only one was made for this prompt
    flawed, misfit     original pairs with a known winner (from a studio set)
    sensitivity        the right take wins in both orders
    specificity        no take wins in both orders when both are the same clip
    J                  Youden's: sensitivity + specificity - 1; 0 if the audio is not used

A judge is unfit unless the 95 % interval of J lies above 0 for each kind of pair. Consistency alone proves nothing: a
judge that does not use the audio may be perfectly consistent. A seed draws the pairs; the right answer is a as often as
b.
"""

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from cmi._util.errors import InputError
from cmi.audio import Waveform, load
from cmi.judge.labels import agreed
from cmi.judge.run import Judged
from cmi.judge.verdict import TIES
from cmi.preferences import NamedPair
from cmi.stats import Interval, Share, bootstrap, share_interval
from cmi.take import Audio, Axis, Choice, Pair

Kind = Literal["as it is", "same clip", "silence", "noise", "other prompt"]
RATE = 16_000
SECONDS = 30.0  # of silence and noise, at most
MOST_UNPARSED = 0.1
MOST_BIAS = 0.15  # deviation from 0.5 of the share of first takes
LEAST_SELF_CONSISTENT = 0.7
RESAMPLES = 1000

# What each kind of pair with a known winner tests.
TESTED = {
    "silence": "music from silence",
    "noise": "music from noise",
    "flawed": "a clean take from a flawed one",
    "misfit": "what was asked for from what was not",
    "other prompt": "the prompt's own take from another's",
}


class AuditItem(NamedTuple):
    """One pair of an audit; `pair.known` is the right choice by axis, {} if there is none."""

    kind: Kind
    pair: NamedPair


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
    sound = load(good, RATE, SECONDS) if isinstance(good, Path) else good
    length = round(min(sound.seconds, SECONDS) * RATE)  # in samples at RATE
    yield _make_item("same clip", pair, good, good, None, rng)
    yield _make_item("silence", pair, good, Waveform(np.zeros(length, np.float32), RATE), "musicality", rng)
    yield _make_item("noise", pair, good, _noise(sound, length, rng), "musicality", rng)
    if pair.pair.prompt.text and pair.pair.prompt != other.pair.prompt:
        yield _make_item("other prompt", pair, good, _better(other), "alignment", rng)


def _make_item(
    kind: Kind, pair: NamedPair, right: Audio, wrong: Audio, axis: Axis | None, rng: random.Random
) -> AuditItem:
    is_first = rng.random() < 0.5
    a, b = (right, wrong) if is_first else (wrong, right)
    known: dict[Axis, Choice] = {axis: "a" if is_first else "b"} if axis else {}
    return AuditItem(kind, NamedPair(f"{kind}: {pair.id}", Pair(pair.pair.prompt, a, b), known, {}))


def _better(pair: NamedPair) -> Audio:
    """The take that is known to be the better one on any axis, else a."""
    return pair.pair.b if "b" in pair.known.values() else pair.pair.a


def _noise(like: Waveform, length: int, rng: random.Random) -> Waveform:
    level = float(np.sqrt(np.mean(like.samples.astype(np.float64) ** 2)))
    samples = np.random.default_rng(rng.getrandbits(32)).normal(0, max(level, 0.01), length)
    return Waveform(samples.clip(-1, 1).astype(np.float32), RATE)


@dataclass(frozen=True)
class PositionBias:
    axis: Axis
    n: int  # decided answers
    value: float
    interval: Interval


@dataclass(frozen=True)
class Discrimination:
    """One kind of pairs with a known winner; Youden's J uses the specificity on pairs of one clip."""

    kind: str
    axis: Axis
    sensitivity: Share
    youden: float
    interval: Interval


@dataclass(frozen=True)
class Audit:
    judge: str
    position: list[PositionBias]
    consistency: dict[Axis, Share]
    self_consistency: dict[Axis, Share]
    ties: dict[Axis, Share]
    at_odds: dict[Axis, Share]
    unparsed: Share
    failed: Share
    specificity: dict[Axis, Share]
    hearing: list[Discrimination]

    @property
    def faults(self) -> list[str]:
        """Why the judge is unfit; empty if it is fit."""
        found = []
        if self.unparsed.value > MOST_UNPARSED:
            found.append(f"{self.unparsed.value:.0%} of its answers are not a verdict")
        found += [
            f"on {bias.axis} it names the first take in {bias.value:.0%} of its decisions"
            for bias in self.position
            if bias.interval.low > 0.5 + MOST_BIAS or bias.interval.high < 0.5 - MOST_BIAS
        ]
        found += [
            f"on {axis} it repeats itself in {share.value:.0%} of the cases only"
            for axis, share in self.self_consistency.items()
            if share.n and share.interval.high < LEAST_SELF_CONSISTENT
        ]
        if not self.hearing:
            found.append("no test shows that it uses the audio")
        found += [
            f"on {one.axis} it does not distinguish {TESTED[one.kind]} "
            f"(J {one.youden:.2f}, 95 % from {one.interval.low:.2f})"
            for one in self.hearing
            if not one.interval.low > 0
        ]
        return found


def audit(judged: Judged, items: Sequence[AuditItem]) -> Audit:
    """Compute all measures from verdicts about the items in both orders."""
    plain = [item for item in items if item.kind == "as it is"]
    axes = judged.axes
    verdicts = list(judged.verdicts.values())
    specificity = {axis: _specificity(judged, items, axis) for axis in axes}
    return Audit(
        judge=judged.judge,
        position=[bias for axis in axes if (bias := _position(judged, plain, axis)) is not None],
        consistency={axis: _consistency(judged, plain, axis) for axis in axes},
        self_consistency={axis: _self_consistency(judged, plain, axis) for axis in axes},
        ties={axis: _share(verdicts, axis, lambda opinion: opinion.choice in TIES) for axis in axes},
        at_odds={axis: _share(verdicts, axis, lambda opinion: opinion.at_odds) for axis in axes},
        unparsed=Share(sum(not verdict.opinions for verdict in verdicts), len(verdicts)),
        failed=Share(len(judged.failures), len(verdicts) + len(judged.failures)),
        specificity=specificity,
        hearing=_discriminations(judged, items, axes, specificity),
    )


def youden(sensitivity: Share, specificity: Share) -> tuple[float, Interval]:
    """J and its 95 % interval, from Wilson intervals by variance estimates recovery (Newcombe 1998)."""
    value = sensitivity.value + specificity.value - 1
    shares = (sensitivity, specificity)
    below = math.hypot(*(share.value - share.interval.low for share in shares))
    above = math.hypot(*(share.interval.high - share.value for share in shares))
    return value, Interval(max(-1.0, value - below), min(1.0, value + above))


def _position(judged: Judged, items: Sequence[AuditItem], axis: Axis) -> PositionBias | None:
    """Over pairs asked in both orders; the bootstrap draws whole pairs."""
    rows: list[tuple[int, bool]] = []
    for number, item in enumerate(items):
        if said := judged.both_opinions(item.pair.id, axis):
            firsts: tuple[Choice, Choice] = ("a", "b")
            rows += [(number, o.choice == first) for o, first in zip(said, firsts, strict=True) if o.choice not in TIES]
    if not rows:
        return None
    clusters = np.unique([number for number, _ in rows], return_inverse=True)[1]
    first = np.array([is_first for _, is_first in rows], float)
    draws = bootstrap(lambda weights: weights @ first / weights.sum(axis=1), clusters, RESAMPLES)
    share = float(first.mean())
    return PositionBias(axis, len(rows), share, share_interval(share, draws, int(clusters.max()) + 1))


def _consistency(judged: Judged, items: Sequence[AuditItem], axis: Axis) -> Share:
    both = [said for item in items if (said := judged.both_opinions(item.pair.id, axis))]
    return Share(sum(agreed(*said) is not None for said in both), len(both))


def _self_consistency(judged: Judged, items: Sequence[AuditItem], axis: Axis) -> Share:
    repeats: Mapping[tuple[str, str], list[Choice]] = defaultdict(list)
    wanted = {item.pair.id for item in items}
    for asking, verdict in judged.verdicts.items():
        if asking.pair in wanted and axis in verdict.opinions:
            repeats[asking.pair, asking.order].append(verdict.opinions[axis].choice)
    several = [choices for choices in repeats.values() if len(choices) > 1]
    return Share(sum(len(set(choices)) == 1 for choices in several), len(several))


def _share(verdicts: Sequence[Any], axis: Axis, holds: Any) -> Share:
    opinions = [verdict.opinions[axis] for verdict in verdicts if axis in verdict.opinions]
    return Share(sum(map(holds, opinions)), len(opinions))


def _specificity(judged: Judged, items: Sequence[AuditItem], axis: Axis) -> Share:
    """Share of same-clip pairs in which no take wins in both orders."""
    said = [found for item in items if item.kind == "same clip" and (found := judged.both_opinions(item.pair.id, axis))]
    return Share(sum(agreed(*found) not in ("a", "b") for found in said), len(said))


def _discriminations(
    judged: Judged, items: Sequence[AuditItem], axes: Sequence[Axis], specificity: Mapping[Axis, Share]
) -> list[Discrimination]:
    right: Mapping[tuple[str, Axis], list[bool]] = defaultdict(list)
    for item in items:
        for wanted, winner in item.pair.known.items():
            axis: Axis = wanted if wanted in axes else "overall"
            if winner not in TIES and (said := judged.both_opinions(item.pair.id, axis)):
                right[_name_test(item, wanted), axis].append(agreed(*said) == winner)
    found = []
    for kind, axis in sorted(right, key=lambda key: (list(TESTED).index(key[0]), key[1])):
        sensitivity = Share(sum(right[kind, axis]), len(right[kind, axis]))
        found.append(Discrimination(kind, axis, sensitivity, *youden(sensitivity, specificity[axis])))
    return found


def _name_test(item: AuditItem, axis: Axis) -> str:
    if item.kind != "as it is":
        return item.kind
    return "misfit" if axis == "alignment" else "flawed"

"""Leave out takes that nobody should be asked about, and count why.

missing             there is no such file
unreadable          it cannot be decoded, or its reference cannot be read
changed             its SHA-256 is not the manifest's
cut off             it is shorter than its header says
short               shorter than `min_seconds`
silent              below QUIETEST
clipped             more than `max_clipped` of its frames are at full scale
same file           the same bytes as another take of the prompt
near-identical      the same sound as another take of the prompt by the same system (`cmi.pairs.fingerprint`)

Takes of two systems are not compared by their sound: systems that share a composer, as the studio with and without
flaws, may differ in what a fingerprint does not hold.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from cmi.pairs.checks import AudioCheck, CheckedFiles, Checker
from cmi.pairs.fingerprint import SAME, similarities
from cmi.pairs.pool import PooledTake

Reason = Literal[
    "missing", "unreadable", "changed", "cut off", "short", "silent", "clipped", "same file", "near-identical"
]
REASONS: tuple[Reason, ...] = get_args(Reason)
QUIETEST = -60.0  # dBFS RMS
GROUPS_AT_ONCE = 500  # of takes, whose fingerprints are in memory


@dataclass(frozen=True)
class TakeLimits:
    """What a take must have."""

    min_seconds: float = 3.0
    max_clipped: float = 0.01  # of its frames


class GoodTake(NamedTuple):
    """A take to make pairs of, with the number of its prompt."""

    take: PooledTake
    prompt: int
    digest: str
    check: AudioCheck


class DroppedTake(NamedTuple):
    take: PooledTake
    reason: Reason


class Filtered(NamedTuple):
    good: list[GoodTake]
    left_out: list[DroppedTake]


def filter_takes(
    takes: Sequence[PooledTake],
    prompts: Sequence[int | None],
    files: CheckedFiles,
    checker: Checker,
    limits: TakeLimits,
) -> Filtered:
    """Return the good takes, by prompt, system and content, and the others with the reason.

    `prompts` has the number of each take's prompt; None if its reference cannot be read.
    """
    good: list[GoodTake] = []
    left_out: list[DroppedTake] = []
    for take, prompt in zip(takes, prompts, strict=True):
        digest = files.digests.get(take.path, "")
        reason = _reason(take, prompt, digest, files, limits)
        if reason is None and prompt is not None:
            good.append(GoodTake(take, prompt, digest, files.checks[digest]))
        elif reason is not None:
            left_out.append(DroppedTake(take, reason))
    good.sort(key=lambda one: (one.prompt, one.take.system, one.digest))
    kept: list[GoodTake] = []
    for one, copy_of in _copies(good, checker):
        if copy_of is None:
            kept.append(one)
        else:
            left_out.append(DroppedTake(one.take, copy_of))
    return Filtered(kept, left_out)


def _reason(
    take: PooledTake, prompt: int | None, digest: str, files: CheckedFiles, limits: TakeLimits
) -> Reason | None:
    if not digest:
        return "unreadable" if take.path.exists() else "missing"
    check = files.checks[digest]
    if not check.is_readable or prompt is None:
        return "unreadable"
    if take.sha256 and take.sha256.lower() != digest:
        return "changed"
    if not check.is_whole:
        return "cut off"
    if check.seconds < limits.min_seconds:
        return "short"
    if check.loudness < QUIETEST:
        return "silent"
    return "clipped" if check.clipped > limits.max_clipped else None


def _copies(takes: Sequence[GoodTake], checker: Checker) -> Iterator[tuple[GoodTake, Reason | None]]:
    """Yield each take with the reason why it is a copy of an earlier take of its prompt, or None."""
    seen: set[tuple[int, str]] = set()
    groups: defaultdict[tuple[int, str], list[GoodTake]] = defaultdict(list)
    for one in takes:
        if (one.prompt, one.digest) in seen:
            yield one, "same file"
        else:
            seen.add((one.prompt, one.digest))
            groups[one.prompt, one.take.system].append(one)
    yield from ((group[0], None) for group in groups.values() if len(group) == 1)
    several = [group for group in groups.values() if len(group) > 1]
    for start in range(0, len(several), GROUPS_AT_ONCE):
        some = several[start : start + GROUPS_AT_ONCE]
        prints = checker.fingerprints(sorted({one.digest for group in some for one in group}))
        for group in some:
            yield from _near_copies(group, prints)


def _near_copies(
    group: Sequence[GoodTake], prints: Mapping[str, NDArray[np.float32]]
) -> Iterator[tuple[GoodTake, Reason | None]]:
    nothing = np.zeros(0, np.float32)
    same = similarities([prints.get(one.digest, nothing) for one in group]) >= SAME
    kept: list[int] = []
    for number, one in enumerate(group):
        is_copy = bool(same[number, kept].any())
        yield one, "near-identical" if is_copy else None
        if not is_copy:
            kept.append(number)

"""Real songs made worse by what is heard of them, in batches on a GPU: no notes are known, only pitches and rises.

    moved       blocks of 0.4 to 3 s in another order
    keys        some blocks in other keys
    two-keys    what is low in another key than what is high
    slips       short moments of a band of pitches a semitone or two away
    both        another song at once
    continued   another song from some moment on
    looped      0.2 to 3 s again and again
    uneven      short moments early or late

All but the last three in a part of the clip, a third or more. A clean version is at another speed and pitch.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from heard import PITCHES
from torch import Tensor

KINDS = ("moved", "keys", "two-keys", "slips", "both", "continued", "looped", "uneven")
SPEEDS = (0.85, 1.15)
KEYS = 3  # semitones that a clean version may be moved by


class Songs(NamedTuple):
    """Excerpts of songs as they are heard: some are recordings with flaws of the same moments."""

    heard: Tensor  # (n, T, 132), pitches and rises
    twin: Tensor  # (n,), the same excerpt with a flaw of the recording; itself if there is none
    flawed: Tensor  # (n,), whether it is one


def draw_groups(songs: Songs, count: int, frames: int, worse: int = 4) -> Tensor:
    """Of each of `count` excerpts two clean versions and `worse` corrupted ones: (count, 2 + worse, frames, 132)."""
    device = songs.heard.device
    clean = (~songs.flawed).nonzero()[:, 0]
    rows = clean[torch.randint(len(clean), (count,), device=device)]
    rows = torch.stack([rows, songs.twin[rows]], dim=1).repeat(1, (3 + worse) // 2)[:, : 2 + worse]
    kinds = torch.randint(len(KINDS), (count, 2 + worse), device=device)
    kinds[:, :2] = -1
    others = clean[torch.randint(len(clean), rows.shape, device=device)]
    made = versions(songs.heard, rows.flatten(), others.flatten(), kinds.flatten(), frames)
    return made.view(count, 2 + worse, frames, -1)


def versions(heard: Tensor, rows: Tensor, others: Tensor, kinds: Tensor, frames: int) -> Tensor:
    """Each row's excerpt, corrupted by its kind (-1: clean), with another one where it is needed: (B, frames, 132)."""
    count, length, device = len(rows), heard.shape[1], heard.device

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand(*(shape or (count, 1)), device=device)

    def whole(low: int, high: int, *shape: int) -> Tensor:
        return torch.randint(low, high, shape or (count, 1), device=device)

    def of(*names: str) -> Tensor:
        return torch.stack([kinds == KINDS.index(name) for name in names]).any(dim=0)[:, None]

    time = torch.arange(frames, device=device)[None]  # (1, frames)
    speed = uniform(SPEEDS[0], min(SPEEDS[1], length / frames))
    begin = torch.rand(count, 1, device=device) * (length - frames * speed).clamp(min=0)
    share = uniform(0.35, 1.0)
    first = torch.rand(count, 1, device=device) * (1 - share) * frames
    inside = (time >= first) & (time < first + share * frames)

    size = torch.where(of("slips", "uneven"), whole(3, 13), whole(8, 61))
    blocks = frames // 3 + 1
    block = time // size  # (B, frames)
    dice = torch.rand(count, blocks, device=device)
    there = torch.arange(blocks, device=device)[None] < frames // size
    order = torch.where(there, dice, 2.0).argsort(dim=1)
    moved = order.gather(1, block) * size + time % size
    period, since = whole(4, 61), (first.long() + size).clamp(max=frames // 2)
    late = whole(-6, 7, count, blocks).gather(1, block)
    clock = time.expand(count, -1)
    clock = torch.where(of("moved") & inside & (block < frames // size), moved, clock)
    clock = torch.where(of("looped") & (time >= since), since + (time - since) % period, clock)
    clock = torch.where(of("uneven"), clock + late, clock)
    place = (begin + clock.clamp(0, frames - 1) * speed).long().clamp(0, length - 1)
    sound = heard[rows[:, None], place].float()  # (B, frames, 132)

    steps = torch.where(of("slips"), whole(1, 3, count, blocks), whole(1, 7, count, blocks))
    steps = steps * (1 - 2 * whole(0, 2, count, blocks)) * (uniform(0, 1, count, blocks) < uniform(0.25, 1.0))
    keys = steps.gather(1, block) * (of("keys", "slips") & inside)  # (B, frames)
    band = torch.arange(PITCHES, device=device)[None, None]  # (1, 1, 84)
    low, high = whole(0, 50)[:, None], whole(20, 60)[:, None]
    touched = (band >= low) & (band < low + high) | ~of("slips")[:, None]
    key = torch.where(touched, keys[:, :, None], 0)
    apart = (whole(1, 7) * (1 - 2 * whole(0, 2)))[:, None]
    key = key + torch.where((of("two-keys") & inside)[:, :, None] & (band < whole(20, 50)[:, None]), apart, 0)
    sound = _transposed(sound, key + whole(-KEYS, KEYS + 1)[:, None])

    other = heard[others[:, None], place].float()
    other = _transposed(other, whole(-6, 7)[:, None].expand_as(key))
    sound = torch.where((of("both") & inside)[:, :, None], torch.maximum(sound, other), sound)
    return torch.where((of("continued") & (time >= since))[:, :, None], other, sound)


def _transposed(sound: Tensor, key: Tensor) -> Tensor:
    """(B, T, 132) with each pitch moved by (B, T, 84) semitones."""
    source = torch.arange(PITCHES, device=sound.device) - key
    pitches = sound[..., :PITCHES].gather(2, source.clamp(0, PITCHES - 1))
    return torch.cat([pitches * ((source >= 0) & (source < PITCHES)), sound[..., PITCHES:]], dim=2)


@torch.no_grad()
def measure_songs(judge: Callable[[Tensor, Tensor], Tensor], songs: Songs, frames: int = 520) -> dict[str, Any]:
    """Right of two in %: [the same excerpt, any two] for each kind, and what clean excerpts get."""
    torch.manual_seed(0)
    rows = (~songs.flawed).nonzero()[:, 0]
    others = rows.roll(7)

    def ask(kind: int, of: Tensor) -> Tensor:
        told = []
        for own, other in zip(of.split(128), others.split(128), strict=True):
            made = versions(songs.heard, own, other, torch.full_like(own, kind), frames)
            told.append(judge(made[..., :PITCHES], made[..., PITCHES:]))
        return torch.cat(told).cpu()

    clean, again, flawed = ask(-1, rows), ask(-1, rows), ask(-1, songs.twin[rows])
    cells = {}
    for place, kind in enumerate(KINDS):
        worse = ask(place, rows)
        right = (clean > worse).float().mean(), (clean[:, None] > worse).float().mean()
        cells[kind] = [round(100 * float(share), 1) for share in right]
    seen = torch.tensor(list(cells.values())).mean(dim=0)
    spread = clean.std()
    overall = {
        "songs": [round(float(x), 1) for x in seen],
        "harmless": round(float((clean - again).abs().mean() / spread), 2),
        "flawed": round(float((clean - flawed).abs().mean() / spread), 2),
        "quantiles": [round(float(x), 2) for x in clean.quantile(torch.tensor([0.02, 0.1, 0.25, 0.5, 0.75, 0.9]))],
    }
    return {"all": overall, "cells": cells}

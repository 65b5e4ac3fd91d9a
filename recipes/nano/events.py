"""A small language model of notes, whose pieces are locally plausible and lead nowhere: what machines compose.

    a note -> its part, pitch and length, after a shift in time from the last; a sign for each bar
    -> an LSTM -> the next sign

It is trained on the same pieces, for a minute, and goes on from the first bars of an excerpt.
"""

from collections.abc import Iterator

import numpy as np
import torch
from corruptions import GRID, LENGTH, PART, PITCH, START, Notes
from numpy.typing import NDArray
from perform import Excerpt
from pieces import Written
from torch import Tensor, nn
from torch.nn import functional

SLOTS = 8  # parts; the last is drums
SHIFTS = 48  # twelfths of a beat
LENGTHS = np.array([1, 2, 3, 4, 6, 8, 9, 12, 16, 18, 24, 36, 48, 72, 96, 192])
KEPT = 12  # likeliest signs that may be drawn
BAR = 0
SHIFT, SLOT, KEY, LONG = 1, 1 + SHIFTS, 1 + SHIFTS + SLOTS, 1 + SHIFTS + SLOTS + 128
SIGNS = LONG + len(LENGTHS)
Signs = NDArray[np.uint8]


class Model(nn.Module):
    def __init__(self, width: int = 768) -> None:
        super().__init__()
        self.embed = nn.Embedding(SIGNS, 192)
        self.follow = nn.LSTM(192, width, 2, batch_first=True, dropout=0.1)
        self.say = nn.Linear(width, SIGNS)

    def forward(
        self, signs: Tensor, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """(B, t) -> (B, t, SIGNS)."""
        heard, state = self.follow(self.embed(signs), state)
        return self.say(heard), state


def slots(notes: Notes, drums: tuple[bool, ...]) -> dict[int, int]:
    """Which slot each part has: high parts first, drums last; parts beyond the seventh share."""
    parts = [p for p in np.unique(notes[:, PART]).astype(int).tolist() if not drums[p]]
    parts.sort(key=lambda part: -float(notes[notes[:, PART] == part, PITCH].mean()))
    found = {part: min(i, SLOTS - 2) for i, part in enumerate(parts)}
    return found | {p: SLOTS - 1 for p, drum in enumerate(drums) if drum}


def written(notes: Notes, metre: int, beats: int, slot: dict[int, int]) -> Signs:
    """Notes as signs."""
    signs: list[int] = []
    ticks = np.round(notes[:, START] * GRID).astype(int)
    slots_of = np.array([slot[int(p)] for p in notes[:, PART]])
    order = np.lexsort((-notes[:, PITCH], slots_of, ticks))
    at, bar = 0, -1
    for i in order.tolist():
        while bar < ticks[i] // (metre * GRID):
            bar += 1
            at = bar * metre * GRID
            signs.append(BAR)
        while at < ticks[i]:
            step = min(SHIFTS, ticks[i] - at)
            signs.append(SHIFT + step - 1)
            at += step
        length = int(np.abs(LENGTHS - notes[i, LENGTH] * GRID).argmin())
        signs += [SLOT + slot[int(notes[i, PART])], KEY + int(notes[i, PITCH]), LONG + length]
    return np.array(signs, np.uint8)


def read(signs: list[int], metre: int, part_of: dict[int, int]) -> Notes:
    """Signs as notes; what makes no sense is left out."""
    rows, at, bar, part, pitch = [], 0, -1, -1, -1
    for sign in signs:
        if sign == BAR:
            bar += 1
            at = bar * metre * GRID
            part = pitch = -1
        elif sign < SLOT:
            at += sign - SHIFT + 1
            part = pitch = -1
        elif sign < KEY:
            part, pitch = sign - SLOT, -1
        elif sign < LONG:
            pitch = sign - KEY
        elif part in part_of and pitch >= 0:
            rows.append((at / GRID, LENGTHS[sign - LONG] / GRID, pitch, 80, part_of[part]))
            part = pitch = -1
    return np.array(rows, np.float32).reshape(-1, 5)


def train(
    pieces: list[Written],
    device: torch.device,
    seconds: float,
    ages: tuple[float, ...],
    width: int = 768,
    batch: int = 192,
) -> Iterator[tuple[float, Model]]:
    """Yield the model at each of `ages`, shares of the time."""
    from time import monotonic

    songs = []
    for piece in pieces:
        drums = tuple(p < 0 for p in piece.programs)
        songs.append(written(piece.notes, piece.metre, len(piece.beats), slots(piece.notes, drums)))
    signs = torch.from_numpy(np.concatenate(songs)).to(device)
    model, length = Model(width).to(device), 512 if batch > 16 else 64
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3, weight_decay=0.01)
    begun, left, step, shown = monotonic(), list(ages), 0, 0.0
    while left:
        share = (monotonic() - begun) / seconds
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1, (step + 1) / 50) * max(0.05, 1 - share)
        first = torch.randint(0, len(signs) - length - 1, (batch,), device=device)
        own = signs[first[:, None] + torch.arange(length + 1, device=device)].long()
        key = torch.randint(-5, 7, (batch, 1), device=device)
        pitched = (own >= KEY) & (own < LONG) & (own.roll(1, 1) != SLOT + SLOTS - 1)
        own = torch.where(pitched, (own + key).clamp(KEY, LONG - 1), own)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            odds, _ = model(own[:, :-1])
            loss = functional.cross_entropy(odds.flatten(0, 1).float(), own[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        if share > shown:
            print(f"events: step {step}, {share:.2f}, loss {float(loss.detach()):.3f}", flush=True)
            shown += 0.2
        if share >= left[0]:
            yield left.pop(0), model


@torch.no_grad()
def go_on(
    model: Model,
    excerpts: list[Excerpt],
    prompts: list[int],
    temperatures: list[float],
    device: torch.device,
    longest: int = 2200,
) -> list[Notes]:
    """Excerpts that keep their first `prompts` beats and go on as the model likes."""
    model.eval()
    begun, wheres = [], []
    for excerpt, beats in zip(excerpts, prompts, strict=True):
        known = excerpt.known
        slot = slots(excerpt.notes, known.drums)
        own = excerpt.notes[excerpt.notes[:, START] < beats]
        begun.append(written(own, known.metre, known.beats, slot) if len(own) else np.array([BAR], np.uint8))
        wheres.append({s: p for p, s in reversed(list(slot.items()))})
    heat = torch.tensor(temperatures, device=device)[:, None]
    fed = torch.zeros(len(begun), max(map(len, begun)), dtype=torch.long)
    for row, signs_given in zip(fed, begun, strict=True):
        row[: len(signs_given)] = torch.from_numpy(signs_given.astype(np.int64))
    fed, counts = fed.to(device), torch.tensor([len(own) for own in begun], device=device)
    state, sign, out = None, fed[:, :1], [fed[:, :1]]
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        for step in range(1, longest):
            odds, state = model(sign, state)
            odds = odds[:, 0].float() / heat
            kept = odds.topk(KEPT, dim=1).values[:, -1:]
            drawn = odds.masked_fill(odds < kept, -torch.inf).softmax(dim=1).multinomial(1)
            given = fed[:, min(step, fed.shape[1] - 1)][:, None]
            sign = torch.where((step < counts)[:, None], given, drawn)
            out.append(sign)
    signs = torch.cat(out, dim=1).cpu().tolist()
    model.train()
    return [read(s, e.known.metre, w) for s, e, w in zip(signs, excerpts, wheres, strict=True)]

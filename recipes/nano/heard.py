"""What is heard of versions of excerpts (`perform.py`), and how often a network or a baseline prefers the clean one."""

from typing import Any, NamedTuple

import numpy as np
import torch
from corruptions import SEEN, UNSEEN
from torch import Tensor
from torch.nn import functional

from cmi.reward.model.encoders.composition import Composition

LEVELS = 50.0  # of 255 in a unit of what is heard
PITCHES, RISES = 84, 48
MADE = "machine-made"


class Heard(NamedTuple):
    """Versions of groups: what is heard of each, and what they are."""

    pitches: Tensor  # (n, T, 84), bytes
    rises: Tensor  # (n, T, 48), bytes
    group: Tensor  # (n,)
    clean: Tensor  # (n,), whether it is
    kinds: list[str]
    strengths: list[float]
    sources: list[str]


@torch.no_grad()
def scores(network: Composition, heard: Heard) -> Tensor:
    found = []
    for first in range(0, len(heard.kinds), 256):
        own = (x[first : first + 256].float() / LEVELS for x in (heard.pitches, heard.rises))
        found.append(network.judge(*own))
    return torch.cat(found).cpu()


def measure(told: Tensor, heard: Heard) -> dict[str, Any]:
    """Right of two in %: [the same excerpt, any two], of all corruptions and of each kind and strength."""
    clean = torch.tensor([kind == "clean" for kind in heard.kinds])
    again = torch.tensor([kind == "again" for kind in heard.kinds])
    group = heard.group.cpu()
    own = torch.zeros(int(group.max()) + 1)
    own[group[clean]] = told[clean]
    cells: dict[str, Any] = {}
    for kind in dict.fromkeys(heard.kinds):
        for strength in dict.fromkeys(heard.strengths):
            about = zip(heard.kinds, heard.strengths, strict=True)
            chosen = torch.tensor([(k, s) == (kind, strength) for k, s in about])
            if kind != "clean" and chosen.any():
                same = (own[group[chosen]] > told[chosen]).float().mean()
                across = (told[clean][:, None] > told[chosen]).float().mean()
                cells[f"{kind} {strength:g}"] = [round(100 * float(x), 1) for x in (same, across)]
    named = {"seen": set(SEEN), "unseen": set(UNSEEN), MADE: {MADE}}
    groups = {
        name: np.mean([v for k, v in cells.items() if k.rsplit(" ", 1)[0] in kinds], axis=0).round(1).tolist()
        for name, kinds in named.items()
        if any(k.rsplit(" ", 1)[0] in kinds for k in cells)
    }
    moved = float((told[clean] - told[again]).abs().mean() / told[clean].std())
    spread = round(float(told[clean].std()), 2)
    return {"all": {**groups, "harmless": round(moved, 2), "spread": spread}, "cells": cells}


def baselines(heard: Heard) -> dict[str, Any]:
    """Ten lines each: how little rises, how few pitch classes sound, how consonant they are."""
    pitches, rises = (x.float() / LEVELS for x in (heard.pitches, heard.rises))
    classes = functional.pad(pitches, (9, 3)).view(*pitches.shape[:2], 8, 12).sum(dim=2)  # A1 is the ninth above C1
    whole = functional.normalize(classes.mean(dim=1), dim=1)
    moment = functional.normalize(classes, dim=2)
    alike = [(moment * moment.roll(i, 2)).sum(dim=2).mean(dim=1) for i in range(12)]
    near, harsh = (torch.stack([alike[i] for i in which]).sum(dim=0) for which in ((3, 4, 5, 7, 8, 9), (1, 6, 11)))
    ways = {
        "sparser": -rises.mean(dim=(1, 2)),
        "denser": rises.mean(dim=(1, 2)),
        "key clarity": whole.square().square().sum(dim=1),
        "consonance": near - 2 * harsh,
        "fewer pitches": -pitches.mean(dim=(1, 2)),
    }
    return {name: measure(told.cpu(), heard)["all"] for name, told in ways.items()}

"""Puts what `train.py` taught into nano: a ranking, and beside it a share of the odds of every flaw.

    python recipes/nano/ship.py FITTED NANO OUT     FITTED is the folder that `train.py fit` wrote

Both are put over their deviation among clean clips. The temperature at which differences of the sum are log-odds is
fitted on the clips that are for choosing; the figures printed for the others were not used. OUT gets the checkpoint;
src/cmi/reward/model/blend.py wants the number printed as LEAST.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from table import Row, load_scores, pick
from torch import Tensor
from torch.nn import functional

from cmi.reward.model.checkpoint import WEIGHTS

RANKED, NAMED, SHARE = "ranked", "named", 0.3
TEMPERATURES = torch.logspace(-1.5, 0.8, 70)
BINS = 10


def main() -> None:
    fitted, nano, out = map(Path, sys.argv[1:])
    said, rows = load_scores(fitted / "scores.pt")
    clean = {name: pick(own["valid"], rows["valid"], [""], 0.0)[0] for name, own in said.items()}
    spread = {name: float(own.std()) for name, own in clean.items()}
    score = {
        pack: said[RANKED][pack] / spread[RANKED] + SHARE * said[NAMED][pack] / spread[NAMED] for pack in said[RANKED]
    }
    temperature = min(TEMPERATURES.tolist(), key=lambda t: _loss(t * _differences(score["valid"], rows["valid"])))
    for name in ("valid", "tests", "fresh"):
        told = _differences(score[name], rows[name])
        errors = ", ".join(f"{100 * _calibration(x):.1f}" for x in (temperature * told, told))
        print(f"expected calibration error on {name}, at the temperature {temperature:.3f} and at 1: {errors}")
    ranked, named = (torch.load(fitted / f"{name}.pt") for name in (RANKED, NAMED))
    factor, share = temperature / spread[RANKED], temperature * SHARE / spread[NAMED]
    songs, strange = (
        temperature * pick(score["valid"], rows["valid"], [name], strength)[0]
        for name, strength in (("", 0.0), ("not music", 1.0))
    )
    middle = songs.mean() - clean["nano"].mean()  # clean clips keep nano's mean
    state = load_file(nano / WEIGHTS) | {
        "craft.mean": ranked["mean"],
        "craft.scale": ranked["scale"].half(),
        "craft.weight": (factor * ranked["weight"]).half(),
        "craft.bend": (factor * ranked["bend"]).half(),
        "craft.hidden.weight": ranked["layer.0.weight"].half(),
        "craft.hidden.bias": ranked["layer.0.bias"].float(),
        "craft.out.weight": factor * ranked["layer.3.weight"].float(),
        "craft.out.bias": factor * ranked["layer.3.bias"].float() - middle,
        "craft.tell.weight": (named["tell.weight"].float() * named["gain"]).half(),
        "craft.tell.bias": named["tell.bias"].float(),
        "craft.share": torch.tensor([share]),
    }
    save_file({key: tensor.contiguous() for key, tensor in state.items()}, out / WEIGHTS)
    print(f"LEAST = {(songs.min() + strange.max()) / 2 - middle:.1f}")


def _differences(scores: Tensor, rows: Sequence[Row]) -> Tensor:
    """Clean less flawed, of any two clips, and as often of the same one: these are what models are asked to compare."""
    clean = pick(scores, rows, [""], 0.0)[0]
    places = [i for i, (_, name, strength) in enumerate(rows) if strength and name != "not music"]
    owners = torch.tensor([rows[i][0] for i in places])
    same = clean[owners] - scores[places]
    others = clean[(owners[:, None] + torch.arange(1, 8)[None]) % len(clean)] - scores[places][:, None]
    return torch.cat([same.repeat(7), others.flatten()])


def _loss(differences: Tensor) -> float:
    return float(functional.softplus(-differences).mean())


def _calibration(differences: Tensor) -> float:
    """Of how sure the winner is said to be, against how often it is the better one."""
    sure, right = differences.abs().sigmoid(), (differences > 0).float()
    bins = ((sure - 0.5) * 2 * BINS).long().clamp(max=BINS - 1)
    return sum(
        float((sure[bins == i].mean() - right[bins == i].mean()).abs() * (bins == i).float().mean())
        for i in range(BINS)
        if (bins == i).any()
    )


if __name__ == "__main__":
    main()

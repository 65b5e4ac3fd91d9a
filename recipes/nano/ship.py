"""Puts what `train.py` taught into nano: CHOSEN beside the head's own musicality.

    python recipes/nano/ship.py FITTED NANO OUT     FITTED is the folder that `train.py fit` wrote

Both are put over their deviation among clean clips. The share of the head's own, and the temperature at which
differences of the sum are log-odds, are fitted on the clips that are for choosing; the figures printed for the others
were not used. OUT gets the checkpoint, and src/cmi/reward/model/blend.py wants the number printed as OWN.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from table import Row, Said, accuracy, load_scores, pick
from torch import Tensor
from torch.nn import functional

from cmi.reward.model.checkpoint import WEIGHTS

CHOSEN = "256"
UNSTEADY = Path(__file__).with_name(
    "unsteady.txt"
)  # numbers that mp3 or ogg move by 0.17 deviations: not heard
SHARES = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
TEMPERATURES = torch.logspace(-1.5, 0.8, 70)
BINS = 10


def main() -> None:
    fitted, nano, out = map(Path, sys.argv[1:])
    named, rows = load_scores(fitted / "scores.pt")
    clean = {name: pick(said["valid"], rows["valid"], [""], 0.0)[0] for name, said in named.items()}
    craft = {pack: scores / clean[CHOSEN].std() for pack, scores in named[CHOSEN].items()}
    head = {pack: scores / clean["nano"].std() for pack, scores in named["nano"].items()}
    tried = {share: accuracy(_sum(craft, head, share)["valid"], rows["valid"]) for share in SHARES}
    print("share of the head's own: " + ", ".join(f"{share} {100 * right:.2f}" for share, right in tried.items()))
    share = max(tried, key=lambda one: tried[one])
    score = _sum(craft, head, share)
    temperature = min(TEMPERATURES.tolist(), key=lambda t: _loss(t * _differences(score["valid"], rows["valid"])))
    for name in ("valid", "tests", "fresh"):
        told, before = (_differences(own[name], rows[name]) for own in (score, named["nano"]))
        errors = ", ".join(f"{100 * _calibration(x):.1f}" for x in (temperature * told, told, before))
        print(f"expected calibration error on {name}, at the temperature {temperature:.3f}, at 1, nano's: {errors}")
    taught = torch.load(fitted / f"{CHOSEN}.pt")
    unsteady = [int(place) for place in UNSTEADY.read_text(encoding="utf-8").split()]
    taught["scale"][unsteady] = taught["bend"][unsteady] = 0
    factor = temperature / float(clean[CHOSEN].std())
    own = temperature * share / float(clean["nano"].std())
    middle = pick(temperature * score["valid"], rows["valid"], [""], 0.0)[0].mean() - clean["nano"].mean()
    state = load_file(nano / WEIGHTS) | {
        "craft.mean": taught["mean"],
        "craft.scale": taught["scale"].half(),
        "craft.weight": (factor * taught["weight"]).half(),
        "craft.bend": (factor * taught["bend"]).half(),
        "craft.hidden.weight": taught["layer.0.weight"].half(),
        "craft.hidden.bias": taught["layer.0.bias"].float(),
        "craft.out.weight": factor * taught["layer.3.weight"].float(),
        "craft.out.bias": factor * taught["layer.3.bias"].float() - middle,  # clean clips keep nano's mean
    }
    state.pop("craft.bias", None)
    save_file({key: tensor.contiguous() for key, tensor in state.items()}, out / WEIGHTS)
    print(f"OWN = {own:.4f} (share {share})")


def _sum(craft: Said, head: Said, share: float) -> Said:
    return {pack: craft[pack] + share * head[pack] for pack in craft}


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

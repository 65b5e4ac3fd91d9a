"""Whole takes of the studio's pairs, as nano hears them: does alignment, or musicality, fall on the studio's own music?

    python recipes/nano/takes.py make TAKES --pairs 7000   a tenth: of `test` and `heldout`, no lyrics; on 16 cores
    python recipes/nano/takes.py hear CLIPS TAKES OUT      on a GPU, where `carry.py` has put nano into CLIPS
    python recipes/nano/takes.py align OUT                 right of two by the weight of what is untrained

OUT/alignment.pt holds the tokens of every take and reference, OUT/musicality.pt summaries of thirds of the takes.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hear import Listener
from torch import Tensor

from cmi.reward.model import blend
from cmi.reward.model.head import PromptTokens
from cmi.studio.pairs import Material, plan_pair
from cmi.studio.recordings import RATE, record

SEED = 5018
SPLITS = ("test", "heldout")
PARTS = 3
WEIGHTS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
FULL_SCALE = 32_767


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    steps = parser.add_subparsers(dest="step", required=True)
    made, heard, aligned = (steps.add_parser(name) for name in ("make", "hear", "align"))
    made.add_argument("takes", type=Path)
    made.add_argument("--pairs", type=int, default=7000, help="that are planned")
    heard.add_argument("clips", type=Path)
    heard.add_argument("takes", type=Path)
    heard.add_argument("out", type=Path)
    aligned.add_argument("out", type=Path)
    arguments = parser.parse_args()
    if arguments.step == "make":
        make(arguments.takes, arguments.pairs)
    elif arguments.step == "hear":
        hear(arguments.clips, arguments.takes, arguments.out)
    else:
        align(torch.load(arguments.out / "alignment.pt", weights_only=False))


def make(folder: Path, count: int) -> None:
    """A file for each pair: its takes, mono, the better one first."""
    folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor() as pool:
        made = sum(pool.map(partial(_make_pair, folder), range(count), chunksize=8))
    print(f"{made} pairs")


def _make_pair(folder: Path, number: int) -> bool:
    plan = plan_pair(number, SEED, Material())
    if plan.split not in SPLITS or plan.lyrics:
        return False
    sounds = {role: record(recipe)[0].mean(axis=1) for role, recipe in plan.recipes.items()}
    stored = {role: (np.clip(sound, -1, 1) * FULL_SCALE).astype(np.int16) for role, sound in sounds.items()}
    about = {"axis": plan.axis, "split": plan.split, "text": plan.text, "kind": plan.truth["kind"]}
    np.savez(folder / f"{plan.id}.part", about=np.array(json.dumps(about, default=str)), **stored)
    (folder / f"{plan.id}.part.npz").rename(folder / f"{plan.id}.npz")
    return True


def hear(clips: Path, takes: Path, out: Path) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    listener = Listener(clips).to(device)
    assert listener.encoder.rate == RATE
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for path in sorted(takes.glob("*[0-9].npz")):
        stored = np.load(path)
        about = json.loads(str(stored["about"]))
        sounds = {role: torch.from_numpy(stored[role]).to(device).float() / FULL_SCALE for role in stored.files[1:]}
        listen: Callable[[Listener, Tensor], Any] = _tokens if about["axis"] == "alignment" else _summaries
        found[about["axis"]].append(about | {role: listen(listener, sound) for role, sound in sounds.items()})
    out.mkdir(parents=True, exist_ok=True)
    for axis, rows in found.items():
        torch.save(rows, out / f"{axis}.pt")
    print({axis: len(rows) for axis, rows in found.items()})


@torch.no_grad()
def _tokens(listener: Listener, sound: Tensor) -> tuple[Tensor, Tensor]:
    """Those of a text's width, and the numbers beside them."""
    tokens = listener.encoder.encode_sound(sound[None])[0].cpu()
    return tokens[:, : listener.encoder.dim].half(), tokens[0, listener.encoder.dim :].clone()


def _summaries(listener: Listener, sound: Tensor) -> tuple[Tensor, float]:
    """Of the parts, and what nano says of all."""
    return listener.summary(sound[None], PARTS)[0].half().cpu(), float(listener.musicality(sound[None]))


@torch.no_grad()
def align(rows: list[dict[str, Any]]) -> None:
    from cmi.reward.model.reward_model import RewardModel  # the machine with the GPU may lack what it needs

    nano = RewardModel.from_pretrained("nano", device="cpu")
    head = nano.head
    assert isinstance(head, blend.BlendedHead)
    plain = nano.encoder.encode_text(torch.tensor([nano.tokenize("")]))
    right: defaultdict[str, list[list[float]]] = defaultdict(list)
    for row in rows:
        text = nano.encoder.encode_text(torch.tensor([nano.tokenize(row["text"])]))
        reference = _joined(*row["reference"]) if isinstance(row.get("reference"), tuple) else None
        prompt = head.fuse(head.join(PromptTokens(text, plain, reference)))
        margins = [_terms(head, prompt, _joined(*row[role])) for role in ("better", "worse")]
        own, untrained = (margins[0][i] - margins[1][i] for i in (0, 1))
        found = [float(own + weight * untrained > 0) for weight in WEIGHTS] + [float(untrained > 0)]
        for group in ("all", row["split"], row["kind"], "reference" if reference is not None else "text alone"):
            right[group].append(found)
    print(f"{'weight':16}{'n':>5}" + "".join(f"{weight:7g}" for weight in WEIGHTS) + "  alone")
    for group, values in right.items():
        means = 100 * np.mean(values, axis=0)
        print(f"{group:16}{len(values):5}" + "".join(f"{mean:7.1f}" for mean in means))


def _joined(tokens: Tensor, beside: Tensor) -> Tensor:
    return torch.cat([tokens.float(), beside.expand(len(tokens), -1)], dim=1)[None]


def _terms(head: blend.BlendedHead, prompt: Tensor, take: Tensor) -> tuple[float, float]:
    """The head's own in deviations, and what is untrained."""
    found = []
    for weight in (0.0, 1.0):
        blend.WEIGHT, before = weight, blend.WEIGHT
        found.append(float(head.judge(prompt, head.thin(take))[0, 0]) / blend.SCALE)
        blend.WEIGHT = before
    return found[0], found[1] - found[0]


if __name__ == "__main__":
    main()

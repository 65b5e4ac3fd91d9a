"""nano from nothing but a studio set: the ear is taught, tokens are fitted, and the head is trained on top.

python -m cmi.reward.train.nano SET OUT    on a GPU in minutes; SET is a folder of `cmi studio make`

OUT/start          the encoder, with a head that knows nothing
OUT/tags.jsonl     more pairs about alignment: what musicnn hears in a take, said in words
OUT/nano           the model
"""

import argparse
import json
import random
import sys
import time
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from cmi.reward.encoders.nano import DIM, TAGS, Nano, load_tokenizer
from cmi.reward.model import Downsampling, HeadConfig, RewardHead, masked_mean
from cmi.reward.reward_model import RewardModel, find_device
from cmi.reward.train.config import TrainConfig, load_config
from cmi.reward.train.ear import FULL_SCALE, log_mels, train_ear
from cmi.reward.train.lessons import Lessons, read_lessons, read_sounds
from cmi.reward.train.loop import train

FITTED_ON = 3000  # takes
TOKENS = 8  # of each
APART = 1.0  # standard deviations of a tag between the takes of a pair about it
LISTENED = 32  # takes at once
TEMPLATES = (
    "{0}", "{0} music", "{0} track", "Some {0} music", "music that sounds {0}", "{0}, {1}", "{0} with {1}",
    "{0} track with {1}", "{0} {1} music", "tags: {0}, {1}", "something {0}, {1}, {2}", "{0}, {1} and {2}",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", type=Path, help="a folder of `cmi studio make`")
    parser.add_argument("out", type=Path)
    parser.add_argument("--ear-steps", type=int, default=3000)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    prepare(arguments.set, arguments.out, arguments.ear_steps, find_device(arguments.device))
    outcome = train(config_for(arguments.set, arguments.out), arguments.out / "nano", arguments.device)
    print(outcome)


def config_for(folder: Path, out: Path) -> TrainConfig:
    """The bundled configuration, for a set and a start in other places than it names."""
    text = (Path(__file__).parent / "configs" / "nano.yaml").read_text(encoding="utf-8")
    own = out / "nano.yaml"
    own.write_text(
        text.replace("nano/start", str((out / "start").resolve()))
        .replace("nano/tags.jsonl", str((out / "tags.jsonl").resolve()))
        .replace("studio/preferences.jsonl", str((folder / "preferences.jsonl").resolve())),
        encoding="utf-8",
    )
    return load_config(str(own))


def prepare(folder: Path, out: Path, ear_steps: int, device: torch.device) -> None:
    """Everything but the head; what is there is not made again."""
    if (out / "tags.jsonl").exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    lessons = read_lessons(folder, ["train"])
    sounds = read_sounds(folder, lessons.takes)
    _say(f"{len(lessons.takes)} takes read")
    mels = log_mels(sounds, device)
    _say("heard")
    encoder = Nano()
    ear = train_ear(lessons, mels, ear_steps, report=lambda step, losses: _say(f"ear {step} {_rounded(losses)}"))
    del mels
    encoder.ear.load_state_dict(ear.state_dict())
    encoder.to(device).requires_grad_(False)
    tags = fit(encoder, sounds, device)
    _say("tokens fitted")
    torch.manual_seed(0)
    RewardModel(encoder, RewardHead(head_config())).save_pretrained(out / "start")
    _write_tag_pairs(out / "tags.jsonl", folder, lessons, tags)
    _say("tag pairs written")


def head_config() -> HeadConfig:
    """CMI-RM's head at small size: 8.4 million parameters. Tokens of each kind pass through a layer of their own."""
    own = Downsampling("mean+mlp", 1)
    return HeadConfig(
        dim=DIM, heads=6, dim_head=64, ff_hidden=768, prompt_depth=2, joint_depth=2, mlp_dim=256,
        take=own, reference=own, text=own,
    )  # fmt: skip


@torch.no_grad()
def fit(encoder: Nano, sounds: Tensor, device: torch.device) -> Tensor:
    """Fit the encoder's reductions to a sample of takes; the tags' log-odds in all takes, in spreads: (takes, 100)."""
    rng = torch.Generator().manual_seed(0)
    sample = set(torch.randperm(len(sounds), generator=rng)[:FITTED_ON].tolist())
    music, heard, tags = [], [], []
    for start in range(0, len(sounds), LISTENED):
        part = sounds[start : start + LISTENED]
        found = encoder.features(part.to(device).float() / FULL_SCALE)
        tags.append(found[2])
        for i in range(len(part)):
            if start + i in sample:
                chosen = torch.randperm(found[0].shape[1], generator=rng)[:TOKENS].to(device)
                music.append(found[0][i, chosen])
                heard.append(found[1][i, chosen])
    encoder.music.fit(torch.cat(music))
    encoder.heard.fit(torch.cat(heard))
    odds = torch.cat(tags)
    encoder.tag_mean.copy_(odds.mean(dim=0))
    encoder.tag_spread.copy_(odds.std(dim=0).clamp(min=1e-3))
    encoder.tag_vectors.copy_(_name_vectors(encoder, device))
    return ((odds - encoder.tag_mean) / encoder.tag_spread).cpu()


def _name_vectors(encoder: Nano, device: torch.device) -> Tensor:
    """What MiniLM makes of each tag's name: unit vectors (100, 384)."""
    tokenize = load_tokenizer()
    rows = [encoder.encode_text(torch.tensor([tokenize(tag)], device=device))[:, :1] for tag in TAGS]
    return functional.normalize(masked_mean(torch.cat(rows), None), dim=-1)


def _write_tag_pairs(path: Path, folder: Path, lessons: Lessons, tags: Tensor) -> None:
    """For each take a prompt of what musicnn hears in it more than usual, and another take that has less of it."""
    rng = random.Random("cmi.reward.train.nano")  # noqa: S311
    lines = []
    for place, take in enumerate(lessons.takes):
        found = _tag_pair(place, tags, rng)
        if found is None:
            continue
        text, other = found
        names = [lessons.takes[i].name for i in (place, other)]
        first = rng.random() < 0.5
        a, b = names if first else names[::-1]
        audio = (folder / "audio").resolve()
        row = {"id": take.name, "text": text, "a": str(audio / f"{a}.flac"), "b": str(audio / f"{b}.flac")}
        row |= {"axis": "alignment", "choice": "a" if first else "b", "rater": "musicnn"}
        lines.append(json.dumps(row) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def _tag_pair(place: int, tags: Tensor, rng: random.Random) -> tuple[str, int] | None:
    own = tags[place]
    usual = [int(i) for i in own.argsort(descending=True)[:8] if own[i] > 0.5]
    if len(usual) < 3:
        return None
    said = rng.sample(usual, 3)
    template = rng.choice(TEMPLATES)
    said = said[: 1 + max(int(c) for c in "012" if f"{{{c}}}" in template)]
    for _ in range(20):
        other = rng.randrange(len(tags))
        if float((own[said] - tags[other][said]).mean()) > APART:
            return template.format(*(TAGS[i].lower() for i in said)), other
    return None


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _rounded(losses: dict[str, float]) -> dict[str, float]:
    return {name: round(loss, 3) for name, loss in losses.items()}


if __name__ == "__main__":
    from cmi.cli import run_plainly

    run_plainly(main)

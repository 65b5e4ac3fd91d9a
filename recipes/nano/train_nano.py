"""nano from nothing but a studio set: the ear is taught, tokens are fitted, and the head is trained on top.

python recipes/nano/train_nano.py SET OUT    on a GPU in minutes; SET is a folder of `cmi studio make`

OUT/start                  the encoder, with a head that knows nothing
OUT/tokens.safetensors     what it hears in all takes, those of SET and those that were degraded for the head to judge
OUT/pairs.jsonl            the studio's pairs that the head learns from, and those to validate on
OUT/tags.jsonl             more pairs about alignment: what musicnn hears in a take, said in words
OUT/degraded.jsonl         more pairs about musicality; of their takes the tokens are kept, the sounds are not
OUT/nano                   the model
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from degrade import degraded, harmless, varied
from ear_targets import StudioTake, Targets, read_sounds, read_targets
from nano_pairs import DegradedPair, degraded_rows, plan_degraded, shared_out, studio_rows, tag_rows
from safetensors import safe_open
from torch import Tensor
from torch.nn import functional
from train_ear import FULL_SCALE, ear_accuracy, train_ear

from cmi._util.device import choose_device
from cmi._util.weights import save_weights
from cmi.cli import run_plainly
from cmi.preferences import Preference, read_preferences, write_rows
from cmi.reward.model.encoders.ear import Ear
from cmi.reward.model.encoders.nano import DIM, TAGS, Features, Nano, levelled, load_tokenizer
from cmi.reward.model.head import Downsampling, HeadConfig, RewardHead, masked_mean
from cmi.reward.model.reward_model import RewardModel
from cmi.reward.train.config import TrainConfig, load_config
from cmi.reward.train.embeddings import Embeddings, reference_job, take_job
from cmi.reward.train.loop import train
from cmi.reward.train.reading import read_examples
from cmi.reward.train.setup import load_model, new_embeddings

FITTED_ON = 4000  # takes
TOKENS = 8  # of each
LISTENED = 32  # takes at once
DEGRADED_PAIRS = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", type=Path, help="a folder of `cmi studio make`")
    parser.add_argument("out", type=Path, help="where the model and what it is made from go; the same command resumes")
    parser.add_argument("--ear-steps", type=int, default=5000, help="training steps of the ear")
    parser.add_argument("--degraded", type=int, default=DEGRADED_PAIRS, help="pairs of clean and degraded takes")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    arguments = parser.parse_args()
    device = choose_device(arguments.device)
    torch.backends.cudnn.benchmark = True
    prepare(arguments.set, arguments.out, arguments.ear_steps, arguments.degraded, device)
    config = config_for(arguments.out)
    embeddings = held_embeddings(config, arguments.out, device)
    print(train(config, arguments.out / "nano", arguments.device, embeddings=embeddings))


def config_for(out: Path) -> TrainConfig:
    """The bundled configuration, for files in another folder than it names."""
    text = (Path(__file__).parent / "nano.yaml").read_text(encoding="utf-8")
    own = out / "nano.yaml"
    own.write_text(text.replace("nano/", f"{out.resolve()}/"), encoding="utf-8")
    return load_config(str(own))


def held_embeddings(config: TrainConfig, out: Path, device: torch.device) -> Embeddings:
    """With the tokens that were made when the encoder was: no recording is read again."""
    embeddings = new_embeddings(config, load_model(config.model), device)
    with safe_open(out / "tokens.safetensors", "pt", device=str(device)) as file:
        tokens = file.get_tensor("tokens")
        names = [Path(name) for name in json.loads(file.metadata()["names"])]
    for name, own in zip(names, tokens, strict=True):
        for job in {take_job(name, config.window), reference_job(name, config.window)}:
            embeddings.hold(job, own)
    examples = [e for part in read_examples((*config.data, *config.validation)) for e in part.examples]
    embeddings.hold_texts(list({"", *(text for e in examples for text in (e.prompt.text, e.prompt.lyrics))}))
    return embeddings


def prepare(folder: Path, out: Path, ear_steps: int, degraded_count: int, device: torch.device) -> None:
    """Everything but the head; what is there is not made again."""
    if (out / "degraded.jsonl").exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    rows = list(read_preferences(folder / "preferences.jsonl"))
    ear_pairs, head_pairs, valid_pairs = shared_out(rows)
    targets, own, valid = (read_targets(folder, pairs) for pairs in (ear_pairs, head_pairs, valid_pairs))
    takes = list({take.name: take for part in (targets, own, valid) for take in part.takes}.values())
    sounds = read_sounds(folder, takes).to(device)
    _say(f"{len(takes)} takes read")
    encoder = Nano()
    taught = sounds[: len(targets.takes)]
    ear = train_ear(targets, taught, ear_steps, report=lambda step, losses: _say(f"ear {step} {_rounded(losses)}"))
    _say(f"ear: {ear_accuracy(ear, targets, taught):.1%} of its own pairs right, {_on_new(ear, valid, takes, sounds)}")
    encoder.ear.load_state_dict(ear.state_dict())
    encoder.to(device).requires_grad_(False).eval()
    plans = plan_degraded(_clean(own, takes), degraded_count)
    features = listen(encoder, _all_sounds(sounds, plans))
    learned = len(takes) - len(valid.takes)
    tags = fit(encoder, features, learned)
    _say("tokens fitted")
    torch.manual_seed(0)
    RewardModel(encoder, RewardHead(head_config())).save_pretrained(out / "start")
    files = [(folder / "audio" / f"{take.name}.flac").resolve() for take in takes]
    worse = [_degraded_files(out, i) for i in range(degraded_count)]
    names = {"names": json.dumps([str(path) for path in (*files, *(path for pair in worse for path in pair))])}
    save_weights({"tokens": tokens_of(encoder, features)}, out / "tokens.safetensors", names)
    write_rows(studio_rows([row for row in rows if row.id in head_pairs | valid_pairs], folder), out / "pairs.jsonl")
    write_rows(tag_rows(files[:learned], tags), out / "tags.jsonl")
    write_rows(degraded_rows(plans, _texts(rows, takes), worse), out / "degraded.jsonl")
    _say("pairs written")


def _on_new(ear: Ear, valid: Targets, takes: Sequence[StudioTake], sounds: Tensor) -> str:
    if not len(valid.pairs):
        return "no new ones"
    places = {take.name: place for place, take in enumerate(takes)}
    own = sounds[torch.tensor([places[take.name] for take in valid.takes], device=sounds.device)]
    return f"{ear_accuracy(ear, valid, own):.1%} of {len(valid.pairs)} new ones"


def _clean(targets: Targets, takes: Sequence[StudioTake]) -> list[int]:
    """The places among all takes of those that have no flaw."""
    places = {take.name: place for place, take in enumerate(takes)}
    flawless = (targets.answers["flaw"].amax(dim=1) == 0).tolist()
    return [places[take.name] for take, clean in zip(targets.takes, flawless, strict=True) if clean]


def head_config() -> HeadConfig:
    """CMI-RM's head at small size: 7.2 million parameters. Tokens of each kind pass through a layer of their own."""
    own = Downsampling("mean+mlp", 1, mlp_ratio=1.0)
    return HeadConfig(
        dim=DIM, heads=6, dim_head=64, ff_hidden=768, prompt_depth=2, joint_depth=2, mlp_dim=256,
        take=own, reference=own, text=own,
    )  # fmt: skip


@torch.no_grad()
def listen(encoder: Nano, sounds: Iterator[Tensor]) -> Features:
    """Of all takes; musicnn's part in half precision."""
    parts = [(heard := encoder.features(part))._replace(music=heard.music.half()) for part in sounds]
    return Features(*(torch.cat(part) for part in zip(*parts, strict=True)))


def _all_sounds(sounds: Tensor, plans: Sequence[DegradedPair]) -> Iterator[Tensor]:
    """The takes as they are, then the better and the worse one of each plan: a few at a time."""
    rng = torch.Generator(sounds.device).manual_seed(0)
    for part in sounds.split(LISTENED):
        yield part.float() / FULL_SCALE
    for start in range(0, len(plans), LISTENED // 2):
        own = plans[start : start + LISTENED // 2]
        places = torch.tensor([(plan.better, plan.worse) for plan in own], device=sounds.device).flatten()
        strength = torch.tensor([(plan.slight, plan.strength) for plan in own], device=sounds.device).flatten()
        both, _ = varied(levelled(sounds[places].float() / FULL_SCALE), rng)
        chosen = (strength > 0).nonzero()[:, 0]
        kinds = [own[int(i) // 2].kind for i in chosen]
        both[chosen] = degraded(both[chosen], strength[chosen], kinds, rng)
        yield harmless(levelled(both), rng)


@torch.no_grad()
def fit(encoder: Nano, features: Features, taught: int) -> Tensor:
    """Fit the encoder's reductions to a sample of takes; the tags of those taught on, in spreads: (taught, 100)."""
    rng = torch.Generator().manual_seed(0)
    device = features.music.device
    sample = torch.randperm(len(features.music), generator=rng)[:FITTED_ON, None].to(device)
    chosen = torch.randint(features.music.shape[1], (len(sample), TOKENS), generator=rng).to(device)
    encoder.music.fit(features.music[sample, chosen].flatten(0, 1))
    encoder.heard.fit(features.heard[sample, chosen].flatten(0, 1))
    encoder.answered.fit(features.answered[sample[:, 0]])
    odds = features.tags[:taught]
    encoder.tag_mean.copy_(odds.mean(dim=0))
    encoder.tag_spread.copy_(odds.std(dim=0).clamp(min=1e-3))
    encoder.tag_vectors.copy_(_name_vectors(encoder, device))
    return ((odds - encoder.tag_mean) / encoder.tag_spread).cpu()


@torch.no_grad()
def tokens_of(encoder: Nano, features: Features) -> Tensor:
    """As `Nano.encode_sound` gives them, in half precision: (takes, t + 1, 384)."""
    parts = zip(*(part.split(256) for part in features), strict=True)
    return torch.cat([encoder.tokens(Features(*part)).half() for part in parts])


def _name_vectors(encoder: Nano, device: torch.device) -> Tensor:
    """What MiniLM makes of each tag's name: unit vectors (100, 384)."""
    tokenize = load_tokenizer()
    rows = [encoder.encode_text(torch.tensor([tokenize(tag)], device=device))[:, :1] for tag in TAGS]
    return functional.normalize(masked_mean(torch.cat(rows), None), dim=-1)


def _texts(rows: Sequence[Preference], takes: Sequence[StudioTake]) -> list[str]:
    """What was asked where each take was offered."""
    asked = {}
    for row in rows:
        pair = row.pair
        asked.update({sound.stem: pair.prompt.text for sound in (pair.a, pair.b) if isinstance(sound, Path)})
    return [asked.get(take.name, "") for take in takes]


def _degraded_files(out: Path, place: int) -> tuple[Path, Path]:
    """What the takes of a degraded pair would be called, if their sounds were kept."""
    folder = (out / "degraded").resolve()
    return folder / f"{place:05d}-better.flac", folder / f"{place:05d}-worse.flac"


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _rounded(losses: dict[str, float]) -> dict[str, float]:
    return {name: round(loss, 3) for name, loss in losses.items()}


if __name__ == "__main__":
    run_plainly(main)

"""Prepare a run: read the data, load the frozen model and the head, and encode all recordings and texts."""

import hashlib
import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object

from cmi._util.cache import cache_folder
from cmi._util.errors import InputError
from cmi.reward.engine.token_cache import GIGABYTE, TokenCache
from cmi.reward.model.head import HeadConfig, RewardHead
from cmi.reward.model.reward_model import RewardModel
from cmi.reward.scoring.baselines import muq_mulan
from cmi.reward.train.config import Architecture, Start, TrainConfig
from cmi.reward.train.data import Batches, Examples, TrainingExample, count
from cmi.reward.train.embeddings import Embeddings, items_of, usable
from cmi.reward.train.forward import Trainee
from cmi.reward.train.reading import read_data

COSTS = ("micro_batch", "memory_gb", "cache_gb")  # settings that do not change results
Report = Callable[[str, int, int, str], None]  # task, number done, total, remark


@dataclass(frozen=True)
class TrainingPlan:
    """The data and facts of a run, before anything is encoded; `facts` identify the run."""

    training: list[Examples]
    validation: list[Examples]
    model: RewardModel
    facts: dict[str, Any]


@dataclass(frozen=True)
class TrainingRun:
    """Everything that the loop needs; `unheard` lists recordings that were left out, and why."""

    trainee: Trainee
    batches: Batches
    validation: list[TrainingExample]
    validation_sources: list[str]  # of each example
    embeddings: Embeddings
    facts: dict[str, Any]
    unheard: list[InputError]


def uses_bf16(config: TrainConfig, device: torch.device) -> bool:
    """Tell whether the encoder and the head compute in bf16; the head's weights stay in fp32."""
    return config.precision == "bf16" or (config.precision == "auto" and device.type == "cuda")


def make_plan(config: TrainConfig) -> TrainingPlan:
    training, validation = read_data(config)
    model = load_model(config.model)
    facts = {"settings": settings_of(config), "model": model.name, "data": fingerprint([*training, *validation])}
    facts["counts"] = {"data": count(training), "validation": count(validation)}
    return TrainingPlan(training, validation, model, facts)


def new_embeddings(config: TrainConfig, model: RewardModel, device: torch.device) -> Embeddings:
    """Return empty embeddings for the model's encoder, which is moved to the device."""
    model.placed(device, "bf16" if uses_bf16(config, device) else "fp32")
    return Embeddings(model, device, config.window, training_cache(config), round(config.memory_gb * GIGABYTE))


def training_cache(config: TrainConfig) -> TokenCache:
    """Return the token cache of training; that of scoring has a smaller limit and would delete its entries."""
    return TokenCache(cache_folder() / "training", round(config.cache_gb * GIGABYTE))


def set_up(
    config: TrainConfig,
    plan: TrainingPlan,
    accelerator: Accelerator,
    report: Report,
    embeddings: Embeddings | None = None,
) -> TrainingRun:
    """Prepare a run; `embeddings` are those of an earlier run with the same encoder, window and device, if any."""
    training, validation, model = plan.training, plan.validation, plan.model
    trainee = Trainee(starting_head(model.head, config.model, config.seed), config.loss).to(accelerator.device)
    embeddings = embeddings or new_embeddings(config, model, accelerator.device)
    _encode(embeddings, [*training, *validation], accelerator, report)
    groups, unheard = [], []
    for group in training:
        kept, problems = usable(group.examples, embeddings.known, config.window)
        if not kept:
            raise InputError(f"{group.source.place}: none of its examples can be read ({problems[0]})")
        groups.append((kept, group.source.weight))
        unheard += problems
    held_out: list[TrainingExample] = []
    sources: list[str] = []
    for group in validation:
        kept, problems = usable(group.examples, embeddings.known, config.window)
        held_out += kept
        sources += [group.name] * len(kept)
        unheard += problems
    if validation and not held_out:
        raise InputError(f"{validation[0].source.place}: none of its examples can be read ({unheard[-1]})")
    batches = Batches(groups, config.batch, config.seed)
    return TrainingRun(trainee, batches, held_out, sources, embeddings, plan.facts, unheard)


def load_model(start: Start) -> RewardModel:
    """Load the model in full precision, in which the head is trained."""
    if start.is_encoder:
        found, encoder = muq_mulan.load_towers(start.checkpoint.partition("=")[2], start.revision)
        return RewardModel(encoder, RewardHead(HeadConfig(dim=encoder.dim)), found.name, found.folder)
    return RewardModel.from_pretrained(start.checkpoint, start.revision, device="cpu", precision="fp32").plain()


def starting_head(head: RewardHead, start: Start, seed: int) -> RewardHead:
    """Return the checkpoint's head, or a new one initialised from the seed."""
    if start.head == "keep":
        return deepcopy(head)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return RewardHead(changed(head.config, start.architecture))


def changed(config: HeadConfig, architecture: Architecture | None) -> HeadConfig:
    if architecture is None:
        return config
    own = {name: getattr(architecture, name) for name in Architecture.__dataclass_fields__}
    return replace(config, **{name: value for name, value in own.items() if value is not None})


def settings_of(config: TrainConfig) -> dict[str, Any]:
    """Return the configuration as JSON, without settings that do not change results."""
    settings = json.loads(json.dumps(asdict(config), default=str))
    return {name: value for name, value in settings.items() if name not in COSTS}


def _encode(embeddings: Embeddings, groups: Sequence[Examples], accelerator: Accelerator, report: Report) -> None:
    """Encode all items; each process encodes its share, and all get the results."""
    examples = (example for group in groups for example in group.examples)
    items = list(dict.fromkeys(["", *(item for e in examples for item in items_of(e, embeddings.window))]))
    items = [item for item in items if item not in embeddings.known]
    mine = items[accelerator.process_index :: accelerator.num_processes]
    done = 0

    def on_done(count: int) -> None:
        nonlocal done
        done += count
        report("recordings and texts encoded", done, len(mine), "")

    known = embeddings.known | embeddings.prepare(mine, on_done)
    embeddings.known = dict(gather_object(list(known.items())))


def fingerprint(groups: Sequence[Examples]) -> str:
    """Return twelve hex digits that depend on all examples, but not on the current folder."""
    digest = hashlib.sha256()
    resolve = cache(Path.resolve)
    for group in groups:
        for example in group.examples:
            reference = example.prompt.reference
            resolved = resolve(reference) if isinstance(reference, Path) else reference
            prompt = (example.prompt.text, example.prompt.lyrics, str(resolved))
            digest.update(repr((prompt, *map(resolve, example.takes), example.labels)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:12]

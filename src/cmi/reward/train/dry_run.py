"""Estimate what a run needs before anything is encoded: data, parameters, memory and disk."""

from collections.abc import Iterable
from typing import Any

from cmi import audio
from cmi._util.device import choose_device
from cmi._util.errors import InputError
from cmi.report.tables import Table
from cmi.reward.engine.token_cache import GIGABYTE
from cmi.reward.engine.tokens import section_chunks
from cmi.reward.engine.windows import Job
from cmi.reward.model.encoders import FrozenEncoder
from cmi.reward.model.reward_model import RewardModel
from cmi.reward.train.config import TrainConfig
from cmi.reward.train.data import Examples, TrainingExample, count, data_table
from cmi.reward.train.embeddings import Item, items_of
from cmi.reward.train.forward import Trainee
from cmi.reward.train.reading import read_data
from cmi.reward.train.setup import load_model, starting_head, uses_bf16

FP32, BF16 = 4, 2  # bytes
ADAMW_COPIES = 4  # weights, gradients and two moments


def dry_run(config: TrainConfig, device: str = "auto") -> dict[str, Any]:
    """Return counts of the data and estimates as JSON; without the checkpoint, the reason instead of estimates.

    Lengths are those in the files' headers. Memory includes weights, gradients, AdamW's moments, tokens in memory and
    the tokens of a batch of the longest example, but not activations.
    """
    training, validation = read_data(config)
    drawn = sum(round(group.source.weight * len(group.examples)) or 1 for group in training)
    found = {
        "data": count(training),
        "validation": count(validation),
        "epochs": config.steps * config.batch / drawn,
    }
    try:
        model = load_model(config.model)
    except InputError as error:
        return {**found, "no_model": str(error)}
    return {**found, **_estimates(config, model, [*training, *validation], device)}


def _estimates(config: TrainConfig, model: RewardModel, groups: Iterable[Examples], device: str) -> dict[str, Any]:
    bf16 = uses_bf16(config, choose_device(device))
    width = model.encoder.dim * (BF16 if bf16 else FP32)
    examples = [example for group in groups for example in group.examples]
    items = {item: None for example in examples for item in items_of(example, config.window)}
    sizes, problems = _sizes(["", *items], model)
    longest = max(_length(example, sizes, config.window) for example in examples)
    trained = _parameters(Trainee(starting_head(model.head, config.model, config.seed), config.loss).parameters())
    frozen = _parameters(model.encoder.parameters())
    disk = sum(sizes.values()) * width
    return {
        "unreadable": {"recordings": len(problems), "reasons": problems[:5]},
        "recordings": sum(isinstance(item, Job) for item in sizes),
        "texts": sum(isinstance(item, str) for item in sizes),
        "tokens": sum(sizes.values()),
        "parameters": {"trained": trained, "frozen": frozen},
        "gigabytes": {
            "tokens on disk": disk / GIGABYTE,
            "tokens that cache_gb allows": config.cache_gb,
            "tokens in memory": min(disk, config.memory_gb * GIGABYTE) / GIGABYTE,
            "frozen weights": frozen * (BF16 if bf16 else FP32) / GIGABYTE,
            "trained weights and optimizer": trained * FP32 * ADAMW_COPIES / GIGABYTE,
            "tokens of the largest batch": longest
            * (config.micro_batch or config.batch)
            * model.encoder.dim
            * FP32
            / GIGABYTE,
        },
    }


def _sizes(items: Iterable[Item], model: RewardModel) -> tuple[dict[Item, int], list[str]]:
    """Return the number of tokens of each item, and the errors of recordings that cannot be opened."""
    sizes: dict[Item, int] = {}
    problems = []
    for item in items:
        try:
            if isinstance(item, str):
                sizes[item] = min(len(model.tokenize(item)), model.encoder.longest_text)
            else:
                sizes[item] = _tokens(item, model.encoder)
        except InputError as error:
            problems.append(str(error))
    return sizes, problems


def _tokens(job: Job, encoder: FrozenEncoder) -> int:
    seconds = audio.duration(job.sound) if not isinstance(job.sound, audio.Waveform) else job.sound.seconds
    samples = round(min(seconds, job.span.seconds) * encoder.rate)
    parts = (part for section in section_chunks(job, samples, encoder) for part in section)
    return sum(encoder.count(part.stop - part.start) for part in parts)


def _length(example: TrainingExample, sizes: dict[Item, int], window: str) -> int:
    return sum(sizes.get(item, 0) for item in items_of(example, window))


def _parameters(parameters: Iterable[Any]) -> int:
    return sum(parameter.numel() for parameter in parameters)


def dry_run_tables(found: dict[str, Any]) -> list[Table]:
    """Return the estimates as tables."""
    counts = {part: found[part] for part in ("data", "validation")}
    title = f"Data: {found['epochs']:.2f} epochs"
    if "no_model" in found:
        return [data_table(counts, title, [f"Costs are unknown without the model: {found['no_model']}."])]
    data = data_table(counts, title, [f"{reason}." for reason in found["unreadable"]["reasons"]])
    costs = [[f"parameters {name}", f"{number:,}"] for name, number in found["parameters"].items()]
    costs += [[name, f"{found[name]:,}"] for name in ("recordings", "texts", "tokens")]
    costs += [["recordings that cannot be opened", str(found["unreadable"]["recordings"])]]
    costs += [[f"GB of {name}", f"{number:.3f}"] for name, number in found["gigabytes"].items()]
    return [data, Table("Memory and disk, without activations", ["what", "how much"], costs)]

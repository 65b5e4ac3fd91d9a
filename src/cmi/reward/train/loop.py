"""The training loop.

The batch of a step depends only on the seed and the step. It is split over the processes, its loss is divided by the
number of labels of the whole batch, and gradients are summed. So the curve is the same for any number of processes, and
for a run that was killed and resumed.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor

from cmi._util.device import choose_device
from cmi._util.errors import InputError
from cmi.report.metric_writers import MetricWriter
from cmi.reward.train.config import Optimizer, TrainConfig
from cmi.reward.train.data import TrainingExample, with_dropout, with_wrong_prompts
from cmi.reward.train.embeddings import Embeddings
from cmi.reward.train.forward import LoadedExamples, Trainee, count_labels, load, objective, score
from cmi.reward.train.journal import Journal, measure_by_source
from cmi.reward.train.outcome import TrainingOutcome, claim, is_complete, save_outcome
from cmi.reward.train.setup import Report, TrainingRun, make_plan, set_up, uses_bf16
from cmi.reward.train.state import Best, copied_head, load_state, save_state
from cmi.take import Axis


def silent(what: str, done: int, total: int, remark: str) -> None:
    """Report nothing."""


def train(
    config: TrainConfig,
    out: Path,
    device: str = "auto",
    report: Report = silent,
    embeddings: Embeddings | None = None,
    writer: MetricWriter | None = None,
) -> TrainingOutcome | None:
    """Train a head and write a complete checkpoint to `out`; the same call resumes a stopped run.

    `embeddings` can be shared by runs with the same encoder, window and device. Only the main process reports, writes
    curves to `writer`, and returns an outcome.
    """
    accelerator = Accelerator(cpu=choose_device(device).type == "cpu", mixed_precision="no")  # autocast is below
    here, process, processes = accelerator.device, accelerator.process_index, accelerator.num_processes
    autocast = partial(torch.autocast, here.type, torch.bfloat16, enabled=uses_bf16(config, here))
    size = config.micro_batch or config.batch
    plan = make_plan(config)
    folder = claim(out, plan.facts, accelerator.is_main_process)
    accelerator.wait_for_everyone()
    if is_complete(out):
        return TrainingOutcome.read(out) if accelerator.is_main_process else None
    report = report if accelerator.is_main_process else silent
    run = set_up(config, plan, accelerator, report, embeddings)
    trainee, parameters = run.trainee, list(run.trainee.parameters())
    optimizer = new_optimizer(trainee, config.optimizer)
    first, best = load_state(folder, trainee, optimizer) or (0, Best(-math.inf, 0, copied_head(trainee)))

    def share(step: int) -> tuple[Counter[Axis], list[tuple[list[TrainingExample], LoadedExamples]]]:
        """Return the number of labels of a step's batch, and this process's share of it in parts that fit in memory."""
        batch = with_dropout(run.batches[step], config.modality_dropout, config.seed, step)
        batch = with_wrong_prompts(batch) if config.loss.wrong_prompts else batch
        mine = batch[process::processes]
        parts = [mine[start : start + size] for start in range(0, len(mine), size)]
        return count_labels(batch), [(part, load(part, run.embeddings)) for part in parts]

    def validate(step: int) -> None:
        nonlocal best
        if run.validation:
            with autocast():
                scores = validation_scores(run, accelerator, size)
            found = measure_by_source(run.validation, scores, run.validation_sources)
            journal.validation(step, found)
            value = found["value"]
        else:
            value = step  # the last is the best
        if value > best.value:
            best = Best(value, step, copied_head(trainee))
        if accelerator.is_main_process:
            save_state(folder, step, trainee, optimizer, best)
        accelerator.wait_for_everyone()

    with closing(Journal(folder, first, accelerator.is_main_process, writer)) as journal:
        if first == 0:
            validate(0)
        for step, (totals, parts) in one_ahead(share, range(first, config.steps)):
            if patience_is_over(config, step, best):
                break
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(config.optimizer, step, config.steps)
            loss = torch.zeros((), device=here)
            for examples, loaded in parts:
                with autocast():
                    scores = score(trainee.head, loaded, here)
                part = objective(trainee, scores, examples, totals, config.loss, loaded.wronged)
                part.backward()
                loss += part.detach()
            total = float(sum_over_processes(accelerator, loss, parameters))
            norm = float(torch.nn.utils.clip_grad_norm_(parameters, config.optimizer.clip))
            if not math.isfinite(total + norm):
                raise InputError(
                    f"{out}: the loss is {total} at step {step + 1}, expected a number: lower optimizer.lr"
                )
            optimizer.step()
            optimizer.zero_grad()
            journal.step(step + 1, total, norm, optimizer.param_groups[0]["lr"])
            report("steps", step + 1, config.steps, journal.remark)
            if (step + 1) % config.validate_every == 0 or step + 1 == config.steps:
                validate(step + 1)
        if accelerator.is_main_process:
            save_outcome(out, config, run, best, journal.finish())
    accelerator.wait_for_everyone()
    return TrainingOutcome.read(out) if accelerator.is_main_process else None


def new_optimizer(trainee: Trainee, settings: Optimizer) -> torch.optim.Optimizer:
    """Return AdamW, without weight decay for gains, biases and the rating mapping."""
    decays = [p for p in trainee.parameters() if p.ndim > 1]
    stays = [p for p in trainee.parameters() if p.ndim <= 1]
    groups: list[dict[str, Any]] = [{"params": decays}, {"params": stays, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.lr, weight_decay=settings.weight_decay)


def learning_rate(settings: Optimizer, step: int, steps: int) -> float:
    """Return the learning rate after `step` steps: linear warmup, then half a cosine down to 0."""
    if step < settings.warmup:
        return settings.lr * (step + 1) / settings.warmup
    done = (step - settings.warmup) / max(1, steps - settings.warmup)
    return settings.lr * (1 + math.cos(math.pi * done)) / 2


def patience_is_over(config: TrainConfig, step: int, best: Best) -> bool:
    """Tell whether early stopping applies: too many validations in a row, up to that at `step`, without improvement."""
    if config.early_stop is None or step % config.validate_every:
        return False
    return step - best.step >= config.early_stop * config.validate_every


def sum_over_processes(accelerator: Accelerator, loss: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """Return the batch's loss; sum the gradients in the parameters, with zeros for processes without labels."""
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    if accelerator.num_processes > 1:
        flat = torch.cat([loss.detach().reshape(1), *(gradient.reshape(-1) for gradient in gradients)])
        total, *summed = accelerator.reduce(flat, "sum").split([1, *(p.numel() for p in parameters)])
        gradients = [part.view_as(p) for part, p in zip(summed, parameters, strict=True)]
        loss = total[0]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    return loss.detach()


@torch.no_grad()
def validation_scores(run: TrainingRun, accelerator: Accelerator, size: int) -> list[Any]:
    """Return the scores of each validation example's takes; each process scores its share and all get the result."""
    mine = range(accelerator.process_index, len(run.validation), accelerator.num_processes)
    found: list[tuple[int, Any]] = []
    for start in range(0, len(mine), size):
        places = mine[start : start + size]
        examples = [run.validation[place] for place in places]
        scores = score(run.trainee.head, load(examples, run.embeddings), accelerator.device)
        values = {axis: iter(column.tolist()) for axis, column in scores.items()}
        found += [
            (place, [{axis: next(column) for axis, column in values.items()} for _ in example.takes])
            for place, example in zip(places, examples, strict=True)
        ]
    return [scores for _, scores in sorted(gather_object(found), key=lambda one: one[0])]


def one_ahead(function: Any, items: Iterable[int]) -> Iterator[tuple[int, Any]]:
    """Yield each item with the function's result, computed in a thread while the previous item is processed."""
    with ThreadPoolExecutor(1) as pool:
        waiting = None
        for item in items:
            upcoming = (item, pool.submit(function, item))
            if waiting is not None:
                yield waiting[0], waiting[1].result()
            waiting = upcoming
        if waiting is not None:
            yield waiting[0], waiting[1].result()

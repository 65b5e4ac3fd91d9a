"""Training examples (pairs with preferences, takes with ratings), and the batches of each step.

`cmi.reward.train.reading` reads them. The examples of a step, and the dropped parts of their prompts, depend only on
the seed and the step: a run that is resumed at any step, or uses any number of processes, learns from the same batches.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from cmi.preferences import AXES as AXES
from cmi.preferences import RATED as RATED
from cmi.report.tables import Table
from cmi.reward.train.config import ModalityDropout, TrainingSource
from cmi.reward.train.loss import confidence_weight
from cmi.take import Axis, Modality, Prompt

FEW_HELD_OUT = 30  # the 95 % interval of an accuracy on so many is about ±18 points


@dataclass(frozen=True)
class Label:
    """The label on an axis: 1 if a was preferred, 0 if b was; or a rating."""

    value: float
    confidence: int | None = None

    def weight(self, by_confidence: bool) -> float:
        return confidence_weight(self.confidence) if by_confidence else 1.0


@dataclass(frozen=True)
class TrainingExample:
    """A prompt with two takes and preferences, or with one take and ratings."""

    prompt: Prompt
    takes: tuple[Path, ...]
    labels: dict[Axis, Label] = field(hash=False)
    wrong_prompt: Prompt | None = None  # another example's
    prompt_key: str = field(default="", compare=False)  # examples of one key are held out together
    generators: tuple[str, ...] = field(default=(), compare=False)  # of the takes; '' for one that is not known

    @property
    def is_pair(self) -> bool:
        return len(self.takes) == 2

    @property
    def aligned(self) -> int:
        """The index of the take that is preferred on alignment, if there is such a preference."""
        return 0 if self.labels["alignment"].value else 1


@dataclass(frozen=True)
class Examples:
    """The examples of a source, the numbers of ties by axis and of dropped rows by reason, and of unused splits."""

    source: TrainingSource
    examples: list[TrainingExample]
    ties: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    unused: Counter[str] = field(default_factory=Counter)
    held_out_of: str = ""  # of a share of the training data: the source that it was taken from

    @property
    def name(self) -> str:
        return f"{self.held_out_of}, {self.source.name}" if self.held_out_of else self.source.name


class Batches:
    """Batches of `size`; in an epoch each example is used as often as its source's weight says."""

    def __init__(self, groups: Sequence[tuple[Sequence[TrainingExample], float]], size: int, seed: int) -> None:
        self.size = size
        self.seed = seed
        self._examples = [example for examples, _ in groups for example in examples]
        self._parts = [(len(examples), max(1, round(weight * len(examples)))) for examples, weight in groups]
        self.epoch = sum(drawn for _, drawn in self._parts)
        self._orders: dict[int, NDArray[np.intp]] = {}

    def __getitem__(self, step: int) -> list[TrainingExample]:
        places = range(step * self.size, (step + 1) * self.size)
        return [self._examples[self._order(place // self.epoch)[place % self.epoch]] for place in places]

    def _order(self, epoch: int) -> NDArray[np.intp]:
        if epoch not in self._orders:
            if len(self._orders) > 1:
                self._orders.clear()
            self._orders[epoch] = self._drawn(epoch)
        return self._orders[epoch]

    def _drawn(self, epoch: int) -> NDArray[np.intp]:
        rng = np.random.default_rng([self.seed, epoch])
        chosen, start = [], 0
        for count, drawn in self._parts:
            times, rest = divmod(drawn, count)
            chosen += [np.tile(np.arange(count), times) + start, rng.permutation(count)[:rest] + start]
            start += count
        return rng.permutation(np.concatenate(chosen))


def with_dropout(
    examples: Sequence[TrainingExample], rates: ModalityDropout, seed: int, step: int
) -> list[TrainingExample]:
    """Return the examples of a step with parts of their prompts dropped, each by its own random generator."""
    return [
        replace(example, prompt=_dropped(example.prompt, rates, random.Random(f"{seed} {step} {place}")))  # noqa: S311
        for place, example in enumerate(examples)
    ]


def with_wrong_prompts(examples: Sequence[TrainingExample]) -> list[TrainingExample]:
    """Give each pair with an alignment label a wrong prompt: that of the next pair with a different one."""
    asked = [example.prompt for example in examples if _is_aligned(example)]
    found, place = [], 0
    for example in examples:
        if _is_aligned(example):
            place += 1
            others = (asked[(place + i) % len(asked)] for i in range(len(asked)))
            example = replace(example, wrong_prompt=next((p for p in others if p != example.prompt), None))
        found.append(example)
    return found


def _is_aligned(example: TrainingExample) -> bool:
    return example.is_pair and "alignment" in example.labels


def _dropped(prompt: Prompt, rates: ModalityDropout, rng: random.Random) -> Prompt:
    text, lyrics, reference = (rng.random() >= rate for rate in (rates.text, rates.lyrics, rates.reference))
    return Prompt(prompt.text if text else "", prompt.lyrics if lyrics else "", prompt.reference if reference else None)


def count(groups: Iterable[Examples]) -> list[dict[str, Any]]:
    """Return for each source: examples, labels by axis, examples by modality, and what was left out or is not used."""
    return [
        {
            "source": group.name,
            "split": group.source.split,
            "kind": " and ".join(_tally(_kind(example) for example in group.examples)),
            "weight": group.source.weight,
            "examples": len(group.examples),
            "labels": _tally(axis for example in group.examples for axis in example.labels),
            "modalities": _tally(example.prompt.modality for example in group.examples),
            "ties": dict(group.ties),
            "left_out": dict(group.left_out),
            "unused": dict(group.unused),
        }
        for group in groups
    ]


def data_table(counts: dict[str, list[dict[str, Any]]], title: str = "Data", notes: Sequence[str] = ()) -> Table:
    """The counts of each part (`data`, `validation`) as a table."""
    every = [group for groups in counts.values() for group in groups]
    axes, modalities = (
        [name for name in names if any(name in group[kind] for group in every)]
        for kind, names in (("labels", AXES), ("modalities", get_args(Modality)))
    )
    rows, others = [], {}
    for part, groups in counts.items():
        for group in groups:
            numbers = [group["examples"], *(group["labels"].get(axis, 0) for axis in axes)]
            numbers += [*(group["modalities"].get(name, 0) for name in modalities), sum(group["ties"].values())]
            used_for = "training" if part == "data" else part
            rows.append([used_for, group["source"], group["kind"], *(f"{number:,}" for number in numbers)])
            name = group["source"].removesuffix(f" ({group.get('split')})")
            if group.get("unused"):
                others["unused", name] = f"Not used of {name}: {_listed(group['unused'])}."
            if group.get("left_out"):
                others["left out", group["source"]] = f"Left out of {group['source']}: {_listed(group['left_out'])}."
    headers = ["used for", "source", "kind", "examples", *axes, *modalities, "ties left out"]
    held_out = sum(group["examples"] for group in counts.get("validation", ()))
    few = [f"Only {held_out} held out for validation: too few to say whether training helped."]
    few = few if 0 < held_out < FEW_HELD_OUT else []
    return Table(title, headers, rows, labels=3, notes=[*few, *others.values(), *notes])


def _kind(example: TrainingExample) -> str:
    return "pairs" if example.is_pair else "ratings"


def _listed(numbers: dict[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in numbers.items())


def _tally(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))

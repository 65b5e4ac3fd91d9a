"""Which examples make up a step, and what is left out of their prompts: told by the seed and the step alone.

So a run resumed at any step, or spread over any number of processes, learns from the same batches.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cmi.reward.train.config import ModalityDropout
from cmi.reward.train.data import TrainingExample
from cmi.take import Prompt


class Batches:
    """Batches of `size`. In an epoch each example is drawn as often as its source's weight says."""

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
    """The examples of a step with parts of their prompts left out, each by a generator of its own."""
    return [
        replace(example, prompt=_dropped(example.prompt, rates, random.Random(f"{seed} {step} {place}")))  # noqa: S311
        for place, example in enumerate(examples)
    ]


def with_wrong_prompts(examples: Sequence[TrainingExample]) -> list[TrainingExample]:
    """Each pair about alignment with the prompt of the next that has another."""
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

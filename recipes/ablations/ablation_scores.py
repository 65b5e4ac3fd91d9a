"""How the heads of the ablations do on what none of them has heard: the studio's splits `test` and `heldout`.

Every head hears the same examples in the same order. What is found of one is JSON, enough to compare it with another:

    {"pairs":   {axis: {"accuracy", "n", "low", "high", "cross_entropy"}},
     "ratings": {axis: {"spearman", "n"}},
     "items":   {"pairs":   {axis: {"place": [...], "margin": [...]}},
                 "ratings": {axis: {"place": [...], "score": [...], "rating": [...]}}}}

`place` is an example's number in its split; `margin` is how much higher the preferred take scored than the other.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from ablation_data import TESTED, AblationData

from cmi._util.device import choose_device
from cmi.reward.model.head import RewardHead
from cmi.reward.train.config import TrainConfig, TrainingSource
from cmi.reward.train.data import TrainingExample
from cmi.reward.train.embeddings import Embeddings, items_of, usable
from cmi.reward.train.forward import Trainee, load, score
from cmi.reward.train.journal import Scores, measure
from cmi.reward.train.reading import read_examples
from cmi.reward.train.setup import Report, load_model, new_embeddings, uses_bf16
from cmi.take import Prompt

Found = dict[str, Any]


class Exam:
    """The examples of both splits, encoded when the first head comes; `unheard` is how many had to be left out.

    `known` are embeddings that may have some of them already.
    """

    def __init__(
        self, config: TrainConfig, data: AblationData, device: str, report: Report, known: Embeddings | None = None
    ) -> None:
        self._config, self._device, self._report = config, choose_device(device), report
        self._splits = {split: examples_of(data, split) for split in TESTED}
        self._known = known
        self._embeddings: Embeddings | None = None
        self.unheard = 0

    def score(self, head: RewardHead, prompted: bool) -> dict[str, Found]:
        """What is found of a head in each split; unprompted, no take is heard under a prompt."""
        embeddings = self.embeddings()
        trained = Trainee(head, self._config.loss).to(self._device).head
        found = {}
        for split, examples in self._splits.items():
            asked = examples if prompted else [replace(example, prompt=Prompt()) for example in examples]
            with torch.autocast(self._device.type, torch.bfloat16, enabled=uses_bf16(self._config, self._device)):
                found[split] = judgement(examples, self._scores(trained, asked, embeddings))
        return found

    def embeddings(self) -> Embeddings:
        """In the cache of training, where most or all of it is already."""
        if self._embeddings is None:
            config = self._config
            embeddings = self._known or new_embeddings(config, load_model(config.model), self._device)
            examples = [example for group in self._splits.values() for example in group]
            items = list(dict.fromkeys(["", *(item for e in examples for item in items_of(e, config.window))]))
            items = [item for item in items if item not in embeddings.known]
            done = 0

            def on_done(count: int) -> None:
                nonlocal done
                done += count
                self._report("test recordings and texts encoded", done, len(items), "")

            embeddings.prepare(items, on_done)
            for split, group in self._splits.items():
                self._splits[split], problems = usable(group, embeddings.known, config.window)
                self.unheard += len(problems)
            self._embeddings = embeddings
        return self._embeddings

    @torch.no_grad()
    def _scores(self, head: RewardHead, examples: Sequence[TrainingExample], embeddings: Embeddings) -> list[Scores]:
        size = self._config.micro_batch or self._config.batch
        found: list[Scores] = []
        for start in range(0, len(examples), size):
            group = examples[start : start + size]
            scores = score(head, load(group, embeddings), self._device)
            columns = {axis: iter(column.tolist()) for axis, column in scores.items()}
            found += [
                [{axis: next(column) for axis, column in columns.items()} for _ in example.takes] for example in group
            ]
        return found


def examples_of(data: AblationData, split: str) -> list[TrainingExample]:
    """The pairs of a split with their true labels, then its takes with ratings."""
    sources = [
        TrainingSource(preferences=data.truth, split=split),
        TrainingSource(ratings=data.file("ratings"), split=split),
    ]
    return [example for group in read_examples(sources) for example in group.examples]


def judgement(examples: Sequence[TrainingExample], scores: Sequence[Scores]) -> Found:
    found = measure(examples, scores)
    items: Found = {"pairs": {}, "ratings": {}}
    heard = list(enumerate(zip(examples, scores, strict=True)))
    for axis in found["pairs"]:
        labelled = [(i, s, e.labels[axis].value) for i, (e, s) in heard if e.is_pair and axis in e.labels]
        margins = [(s[0][axis] - s[1][axis]) * (1 if a_preferred else -1) for _, s, a_preferred in labelled]
        items["pairs"][axis] = {"place": [i for i, _, _ in labelled], "margin": margins}
        found["pairs"][axis]["cross_entropy"] = sum(map(surprise, margins)) / len(margins)
    for axis in found["ratings"]:
        labelled = [(i, s, e.labels[axis].value) for i, (e, s) in heard if not e.is_pair and axis in e.labels]
        items["ratings"][axis] = {
            "place": [i for i, _, _ in labelled],
            "score": [s[0][axis] for _, s, _ in labelled],
            "rating": [rating for _, _, rating in labelled],
        }
    return {"pairs": found["pairs"], "ratings": found["ratings"], "items": items}


def surprise(margin: float) -> float:
    """-log sigmoid(margin), which is log 2 for a guess."""
    return math.log1p(math.exp(-abs(margin))) + max(0.0, -margin)

"""Examples to learn from: pairs with a preference on one axis or more, and takes with ratings.

Preferences and ratings come in the format of `cmi.preferences`. What one rater said of one pair is one example, so that
the pair is heard once for all its axes. Ties ('both', 'neither') teach nothing here: they are left out, and counted.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi.preferences import AXES as AXES
from cmi.preferences import RATED as RATED
from cmi.preferences import Preference, group_by_rater, read_preferences, read_ratings
from cmi.report.tables import Table
from cmi.reward.train.config import TrainingSource
from cmi.reward.train.loss import confidence_weight
from cmi.take import Axis, Prompt


@dataclass(frozen=True)
class Label:
    """What is known on an axis: 1 if a was preferred, 0 if b was; or a rating."""

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

    @property
    def is_pair(self) -> bool:
        return len(self.takes) == 2

    @property
    def aligned(self) -> int:
        """The place of the take that does what the prompt asks; only of a pair with a preference about that."""
        return 0 if self.labels["alignment"].value else 1


@dataclass(frozen=True)
class Examples:
    """Those of one source, and how many preferences were left out as ties, by axis."""

    source: TrainingSource
    examples: list[TrainingExample]
    ties: Counter[str]


def read_examples(sources: Iterable[TrainingSource]) -> list[Examples]:
    """Each source's examples. InputError if one gives none."""
    return [_read(source) for source in sources]


def _read(source: TrainingSource) -> Examples:
    ties: Counter[str] = Counter()
    found = list(_ratings(source) if source.preferences is None else _pairs(source, ties))
    if not found:
        of_split = f" of split {source.split!r}" if source.split else ""
        left_out = f" ({ties.total()} ties were left out)" if ties else ""
        raise InputError(f"{source.path}: no example{of_split} to learn from{left_out}")
    return Examples(source, found, ties)


def _pairs(source: TrainingSource, ties: Counter[str]) -> Iterator[TrainingExample]:
    for group in group_by_rater(_decided(read_preferences(source.path, source.split), ties)):
        pair = next(iter(group.values())).pair
        assert isinstance(pair.a, Path)
        assert isinstance(pair.b, Path)
        labels = {axis: Label(float(one.choice == "a"), one.confidence) for axis, one in group.items()}
        yield TrainingExample(pair.prompt, (pair.a, pair.b), labels)


def _decided(preferences: Iterable[Preference], ties: Counter[str]) -> Iterator[Preference]:
    for one in preferences:
        if one.is_tie:
            ties[one.axis] += 1
        else:
            yield one


def _ratings(source: TrainingSource) -> Iterator[TrainingExample]:
    for one in read_ratings(source.path, source.split):
        assert isinstance(one.take.audio, Path)
        labels = {axis: Label(value) for axis, value in one.ratings.items()}
        yield TrainingExample(one.prompt, (one.take.audio,), labels)


def count(groups: Iterable[Examples]) -> list[dict[str, Any]]:
    """For each source: examples, labels by axis, examples by modality, ties left out by axis."""
    return [
        {
            "source": group.source.name,
            "kind": "ratings" if group.source.preferences is None else "pairs",
            "weight": group.source.weight,
            "examples": len(group.examples),
            "labels": _tally(axis for example in group.examples for axis in example.labels),
            "modalities": _tally(example.prompt.modality for example in group.examples),
            "ties": dict(group.ties),
        }
        for group in groups
    ]


def data_table(counts: dict[str, list[dict[str, Any]]], title: str = "Data", notes: Sequence[str] = ()) -> Table:
    """The counts of each part (`data`, `validation`) as a table."""
    headers = ["used for", "source", "kind", "examples", "labels", "prompts", "ties left out"]
    rows = [
        [
            *(part, group["source"], group["kind"], str(group["examples"])),
            *(_listed(group["labels"]), _listed(group["modalities"]), _listed(group["ties"]) or "0"),
        ]
        for part, groups in counts.items()
        for group in groups
    ]
    return Table(title, headers, rows, labels=3, notes=notes)


def _listed(numbers: dict[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in numbers.items())


def _tally(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))

"""Examples to learn from: pairs with a preference on one axis or more, and takes with ratings.

Preferences come in the common format (`cmi.preferences`), one row for each axis. Rows of the same file about the same
pair by the same rater are joined, so that a pair is heard once for all its axes; a second row on an axis starts another
example. Ties ('both', 'neither') teach nothing here: they are left out, and counted.

Ratings are takes as in a manifest (`cmi.take`), with `musicality` and `alignment` from 1 to 5, or one of them:

    {"audio": "take.flac", "text": "slow sad piano", "musicality": 3.4, "alignment": 4}
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.records import read_records
from cmi.preferences import read_preferences
from cmi.report.tables import Table
from cmi.reward.train.config import Source
from cmi.reward.train.loss import HIGHEST, LOWEST, confidence_weight
from cmi.take import RATINGS, Axis, Prompt, prompt_of, recording, with_ids

AXES: tuple[Axis, ...] = ("musicality", "alignment", "overall")
RATED: tuple[Axis, ...] = ("musicality", "alignment")


@dataclass(frozen=True)
class Label:
    """What is known on an axis: 1 if a was preferred, 0 if b was; or a rating."""

    value: float
    confidence: int | None = None

    def weight(self, by_confidence: bool) -> float:
        return confidence_weight(self.confidence) if by_confidence else 1.0


@dataclass(frozen=True)
class Example:
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

    source: Source
    examples: list[Example]
    ties: Counter[str]


def read_examples(sources: Iterable[Source]) -> list[Examples]:
    """Each source's examples. InputError if one gives none."""
    return [_read(source) for source in sources]


def _read(source: Source) -> Examples:
    ties: Counter[str] = Counter()
    found = list(_ratings(source)) if source.preferences is None else _pairs(source, ties)
    if not found:
        of_split = f" of split {source.split!r}" if source.split else ""
        left_out = f" ({ties.total()} ties were left out)" if ties else ""
        raise InputError(f"{source.path}: no example{of_split} to learn from{left_out}")
    return Examples(source, found, ties)


def _pairs(source: Source, ties: Counter[str]) -> list[Example]:
    latest: dict[tuple[object, ...], Example] = {}
    found: list[Example] = []
    for row in read_preferences(source.path):
        preference, pair = row.preference, row.preference.pair
        if source.split and row.about.get("split") != source.split:
            continue
        if preference.choice in ("both", "neither"):
            ties[preference.axis] += 1
            continue
        assert isinstance(pair.a, Path)
        assert isinstance(pair.b, Path)
        key = (pair.prompt, pair.a, pair.b, preference.rater)
        if key not in latest or preference.axis in latest[key].labels:
            latest[key] = Example(pair.prompt, (pair.a, pair.b), {})
            found.append(latest[key])
        latest[key].labels[preference.axis] = Label(float(preference.choice == "a"), preference.confidence)
    return found


def _ratings(source: Source) -> Iterator[Example]:
    folder = source.path.parent
    for _, where, row in with_ids(source.path, read_records(source.path, RATINGS)):
        if source.split and row.get("split") != source.split:
            continue
        audio = recording(row, "audio", where, folder)
        labels = {axis: _rating(row[axis], axis, where) for axis in RATED if row.get(axis) is not None}
        if not labels:
            raise InputError(f"{where}: neither 'musicality' nor 'alignment' is rated")
        yield Example(prompt_of(row, where, folder), (audio,), labels)


def _rating(value: Any, axis: str, where: str) -> Label:
    if isinstance(value, bool) or not isinstance(value, int | float) or not LOWEST <= value <= HIGHEST:
        raise InputError(f"{where}: {axis!r} is {value!r}, expected a number from {LOWEST} to {HIGHEST}")
    return Label(float(value))


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

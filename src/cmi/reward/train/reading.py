"""Read the training and validation data of a run.

Preferences and ratings are in the format of `cmi.preferences`, from files or from data sets by name. All preferences of
one rater on one pair are one example, so that the pair is encoded once for all axes. Ties ('both', 'neither') are left
out and counted.

Training and validation are disjoint: a held-out share contains all examples of its prompts, and the same row in both
parts is an error.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from cmi._util.errors import InputError
from cmi.preferences import (
    Preference,
    Rating,
    draw_number,
    group_by_rater,
    prompt_key,
    read_preferences,
    read_ratings,
    split_name,
)
from cmi.reward.train.config import TrainConfig, TrainingSource
from cmi.reward.train.data import AXES, Examples, Label, TrainingExample
from cmi.take import Prompt

ALL = "all"  # splits


class ReadSet:
    """The labels of a data set by split, and what was left out of each split, by reason."""

    def __init__(self, given: str) -> None:
        # Imported here because cmi.rewardbench imports cmi.reward; its readers of data sets do not.
        from cmi.rewardbench.data import find
        from cmi.rewardbench.data.labels import read_labels, split_of, stated_splits

        found = list(read_labels(find(given)))
        stated = stated_splits(each for each in found if isinstance(each, Preference | Rating))
        self.labels: dict[str, list[Preference | Rating]] = {}
        self.left_out: dict[str, Counter[str]] = {}
        for each in found:
            if isinstance(each, Preference | Rating):
                self.labels.setdefault(split_of(each, stated), []).append(each)
            else:
                self.left_out.setdefault(split_name(each.split), Counter())[each.reason] += 1


class ReadSets:
    """The data sets of some sources, each read once; those in `known` were read before."""

    def __init__(self, sources: Iterable[TrainingSource], known: dict[str, ReadSet] | None = None) -> None:
        self.used = {(source.dataset, split) for source in sources for split in _splits(source)}
        self._read = {} if known is None else known

    def read(self, given: str) -> ReadSet:
        if given not in self._read:
            self._read[given] = ReadSet(given)
        return self._read[given]


def read_data(
    config: TrainConfig, test: Sequence[Examples] = (), known: dict[str, ReadSet] | None = None
) -> tuple[list[Examples], list[Examples]]:
    """Return the examples for training and for validation, which are disjoint; training is also disjoint from `test`.

    `known` keeps the data sets for the next call.
    """
    sets = ReadSets((*config.data, *config.validation), known)
    training = [_read(source, sets) for source in config.data]
    validation = []
    for source in config.validation:
        if source.share is None:
            validation.append(_read(source, sets))
        else:
            training, held_out = _hold_out(training, source)
            validation += held_out
    _require_apart(training, {"validation": validation, "testing": test})
    return [_as_configured(one, config) for one in training], [_as_configured(one, config) for one in validation]


def _as_configured(group: Examples, config: TrainConfig) -> Examples:
    """Return the examples with the configured axes only, and without prompts if the configuration says so."""
    examples = group.examples
    if not set(AXES) <= set(config.axes):
        chosen = ({axis: label for axis, label in e.labels.items() if axis in config.axes} for e in examples)
        examples = [replace(e, labels=labels) for e, labels in zip(examples, chosen, strict=True) if labels]
        if not examples:
            raise InputError(f"{group.source.place}: no label on {' or '.join(config.axes)}, which 'axes' asks for")
    if not config.prompts:
        examples = [replace(example, prompt=Prompt()) for example in examples]
    return replace(group, examples=examples)


def read_examples(sources: Sequence[TrainingSource]) -> list[Examples]:
    """Return the examples of each source; raise InputError if a source has none."""
    sets = ReadSets(sources)
    return [_read(source, sets) for source in sources]


def _read(source: TrainingSource, sets: ReadSets) -> Examples:
    found = Examples(source, [])
    known = ""
    if source.dataset is None:
        found.examples.extend(_of_file(source, found.ties))
    else:
        known = _of_set(source, sets, found)
    if not found.examples:
        of_split = f" of split {source.split!r}" if source.split else ""
        left_out = f" ({found.ties.total()} ties were left out)" if found.ties else ""
        raise InputError(f"{source.place}: no example{of_split} to learn from{left_out}{known}")
    most = min(source.limit or len(found.examples), len(found.examples))
    most = max(1, round(source.fraction * most))
    if most < len(found.examples):
        places = np.random.default_rng(source.seed).permutation(len(found.examples))[:most]
        found.unused["beyond the limit"] = len(found.examples) - most
        return replace(found, examples=[found.examples[place] for place in sorted(places.tolist())])
    return found


def _of_file(source: TrainingSource, ties: Counter[str]) -> Iterator[TrainingExample]:
    if source.preferences is not None:
        return _pairs(read_preferences(source.preferences, source.split), ties)
    assert source.ratings is not None
    return _rated(read_ratings(source.ratings, source.split))


def _of_set(source: TrainingSource, sets: ReadSets, found: Examples) -> str:
    """Add the examples of a split to those found; return a sentence that names the splits of the set."""
    assert source.dataset is not None
    read, wanted = sets.read(source.dataset), _splits(source)
    for split, labels in read.labels.items():
        pairs = (one for one in labels if isinstance(one, Preference))
        rated = (one for one in labels if isinstance(one, Rating))
        if wanted & {ALL, split}:
            found.examples.extend(_pairs(pairs, found.ties))
            found.examples.extend(_rated(rated))
        elif (source.dataset, split) not in sets.used:
            found.unused[split or "no split"] = sum(1 for _ in (*_pairs(pairs, Counter()), *rated))
    for split, reasons in read.left_out.items():
        if wanted & {ALL, split}:
            found.left_out.update(reasons)
    splits = ", ".join(sorted(split or "not stated" for split in read.labels))
    return f"; its splits are {splits}" if splits else ""


def _splits(source: TrainingSource) -> set[str]:
    """Return the splits of a data set that a source names, as 'train' or 'train+valid'."""
    return {split_name(split) for split in (source.split or ALL).split("+")}


def _pairs(preferences: Iterable[Preference], ties: Counter[str]) -> Iterator[TrainingExample]:
    for group in group_by_rater(_decided(preferences, ties)):
        first = next(iter(group.values()))
        assert isinstance(first.pair.a, Path)
        assert isinstance(first.pair.b, Path)
        labels = {axis: Label(float(one.choice == "a"), one.confidence) for axis, one in group.items()}
        made_by = tuple(str(first.about.get(f"generator_{side}", "")) for side in "ab")
        yield TrainingExample(
            first.prompt, (first.pair.a, first.pair.b), labels, prompt_key=prompt_key(first), generators=made_by
        )


def _decided(preferences: Iterable[Preference], ties: Counter[str]) -> Iterator[Preference]:
    for one in preferences:
        if one.is_tie:
            ties[one.axis] += 1
        else:
            yield one


def _rated(ratings: Iterable[Rating]) -> Iterator[TrainingExample]:
    for one in ratings:
        assert isinstance(one.take.audio, Path)
        labels = {axis: Label(value) for axis, value in one.ratings.items()}
        made_by = (str(one.about.get("generator", "")),)
        yield TrainingExample(one.prompt, (one.take.audio,), labels, prompt_key=prompt_key(one), generators=made_by)


def _hold_out(training: Sequence[Examples], source: TrainingSource) -> tuple[list[Examples], list[Examples]]:
    """Split off the examples of the prompts that are held out."""
    assert source.share is not None
    kept, held_out = [], []
    for group in training:
        draws = [draw_number(f"{source.seed} {example.prompt_key}") < source.share for example in group.examples]
        inside = [example for example, drawn in zip(group.examples, draws, strict=True) if drawn]
        outside = [example for example, drawn in zip(group.examples, draws, strict=True) if not drawn]
        if not outside:
            raise InputError(f"{group.source.place}: all of its prompts are held out for validation: lower its 'share'")
        kept.append(replace(group, examples=outside))
        if inside:
            held_out.append(Examples(source, inside, held_out_of=group.source.name))
    if not held_out:
        raise InputError(
            f"'validation' is {source.name}, which holds no prompt: raise its 'share' or change its 'seed'"
        )
    return kept, held_out


def _require_apart(training: Sequence[Examples], others: Mapping[str, Sequence[Examples]]) -> None:
    """Raise InputError if a training example also occurs elsewhere, by any rater and in either order of the takes."""
    if not any(others.values()):
        return
    row_of = partial(_identify, resolve=cache(Path.resolve))
    trained = {row_of(example): group for group in training for example in group.examples}
    for purpose, group in ((purpose, group) for purpose, groups in others.items() for group in groups):
        both = [example for example in group.examples if row_of(example) in trained]
        if both:
            names, takes = trained[row_of(both[0])].name, " and ".join(take.name for take in both[0].takes)
            alternative = ", or use 'validation: {share: 0.2}'" if purpose == "validation" else ""
            raise InputError(
                f"{group.name}: {len(both):,} of its {len(group.examples):,} rows for {purpose} are also trained on, "
                f"in {names} (the first is about {takes}): name another split{alternative}"
            )


def _identify(example: TrainingExample, resolve: Callable[[Path], Path]) -> tuple[object, ...]:
    prompt = example.prompt
    reference = resolve(prompt.reference) if isinstance(prompt.reference, Path) else None
    return (prompt.text, prompt.lyrics, reference, *sorted(map(resolve, example.takes)))

"""Turn counts into a record: the numbers of the paper's Tables 1, 6 and 7 and of figure 4, and more."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cmi.pairs.leaks import SplitRow, shared_by_splits
from cmi.preferences import AXES, RATED
from cmi.publish.counts import CHOICES, MODALITIES, NO_TAKE, Codes, DataCounts, count_rows
from cmi.publish.recordings import Lengths, OnDone, hash_equal_sizes, read_lengths
from cmi.publish.sources import DataRow, DataSource
from cmi.report.tables import to_plain
from cmi.stats.agreement import Level, rater_agreement

QUANTILES = {"min": 0.0, "5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95, "max": 1.0}
HOUR = 3600
NOT_STATED = "not stated"  # the split of rows that state none
MANY_UNITS, RESAMPLES, FEWER_RESAMPLES = 10_000, 1000, 200  # intervals of many units are narrow anyway
Codes1D = NDArray[np.int64]
Record = dict[str, Any]


@dataclass(frozen=True)
class _Samples:
    """The counts as arrays."""

    unit: Codes1D
    rater: Codes1D
    split: Codes1D
    modality: Codes1D
    lyrics: Codes1D  # words


def describe(source: DataSource, with_audio: bool = True, on_done: OnDone = lambda done: None) -> Record:
    """Return what is in a data set; `on_done` is called with the number of recordings measured since its last call."""
    counts = count_rows(source.rows())
    leaks = _leaks(source, with_audio, on_done) if len(counts.splits) > 1 else None
    takes = read_lengths(counts.takes, on_done) if with_audio else None
    references = read_lengths(counts.references, on_done) if with_audio else None
    about = {"name": source.name, "path": str(source.path)}
    record = {**about, **_describe(counts, takes, references), "leaks": leaks}
    plain: Record = to_plain(record)
    return plain


def _leaks(source: DataSource, with_audio: bool, on_done: OnDone) -> Record:
    """Count the texts, lyrics and recordings that are in several splits, with one of each kind in words.

    Recordings are compared by their bytes; without audio, or if a file is missing, by their paths.
    """
    rows = [
        SplitRow(row.id, str(row.cells.get("split", "")) or NOT_STATED, row.prompt, tuple(row.takes.values()))
        for row in source.rows()
        if isinstance(row, DataRow)
    ]
    sounds = {sound for row in rows for sound in (*row.sounds, row.prompt.reference) if isinstance(sound, Path)}
    digests = hash_equal_sizes(sorted(sounds), on_done) if with_audio else {}
    found = shared_by_splits(rows, lambda sound: digests.get(sound, str(sound)) if isinstance(sound, Path) else "")
    examples = {leak.kind: str(leak) for leak in reversed(found)}
    return {"counts": Counter(leak.kind for leak in found), "examples": examples}


def _describe(counts: DataCounts, takes: Lengths | None, references: Lengths | None) -> Record:
    samples = _samples(counts)
    systems = _count_systems(counts)
    raters = Counter(counts.raters.values[code] for code in samples.rater)
    return {
        "rows": counts.rows,
        "left_out": dict(counts.left_out),
        "samples": len(samples.unit),
        "units": len(counts.unit_prompt),
        "is_paired": NO_TAKE not in counts.unit_b,
        "takes": len(counts.take_system),
        "references": len(counts.references),
        "hours": _hours(takes),
        "reference_hours": _hours(references),
        "missing": None if takes is None or references is None else takes.missing + references.missing,
        "unreadable": None if takes is None or references is None else takes.unreadable + references.unreadable,
        "prompts": len(counts.prompt_words),
        "systems": systems,
        "raters": len([name for name in raters if name]),
        "feedback": counts.feedback,
        "modalities": _named_counts(samples.modality, MODALITIES),
        "has_lyrics": int((samples.lyrics > 0).sum()),
        "lengths": _lengths(counts, takes, references),
        "languages": _languages(counts),
        "choices": _choices(counts),
        "confidence": _confidence(counts),
        "ratings": _ratings(counts),
        "agreement": _agreement(counts, samples),
        "axes": _between_axes(counts),
        "splits": _splits(counts, samples),
    }


def _samples(counts: DataCounts) -> _Samples:
    unit = _codes(counts.sample_unit)
    prompt = _codes(counts.unit_prompt)[unit]
    return _Samples(
        unit,
        _codes(counts.sample_rater),
        _codes(counts.sample_split),
        _codes(counts.prompt_modality)[prompt],
        _codes(counts.prompt_lyrics)[prompt],
    )


def _codes(values: Sequence[int]) -> Codes1D:
    return np.asarray(values, dtype=np.int64)


def _hours(lengths: Lengths | None) -> float | None:
    return None if lengths is None else float(np.nansum(lengths.seconds)) / HOUR


def _count_systems(counts: DataCounts) -> dict[str, int]:
    """Count the takes of each system, without those of unstated systems."""
    found = _named_counts(_codes(counts.take_system), counts.systems.values)
    return {name: number for name, number in sorted(found.items()) if name}


def _named_counts(codes: Codes1D, names: Sequence[str]) -> dict[str, int]:
    numbers = np.bincount(codes, minlength=len(names)) if codes.size else np.zeros(len(names), int)
    return {name: int(number) for name, number in zip(names, numbers, strict=True) if number}


def summarise(values: NDArray[Any]) -> Record:
    """Return the number, mean and quantiles of values; NaN are left out."""
    known = values[np.isfinite(values)] if values.size else values
    if not known.size:
        return {"n": 0}
    quantiles = np.quantile(known, list(QUANTILES.values()))
    return {
        "n": int(known.size),
        "mean": float(known.mean()),
        **dict(zip(QUANTILES, map(float, quantiles), strict=True)),
    }


def _lengths(counts: DataCounts, takes: Lengths | None, references: Lengths | None) -> dict[str, Record]:
    words, lyrics = _codes(counts.prompt_words), _codes(counts.prompt_lyrics)
    found = {"words of a prompt": summarise(words[words > 0]), "words of lyrics": summarise(lyrics[lyrics > 0])}
    for name, lengths in (("seconds of a take", takes), ("seconds of a reference", references)):
        if lengths is not None:
            found[name] = summarise(lengths.seconds)
    return {name: one for name, one in found.items() if one["n"]}


def _languages(counts: DataCounts) -> dict[str, dict[str, int]]:
    """Count the languages of distinct prompts and lyrics, the most frequent first; 'unknown' if none was guessed."""
    found = {}
    texts = (
        ("prompts", counts.prompt_language, counts.prompt_words),
        ("lyrics", counts.lyrics_language, counts.prompt_lyrics),
    )
    for name, languages, words in texts:
        present = _codes(languages)[_codes(words) > 0]
        named = _named_counts(present, counts.languages.values)
        found[name] = {each or "unknown": n for each, n in sorted(named.items(), key=lambda one: (-one[1], one[0]))}
    return found


def _choices(counts: DataCounts) -> dict[str, dict[str, int]]:
    axis, choice = _codes(counts.vote_axis), _codes(counts.vote_choice)
    return {
        name: {each: int((choice[axis == i] == j).sum()) for j, each in enumerate(CHOICES)}
        for i, name in enumerate(AXES)
        if (axis == i).any()
    }


def _confidence(counts: DataCounts) -> dict[str, Record]:
    """Return the histogram of figure 4: votes by confidence on each axis, half steps at the lower value."""
    axis, confidence = _codes(counts.vote_axis), np.asarray(counts.vote_confidence)
    found: dict[str, Record] = {}
    for i, name in enumerate(AXES):
        known = confidence[(axis == i) & np.isfinite(confidence)]
        if known.size:
            levels = {str(level): int((np.floor(known) == level).sum()) for level in range(1, 6)}
            found[name] = {"n": int(known.size), "mean": float(known.mean()), "counts": levels}
    return found


def _ratings(counts: DataCounts) -> dict[str, Record]:
    axis, values = _codes(counts.rating_axis), np.asarray(counts.rating_value)
    return {name: summarise(values[axis == i]) for i, name in enumerate(RATED) if (axis == i).any()}


def _agreement(counts: DataCounts, samples: _Samples) -> dict[str, Record]:
    """Return the agreement of raters on the same unit, by axis (Table 6)."""
    kinds: tuple[tuple[Sequence[str], Sequence[int], Sequence[int], Sequence[float], Level], ...] = (
        (AXES, counts.vote_sample, counts.vote_axis, counts.vote_choice, "nominal"),
        (RATED, counts.rating_sample, counts.rating_axis, counts.rating_value, "ordinal"),
    )
    found: dict[str, Record] = {}
    for names, sample, axis, value, level in kinds:
        owner, on = _codes(sample), _codes(axis)
        for i, name in enumerate(names):
            chosen = np.flatnonzero(on == i)
            one = _agreement_on(samples, counts.raters, owner[chosen], np.asarray(value)[chosen], level)
            if one is not None:
                found[name] = one
    return found


def _agreement_on(
    samples: _Samples, raters: Codes, sample: Codes1D, value: NDArray[Any], level: Level
) -> Record | None:
    """Return agreement on one axis, with the first vote of each named rater on a unit; None if no unit has two."""
    units, unnamed = samples.unit[sample], raters.code("")
    shared = np.bincount(units)[units] > 1 if units.size else np.zeros(0, bool)
    votes: dict[int, list[float]] = {}
    seen: set[tuple[int, int]] = set()
    for unit, rater, said in zip(units[shared], samples.rater[sample][shared], value[shared], strict=True):
        if rater == unnamed or (unit, rater) not in seen:
            seen.add((unit, rater))
            votes.setdefault(int(unit), []).append(float(said))
    both = [said for said in votes.values() if len(said) > 1]
    if not both:
        return None
    return rater_agreement(both, level, RESAMPLES if len(both) < MANY_UNITS else FEWER_RESAMPLES)._asdict()


def _between_axes(counts: DataCounts) -> dict[str, Record]:
    """Compare the choices of a sample on two axes, with the confidences of same and different choices (Table 7)."""
    sample, axis = _codes(counts.vote_sample), _codes(counts.vote_axis)
    choice, confidence = _codes(counts.vote_choice), np.asarray(counts.vote_confidence, np.float64)
    number = len(counts.sample_unit)
    said, sure = np.full((len(AXES), number), -1), np.full((len(AXES), number), np.nan)
    said[axis, sample], sure[axis, sample] = choice, confidence
    found = {}
    for i, j in combinations(range(len(AXES)), 2):
        both = (said[i] >= 0) & (said[j] >= 0)
        if not both.any():
            continue
        same, different = both & (said[i] == said[j]), both & (said[i] != said[j])
        found[f"{AXES[i]}, {AXES[j]}"] = {
            "same": int(same.sum()),
            "different": int(different.sum()),
            "rate": float(same.sum() / both.sum()),
            "confidence_same": {AXES[k]: _mean(sure[k, same]) for k in (i, j)},
            "confidence_different": {AXES[k]: _mean(sure[k, different]) for k in (i, j)},
        }
    return found


def _mean(values: NDArray[np.float64]) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else None


def _splits(counts: DataCounts, samples: _Samples) -> dict[str, Record]:
    """Return the sizes of each split, and its modalities. A row without a split is in 'not stated'."""
    prompt, a, b = (_codes(each) for each in (counts.unit_prompt, counts.unit_a, counts.unit_b))
    system, unstated = _codes(counts.take_system), counts.systems.code("")
    found = {}
    for code, name in enumerate(counts.splits.values):
        here = samples.split == code
        units = np.unique(samples.unit[here])
        takes = np.unique(np.concatenate((a[units], b[units])))
        takes = takes[takes != NO_TAKE]
        systems = np.unique(system[takes])
        found[name or NOT_STATED] = {
            "samples": int(here.sum()),
            "units": len(units),
            "prompts": len(np.unique(prompt[units])),
            "takes": len(takes),
            "systems": int((systems != unstated).sum()),
            "modalities": _named_counts(samples.modality[here], MODALITIES),
        }
    return found

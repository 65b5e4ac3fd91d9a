"""Numbers about generators from their measured takes, each with an interval that draws prompts."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.audio import content_hash
from cmi.distance.measure import MeasuredDistance
from cmi.generator_report.attributes import ATTRIBUTES, is_heard
from cmi.generator_report.collect import HeardTake, MeasuredGenerator
from cmi.pairs.fingerprint import SAME, similarities
from cmi.reward.pick.curve import Curve, RankedPrompt, pick_curve
from cmi.reward.pick.pick import Weights
from cmi.reward.scoring.tags import read_bank
from cmi.stats import Interval, bootstrap, bootstrap_interval, share_interval
from cmi.take import Prompt, Score

MOST_COMPARED = 500  # takes of a generator that are compared with each other
RESAMPLES = 1000
ENOUGH = 0.8  # of the prompts must have the largest N of the curve
SAME_LENGTH = 0.1  # seconds
NEARLY_ALL = 0.9

Array = NDArray[np.float64]


class Mean(NamedTuple):
    value: float
    interval: Interval


class AttributeShare(NamedTuple):
    """How often an attribute that prompts name is heard."""

    attribute: str
    named: int  # times that takes were asked for it
    heard: Mean
    elsewhere: float | None  # the same in takes that were not asked for it; None if all were
    unchecked: int  # times that it cannot be told


class Variety(NamedTuple):
    """How different takes sound, by musicnn's tags: the mean of 1 - cosine, about 1 in a bank; None if unknown."""

    between_prompts: float | None
    within_prompts: float | None
    bank: float


class PairedGenerators(NamedTuple):
    """The first minus the second on the prompts that both were given."""

    first: str
    second: str
    prompts: int
    musicality: Mean
    alignment: Mean
    won: Mean  # share of the prompts by the sum of both


class GeneratorReport(NamedTuple):
    name: str
    prompts: int
    takes: list[HeardTake]
    left_out: list[tuple[str, str]]  # takes that could not be heard, and why
    copies: list[tuple[str, str, float]]
    musicality: Mean
    alignment: Mean
    own_prompt: Mean | None  # how often the own prompt fits better than another one; None for a single prompt
    attributes: list[AttributeShare]
    curve: Curve | None  # what picking from N takes is worth by the same scorer; None if prompts have one take
    variety: Variety

    @property
    def has_fixed_length(self) -> bool:
        """Whether nearly all takes are equally long, as those of generators that stop after so many seconds."""
        lengths = np.array([take.inspection.seconds for take in self.takes])
        equal = np.abs(lengths - np.median(lengths)) <= SAME_LENGTH
        return len(lengths) > 2 and bool(equal.mean() >= NEARLY_ALL)


class DistanceBetween(NamedTuple):
    takes: str
    reference: str
    encoder: str
    distances: list[MeasuredDistance]
    notes: tuple[str, ...] = ()


class ReportOfGenerators(NamedTuple):
    model: str
    generators: list[GeneratorReport]  # the best first
    paired: list[PairedGenerators]
    distances: list[DistanceBetween]
    notes: tuple[str, ...] = ()


def summarise(
    model: str,
    measured: Sequence[MeasuredGenerator],
    distances: Sequence[DistanceBetween] = (),
    notes: Sequence[str] = (),
) -> ReportOfGenerators:
    """The report; generators come in the order of their mean score."""
    generators = [_report(one) for one in measured]
    generators.sort(key=lambda report: -(report.musicality.value + report.alignment.value))
    compared = {other.name: compare_on_prompts(generators[0], other) for other in generators[1:]}
    paired = [found for found in compared.values() if found is not None]
    apart = [
        f"{generators[0].name} and {name} have no prompt in common: their means are of different prompts."
        for name, found in compared.items()
        if found is None
    ]
    return ReportOfGenerators(model, generators, paired, list(distances), (*notes, *apart))


def _report(measured: MeasuredGenerator) -> GeneratorReport:
    takes = measured.takes
    clusters = _codes([take.row.prompt_name for take in takes])
    musicality, alignment = (mean_of([getattr(take.score, axis) for take in takes], clusters) for axis in Score._fields)
    return GeneratorReport(
        name=measured.name,
        prompts=int(clusters.max()) + 1,
        takes=takes,
        left_out=measured.left_out,
        copies=find_copies(takes),
        musicality=musicality,
        alignment=alignment,
        own_prompt=_own_prompt(takes),
        attributes=attribute_shares(takes),
        curve=best_of_n(takes),
        variety=measure_variety(takes),
    )


def _codes(names: Sequence[str]) -> NDArray[np.int64]:
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def mean_of(values: Sequence[float], clusters: NDArray[np.int64]) -> Mean:
    own = np.array(values)
    draws = bootstrap(lambda weights: weights @ own / weights.sum(axis=1), clusters, RESAMPLES)
    return Mean(float(own.mean()), bootstrap_interval(draws, int(clusters.max()) + 1))


def share_of(values: Sequence[float], clusters: NDArray[np.int64]) -> Mean:
    """The mean of values from 0 to 1; with few clusters the interval is Wilson's."""
    own = np.array(values, np.float64)
    draws = bootstrap(lambda weights: weights @ own / weights.sum(axis=1), clusters, RESAMPLES)
    return Mean(float(own.mean()), share_interval(float(own.mean()), draws, int(clusters.max()) + 1))


def _own_prompt(takes: Sequence[HeardTake]) -> Mean | None:
    """How often a take fits its own prompt better; a tie counts as half."""
    asked = [take for take in takes if take.other_alignment is not None]
    if not asked:
        return None
    differences = np.array([take.score.alignment - (take.other_alignment or 0.0) for take in asked])
    return share_of((np.sign(differences) + 1) / 2, _codes([take.row.prompt_name for take in asked]))


def find_copies(takes: Sequence[HeardTake]) -> list[tuple[str, str, float]]:
    """Pairs of takes that are the same recording, at any level and shifted by up to some seconds."""
    compared = list(takes)[:MOST_COMPARED]
    alike = similarities([take.inspection.fingerprint for take in compared])
    return [
        (compared[i].row.full_name, compared[j].row.full_name, float(alike[i, j]))
        for i, j in np.argwhere(np.triu(alike >= SAME, 1)).tolist()
    ]


def attribute_shares(takes: Sequence[HeardTake]) -> list[AttributeShare]:
    """How often what prompts name is heard, and how often in takes that were not asked for it."""
    found = []
    for attribute in ATTRIBUTES:
        named = [(take, one) for take in takes for one in take.attributes if one.attribute == attribute]
        checked = [(take, one) for take, one in named if one.heard is not None]
        if not named:
            continue
        if not checked:
            found.append(AttributeShare(attribute, 0, Mean(np.nan, Interval(np.nan, np.nan)), None, len(named)))
            continue
        clusters = _codes([take.row.prompt_name for take, _ in checked])
        heard = share_of([float(bool(one.heard)) for _, one in checked], clusters)
        elsewhere = _heard_elsewhere(takes, [one.name for _, one in checked], attribute)
        found.append(AttributeShare(attribute, len(checked), heard, elsewhere, len(named) - len(checked)))
    return found


def _heard_elsewhere(takes: Sequence[HeardTake], names: Sequence[str], attribute: str) -> float | None:
    """How often what is named so often is heard in takes that were not asked for it."""
    shares: list[float] = []
    for name, times in zip(*np.unique(names, return_counts=True), strict=True):
        asked = next(one for take in takes for one in take.asked if (one.attribute, one.name) == (attribute, name))
        others = [is_heard(asked, take.measurements).heard for take in takes if asked not in take.asked]
        known = [float(one) for one in others if one is not None]
        if known:
            shares += [float(np.mean(known))] * int(times)
    return float(np.mean(shares)) if shares else None


def best_of_n(takes: Sequence[HeardTake]) -> Curve | None:
    """What picking the best of N takes gives by the scorer that picks, and what it costs in variety."""
    weights = Weights()
    groups: dict[str, list[HeardTake]] = {}
    for take in takes:
        groups.setdefault(take.row.prompt_name, []).append(take)
    counts = sorted((len(own) for own in groups.values()), reverse=True)
    largest = counts[int(np.ceil(ENOUGH * len(counts))) - 1]
    if largest < 2:
        return None
    sizes = sorted({1, largest} | {2**power for power in range(1, 10) if 2**power < largest})
    prompts = []
    for own in groups.values():
        ranked = sorted(own, key=lambda take: -weights.mean(take.score))
        tags = np.array([np.zeros(1) if take.odds is None else take.odds for take in ranked])
        prompts.append(RankedPrompt(tuple(take.score for take in ranked), tags))
    return pick_curve(prompts, sizes, weights)


def measure_variety(takes: Sequence[HeardTake]) -> Variety:
    """How different the takes of different prompts and of one prompt are."""
    bank = read_bank()
    mean, spread = bank.mean(axis=0), bank.std(axis=0)
    of_bank = 1 - _cosines((bank - mean) / spread)
    usual = float(of_bank[np.triu_indices(len(bank), 1)].mean())
    odds = [take.odds for take in takes if take.odds is not None]
    if len(odds) < len(takes):
        return Variety(None, None, usual)
    codes = _codes([take.row.prompt_name for take in takes])
    distances = 1 - _cosines((np.array(odds) - mean) / spread)
    upper = np.triu(np.ones_like(distances, dtype=bool), 1)
    same = codes[:, None] == codes[None, :]
    return Variety(_mean_at(distances, upper & ~same), _mean_at(distances, upper & same), usual)


def _cosines(rows: Array) -> Array:
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return np.asarray(unit @ unit.T)


def _mean_at(values: Array, places: NDArray[np.bool_]) -> float | None:
    return float(values[places].mean()) if places.any() else None


def compare_on_prompts(first: GeneratorReport, second: GeneratorReport) -> PairedGenerators | None:
    """Compare two generators on the prompts that both were given, by the means of their takes; None without such."""
    own, other = _by_prompt(first.takes), _by_prompt(second.takes)
    shared = [prompt for prompt in own if prompt in other]
    if not shared:
        return None
    differences = np.array([own[prompt] - other[prompt] for prompt in shared])  # (P, 2)
    clusters = np.arange(len(shared))
    won = share_of((np.sign(differences.sum(axis=1)) + 1) / 2, clusters)
    musicality, alignment = (mean_of(differences[:, axis].tolist(), clusters) for axis in range(2))
    return PairedGenerators(first.name, second.name, len(shared), musicality, alignment, won)


def _by_prompt(takes: Sequence[HeardTake]) -> dict[tuple[str, str, str], Array]:
    """The mean scores of each prompt, (2,)."""
    scores: dict[tuple[str, str, str], list[Score]] = {}
    for take in takes:
        scores.setdefault(_prompt_key(take.row.take.prompt), []).append(take.score)
    return {prompt: np.mean(own, axis=0) for prompt, own in scores.items()}


def _prompt_key(prompt: Prompt) -> tuple[str, str, str]:
    """Equal for prompts that differ in white space alone, and for copies of the same reference."""
    text, lyrics = (" ".join(words.split()) for words in (prompt.text, prompt.lyrics))
    try:
        return text, lyrics, content_hash(prompt.reference) if prompt.reference else ""
    except InputError:  # the scorer did not need it
        return text, lyrics, str(prompt.reference)

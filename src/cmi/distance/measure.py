"""Measure a distance with an interval, its limit for infinitely many takes, and two nulls.

interval    95 %, by a jackknife that leaves out a tenth of the takes of either set at a time
limit       the distance extrapolated to infinitely many takes by the same jackknife, which removes the bias of order
            1/n: FAD of few takes is far too large (Chong and Forsyth 2020; Gui et al. 2023)
itself      the reference's distance from itself: the mean over random splits into halves
shuffled    a permutation null: the 95th percentile over random splits of all takes into sets of these sizes; p is the
            share of splits with a distance at least as large
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from cmi._util.errors import InputError
from cmi.distance.embed import EmbeddedSet
from cmi.distance.metrics import METRICS, Array, Distance, Indexes
from cmi.report import numbers
from cmi.report.tables import Table
from cmi.stats import Interval
from cmi.stats.intervals import t_quantile

FEWEST_TAKES, MOST_TAKES = 10, 5000  # of a set
GROUPS = 10  # of the jackknife, for each set
HALVINGS = 20
SHUFFLES = 100
SEED = 0
TITLES = {
    "fad": "Fréchet audio distance (FAD)",
    "kad": "kernel audio distance (KAD)",
    "mad": "MAUVE divergence (MAD)",
}


class Extrapolation(NamedTuple):
    value: float
    limit: float
    interval: Interval  # of the limit


class MeasuredDistance(NamedTuple):
    metric: str
    value: float
    limit: float
    interval: Interval  # of the limit
    itself: float
    shuffled: float
    p: float


class DistanceReport(NamedTuple):
    encoder: str
    takes: int
    windows: int
    reference_takes: int
    reference_windows: int
    dimensions: int
    shared: int  # recordings that are in both sets
    distances: list[MeasuredDistance]
    left_out: list[tuple[str, str]]  # recordings that could not be read, and why


def measure_distances(
    takes: Sequence[Array],
    reference: Sequence[Array],
    metrics: Sequence[str] = tuple(METRICS),
    on_step: Callable[[], None] = lambda: None,
) -> list[MeasuredDistance]:
    """Measure the distances between two sets of takes, each take (windows, D)."""
    require_enough("takes", len(takes))
    require_enough("reference", len(reference))
    if not np.ptp(np.concatenate(reference), axis=0).any():
        raise InputError(
            "the encoder gives all reference recordings the same embedding, so that distances are undefined"
        )
    found = []
    for metric in metrics:
        distance = METRICS[metric]([*takes, *reference], len(takes))
        found.append(_measure(metric, distance, len(takes), len(reference), on_step))
    return found


def require_enough(name: str, recordings: int) -> None:
    """InputError unless there are FEWEST_TAKES to MOST_TAKES recordings."""
    if not FEWEST_TAKES <= recordings <= MOST_TAKES:
        raise InputError(f"{name}: {recordings} recordings, expected {FEWEST_TAKES} to {MOST_TAKES:,}")


def steps(metrics: int) -> int:
    """Return how often `measure_distances` calls `on_step`."""
    return metrics * (1 + 2 * GROUPS + HALVINGS + SHUFFLES)


def extrapolate(distance: Distance, own: Indexes, other: Indexes, rng: np.random.Generator) -> Extrapolation:
    """Jackknife both sets, leaving out a group of takes at a time."""
    value = distance(own, other)
    without_own = np.array([distance(kept, other) for kept in _leaving_out(own, rng)])
    without_other = np.array([distance(own, kept) for kept in _leaving_out(other, rng)])
    parts = (without_own, without_other)
    limit = value + (GROUPS - 1) * sum(value - float(part.mean()) for part in parts)
    variance = (GROUPS - 1) ** 2 / GROUPS * sum(float(part.var(ddof=1)) for part in parts)
    half = t_quantile(0.975, 2 * (GROUPS - 1)) * math.sqrt(variance)
    return Extrapolation(value, limit, Interval(limit - half, limit + half))


def _measure(metric: str, plain: Distance, n: int, m: int, on_step: Callable[[], None]) -> MeasuredDistance:
    def distance(a: Indexes, b: Indexes) -> float:
        on_step()
        return plain(a, b)

    own, other = np.arange(n), np.arange(n, n + m)
    rng = np.random.default_rng(SEED)
    found = extrapolate(distance, own, other, rng)
    itself = np.array([distance(a, b) for a, b in islice(_splits(other, m // 2, rng), HALVINGS)])
    shuffled = np.array([distance(a, b) for a, b in islice(_splits(np.arange(n + m), n, rng), SHUFFLES)])
    p = (1 + int((shuffled >= found.value).sum())) / (1 + SHUFFLES)
    return MeasuredDistance(metric, *found, float(itself.mean()), float(np.quantile(shuffled, 0.95)), p)


def _leaving_out(takes: Indexes, rng: np.random.Generator) -> Iterator[Indexes]:
    """Yield the takes without each of several random groups."""
    groups = np.array_split(rng.permutation(takes), GROUPS)
    for group in groups:
        yield np.setdiff1d(takes, group)


def _splits(takes: Indexes, first: int, rng: np.random.Generator) -> Iterator[tuple[Indexes, Indexes]]:
    """Yield random splits whose first part has `first` takes."""
    while True:
        order = rng.permutation(takes)
        yield order[:first], order[first:]


def summarise(
    encoder: str, takes: EmbeddedSet, reference: EmbeddedSet, distances: list[MeasuredDistance]
) -> DistanceReport:
    windows, reference_windows = (sum(map(len, own.takes)) for own in (takes, reference))
    sizes = (len(takes.takes), windows, len(reference.takes), reference_windows, takes.takes[0].shape[1])
    shared = len(takes.hashes & reference.hashes)
    return DistanceReport(encoder, *sizes, shared, distances, takes.left_out + reference.left_out)


def distance_tables(report: DistanceReport) -> list[Table]:
    rows = [
        [
            TITLES[found.metric],
            *(numbers.number(value, 3) for value in (found.value, found.limit, *found.interval)),
            *(numbers.number(value, 3) for value in (found.itself, found.shuffled)),
            numbers.p_value(found.p),
        ]
        for found in report.distances
    ]
    headers = ["distance", "value", "limit", "low", "high", "itself", "shuffled", "p"]
    notes = [
        f"{report.takes} takes ({report.windows} windows) against {report.reference_takes} recordings of the reference "
        f"({report.reference_windows} windows), {report.dimensions} dimensions, by {report.encoder}.",
        "limit: extrapolated to infinitely many takes, and about 0 or below if no distance can be told; low, high: its "
        "95 % interval. itself: between two halves of the reference. shuffled: 95th percentile over random splits of "
        "all takes; p: share of the splits at or above the value. Smaller is closer, as this encoder sees it.",
    ]
    if min(report.windows, report.reference_windows) < 2 * report.dimensions:
        notes.append(
            f"A set has fewer than {2 * report.dimensions} windows, twice the {report.dimensions} dimensions: "
            "FAD of so few windows is mostly bias. Use its limit, or KAD."
        )
    if report.shared:
        notes.append(f"{report.shared} recordings are in both sets, which lowers the distance.")
    tables = [Table(f"Distance from the reference by {report.encoder}", headers, rows, notes=notes)]
    if report.left_out:
        tables.append(Table(f"{len(report.left_out)} recordings left out", ["file", "why"], report.left_out, labels=2))
    return tables


def distance_record(report: DistanceReport) -> dict[str, object]:
    return {
        **report._asdict(),
        "distances": [
            {**found._asdict(), "interval": list(found.interval), "splits": SHUFFLES} for found in report.distances
        ],
        "left_out": [{"file": file, "why": why} for file, why in report.left_out],
    }

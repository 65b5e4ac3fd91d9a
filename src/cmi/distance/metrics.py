"""Three distances between two sets of takes, from embeddings of their windows.

    fad    Frechet audio distance (Kilgour et al. 2019): the squared 2-Wasserstein distance between two Gaussians
    kad    kernel audio distance (Chung et al. 2025): 100 times the unbiased squared maximum mean discrepancy with a
           Gaussian kernel, whose bandwidth is the median distance between windows of the reference
    mad    MAUVE audio divergence (Huang et al. 2025): -log of MAUVE (Pillutla et al. 2021) on histograms over clusters

A take has one or more windows, each with an embedding. Each function of `METRICS` does the work that is common to all
subsets of takes and returns a function for the distance between two subsets, because nulls and intervals need hundreds.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indexes = NDArray[np.intp]
Distance = Callable[[Indexes, Indexes], float]  # between the takes with these indexes

KAD_SCALE = 100.0  # as published
BANDWIDTH_WINDOWS = 2000  # evenly spaced windows of the reference from which the median distance is computed
BLOCK = 1024  # rows of the kernel computed at a time
WINDOWS_PER_CLUSTER = 10  # MAUVE's default
EXPLAINED_VARIANCE = 0.9  # least share of variance that the principal components for clustering explain
FRONTIER_POINTS, MAUVE_SCALE = 25, 5.0
KMEANS_STARTS, KMEANS_SEED = 5, 0


def frechet_distance(x: Array, y: Array) -> float:
    """Return the FAD of windows (n, D) and (m, D), from their means and covariances.

    The trace of the square root of a product of covariances is the nuclear norm of a product of their roots, which
    exists even where a covariance is singular; no constant has to be added.
    """
    (mean_x, root_x), (mean_y, root_y) = _gaussian(x), _gaussian(y)
    shared = np.linalg.svd(root_x.T @ root_y, compute_uv=False).sum()
    spread = np.square(root_x).sum() + np.square(root_y).sum() - 2 * shared
    return float(np.square(mean_x - mean_y).sum() + spread)


def _gaussian(windows: Array) -> tuple[Array, Array]:
    """Mean (D,), and a root of the covariance: (D, D) with root root^T = covariance."""
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(windows, rowvar=False)))
    return windows.mean(axis=0), vectors * np.sqrt(values.clip(min=0))


def kernel_distance(x: Array, y: Array, bandwidth: float | None = None) -> float:
    """Return the KAD of windows (n, D) and of the reference's (m, D)."""
    distance = prepare_kernel([*x[:, None], *y[:, None]], len(x), bandwidth)
    return distance(np.arange(len(x)), np.arange(len(x), len(x) + len(y)))


def median_distance(windows: Array) -> float:
    """Return the median distance between windows (n, D); of an even number, the lower of the two middle ones."""
    chosen = windows[np.linspace(0, len(windows) - 1, min(len(windows), BANDWIDTH_WINDOWS)).round().astype(int)]
    squares = _squared_distances(chosen, chosen)[np.triu_indices(len(chosen), 1)]
    middle = (squares.size - 1) // 2
    return math.sqrt(float(np.partition(squares, middle)[middle]))


def _squared_distances(x: Array, y: Array) -> Array:
    """(n, D), (m, D) -> (n, m)."""
    squares = np.square(x).sum(axis=1)[:, None] + np.square(y).sum(axis=1) - 2 * x @ y.T
    return np.maximum(squares, 0, out=squares)


def mauve(p: Array, q: Array) -> float:
    """MAUVE of two histograms (K,): the area under their divergence frontier, 1 if they are equal."""
    p, q = p / p.sum(), q / q.sum()
    shares = np.linspace(1e-6, 1 - 1e-6, FRONTIER_POINTS)[:, None]
    mixtures = shares * p + (1 - shares) * q  # (25, K)
    curve = [(1.0, 0.0), *zip(_closeness(q, mixtures), _closeness(p, mixtures), strict=True), (0.0, 1.0)]
    x, y = np.array(sorted(curve)).T
    up, over = np.array(sorted((b, a) for a, b in curve)).T
    return float((np.trapezoid(y, x) + np.trapezoid(over, up)) / 2)


def _closeness(p: Array, mixtures: Array) -> Array:
    """exp(-5 KL(p || mixture)) for each mixture (N, K)."""
    kept = p > 0
    return np.exp(-MAUVE_SCALE * (p[kept] * np.log(p[kept] / mixtures[:, kept])).sum(axis=1))


# Each returns a function for the distance between subsets of takes, of which the first `first` are the takes to
# measure and the others are the reference. A take is (windows, D).


def prepare_frechet(takes: Sequence[Array], first: int) -> Distance:
    def distance(a: Indexes, b: Indexes) -> float:
        return frechet_distance(np.concatenate([takes[i] for i in a]), np.concatenate([takes[i] for i in b]))

    return distance


def prepare_kernel(takes: Sequence[Array], first: int, bandwidth: float | None = None) -> Distance:
    """Precompute the sums of the kernel over the windows of any two takes."""
    counts = np.array([len(take) for take in takes], dtype=np.float64)
    windows = np.concatenate(takes)
    width = median_distance(np.concatenate(takes[first:])) if bandwidth is None else bandwidth
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int)
    sums = np.zeros((len(takes), len(takes)))
    for begin, end in _blocks(starts):
        rows = slice(starts[begin], starts[end] if end < len(starts) else len(windows))
        kernel = np.exp(_squared_distances(windows[rows], windows) / -(2 * width**2))
        by_take = np.add.reduceat(kernel, starts, axis=1)
        sums[begin:end] = np.add.reduceat(by_take, starts[begin:end] - starts[begin], axis=0)

    def within(own: Indexes) -> float:
        """The mean over pairs of different windows; the kernel of a window with itself is 1."""
        n = counts[own].sum()
        return float((sums[np.ix_(own, own)].sum() - n) / (n * (n - 1)))

    def distance(a: Indexes, b: Indexes) -> float:
        between = sums[np.ix_(a, b)].sum() / (counts[a].sum() * counts[b].sum())
        return float(KAD_SCALE * (within(a) + within(b) - 2 * between))

    return distance


def _blocks(starts: Indexes) -> list[tuple[int, int]]:
    """Ranges of takes with about BLOCK windows each."""
    numbers = starts // BLOCK
    edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(starts)]
    return list(pairwise(edges))


def prepare_mauve(takes: Sequence[Array], first: int) -> Distance:
    """Cluster all windows together, once."""
    windows = np.concatenate(takes)
    owners = np.repeat(np.arange(len(takes)), [len(take) for take in takes])
    fewest = min(int((owners < first).sum()), int((owners >= first).sum()))
    labels = _cluster(windows, max(2, round(fewest / WINDOWS_PER_CLUSTER)))
    histograms = np.zeros((len(takes), labels.max() + 1))
    np.add.at(histograms, (owners, labels), 1)
    return lambda a, b: -math.log(max(mauve(histograms[a].sum(axis=0), histograms[b].sum(axis=0)), 1e-300))


def _cluster(windows: Array, clusters: int) -> Indexes:
    """The cluster of each window (n,): at unit length, by k-means on principal components, as MAUVE does it.

    The windows are sorted first, since k-means depends on their order.
    """
    from sklearn.cluster import KMeans

    order = np.lexsort(windows.T)
    unit = windows[order] / np.maximum(np.linalg.norm(windows[order], axis=1, keepdims=True), 1e-12)
    centred = unit - unit.mean(axis=0)
    _, values, axes = np.linalg.svd(centred, full_matrices=False)
    explained = np.cumsum(np.square(values)) / np.square(values).sum()
    points = centred @ axes[: int(np.searchsorted(explained, EXPLAINED_VARIANCE)) + 1].T
    distinct = len(np.unique(points, axis=0))
    found = KMeans(min(clusters, distinct), n_init=KMEANS_STARTS, random_state=KMEANS_SEED).fit(points)
    labels = np.empty(len(windows), dtype=np.intp)
    labels[order] = found.labels_
    return labels


METRICS: Mapping[str, Callable[[Sequence[Array], int], Distance]] = {
    "fad": prepare_frechet,
    "kad": prepare_kernel,
    "mad": prepare_mauve,
}

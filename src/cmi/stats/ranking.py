"""Rank systems from pairwise comparisons: Bradley-Terry, and Davidson's model with ties.

A comparison is (first, second, outcome): outcome 1 if the first system was preferred, -1 if the second, 0 for a tie.
With eta = strength of the first - strength of the second + effects . covariates (each first minus second),

    Bradley and Terry (1952)   P(first) : P(second)          = exp(eta / 2) : exp(-eta / 2)
    Davidson (1970)            P(first) : P(tie) : P(second) = exp(eta / 2) : nu : exp(-eta / 2)

so a strength is in log odds, and two systems of equal strength tie with probability nu / (2 + nu). Bradley-Terry counts
a tie as half a win for each side. Covariates are what arenas call style control, for loudness or length. An `offset`
is added to eta as it is: if it is the difference of a reward model's scores, a strength is what the model's scores of
that system lack.

Newton's method maximises the likelihood of the distinct comparisons with their counts. Only differences of strengths
are determined, and only among systems that were compared, directly or through others: the strengths of each such
connected component have mean 0, and components cannot be compared.

If one group of systems won every comparison with the rest, the likelihood has no maximum and `Separated` is raised. A
`prior` (the precision of a normal law around 0 for every strength and standardised effect) makes the estimate finite
and pulls it towards 0; 0.25 weighs as much as one drawn comparison with an average system.

Intervals use the sandwich estimator, robust to clusters of votes by annotator, by prompt, or by both at once (Cameron,
Gelbach and Miller 2011; a larger one-way variance is preferred), with t quantiles for the number of clusters. A
clustering into fewer than FEWEST_ROBUST clusters is ignored. With a prior the intervals are at least as wide as the
information (the curvature of likelihood and prior) implies.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi.stats.intervals import FEWEST_ROBUST, t_quantile

Array = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]

LEVEL = 0.95  # of intervals
SEPARATED_PRIOR = 0.25  # see above
STEPS = 100
NO_INFORMATION = 1e-6  # smallest eigenvalue of the information: a standard error of 1000


class Separated(ValueError):
    """The likelihood has no maximum: some strength or effect is infinite without a prior."""


class Comparisons(NamedTuple):
    first: Codes  # (n,)  a system's number, 0..systems-1
    second: Codes  # (n,)
    outcome: Codes  # (n,)  1, 0 or -1
    systems: int


class FittedValue(NamedTuple):
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Ranking:
    """A fitted model; strengths are NaN for systems without a comparison."""

    strengths: Array  # (systems,)
    effects: Array  # (covariates,)  per unit, in log odds
    nu: float  # of Davidson's ties; 0 for Bradley-Terry
    components: Codes  # (systems,)  the same number for systems that can be ranked together
    clusters: tuple[int, ...]  # the number in each clustering; 0 if too few to use
    covariances: Array  # (estimators, parameters, parameters)  strengths, then effects

    def strength(self, system: int) -> FittedValue:
        """The strength against the mean of its component."""
        return self._linear({system: 1.0})

    def difference(self, system: int, other: int) -> FittedValue:
        """How much stronger `system` is than `other`; NaN across components."""
        if self.components[system] != self.components[other]:
            return FittedValue(math.nan, math.nan, math.nan)
        return self._linear({system: 1.0, other: -1.0})

    def effect(self, covariate: int) -> FittedValue:
        return self._linear({len(self.strengths) + covariate: 1.0})

    def rank(self, system: int) -> tuple[int, int]:
        """The best and worst rank in its component that the intervals of the differences allow."""
        others = [o for o in np.flatnonzero(self.components == self.components[system]) if o != system]
        differences = [self.difference(system, int(other)) for other in others]
        return 1 + sum(d.high < 0 for d in differences), 1 + len(others) - sum(d.low > 0 for d in differences)

    def _linear(self, weights: dict[int, float]) -> FittedValue:
        """Return a weighted sum of parameters, with the largest of the variances by the different clusterings."""
        estimates = np.concatenate([self.strengths, self.effects])
        places, factors = list(weights), np.array(list(weights.values()))
        value = float(estimates[places] @ factors)
        variances = [factors @ covariance[np.ix_(places, places)] @ factors for covariance in self.covariances]
        used = [count for count in self.clusters if count]
        half = t_quantile((1 + LEVEL) / 2, min(used) - 1 if used else None) * math.sqrt(max(0.0, *variances))
        return FittedValue(value, value - half, value + half)


class _Table(NamedTuple):
    """The distinct comparisons, with the lower-numbered system first."""

    design: Array  # (r, systems + covariates)
    offset: Array  # (r,)  of eta
    counts: Array  # (r, 3)  second preferred, tie, first preferred
    row: Codes  # (n,)  of each comparison
    sign: Codes  # (n,)  the outcome in the row's order


class _Moments(NamedTuple):
    """The model's expectation of each row's outcome."""

    likelihood: float
    mean: Array
    variance: Array
    tie: Array


def bradley_terry(
    comparisons: Comparisons,
    covariates: Array | None = None,
    clusters: Sequence[Codes] = (),
    prior: float = 0.0,
    offset: Array | None = None,
) -> Ranking:
    """Fit the model of Bradley and Terry; a tie counts as half a win for each.

    Covariates (n, m) and the offset (n,) are first minus second; clusters are up to two codes per comparison.
    """
    return _fit(comparisons, covariates, clusters, prior, with_ties=False, offset=offset)


def davidson(
    comparisons: Comparisons, covariates: Array | None = None, clusters: Sequence[Codes] = (), prior: float = 0.0
) -> Ranking:
    """Fit Davidson's model, which gives ties their own probability. Without any tie it is Bradley-Terry with nu 0."""
    return _fit(comparisons, covariates, clusters, prior, with_ties=bool((comparisons.outcome == 0).any()))


def fit_with_prior(model: Callable[..., Ranking], *data: Any) -> tuple[Ranking, float]:
    """Fit by maximum likelihood or, if that is infinite, with SEPARATED_PRIOR; return the fit and the prior."""
    try:
        return model(*data), 0.0
    except Separated:
        return model(*data, prior=SEPARATED_PRIOR), SEPARATED_PRIOR


def connected_components(comparisons: Comparisons) -> NDArray[np.int64]:
    """Number the connected groups of systems from 0, in order of their first system: (systems,)."""
    label = np.arange(comparisons.systems)
    edges = np.unique(np.stack([comparisons.first, comparisons.second], axis=1), axis=0)
    while len(edges):
        lower = label.copy()
        np.minimum.at(lower, edges[:, 0], label[edges[:, 1]])
        np.minimum.at(lower, edges[:, 1], label[edges[:, 0]])
        if (lower == label).all():
            break
        label = lower
    return np.unique(label, return_inverse=True)[1].astype(np.int64)


def identifiable(comparisons: Comparisons, covariates: Array) -> list[bool]:
    """Return for each covariate whether its effect is identifiable beside the systems and the covariates before it.

    If one system is always louder by the same amount, its strength and the effect of loudness cannot be separated.
    """
    design = _system_columns(comparisons.first, comparisons.second, comparisons.systems)
    found = []
    for column in covariates.T:
        scale = float(np.linalg.norm(column))
        rest = column - design @ np.linalg.lstsq(design, column, rcond=None)[0]
        found.append(scale > 0 and float(np.linalg.norm(rest)) > 1e-6 * scale)
        if found[-1]:
            design = np.column_stack([design, column / scale])
    return found


def _fit(
    comparisons: Comparisons,
    covariates: Array | None,
    clusters: Sequence[Codes],
    prior: float,
    with_ties: bool,
    offset: Array | None = None,
) -> Ranking:
    if (comparisons.first == comparisons.second).any():
        raise ValueError("a system cannot be compared with itself")
    extra = np.zeros((len(comparisons.first), 0)) if covariates is None else np.asarray(covariates, np.float64)
    scale = np.sqrt((extra**2).mean(axis=0)) if len(extra) else np.ones(extra.shape[1])
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        raise ValueError("covariates must be finite numbers that are not all 0")
    table = _table(comparisons, extra / scale, np.zeros(len(extra)) if offset is None else offset)
    components = connected_components(comparisons)
    gauge = (components[:, None] == components[None, :]).astype(np.float64)
    estimates, delta, information = _newton(table, gauge, prior, with_ties)
    covariances, used = _sandwich(table, estimates, delta, information, clusters)
    if prior:
        covariances = np.concatenate([covariances, _posterior(information, gauge)[None]])
    systems, linear = comparisons.systems, table.design.shape[1]
    units = np.concatenate([np.ones(systems), 1 / scale])
    seen = np.bincount(np.concatenate([comparisons.first, comparisons.second]), minlength=systems) > 0
    return Ranking(
        np.where(seen, estimates[:systems], np.nan),
        estimates[systems:] / scale,
        math.exp(delta) if with_ties else 0.0,
        components,
        used,
        covariances[:, :linear, :linear] * units[:, None] * units[None, :],
    )


def _system_columns(first: Codes, second: Codes, systems: int) -> Array:
    columns = np.zeros((len(first), systems))
    columns[np.arange(len(first)), first] = 1
    columns[np.arange(len(second)), second] = -1
    return columns


def _table(comparisons: Comparisons, covariates: Array, offset: Array) -> _Table:
    turn = np.where(comparisons.first < comparisons.second, 1, -1)
    low, high = np.minimum(comparisons.first, comparisons.second), np.maximum(comparisons.first, comparisons.second)
    keys = np.column_stack([low, high, offset * turn, covariates * turn[:, None]])
    rows, row = np.unique(keys, axis=0, return_inverse=True)
    row, sign = row.ravel(), comparisons.outcome * turn
    counts = np.bincount(3 * row + sign + 1, minlength=3 * len(rows)).reshape(-1, 3).astype(np.float64)
    columns = _system_columns(rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64), comparisons.systems)
    return _Table(np.column_stack([columns, rows[:, 3:]]), rows[:, 2], counts, row, sign)


def _moments(table: _Table, estimates: Array, delta: float) -> _Moments:
    eta = table.design @ estimates + table.offset
    logits = np.stack([-eta / 2, np.full_like(eta, delta), eta / 2], axis=1)  # (r, 3)
    top = logits.max(axis=1, keepdims=True)
    total = top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))
    second, tie, first = np.exp(logits - total[:, None]).T
    mean = first - second
    explained = (table.counts[:, 2] - table.counts[:, 0]) @ eta / 2
    ties = table.counts[:, 1].sum() * delta if delta > -math.inf else 0.0
    return _Moments(float(explained + ties - table.counts.sum(axis=1) @ total), mean, first + second - mean**2, tie)


def _newton(table: _Table, gauge: Array, prior: float, with_ties: bool) -> tuple[Array, float, Array]:
    """Return the estimates, Davidson's delta = log nu (-inf without ties) and their information matrix.

    Shifting all strengths of a component changes nothing; `gauge` keeps the matrix regular in that direction, along
    which the gradient is 0, and the component's mean stays 0.
    """
    linear = table.design.shape[1]
    fixed = np.zeros((linear + with_ties, linear + with_ties))
    fixed[: len(gauge), : len(gauge)] = gauge
    fixed[:linear, :linear] += prior * np.eye(linear)
    estimates, delta = np.zeros(linear), 0.0 if with_ties else -math.inf
    at = _moments(table, estimates, delta)
    objective = at.likelihood
    for _ in range(STEPS):
        gradient, information = _derivatives(table, at, with_ties)
        gradient[:linear] -= prior * estimates
        information += fixed
        if np.linalg.eigvalsh(information)[0] < NO_INFORMATION:
            raise Separated("some strength or effect is unbounded under these votes: give a prior")
        step = np.linalg.solve(information, gradient)
        if gradient @ step < 1e-20 * max(1.0, float(table.counts.sum())):  # twice the log likelihood still to gain
            return estimates, delta, information
        before, length, origin = objective, 1.0, (estimates, delta)
        while True:
            estimates, delta = origin[0] + length * step[:linear], origin[1] + length * float(step[linear:].sum())
            at = _moments(table, estimates, delta)
            objective = at.likelihood - prior * float(estimates @ estimates) / 2
            if objective > before - 1e-9 * max(1.0, abs(before)) or length < 1e-6:
                break
            length /= 2
    raise Separated(f"no maximum was found in {STEPS} steps: give a prior")


def _derivatives(table: _Table, at: _Moments, with_ties: bool) -> tuple[Array, Array]:
    """Return the log likelihood's gradient and negative second derivative."""
    n, won = table.counts.sum(axis=1), table.counts[:, 2] - table.counts[:, 0]
    gradient = table.design.T @ (won - n * at.mean) / 2
    information = table.design.T @ (table.design * (n * at.variance / 4)[:, None])
    if with_ties:
        crossed = table.design.T @ (-n * at.mean * at.tie) / 2
        gradient = np.append(gradient, table.counts[:, 1].sum() - n @ at.tie)
        last = np.append(crossed, n @ (at.tie * (1 - at.tie)))
        information = np.vstack([np.column_stack([information, crossed]), last])
    return gradient, information


def _sandwich(
    table: _Table, estimates: Array, delta: float, information: Array, clusters: Sequence[Codes]
) -> tuple[Array, tuple[int, ...]]:
    """Return the covariance by each clustering (for two, also by both at once) and the numbers of clusters."""
    at = _moments(table, estimates, delta)
    scores = table.design[table.row] * ((table.sign - at.mean[table.row]) / 2)[:, None]  # (n, linear)
    if delta > -math.inf:
        scores = np.column_stack([scores, (table.sign == 0) - at.tie[table.row]])
    bread = np.linalg.inv(information).astype(np.float64)
    ways = [np.unique(codes, return_inverse=True)[1] for codes in clusters]
    counts = tuple(int(way.max()) + 1 if len(way) else 0 for way in ways)
    used = tuple(count if count >= FEWEST_ROBUST else 0 for count in counts)
    ways = [way for way, count in zip(ways, used, strict=True) if count]
    if not ways:
        return _clustered(scores, np.arange(len(scores)), bread)[None], used
    found = [_clustered(scores, way, bread) for way in ways]
    if len(ways) == 2:
        both = np.unique(ways[0] * (int(ways[1].max()) + 1) + ways[1], return_inverse=True)[1]
        found.append(found[0] + found[1] - _clustered(scores, both, bread))
    return np.stack(found), used


def _posterior(information: Array, gauge: Array) -> Array:
    """Return the covariance from the information alone, without the gauge.

    A separated fit predicts unanimous votes almost exactly, which makes the sandwich estimate too small.
    """
    centre = np.eye(len(information))
    centre[: len(gauge), : len(gauge)] -= gauge / gauge.sum(axis=1, keepdims=True)
    return centre @ np.linalg.inv(information) @ centre.T


def _clustered(scores: Array, codes: Codes, bread: Array) -> Array:
    count = int(codes.max()) + 1 if len(codes) else 0
    sums = np.stack([np.bincount(codes, column, minlength=count) for column in scores.T], axis=1) @ bread
    return sums.T @ sums * (count / (count - 1) if count > 1 else 1.0)

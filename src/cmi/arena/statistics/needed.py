"""How many votes a study still needs for the precision that its owner wants.

The owner's `margin` is in shares of votes: with 0.05, a win rate should be known to ±5 points. For strengths, which are
log odds, it stands for the difference at which the better of two systems wins 0.5 + margin of their votes.

scores       until a strength's 95 % interval is no wider than ± the margin
pairs        until the same holds for the win rate of one system against another; here votes on these two count, and as
             in Wilson's interval they are taken to be independent
neighbours   until the interval of the difference of two neighbours in the ranking excludes 0 ('apart') or lies within
             ± the margin ('alike'), whichever comes first; with probability POWER if the difference is as estimated

Scores and neighbours count all votes of the ranking. Their variance is taken to fall with the number of votes: this
assumes that further votes are like those so far, from new people and on new pairs in proportion, because the intervals
are robust to clusters by person and by pair. The same people voting more would narrow them less.

`needed` is the best guess. Half of such guesses are too low, because today's width is itself an estimate; `safe`
allows for that: for scores and neighbours, it takes the variance at the upper end of what its estimate from so many
people or pairs leaves open, and for win rates the rate at the end of its interval that needs most votes.
`benchmarks/arena_votes.py` says how often each suffices.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from statistics import NormalDist
from typing import Any, NamedTuple

from cmi.arena.statistics.inputs import AXES, Axis
from cmi.arena.statistics.ranking import Field, compared, with_enough_votes
from cmi.arena.store.study import CountedVote
from cmi.stats import wilson
from cmi.stats.intervals import t_quantile
from cmi.stats.ranking import FittedValue, Ranking, bradley_terry, fit_with_prior
from cmi.stats.systems import ranked_systems, win_rates

MARGIN = 0.05  # by default
POWER = 0.8
SURE = 0.9  # one-sided confidence in `safe`
MOST = 10_000_000  # votes; more are no plan


class Forecast(NamedTuple):
    """Votes in all until a precision is reached; None if nothing can be said yet, or MOST do not suffice."""

    needed: int | None
    safe: int | None


def votes_needed(votes: Sequence[CountedVote], minimum_votes: int, margin: float) -> dict[str, Any]:
    """`axes`: the most that any score, or any two neighbours, need in all; `scores`, `pairs` and `neighbours`: each."""
    field, _ = with_enough_votes(compared(votes), max(1, minimum_votes))
    found: dict[str, Any] = {"margin": margin, "log_odds": log_odds(margin)}
    found |= {"axes": [], "scores": [], "pairs": [], "neighbours": []}
    for axis in AXES if field.votes else ():
        fitted, prior = fit_with_prior(bradley_terry, field.comparisons(axis), None, field.clusters())
        scores = _score_rows(field, axis, fitted, prior, margin)
        neighbours = _neighbour_rows(field, axis, fitted, prior, margin)
        found["scores"] += scores
        found["neighbours"] += neighbours
        found["pairs"] += _pair_rows(field, axis, margin)
        most = {
            f"{name}_{kind}": _most(rows, kind)
            for name, rows in (("scores", scores), ("neighbours", neighbours))
            for kind in ("needed", "safe")
        }
        open_ = sum(row["state"] == "open" for row in neighbours)
        found["axes"].append({"axis": axis, "votes": len(field.votes), "open": open_, **most})
    return found


def log_odds(margin: float) -> float:
    """The difference of strengths at which the better system wins 0.5 + margin of the votes."""
    return math.log((0.5 + margin) / (0.5 - margin))


def _most(rows: Sequence[dict[str, Any]], kind: str) -> int | None:
    """The votes in all after which every row has what it needs; None if that cannot be said of some row."""
    values = [row[kind] for row in rows]
    return None if None in values else max(values, default=None)


def _score_rows(field: Field, axis: Axis, fitted: Ranking, prior: float, margin: float) -> list[dict[str, Any]]:
    rows = []
    for one in ranked_systems(axis, field.systems, field.comparisons(axis), fitted):
        value = FittedValue(one.strength, one.low, one.high)
        plan = _forecast(len(field.votes), fitted, value, log_odds(margin), 0.0) if not prior else Forecast(None, None)
        half = (one.high - one.low) / 2
        about = {"axis": axis, "system": one.system, "votes": len(field.votes), "half_width": half}
        rows.append({**about, "reached": half <= log_odds(margin), **plan._asdict()})
    return rows


def _neighbour_rows(field: Field, axis: Axis, fitted: Ranking, prior: float, margin: float) -> list[dict[str, Any]]:
    ranked = ranked_systems(axis, field.systems, field.comparisons(axis), fitted)
    rows = []
    for better, worse in pairwise(ranked):
        if better.group != worse.group:
            continue
        difference = fitted.difference(field.systems.index(better.system), field.systems.index(worse.system))
        state = neighbours_state(difference, log_odds(margin))
        plan = Forecast(None, None)
        if state != "open":
            plan = Forecast(len(field.votes), len(field.votes))
        elif not prior:
            plan = _neighbours_forecast(len(field.votes), fitted, difference, log_odds(margin))
        about = {"axis": axis, "system": better.system, "next": worse.system, "votes": len(field.votes)}
        spans = {"difference": difference.value, "low": difference.low, "high": difference.high}
        rows.append({**about, **spans, "state": state, **plan._asdict()})
    return rows


def neighbours_state(difference: FittedValue, most: float) -> str:
    """'apart' if the interval excludes 0, 'alike' if it lies within ± `most`, else 'open'."""
    if difference.low > 0 or difference.high < 0:
        return "apart"
    return "alike" if -most <= difference.low and difference.high <= most else "open"


def _neighbours_forecast(n: int, fitted: Ranking, difference: FittedValue, most: float) -> Forecast:
    size = abs(difference.value)
    plans = [_forecast(n, fitted, difference, wanted, POWER) for wanted in (size, most - size) if wanted > 0]
    best = [min((value for value in kind if value is not None), default=None) for kind in zip(*plans, strict=True)]
    return Forecast(*best)


def _forecast(n: int, fitted: Ranking, now: FittedValue, wanted: float, power: float) -> Forecast:
    """Votes until the half width, with what `power` needs on top, is at most `wanted`."""
    clusters = min((count for count in fitted.clusters if count), default=None)
    freedom = n - 1 if clusters is None else clusters - 1
    half = (now.high - now.low) / 2
    error = half / t_quantile(0.975, None if clusters is None else freedom)
    on_top = NormalDist().inv_cdf(power) if power else 0.0

    def reaches(votes: int, error: float) -> bool:
        quantile = t_quantile(0.975, None if clusters is None else max(1, round(clusters * votes / n) - 1))
        return (quantile + on_top) * error * math.sqrt(n / votes) <= wanted

    if half <= wanted and not power:
        return Forecast(n, n)
    safe_error = error * math.sqrt(freedom / _chi_square_quantile(1 - SURE, freedom))
    return Forecast(*(_fewest(partial(reaches, error=one), n) for one in (error, safe_error)))


def _pair_rows(field: Field, axis: Axis, margin: float) -> list[dict[str, Any]]:
    rows = []
    for one in win_rates(field.comparisons(axis)):
        if one.against is None or one.system > one.against:
            continue
        low, high = one.interval
        plan = Forecast(one.n, one.n)
        if not _is_narrow(one.rate, one.n, margin):
            hardest = min(max(low, 0.5), high)  # the rate in the interval that is nearest to one half
            plan = Forecast(*(_direct_votes(rate, one.n, margin) for rate in (one.rate, hardest)))
        names = {"axis": axis, "system": field.systems[one.system], "against": field.systems[one.against]}
        rows.append({**names, "votes": one.n, "rate": one.rate, "low": low, "high": high, **plan._asdict()})
    return rows


def _direct_votes(rate: float, least: int, margin: float) -> int | None:
    return _fewest(lambda n: _is_narrow(rate, n, margin), least)


def _is_narrow(rate: float, n: int, margin: float) -> bool:
    low, high = wilson(rate * n, n)
    return high - low <= 2 * margin


def _fewest(suffices: Callable[[int], bool], least: int) -> int | None:
    """The smallest number from `least` on that suffices, by bisection; None if MOST does not."""
    if suffices(least):
        return least
    low, high = least, 2 * least
    while not suffices(high):
        low, high = high, 2 * high
        if high > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def _chi_square_quantile(probability: float, freedom: int) -> float:
    """By Wilson and Hilferty (1931): within 2 % from 4 degrees of freedom on, for a probability of 0.1."""
    z, spread = NormalDist().inv_cdf(probability), 2 / (9 * freedom)
    return freedom * (1 - spread + z * math.sqrt(spread)) ** 3

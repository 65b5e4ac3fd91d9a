"""Does a reward model still agree with people as it did? Its agreement by month and by generator, with an alarm.

Baseline    The agreement that is expected: that of the votes up to a given month (by default the first month), or a
            number that was published. The alarm's bound is the lower end of the baseline's 95 % interval, or the
            number itself.
Watch       The votes after it, in order of time. Each prompt counts once, with the share of its votes that the scores
            predict. An e-process (`cmi.stats.e_process`) tests whether the mean has fallen below the bound; it may be
            looked at every night without raising the rate of false alarms.
Alarm       Over all generators together at 1 / ALPHA. For each generator, on the pairs with its takes, at
            (number of generators) / ALPHA; its bound is its own baseline if that has FEWEST_PROMPTS prompts or more,
            else that of all. So each of the two rows of alarms is false in at most ALPHA of all studies, however long
            they are watched. An alarm stays: give a later baseline to start anew.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.report.html import fact_list, interval_bar, page, table_html
from cmi.report.numbers import interval, number, percent
from cmi.report.tables import Table
from cmi.rewardbench.analysis.calibrate import TASKS, ScoredVotes, scored_votes
from cmi.rewardbench.items import RatedItem
from cmi.rewardbench.runs.run_folder import System
from cmi.stats import Interval, bootstrap, e_process, share_interval
from cmi.take import Axis

ALPHA = 0.05
FEWEST_PROMPTS = 20
RESAMPLES = 2000
EVERYTHING = "all"
BASELINE, WATCHED = "baseline", "watched"


@dataclass(frozen=True)
class AgreementShare:
    """How often a model's scores agree with votes in a month or on a generator. Shares are from 0 to 1."""

    axis: Axis
    group: str  # a month, a generator or EVERYTHING
    period: str  # BASELINE, WATCHED or ''
    votes: int
    prompts: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class DriftAlarm:
    """The test of the watched votes of one generator, or of all."""

    axis: Axis
    group: str
    expected: float  # the baseline's agreement
    bound: float
    limit: float  # of the e-process
    evidence: float  # the highest value of the e-process
    since: str | None  # the date of the vote that raised the alarm; None if there is none
    agreement: AgreementShare

    @property
    def is_raised(self) -> bool:
        return self.since is not None


class Drift(NamedTuple):
    model: str
    baseline: str  # in words
    months: list[AgreementShare]
    generators: list[AgreementShare]
    alarms: list[DriftAlarm]

    @property
    def raised(self) -> list[DriftAlarm]:
        return [one for one in self.alarms if one.is_raised]

    def to_json(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "baseline": self.baseline,
            "alpha": ALPHA,
            "alarm": bool(self.raised),
            "months": [asdict(one) for one in self.months],
            "generators": [asdict(one) for one in self.generators],
            "tests": [{"alarm": one.is_raised, **asdict(one)} for one in self.alarms],
        }


class _Votes(NamedTuple):
    """The decided votes of an axis in order of time."""

    credit: NDArray[np.float64]  # (n,)  1 if the scores predict the vote, 0 if not, 0.5 if they are equal
    prompts: NDArray[np.int64]
    dates: list[str]
    generators: list[tuple[str, str]]

    def of(self, chosen: NDArray[np.bool_]) -> "_Votes":
        places = np.flatnonzero(chosen)
        return _Votes(
            self.credit[places],
            self.prompts[places],
            [self.dates[i] for i in places],
            [self.generators[i] for i in places],
        )

    def with_generator(self, name: str) -> "_Votes":
        return self.of(np.array([name in both for both in self.generators], bool))


def watch(items: Sequence[RatedItem], system: System, until: str = "", expected: float | None = None) -> Drift:
    """Compare a model's agreement with votes after the month `until` with that before, or with `expected`."""
    found = {axis: _in_order(scored_votes(items, system.scores, axis)) for axis in TASKS if axis in system.about.axes}
    found = {axis: votes for axis, votes in found.items() if len(votes.credit)}
    if not found:
        raise InputError(
            "no decided vote on a pair of two different generators, with generator_a and generator_b, was scored"
        )
    last = until or min((date[:7] for votes in found.values() for date in votes.dates if date), default="")
    if expected is None and not last:
        raise InputError("no vote has a date (voted or month): say with --expect which agreement is expected")
    baseline_words = f"votes until {last}" if expected is None else f"{percent(expected)} %"
    drift = Drift(system.about.name, baseline_words, [], [], [])
    for axis, votes in found.items():
        is_baseline = np.array([expected is None and date[:7] <= last for date in votes.dates], bool)
        baseline, watched = votes.of(is_baseline), votes.of(~is_baseline)
        if expected is None and len(np.unique(baseline.prompts)) < FEWEST_PROMPTS:
            raise InputError(
                f"{axis}: {len(np.unique(baseline.prompts))} prompts until {last}, expected {FEWEST_PROMPTS} or more "
                "for a baseline; name a later month with --until, or an agreement with --expect"
            )
        drift.months.extend(_by_month(axis, votes, last if expected is None else ""))
        names = sorted({name for both in votes.generators for name in both})
        drift.generators.extend(_agreement(axis, name, "", votes.with_generator(name)) for name in names)
        drift.alarms.extend(_alarms(axis, baseline, watched, expected))
    return drift


def _in_order(votes: ScoredVotes) -> _Votes:
    decided = np.flatnonzero(votes.decided)
    order = sorted(decided.tolist(), key=lambda i: votes.dates[i])
    credit = 0.5 + np.sign(votes.difference) * votes.outcome / 2
    names = [(votes.names[a], votes.names[b]) for a, b in zip(votes.first, votes.second, strict=True)]
    return _Votes(credit[order], votes.prompts[order], [votes.dates[i] for i in order], [names[i] for i in order])


def _by_month(axis: Axis, votes: _Votes, last: str) -> Iterator[AgreementShare]:
    for month in sorted({date[:7] for date in votes.dates}):
        chosen = np.array([date[:7] == month for date in votes.dates], bool)
        period = "" if not last else BASELINE if month <= last else WATCHED
        yield _agreement(axis, month or "not dated", period, votes.of(chosen))


def _agreement(axis: Axis, group: str, period: str, votes: _Votes) -> AgreementShare:
    value, ends = _share(votes)
    return AgreementShare(axis, group, period, len(votes.credit), len(np.unique(votes.prompts)), value, *ends)


def _share(votes: _Votes) -> tuple[float, Interval]:
    """Return the share of votes that are predicted, and its interval over prompts."""
    codes = np.unique(votes.prompts, return_inverse=True)[1]
    value = float(votes.credit.mean())
    draws = bootstrap(lambda weights: weights @ votes.credit / weights.sum(axis=1), codes, RESAMPLES)
    return value, share_interval(value, draws, int(codes.max()) + 1)


def _alarms(axis: Axis, baseline: _Votes, watched: _Votes, expected: float | None) -> Iterator[DriftAlarm]:
    if not len(watched.credit):
        return
    overall, bound = (expected, expected) if expected is not None else _expectation(baseline)
    yield _test(axis, EVERYTHING, watched, overall, bound, 1 / ALPHA)
    names = sorted({name for both in watched.generators for name in both})
    for name in names:
        known = baseline.with_generator(name) if len(baseline.credit) else baseline
        is_own = len(np.unique(known.prompts)) >= FEWEST_PROMPTS
        own = _expectation(known) if is_own else (overall, bound)
        yield _test(axis, name, watched.with_generator(name), *own, len(names) / ALPHA)


def _expectation(votes: _Votes) -> tuple[float, float]:
    value, ends = _share(votes)
    return value, ends.low


def _test(axis: Axis, group: str, votes: _Votes, expected: float, bound: float, limit: float) -> DriftAlarm:
    prompts, first = np.unique(votes.prompts, return_index=True)
    places = np.searchsorted(prompts, votes.prompts)
    shares = np.bincount(places, votes.credit) / np.bincount(places)
    order = np.argsort(first)
    found = e_process(shares[order], min(max(bound, 1e-6), 1 - 1e-6), limit)
    at = None if found.first_above is None else votes.dates[first[order[found.first_above]]] or "not dated"
    return DriftAlarm(axis, group, expected, bound, limit, found.highest, at, _agreement(axis, group, WATCHED, votes))


def drift_tables(drift: Drift) -> list[Table]:
    """Return the agreement by month and by generator, and the tests."""
    tests = [
        [
            *(one.axis, one.group, f"ALARM since {one.since}" if one.is_raised else "no alarm"),
            *(str(one.agreement.votes), str(one.agreement.prompts), percent(one.agreement.value)),
            *(interval((one.agreement.low, one.agreement.high), 1, 100), percent(one.expected), percent(one.bound)),
            *(number(min(one.evidence, 1e6), 1), number(one.limit, 0)),
        ]
        for one in drift.alarms
    ]
    notes = [
        f"In percent. Baseline: {drift.baseline}. An alarm means that the agreement of the votes since then lies below "
        "the bound, which is the lower end of the baseline's interval, or the stated number. It is false in at most "
        f"{percent(ALPHA, 0)} % of studies, however often one looks. Evidence: the highest value of the e-process so "
        "far; from the limit on it is an alarm."
    ]
    headers = ["axis", "generator", "", "votes", "prompts", "agreement", "95 %", "expected", "bound"]
    headers += ["evidence", "limit"]
    return [
        Table(f"{drift.model}: has the agreement with people fallen?", headers, tests, labels=3, notes=notes),
        _agreement_table("Agreement by month", "month", drift.months),
        _agreement_table("Agreement by generator", "generator", drift.generators),
    ]


def _agreement_table(title: str, group: str, found: Sequence[AgreementShare]) -> Table:
    rows = [
        [
            *(one.axis, one.group, one.period, str(one.votes), str(one.prompts)),
            *(percent(one.value), interval((one.low, one.high), 1, 100)),
        ]
        for one in found
    ]
    return Table(title, ["axis", group, "", "votes", "prompts", "agreement", "95 %"], rows, labels=3)


def drift_page(drift: Drift) -> str:
    """Return a page with the alarms, the tables and a bar for each month and generator."""
    raised = ", ".join(f"{one.group} ({one.axis}) since {one.since}" for one in drift.raised)
    facts = {"model": drift.model, "baseline": drift.baseline, "alarm": raised or "none"}
    tests, months, generators = map(table_html, drift_tables(drift))
    title = "Does the model still agree with people?"
    parts = [f"<h1>{title}</h1>", fact_list(facts), tests]
    parts += [_bars(drift.months), months, _bars(drift.generators), generators]
    return page(title, "\n".join(parts))


def _bars(found: Sequence[AgreementShare]) -> str:
    """Draw each share with its interval; the dashed line is at one half."""
    return "\n".join(
        f"<p>{interval_bar(one.group, one.value, Interval(one.low, one.high), 0.5, 'scorer')}"
        f"{escape(f'{one.group}, {one.axis}: {percent(one.value)} % of {one.votes} votes')}</p>"
        for one in found
    )

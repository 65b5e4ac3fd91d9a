"""Does a reward model still agree with people as it did? Its agreement by month and by generator, with an alarm.

Baseline    The agreement that is expected: that of the votes up to a given month (by default the first month), or a
            number that was published. The bound is the lower end of the baseline's interval, or the number itself.
Watch       The votes after it, in order of time. Each prompt counts once, with the share of its votes that the scores
            predict. An e-process (`cmi.stats.e_process`) tests whether the mean has fallen below the bound; it may be
            looked at every night without raising the rate of false alarms.
Alarm       For all votes together, and for each generator on the pairs with its takes. A generator's bound is that of
            its own baseline if that has FEWEST_PROMPTS prompts or more, else that of all. All votes together raise a
            false alarm in at most ALPHA of all studies, however long they are watched, and the generators together in
            as many: half of it is for the baseline's interval (Wilson's, with prompts as trials), half for the
            e-process, and generators share both equally (Bonferroni). An alarm stays: give a later baseline to start
            anew. Rates in simulated studies are in docs/calibrate.md.
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
from cmi.reward.model.validation import validation_notes
from cmi.rewardbench.analysis.calibrate import TASKS, ScoredVotes, scored_votes
from cmi.rewardbench.items import RatedItem
from cmi.rewardbench.runs.run_folder import System
from cmi.stats import Interval, bootstrap, e_process, share_interval, wilson
from cmi.take import Axis

ALPHA = 0.05
FEWEST_PROMPTS = 20
RESAMPLES = 2000
EVERYTHING = "all"
MOST_SHOWN = 100_000  # evidence in tables
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
    after: int | None  # prompts until the alarm was raised; None if there is none
    since: str  # the date of that prompt's first vote, '' if it has none
    agreement: AgreementShare

    @property
    def is_raised(self) -> bool:
        return self.after is not None

    @property
    def verdict(self) -> str:
        if self.after is None:
            return "no alarm"
        return f"ALARM after {self.after} prompts" + (f", {self.since[:10]}" if self.since else "")


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
        raise InputError("no vote has a date (voted or month): state the expected agreement with --expect")
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
    everything = (expected, expected) if expected is not None else expectation(baseline, ALPHA)
    yield _test(axis, EVERYTHING, watched, *everything, ALPHA)
    names = sorted({name for both in watched.generators for name in both})
    level = ALPHA / len(names)
    for name in names:
        known = baseline.with_generator(name) if len(baseline.credit) else baseline
        if len(np.unique(known.prompts)) >= FEWEST_PROMPTS:
            own = expectation(known, level)
        else:
            own = everything if expected is not None else expectation(baseline, level)
        yield _test(axis, name, watched.with_generator(name), *own, level)


def expectation(baseline: _Votes, alpha: float) -> tuple[float, float]:
    """Return the mean agreement of the baseline's prompts, and a bound that is too high in alpha / 2 of all studies."""
    shares, _ = _prompt_shares(baseline)
    return float(shares.mean()), wilson(float(shares.sum()), len(shares), 1 - alpha).low


def _prompt_shares(votes: _Votes) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return each prompt's share of predicted votes, and the place of its first vote, in order of first votes."""
    prompts, first = np.unique(votes.prompts, return_index=True)
    places = np.searchsorted(prompts, votes.prompts)
    shares = np.bincount(places, votes.credit) / np.bincount(places)
    order = np.argsort(first)
    return shares[order], first[order]


def _test(axis: Axis, group: str, votes: _Votes, expected: float, bound: float, alpha: float) -> DriftAlarm:
    shares, first = _prompt_shares(votes)
    limit = 2 / alpha
    found = e_process(shares, min(max(bound, 1e-6), 1 - 1e-6), limit)
    after = None if found.first_above is None else found.first_above + 1
    since = "" if found.first_above is None else votes.dates[first[found.first_above]]
    agreement = _agreement(axis, group, WATCHED, votes)
    return DriftAlarm(axis, group, expected, bound, limit, found.highest, after, since, agreement)


def drift_tables(drift: Drift) -> list[Table]:
    """Return the agreement by month and by generator, and the tests."""
    tests = [
        [
            *(one.axis, one.group, one.verdict),
            *(str(one.agreement.votes), str(one.agreement.prompts), percent(one.agreement.value)),
            *(interval((one.agreement.low, one.agreement.high), 1, 100), percent(one.expected), percent(one.bound)),
            *(number(one.evidence, 1) if one.evidence < MOST_SHOWN else f"> {MOST_SHOWN}", number(one.limit, 0)),
        ]
        for one in drift.alarms
    ]
    notes = [
        f"In percent. Baseline: {drift.baseline}. An alarm means that the agreement of the votes since then lies below "
        "the bound, which is the lower end of the baseline's interval, or the stated number. At most "
        f"{percent(ALPHA, 0)} % of studies see a false alarm of all votes, and as many one of any generator, however "
        "often one looks. Evidence: the highest value of the e-process so far; from the limit on it is an alarm.",
        *validation_notes(drift.model),
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
    raised = "; ".join(f"{one.group} ({one.axis}): {one.verdict}" for one in drift.raised)
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

"""Statistics of a project of the kind mos, mushra or ranking.

Value      of a stimulus in a rating: the category (1 to 5), the MUSHRA score (0 to 100), or, of a rank, the share of
           the other takes on the page that it beats, a tie counting half
Interval   95 % of the mean over people and trials: a bootstrap that draws both, independently; with fewer than ten of
           either, the robust interval with a t quantile (`cmi.stats.mean_interval`); none with fewer than five of both
Null       95 % of the means that a system would have if it did not matter: values shuffled among the takes of a page,
           or of a person if a page has one take. p: how often the shuffled mean is as far from the middle
Left out   on MUSHRA pages, people who fail the post-screening (`cmi.arena.statistics.post_screening`)
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi.arena.statistics.inputs import AXES, Annotator, codes, grouped
from cmi.arena.statistics.post_screening import read_annotators, screen_people
from cmi.arena.statistics.raters import compare_raters
from cmi.arena.store.ratings import CountedRating
from cmi.arena.store.trials import KINDS, RatedAxis, RatedKind
from cmi.report.numbers import MISSING, interval, number, percent
from cmi.report.tables import Table, to_plain
from cmi.stats import FEWEST_CLUSTERS, Interval, bootstrap_interval, cluster_weights, mean_interval, percentile_interval
from cmi.stats.listening import FEWEST_PAGES, MISSED, SEEN

if TYPE_CHECKING:
    from cmi.arena.store.database import Database

Row = dict[str, Any]
SCORES = {"mos": "mean", "mushra": "mean", "ranking": "beats (share)"}
TITLES = {"mos": "Mean opinion scores, 1 to 5", "mushra": "MUSHRA scores, 0 to 100", "ranking": "Rankings"}


class Value(NamedTuple):
    system: str
    role: str
    person: str
    trial: str
    page: str  # among whose takes a shuffle is fair
    value: float
    rank: int | None


def report_rated(database: "Database", project: str, hidden: bool = False) -> Row:
    """Compute the statistics of a project's ratings so far; hidden trials count only if asked for."""
    from cmi.arena.store import projects, ratings, trials

    kind = projects.get(database, project).kind
    assert kind != "pairs"  # `report_project` sends only the other kinds here
    rated = list(ratings.counted_ratings(database, project, hidden))
    annotators = read_annotators(database, project)
    return rated_report(rated, kind, trials.count_trials(database, project, hidden), annotators)


def rated_report(
    rated: Sequence[CountedRating],
    kind: RatedKind,
    trials: int,
    people: Sequence[Annotator],
    resamples: int = 1000,
    seed: int = 0,
) -> Row:
    """Compute all statistics as plain JSON; None means undefined. Intervals are 95 %, `..low` to `..high`.

    progress     ratings, trials, trials_rated, people [person, name, state, votes, quota], days [day, votes],
                 median_seconds
    systems      [axis, system, role, ratings, people, trials, mean, low, high, interval, null_low, null_high, p,
                 mean_rank]
    screening    mushra: people [person, name, votes, pages, missed, share, verdict], left_out; `pages` with a hidden
                 reference; mos and ranking: people as of `raters.compare_raters`, left_out is 0
    """
    screened = screen_people(rated, people, trials) if kind == "mushra" else compare_raters(rated, kind, people)
    failed = {row["person"] for row in screened if row["verdict"] == "fails"}
    kept = [row for row in rated if row.person not in failed]
    systems = [row for axis in KINDS[kind].axes for row in _systems(kept, kind, axis, resamples, seed)]
    days = Counter(datetime.fromtimestamp(row.created, UTC).date().isoformat() for row in rated)
    votes = Counter(row.person for row in rated)
    progress = {
        "ratings": len(rated),
        "trials": trials,
        "trials_rated": len({row.trial for row in rated}),
        "people": [{**one._asdict(), "votes": votes[one.person]} for one in people],
        "days": [{"day": day, "votes": count} for day, count in sorted(days.items())],
        "median_seconds": float(np.median([row.seconds for row in rated])) if rated else None,
    }
    found = {"progress": progress, "systems": systems, "screening": {"people": screened, "left_out": len(failed)}}
    return {"kind": kind, **{name: to_plain(value) for name, value in found.items()}}


def _systems(rated: Iterable[CountedRating], kind: RatedKind, axis: RatedAxis, resamples: int, seed: int) -> list[Row]:
    values = [value for row in rated for value in _values(row, kind, axis)]
    takes = [value for value in values if value.role == "take"]
    nulls = _shuffle(takes, resamples, seed)
    rows = []
    for (role, system), own in sorted(grouped(values, lambda value: (value.role != "take", value.system)).items()):
        numbers = np.array([value.value for value in own])
        over = [codes([value.person for value in own]), codes([value.trial for value in own])]
        found, method = interval_over_both(numbers, over, resamples, seed)
        low, high, p = nulls.get(system, (None, None, None)) if not role else (None, None, None)
        ranks = [value.rank for value in own if value.rank is not None]
        rows.append(
            {"axis": axis, "system": system, "role": own[0].role, "ratings": len(own)}
            | {"people": int(over[0].max()) + 1, "trials": int(over[1].max()) + 1, "mean": float(numbers.mean())}
            | {"low": found.low, "high": found.high, "interval": method}
            | {"null_low": low, "null_high": high, "p": p, "mean_rank": float(np.mean(ranks)) if ranks else None}
        )
    return sorted(rows, key=lambda row: -row["mean"])


def _values(row: CountedRating, kind: RatedKind, axis: RatedAxis) -> list[Value]:
    given = np.array(row.answers[axis], np.float64)
    ranks: list[int | None] = [None] * len(given)
    page = row.person if kind == "mos" else row.sitting
    if kind == "ranking":
        ranks = list(row.answers[axis])
        below = (given[:, None] < given).sum(axis=1) + 0.5 * ((given[:, None] == given).sum(axis=1) - 1)
        given = below / (len(given) - 1)
    return [
        Value(one.system, one.role, row.person, row.trial, page, float(value), rank)
        for one, value, rank in zip(row.stimuli, given, ranks, strict=True)
    ]


def interval_over_both(
    values: NDArray[np.float64], clusterings: Sequence[NDArray[np.int64]], resamples: int, seed: int
) -> tuple[Interval, str | None]:
    """The interval of a mean over people and trials, and how it was found: 'bootstrap', 't' or None."""
    fewest = min(int(one.max()) + 1 for one in clusterings)
    if fewest >= FEWEST_CLUSTERS:
        weights = zip(*(cluster_weights(one, resamples, seed + n) for n, one in enumerate(clusterings)), strict=True)
        draws = [
            (first * second) @ values / np.maximum((first * second).sum(axis=1), 1e-12) for first, second in weights
        ]
        found, method = bootstrap_interval(np.concatenate(draws), fewest), "bootstrap"
    else:
        found, method = mean_interval(values, clusterings), "t"
    return found, None if np.isnan(found.low) else method


def _shuffle(takes: Sequence[Value], resamples: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """By system, the 95 % range of its mean if labels are shuffled, and p; only systems for which this can differ."""
    if not takes:
        return {}
    names, systems = np.unique(np.array([one.system for one in takes]), return_inverse=True)
    pages = codes([one.page for one in takes])
    order = np.argsort(pages, kind="stable")
    values, systems, pages = np.array([one.value for one in takes])[order], systems[order], pages[order]
    counts, rng = np.bincount(systems), np.random.default_rng(seed)
    observed = np.bincount(systems, values) / counts
    draws = np.empty((resamples, len(names)))
    for row in draws:
        shuffled = values[np.lexsort((rng.random(len(values)), pages))]
        row[:] = np.bincount(systems, shuffled) / counts
    found = {}
    for place, name in enumerate(names):
        null = percentile_interval(draws[:, place])
        if null.low < null.high:
            middle = draws[:, place].mean()
            far = np.abs(draws[:, place] - middle) >= abs(observed[place] - middle) - 1e-12
            found[str(name)] = null.low, null.high, float((1 + far.sum()) / (1 + resamples))
    return found


def rated_tables(report: Row) -> list[Table]:
    """The report for the terminal; an undefined cell is a dash."""
    kind, progress = report["kind"], report["progress"]
    seconds = number(progress["median_seconds"], 0)
    counts = [str(progress[name]) for name in ("ratings", "trials_rated", "trials")]
    voting = sum(one["votes"] > 0 for one in progress["people"])
    digits = {"mos": 2, "mushra": 1, "ranking": 3}[kind]
    systems = [
        [
            *(row["axis"], row["system"], *(str(row[name]) for name in ("ratings", "people", "trials"))),
            *(number(row["mean"], digits), interval((row["low"], row["high"]), digits), row["interval"] or MISSING),
            *(interval((row["null_low"], row["null_high"]), digits), number(row["p"], 3)),
            *([number(row["mean_rank"], 2)] if kind == "ranking" else []),
        ]
        for row in report["systems"]
    ]
    headers = ["axis", "system", "ratings", "people", "trials", SCORES[kind], "95 %", "by", "null", "p"]
    headers += ["mean rank"] if kind == "ranking" else []
    notes = [
        "95 %: over people and trials. Null: the means that the system would have if the values were shuffled among "
        f"the takes of a {'person' if kind == 'mos' else 'page'}."
    ]
    if kind == "ranking":
        notes.append("Beats: the share of the other takes on the page that are ranked lower, a tie counting half.")
    found = [
        Table(
            "Progress",
            ["ratings", "trials rated", "trials", "people", "seconds per rating"],
            [[*counts, f"{voting}/{len(progress['people'])}", seconds]],
            labels=0,
        ),
        Table(TITLES[kind], headers, systems, labels=2, notes=notes),
    ]
    found.append((_screening_table if kind == "mushra" else _raters_table)(report["screening"]))
    return found


def _screening_table(screening: Row) -> Table:
    rows = [
        [row["name"] or row["person"], row["verdict"] or MISSING, str(row["pages"]), str(row["missed"])]
        for row in screening["people"]
    ]
    notes = [
        f"Fails: the hidden reference was rated below {SEEN:g} on more than {100 * MISSED:g} % of the pages (ITU-R "
        f"BS.1534-3). {screening['left_out']} of {len(rows)} people fail; their scores are not in the table above.",
    ]
    open_ = sum(row["verdict"] == "can't tell yet" for row in screening["people"])
    if open_:
        notes.append(
            f"Can't tell yet: fewer than {FEWEST_PAGES} pages, one missed at most, and more to rate. So are {open_} "
            "people; their scores count."
        )
    return Table("Post-screening", ["person", "verdict", "pages", "missed"], rows, labels=2, notes=notes)


def _raters_table(screening: Row) -> Table:
    rows = [
        [row["name"] or row["person"], row["verdict"], str(row["votes"]), *(_others(row, axis) for axis in AXES)]
        for row in screening["people"]
    ]
    headers = ["person", "verdict", "ratings", *(f"as the others, {axis} (%)" for axis in AXES)]
    notes = [
        "As the others: the share of takes on the same side of the median, or of pages in the same order rather than "
        "the opposite one (of n); chance is 50. No rating is left out because of a verdict."
    ]
    return Table("People", headers, rows, labels=2, notes=notes)


def _others(row: Row, axis: str) -> str:
    n = row[f"{axis}_others_n"]
    return f"{percent(row[f'{axis}_others'])} ({n})" if n else MISSING


def rated_charts(report: Row) -> dict[str, list[Row]]:
    """Flat rows by chart name; all rows of a chart have the same columns."""
    return {
        "rated_systems": report["systems"],
        "rated_screening": report["screening"]["people"],
        "progress_people": report["progress"]["people"],
        "progress_days": report["progress"]["days"],
    }

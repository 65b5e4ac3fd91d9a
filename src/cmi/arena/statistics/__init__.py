"""Statistics of a study: `report` computes them, `charts` and `tables` present them.

cmi.arena.statistics.inputs says which votes count for what.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from cmi.arena.statistics.covariates import covariates
from cmi.arena.statistics.inputs import Annotator, Wanted
from cmi.arena.statistics.needed import MARGIN, votes_needed
from cmi.arena.statistics.ranking import ranking, wins
from cmi.arena.statistics.screening import screening
from cmi.arena.statistics.summary import agreement, axes, confidences, progress, time_per_vote
from cmi.arena.statistics.tables import charts, tables
from cmi.arena.store.study import CountedVote
from cmi.report.tables import to_plain

if TYPE_CHECKING:
    from cmi.arena.store.database import Database

__all__ = ["Annotator", "Wanted", "charts", "report", "report_project", "tables"]


def report_project(
    database: "Database", project: str, minimum_votes: int = 20, margin: float | None = None, hidden: bool = False
) -> dict[str, Any]:
    """Compute the statistics of a project's votes so far; of its ratings if it is not one of pairs.

    Votes on hidden pairs and ratings of hidden trials count only if asked for.
    """
    from cmi.arena.store import pairs, people, projects, votes

    ours = projects.get(database, project)
    if ours.kind != "pairs":
        from cmi.arena.statistics.rated import report_rated

        return report_rated(database, project, hidden)
    study = ours.settings
    annotators = [
        (person.id, person.name, person.state, person.quota or study.quota)
        for person in people.list_people(database, project)
        if person.role == "annotator"
    ]
    cast, wanted = votes.counted(database, project, hidden), pairs.wanted(database, project, hidden)
    return report(cast, wanted, annotators, minimum_votes, margin=study.margin if margin is None else margin)


def report(
    votes: Iterable[CountedVote],
    wanted: Iterable[tuple[str, str, str, int]],
    people: Iterable[tuple[str, str | None, str, int | None]],
    minimum_votes: int = 20,
    resamples: int = 1000,
    seed: int = 0,
    margin: float = MARGIN,
) -> dict[str, Any]:
    """Compute all statistics as plain JSON; None means undefined. Intervals are 95 %, `..low` to `..high`.

    wanted: (pair, modality, kind, votes wanted) of each pair; people: (person, name, state, quota) of each annotator.

    progress     votes, study_votes, gold_votes, repeat_votes, wanted, done, share, pairs, pairs_done,
                 modalities [modality, wanted, done, share, pairs, pairs_done],
                 overlap {pairs, target, pairs_with_two_votes, reached, pairs_done},
                 people [person, name, state, votes, quota], days [day, votes]
    time         votes, lower_quartile, median, upper_quartile; people [person, ...], modalities [modality, ...]
    agreement    [axis, pairs, votes, vote_pairs, agreeing, rate, rate_low, rate_high, alpha, alpha_low, alpha_high]
    confidence   axes [axis, votes, mean, untouched, known], levels [axis, confidence, votes, share]
    axes         votes, same, different, rate, rate_low, rate_high, interval_over,
                 confidence [preference, axis, votes, mean]
    screening    people [person, name, votes, verdict, reasons, reason_parts [code, ...], median_seconds,
                 confidence_extremes, and for each axis and each of gold, consistency, others, first: AXIS_WHAT_n,
                 AXIS_WHAT, ..._low, ..._high; AXIS_first_p, against_chance, against_care], minimum_votes, error,
                 expected
    win_rates    systems [axis, system, votes, wins, rate, low, high], matrix [..., against, ...], left_out
    ranking      systems [axis, group, system, votes, strength, low, high, beats_average, rank, best, worst, davidson,
                 davidson_low, davidson_high], axes [axis, votes, prior, ties, equals_tie, people, pairs], groups,
                 left_out [system, votes], minimum_votes
    needed       margin, log_odds, axes [axis, votes, open, scores_needed, scores_safe, neighbours_needed,
                 neighbours_safe], scores [axis, system, votes, half_width, reached, needed, safe], pairs [axis, system,
                 against, votes, rate, low, high, needed, safe], neighbours [axis, system, next, votes, difference, low,
                 high, state, needed, safe]; needed and safe are votes in all
    covariates   effects [axis, covariate, unit, votes, share, share_low, share_high, effect, effect_low, effect_high,
                 note], systems [axis, system, votes, strength, low, high, adjusted, adjusted_low, adjusted_high],
                 left_out
    """
    cast: Sequence[CountedVote] = list(votes)
    pairs, annotators = [Wanted(*one) for one in wanted], [Annotator(*one) for one in people]
    found = {
        "progress": progress(cast, pairs, annotators),
        "time": time_per_vote(cast),
        "agreement": agreement(cast, resamples, seed),
        "confidence": confidences(cast),
        "axes": axes(cast, resamples, seed),
        "screening": screening(cast, annotators, minimum_votes),
        "win_rates": wins(cast),
        "ranking": ranking(cast, minimum_votes),
        "needed": votes_needed(cast, minimum_votes, margin),
        "covariates": covariates(cast, minimum_votes),
    }
    return {name: to_plain(value) for name, value in found.items()}

"""Do annotators agree on the same pair? Table 6 of the paper, while the study runs."""

from collections.abc import Sequence
from typing import Any

from cmi.arena.statistics.inputs import AXES, choice, grouped, study_votes
from cmi.arena.store.votes_view import CountedVote
from cmi.stats import rater_agreement


def agreement(votes: Sequence[CountedVote], resamples: int, seed: int) -> list[dict[str, Any]]:
    """Per axis: of all pairs of votes on the same pair the share that agree, and Krippendorff's alpha (nominal).

    pairs       pairs with votes by two people or more
    votes       on those
    vote_pairs  that can be made of them, of which `agreeing` agree: `rate`
    Intervals are by bootstrap over pairs. Gold and repeats are left out.
    """
    by_pair = grouped(study_votes(votes), lambda vote: vote.pair)
    shared = [group for group in by_pair.values() if len(group) > 1]
    found = []
    for axis in AXES:
        one = rater_agreement([[choice(vote, axis) for vote in group] for group in shared], "nominal", resamples, seed)
        found.append(
            {
                **{"axis": axis, "pairs": one.units, "votes": one.votes, "vote_pairs": one.pairs},
                **{"agreeing": one.agreeing, "rate": one.rate},
                **{"rate_low": one.rate_interval.low, "rate_high": one.rate_interval.high},
                **{"alpha": one.alpha, "alpha_low": one.alpha_interval.low, "alpha_high": one.alpha_interval.high},
            }
        )
    return found

"""Listening tests: MUSHRA's hidden stimuli and post-screening (ITU-R BS.1534-3), and scores compared in pairs."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Literal

from cmi.preferences import draw_number
from cmi.take import Choice

REFERENCE = "reference"  # the hidden one
ANCHORS = {"anchor35": 3500.0, "anchor70": 7000.0}  # cut-off in Hz of the low and the mid-range anchor
SEEN = 90.0  # the score from which the hidden reference counts as recognised
MISSED = 0.15  # the share of pages on which a listener may fail to recognise it
FEWEST_PAGES = 7  # of fewer, one page is more than MISSED


def fails_post_screening(hidden_reference: Iterable[float]) -> bool:
    """Tell whether a listener rated the hidden reference below SEEN on more than MISSED of the pages.

    >>> fails_post_screening([100, 95, 100, 90, 100, 92, 40]), fails_post_screening([100, 95, 100, 90, 100, 40])
    (False, True)
    """
    missed = [score < SEEN for score in hidden_reference]
    return sum(missed) > MISSED * len(missed)


def post_screening(
    hidden_reference: Iterable[float], is_complete: bool
) -> Literal["passes", "fails", "can't tell yet"]:
    """Return the verdict on a listener; if not `is_complete`, more pages will follow.

    Until then, with fewer than FEWEST_PAGES pages, one missed page does not fail and none missed does not pass.

    >>> [post_screening([100, 40], is_complete) for is_complete in (True, False)]
    ['fails', "can't tell yet"]
    >>> post_screening([30, 40, 100], False), post_screening([40] + 6 * [100], False)
    ('fails', 'passes')
    """
    scores = list(hidden_reference)
    if not is_complete and len(scores) < FEWEST_PAGES and sum(score < SEEN for score in scores) < 2:
        return "can't tell yet"
    return "fails" if fails_post_screening(scores) else "passes"


def compare_scores(scores: Mapping[str, float]) -> Iterator[tuple[str, str, Choice]]:
    """Yield any two recordings that one listener scored, by id, and which the higher score prefers, or 'both'.

    Which of the two is `a` depends on their ids only, so that the order carries no information.

    >>> list(compare_scores({"one": 80, "two": 60, "three": 80}))
    [('one', 'two', 'a'), ('three', 'one', 'both'), ('three', 'two', 'a')]
    """
    for one, other in combinations(scores, 2):
        a, b = (other, one) if draw_number(f"{one} {other}") < 0.5 else (one, other)
        yield a, b, "a" if scores[a] > scores[b] else "b" if scores[a] < scores[b] else "both"

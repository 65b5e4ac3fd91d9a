"""What people's mean rating of a take gets of their own votes."""

from pathlib import Path

import pytest

from cmi.rewardbench.evaluation.ceilings import ceilings
from cmi.rewardbench.items import RatedItem, Vote
from cmi.take import Prompt


def rated(name: str, *ratings: float) -> RatedItem:
    about = {"raters": str(len(ratings))}
    mean = sum(ratings) / len(ratings)
    return RatedItem(f"rated {name}", "s", Prompt(), (Path(name),), {"musicality": mean}, about=about)


def pair(better: str, worse: str, ratings: tuple[float, float], turned: bool = False) -> RatedItem:
    about = {"better_rating": str(ratings[0]), "worse_rating": str(ratings[1])}
    takes = (Path(worse), Path(better)) if turned else (Path(better), Path(worse))
    return RatedItem(
        f"{better} {worse} {ratings}", "s", Prompt(), takes, {}, {"overall": Vote("b" if turned else "a")}, about
    )


def test_the_mean_gets_what_it_agrees_with_and_less_without_the_voters_own():
    items = [
        *(rated("x", 5, 3), rated("y", 1, 3)),
        *(pair("x", "y", (5, 1)), pair("x", "y", (5, 1), turned=True)),  # the others rated them the same
        *(pair("y", "x", (3, 1)), pair("x", "z", (4, 2))),  # the mean says otherwise; z was never rated
    ]
    (found,) = ceilings(items)
    assert (found.n, found.everyone) == (3, pytest.approx(2 / 3))
    assert found.others == pytest.approx((0.5 + 0.5 + 0) / 3)


def test_votes_without_ratings_have_no_ceiling():
    assert (
        ceilings([rated("x", 5), RatedItem("p", "s", Prompt(), (Path("x"), Path("y")), {}, {"overall": Vote("a")})])
        == []
    )


def test_a_majority_gets_its_own_votes_and_fewer_without_the_voter():
    takes = (Path("x"), Path("y"))
    items = [
        RatedItem(str(i), "s", Prompt(), takes, {}, {"overall": Vote(choice)}, {"rater": str(i)})
        for i, choice in enumerate("aab")
    ]
    (found,) = ceilings(items)
    assert (found.n, found.everyone) == (3, pytest.approx(2 / 3))
    assert found.others == pytest.approx((0.5 + 0.5 + 0) / 3)

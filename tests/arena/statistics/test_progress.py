import pytest

from cmi.arena.statistics.inputs import Annotator, Wanted
from cmi.arena.statistics.summary import progress, time_per_vote

PEOPLE = [Annotator("ann", "Ann", "active", 5), Annotator("bob", None, "paused", None)]


def test_a_pair_with_more_votes_than_wanted_does_not_make_up_for_another(vote):
    wanted = [Wanted("p1", "text", "ordinary", 1), Wanted("p2", "text+audio", "ordinary", 2)]
    found = progress([vote("ann"), vote("bob"), vote("cat")], wanted, PEOPLE)
    assert (found["done"], found["wanted"], found["pairs_done"], found["pairs"]) == (1, 3, 1, 2)
    assert [(one["modality"], one["done"]) for one in found["modalities"]] == [("text", 1), ("text+audio", 0)]


def test_overlap_is_reached_pair_by_pair(vote):
    wanted = [Wanted(f"p{i}", "text", "ordinary", 2 if i < 2 else 1) for i in range(4)]
    found = progress([vote("ann", "p0"), vote("bob", "p0"), vote("ann", "p1"), vote("ann", "p2")], wanted, PEOPLE)
    expected = {"pairs": 2, "target": 0.5, "pairs_with_two_votes": 1, "reached": 0.25, "pairs_done": 1}
    assert found["overlap"] == expected


def test_gold_and_repeats_are_counted_apart(vote):
    votes = [vote(), vote(pair="g", kind="gold"), vote(repeat_of="ann p1 ")]
    found = progress(votes, [Wanted("p1", "text", "ordinary", 2), Wanted("g", "text", "gold", 9)], PEOPLE)
    assert (found["votes"], found["gold_votes"], found["repeat_votes"], found["done"], found["wanted"]) == (
        3,
        1,
        1,
        1,
        2,
    )
    assert [one["votes"] for one in found["people"]] == [3, 0]


def test_votes_are_counted_by_day(vote):
    found = progress([vote(created=t) for t in (0.0, 86_399.0, 86_400.0)], [], [])
    assert found["days"] == [{"day": "1970-01-01", "votes": 2}, {"day": "1970-01-02", "votes": 1}]


def test_time_has_quartiles_in_all_and_per_person(vote):
    found = time_per_vote([vote("ann", seconds=s) for s in (10.0, 20.0, 30.0)] + [vote("bob", seconds=100.0)])
    assert (found["votes"], found["median"]) == (4, 25)
    assert found["people"][0] == {
        **{"person": "ann", "votes": 3, "lower_quartile": pytest.approx(15)},
        **{"median": pytest.approx(20), "upper_quartile": pytest.approx(25)},
    }

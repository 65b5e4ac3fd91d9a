"""Pairs are spread evenly over systems, prompts and sides, and go where a ranking is uncertain."""

import random
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from cmi._util.errors import InputError
from cmi.pairs.checks import UNREADABLE
from cmi.pairs.filters import GoodTake
from cmi.pairs.pool import PooledTake
from cmi.pairs.sampling import PairSampler, choose_sides, list_candidates
from cmi.pairs.uncertainty import weigh_matches
from cmi.preferences import Preference
from cmi.take import Pair, Prompt


def takes_of(prompts: int, systems: str, each: int = 1) -> list[GoodTake]:
    return [
        GoodTake(PooledTake(Path(f"{prompt}-{system}-{i}"), prompt, system, "", ""), prompt, "", UNREADABLE)
        for prompt in range(prompts)
        for system in systems
        for i in range(each)
    ]


def rng(seed: int = 0) -> random.Random:
    return random.Random(seed)


def test_every_two_systems_and_every_prompt_are_drawn_equally_often():
    takes = takes_of(30, "ABCDE")
    drawn = PairSampler(rng()).draw(list_candidates(takes, False, rng()), 100)
    assert set(Counter(one.match for one in drawn).values()) == {10}
    assert {3, 4} >= set(Counter(one.prompt for one in drawn).values())
    assert len(set(drawn)) == 100


def test_systems_with_few_takes_are_drawn_as_often_as_they_can_be():
    takes = [one for one in takes_of(30, "ABCD") if one.take.system != "D" or one.prompt < 5]
    drawn = PairSampler(rng()).draw(list_candidates(takes, False, rng()), 60)
    counts = Counter(one.match for one in drawn)
    assert [counts[match] for match in (("A", "D"), ("B", "D"), ("C", "D"))] == [5, 5, 5]
    assert {counts[match] for match in combinations("ABC", 2)} == {15}


def test_takes_of_a_prompt_are_used_in_turn():
    takes = takes_of(1, "AB", each=6)
    drawn = PairSampler(rng()).draw(list_candidates(takes, False, rng()), 6)
    assert set(Counter(number for one in drawn for number in (one.first, one.second)).values()) == {1}


def test_a_prompt_has_at_most_so_many_pairs():
    drawn = PairSampler(rng(), per_prompt=2).draw(list_candidates(takes_of(10, "ABCDE"), False, rng()))
    assert set(Counter(one.prompt for one in drawn).values()) == {2}


def test_two_takes_of_one_system_are_paired_only_on_request():
    takes = takes_of(2, "AB", each=2)
    assert all(one.match == ("A", "B") for one in list_candidates(takes, False, rng()))
    assert Counter(one.match for one in list_candidates(takes, True, rng())) == {
        ("A", "B"): 8,
        ("A", "A"): 2,
        ("B", "B"): 2,
    }


def test_a_prompt_with_many_takes_costs_no_more_than_its_limit():
    assert len(list_candidates(takes_of(2, "AB", each=50), False, rng(), per_prompt=100)) == 200


@pytest.mark.parametrize("seed", range(5))
def test_each_system_is_a_as_often_as_b(seed):
    takes = takes_of(40, "ABCDE")
    pairs = PairSampler(rng(seed)).draw(list_candidates(takes, False, rng(seed)), 200)
    sides = choose_sides(pairs, takes, rng(seed))
    names = [(takes[a].take.system, takes[b].take.system) for a, b in sides]
    ordered = Counter(names)
    assert all(abs(ordered[a, b] - ordered[b, a]) <= 1 for a, b in combinations("ABCDE", 2))
    as_a, as_b = Counter(a for a, _ in names), Counter(b for _, b in names)
    assert all(abs(as_a[name] - as_b[name]) <= 1 for name in "ABCDE")
    assert [{a, b} for a, b in sides] == [{one.first, one.second} for one in pairs]


def test_another_seed_gives_other_pairs_and_sides():
    takes = takes_of(40, "ABCD")
    draws = [PairSampler(rng(seed)).draw(list_candidates(takes, False, rng(seed)), 50) for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    sides = [choose_sides(draws[0], takes, rng(seed)) for seed in (1, 1, 2)]
    assert sides[0] == sides[1] != sides[2]


def votes_on(a: str, b: str, wins: int, losses: int) -> list[Preference]:
    about = {"generator_a": a, "generator_b": b}
    pair = Pair(Prompt("x"), Path("1.wav"), Path("2.wav"))
    return [Preference(pair, "overall", choice, about=about) for choice in ["a"] * wins + ["b"] * losses]


def test_a_clear_order_weighs_less_than_an_open_one():
    votes = votes_on("A", "B", 10, 10) + votes_on("B", "C", 38, 2) + votes_on("A", "C", 38, 2)
    weights = weigh_matches(votes, "ABC")
    assert weights["A", "B"] == 1.0
    assert weights["A", "C"] < 0.2 and weights["B", "C"] < 0.2


def test_systems_without_votes_weigh_most():
    weights = weigh_matches(votes_on("A", "B", 30, 10), "ABD")
    assert weights["A", "D"] == weights["B", "D"] == 1.0 >= weights["A", "B"]


def test_an_order_known_to_be_equal_weighs_less_than_one_with_few_votes():
    votes = votes_on("A", "B", 500, 500) + votes_on("B", "C", 3, 3)
    weights = weigh_matches(votes, "ABC")
    assert weights["A", "B"] < 0.5 < weights["B", "C"]


def test_uncertain_sampling_asks_more_often_about_an_open_order():
    takes = takes_of(200, "ABC")
    weights = weigh_matches(votes_on("A", "B", 10, 10) + votes_on("B", "C", 38, 2) + votes_on("A", "C", 38, 2), "ABC")
    drawn = PairSampler(rng(), weights=weights).draw(list_candidates(takes, False, rng()), 100)
    counts = Counter(one.match for one in drawn)
    assert counts["A", "B"] > 70 and min(counts[match] for match in (("A", "C"), ("B", "C"))) >= 1


def test_votes_about_other_systems_are_refused():
    with pytest.raises(InputError, match="about 0 of the takes' systems"):
        weigh_matches(votes_on("X", "Y", 1, 1), "AB")

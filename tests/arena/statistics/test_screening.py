import json
from pathlib import Path

import numpy as np
import pytest

import cmi.arena
from cmi.arena.statistics.inputs import Annotator
from cmi.arena.statistics.screening import ERROR, screening

SIDES = np.array(["a", "b"])


def person_row(votes, person="ann", people=(), minimum=20):
    return next(row for row in screening(votes, people, minimum)["people"] if row["person"] == person)


def careful(vote, person, n=40, seed=0):
    """Right on most gold pairs, in random order, as fast and as sure as anybody."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        answer, right = str(rng.choice(SIDES)), rng.random() < 0.9
        said = answer if right else "ab"[answer == "a"]
        about = {
            "kind": "gold",
            "gold": {"alignment": answer, "musicality": answer},
            "swapped": bool(rng.random() < 0.5),
        }
        sure = {"alignment_confidence": int(rng.integers(1, 6)), "seconds": float(rng.uniform(40, 80))}
        found.append(vote(person, f"g{i}", said, said, **about, **sure))
    return found


def test_a_careful_annotator_is_ok(vote):
    row = person_row(careful(vote, "ann"))
    assert (row["verdict"], row["reasons"], row["musicality_gold_n"]) == ("ok", [], 40)
    assert row["musicality_gold_low"] < row["musicality_gold"] < row["musicality_gold_high"]


def test_an_annotator_who_misses_gold_gets_a_look_with_the_reason(vote):
    rng = np.random.default_rng(0)
    votes = [one._replace(musicality=str(rng.choice(SIDES))) for one in careful(vote, "ann")]
    row = person_row(votes)
    assert row["verdict"] == "look"
    assert len(row["reasons"]) == 1 and "gold pairs right" in row["reasons"][0]


def test_few_votes_are_no_verdict_however_bad_they_are(vote):
    votes = [one._replace(musicality="ab"[one.musicality == "a"]) for one in careful(vote, "ann", n=10)]
    row = person_row(votes)
    assert (row["verdict"], row["reasons"]) == ("can't tell yet", ["10 of at least 20 votes"])


def test_many_votes_without_gold_or_repeats_are_no_verdict(vote):
    rng = np.random.default_rng(0)
    row = person_row([vote(pair=f"p{i}", swapped=bool(rng.integers(2)), alignment_confidence=1) for i in range(50)])
    assert row["verdict"] == "can't tell yet" and "0 of 0 gold pairs right" in row["reasons"][0]


def checked(vote, person, n, seed, right=0.5, alike=0.5, copied=False):
    """`n` gold pairs, and as many ordinary ones with a repeat each, answered at random or better."""
    rng = np.random.default_rng(seed)
    found = []

    def sides(known, share):
        hits = [rng.random() < share for _ in range(2)]
        hits = [hits[0]] * 2 if copied else hits
        return [known if hit else "ab"[known == "a"] for hit in hits]

    about = {"alignment_confidence": 2, "seconds": 60.0}
    for i in range(n):
        known, swapped = str(rng.choice(SIDES)), bool(rng.integers(2))
        gold = {"kind": "gold", "gold": {"alignment": known, "musicality": known}, "swapped": swapped}
        found.append(vote(person, f"g{i}", *sides(known, right), **gold, **about))
        first = str(rng.choice(SIDES))
        found.append(vote(person, f"p{i}", first, first, view=f"v{person}{i}", swapped=not swapped, **about))
        again = {"view": f"w{person}{i}", "repeat_of": f"v{person}{i}", "swapped": swapped}
        found.append(vote(person, f"p{i}", *sides(first, alike), **again, **about))
    return found


@pytest.mark.parametrize("copied", [False, True])
def test_hardly_anybody_who_votes_at_random_is_ever_ok(vote, copied):
    """Looked at after every few votes, as a dashboard is, each of 200 people has ERROR at most to be ok even once."""
    once, at_last = [], []
    for seed in range(200):
        votes = checked(vote, "ann", 40, seed, copied=copied)
        verdicts = [person_row(votes[:n])["verdict"] for n in range(20, len(votes) + 1, 10)]
        once.append("ok" in verdicts)
        at_last.append(verdicts[-1])
    assert np.mean(once) <= ERROR
    assert at_last.count("look") > 170


def test_five_of_seven_who_vote_at_random_are_no_longer_ok(vote):
    """As it was seen: seven people, each with a few gold pairs and repeats among 45 votes on the same pairs."""
    rng = np.random.default_rng(3)
    votes = []
    for person in "abcdefg":
        mine = checked(vote, person, 3, int(rng.integers(1000)))
        votes += mine + [
            vote(
                person, f"q{i}", *map(str, rng.choice(SIDES, 2)), swapped=bool(rng.integers(2)), musicality_confidence=4
            )
            for i in range(36)
        ]
    verdicts = [row["verdict"] for row in screening(votes, [], 20)["people"]]
    assert len(verdicts) == 7 and "ok" not in verdicts


def test_careful_people_become_ok_and_are_rarely_looked_at(vote):
    ever_looked, at_last = [], []
    for seed in range(100):
        votes = checked(vote, "ann", 30, seed, right=0.85, alike=0.8)
        verdicts = [person_row(votes[:n])["verdict"] for n in range(20, len(votes) + 1, 10)]
        ever_looked.append("look" in verdicts)
        at_last.append(verdicts[-1])
    assert at_last.count("ok") > 95 and np.mean(ever_looked) <= 0.1


def test_somebody_alike_on_repeats_but_wrong_on_gold_is_looked_at(vote):
    assert person_row(checked(vote, "ann", 40, 0, right=0.5, alike=1.0))["verdict"] == "look"


def test_always_the_first_take_is_seen_whichever_side_it_was(vote):
    votes = [
        one._replace(alignment="b" if one.swapped else "a", gold=None, kind="ordinary") for one in careful(vote, "ann")
    ]
    repeats = [
        one._replace(view=f"again {one.view}", repeat_of=one.view, swapped=not one.swapped) for one in votes[:10]
    ]
    row = person_row(votes + repeats)
    assert (row["alignment_first"], row["alignment_first_n"]) == (1.0, 40)
    assert row["alignment_first_p"] == pytest.approx(2 * 0.5**40)
    assert row["verdict"] == "look" and any("first take" in reason for reason in row["reasons"])


def test_repeats_are_compared_with_the_view_they_repeat_in_the_pairs_own_terms(vote):
    votes = [vote(pair=f"p{i}", view=f"v{i}", musicality="a") for i in range(4)]
    again = [
        vote(pair=f"p{i}", view=f"w{i}", musicality="ab"[i == 0], alignment="a", repeat_of=f"v{i}", swapped=True)
        for i in range(4)
    ]
    row = person_row(votes + again)
    assert (row["musicality_consistency"], row["musicality_consistency_n"]) == (0.75, 4)
    assert row["alignment_consistency"] == 1


def test_agreement_with_others_leaves_oneself_and_split_pairs_out(vote):
    said = {"p1": "aab", "p2": "abb", "p3": "ab", "p4": "a", "p5": "aa"}  # ann's vote first
    votes = [
        vote(person, pair, musicality=side)
        for pair, sides in said.items()
        for person, side in zip(("ann", "bob", "cat"), sides, strict=False)
    ]
    row = person_row(votes)  # p1: the others are split; p2 and p3: against ann; p4: nobody else; p5: with ann
    assert (row["musicality_others_n"], row["musicality_others"]) == (3, pytest.approx(1 / 3))


def test_one_who_votes_at_random_among_people_who_know_stands_out(simulate):
    study = simulate(0, [0.3, 0.1, -0.4], knowing=0.9, pairs=400, people=6)
    rng = np.random.default_rng(1)
    votes = [
        one._replace(musicality=str(rng.choice(SIDES)), alignment=str(rng.choice(SIDES))) if one.person == "h0" else one
        for one in study.votes
    ]
    verdicts = {row["person"]: row["verdict"] for row in screening(votes, [], 20)["people"]}
    assert verdicts.pop("h0") == "look" and set(verdicts.values()) == {"can't tell yet"}, "there is no gold"


def test_honest_people_are_rarely_looked_at(simulate):
    looks = [
        row["verdict"] == "look"
        for seed in range(10)
        for row in screening(simulate(seed, [0.3, 0.0, -0.3], pairs=300).votes, [], 20)["people"]
    ]
    assert np.mean(looks) < 0.05


def test_haste_and_one_confidence_for_all_are_reasons(vote):
    slow = [one._replace(person="bob") for one in careful(vote, "bob", n=100)]
    hasty = [one._replace(seconds=8.0, alignment_confidence=5, musicality_confidence=5) for one in careful(vote, "ann")]
    row = person_row(slow + hasty)
    assert row["verdict"] == "look" and row["confidence_extremes"] == 1 and row["median_seconds"] == 8
    assert [word in " ".join(row["reasons"]) for word in ("s per vote", "confidence 5")] == [True, True]


def test_people_without_a_vote_and_votes_without_a_person_both_have_a_row(vote):
    found = screening([vote("bob")], [Annotator("ann", "Ann", "active", None)], 20)["people"]
    assert [(row["person"], row["name"], row["votes"]) for row in found] == [("ann", "Ann", 0), ("bob", None, 1)]
    assert found[0]["verdict"] == "can't tell yet"


def test_every_reason_can_be_said_in_every_language(vote):
    """The page words the parts; their English is the same as the sentence."""
    folder = Path(cmi.arena.__file__).parent / "web" / "pages" / "words"
    words = {path.stem: json.loads(path.read_text("utf-8")) for path in folder.glob("*.json")}
    usual = [vote("ann", f"p{n}", swapped=bool(n % 2), alignment_confidence=1 + n % 5) for n in range(60)]
    hasty = [
        vote("bob", f"p{n}", "b", "b", seconds=3.0, alignment_confidence=5, musicality_confidence=5, swapped=True)
        for n in range(60)
    ]
    new = [vote("eve", "p1")]
    rows = screening([*usual, *hasty, *new], [], 20)["people"]
    said = [part for row in rows for part in row["reason_parts"]]
    assert {part["code"] for part in said} >= {"few-votes", "few-checks", "checks", "first", "fast", "confidence"}
    for row in rows:
        for part in row["reason_parts"]:
            for language in words.values():
                sentence = language[f"reason.{part['code']}"].format(**part)
                assert sentence and "{" not in sentence
            assert words["en"][f"reason.{part['code']}"].format(**part) in "; ".join(row["reasons"])

"""Sound checks and qualification: who gets in, who does not, and how often chance decides."""

import random

import pytest
from sqlalchemy import select

from cmi.arena.store import assign, checks, outcomes, people, projects, votes
from cmi.arena.store.assign import Done, View
from cmi.arena.store.browse import VoteFilter, find_votes
from cmi.arena.store.checks import NEEDED, SECONDS, TRIALS, right_answer
from cmi.arena.store.errors import NotFound, Refused
from cmi.arena.store.hiding import hide
from cmi.arena.store.schema import people as people_table
from cmi.arena.store.schema import views
from cmi.arena.store.views import Ballot

CHECKS = {"device_check": True, "headphone_check": True}


@pytest.fixture
def database(database, clock):
    database.now = clock
    return database


def attempt(database, clock, person, kind, wrong=0):
    number = checks.begin(database, person, kind)
    clock.time += TRIALS * SECONDS[kind]
    right = [right_answer(kind, plan) for plan in checks.read_plan(database, person, kind, number)]
    answers = [(one + 1) % 3 if place < wrong else one for place, one in enumerate(right)]
    return checks.answer(database, person, kind, number, answers, 0.8)


def test_no_pair_comes_before_all_checks_are_passed(database, clock, new_study, new_people):
    study = new_study(database, **CHECKS)
    [person] = new_people(database, study)
    assert assign.next_page(database, person)[0] == Done("checks")
    assert attempt(database, clock, person, "device", wrong=1) == (5, True, 1)
    assert assign.next_page(database, person)[0] == Done("checks")
    assert attempt(database, clock, person, "headphones") == (6, True, 1)
    assert isinstance(assign.next_page(database, person)[0], View)
    assert checks.state(database, person) == []
    [row] = outcomes.list_participants(database, study.id)
    assert (row["device_right"], row["headphones_right"], row["headphones_volume"]) == (5, 6, 0.8)


def test_who_fails_all_attempts_is_out_for_good(database, clock, new_study, new_people):
    study = new_study(database, headphone_check=True, exit_screened_out="OUT1", check_attempts=2)
    [person] = new_people(database, study)
    assert attempt(database, clock, person, "headphones", wrong=2) == (4, False, 1)
    assert checks.state(database, person)[0].attempts_left == 1
    assert attempt(database, clock, person, "headphones", wrong=6) == (0, False, 0)
    assert assign.next_page(database, person)[0] == Done("screened out")
    with pytest.raises(Refused):
        checks.begin(database, person, "headphones")
    end = outcomes.find_end(database, person)
    assert (end.outcome, end.screened_out, end.exit.code) == ("screened out", "headphones", "OUT1")
    outcomes.admit(database, study.id, person)
    assert isinstance(assign.next_page(database, person)[0], View), "the owner can let them in all the same"


def test_a_reload_is_the_same_attempt_and_the_first_answers_count(database, clock, new_study, new_people):
    [person] = new_people(database, new_study(database, device_check=True))
    assert checks.begin(database, person, "device") == checks.begin(database, person, "device") == 1
    with pytest.raises(Refused, match="cannot have heard"):
        checks.answer(database, person, "device", 1, [0] * TRIALS)
    first = attempt(database, clock, person, "device", wrong=6)
    plan = checks.read_plan(database, person, "device", 1)
    assert checks.answer(database, person, "device", 1, plan) == first, "a second tab changes nothing"
    with pytest.raises(NotFound):
        checks.answer(database, person, "device", 2, plan)
    with pytest.raises(Refused):
        checks.begin(database, person, "headphones")  # this study has no such check


def test_a_check_that_the_owner_drops_does_not_lock_anyone_out(database, clock, new_study, new_people):
    study = new_study(database, **CHECKS)
    [person] = new_people(database, study)
    attempt(database, clock, person, "device")
    projects.change(database, study.id, settings={"headphone_check": False})
    assert [one.passed for one in checks.state(database, person)] == [True]
    assert isinstance(assign.next_page(database, person)[0], View)


def test_guessers_pass_as_often_as_the_binomial_says(database, clock, new_study, new_people):
    """13 of 729: by the code that draws and judges, not by its formula."""
    rng, passed, n = random.Random(1), 0, 40_000
    for _ in range(n):
        plan = [rng.randrange(len(checks.HEADPHONE_TRIALS)) for _ in range(TRIALS)]
        right = sum(right_answer("headphones", one) == rng.randrange(3) for one in plan)
        passed += right >= NEEDED
    assert abs(passed / n - 13 / 729) < 4 * (13 / 729 / n) ** 0.5
    drawn = []
    for person in new_people(database, new_study(database, headphone_check=True), 60):
        drawn += checks.read_plan(database, person, "headphones", checks.begin(database, person, "headphones"))
    for quiet in range(3):
        share = sum(right_answer("headphones", one) == quiet for one in drawn) / len(drawn)
        assert abs(share - 1 / 3) < 5 * (2 / 9 / len(drawn)) ** 0.5


def test_who_hears_the_antiphase_tone_as_quietest_is_never_right():
    assert len(checks.HEADPHONE_TRIALS) == 6
    assert all(trial.quiet != trial.inverted for trial in checks.HEADPHONE_TRIALS)


def vote_on_gold(database, clock, person, is_right):
    view = assign.next_page(database, person)[0]
    assert isinstance(view, View) and view.is_qualifying
    assign.begin(database, person, view.key)
    clock.time += 60
    with database.reading() as connection:
        swapped = connection.scalar(select(views.c.swapped).where(views.c.key == view.key))
    ballot = Ballot("b", 3, "a", 3).turned(swapped)  # the study's gold: alignment b, musicality a
    if not is_right:
        ballot = ballot._replace(musicality="b" if ballot.musicality == "a" else "a")
    votes.save(database, person, view.key, ballot)


QUALIFIES = {"qualify_pairs": 4, "qualify_right": 3, "repeat_share": 0.0, "gold_share": 0.0}


def test_who_is_right_on_enough_gold_pairs_goes_on_with_the_study(database, clock, new_study, new_people):
    study = new_study(database, pairs=8, gold=5, quota=2, exit_complete="DONE1", **QUALIFIES)
    [person] = new_people(database, study)
    for done, is_right in enumerate([True, False, True, True]):
        assert assign.next_page(database, person)[1] == (done, 4)
        vote_on_gold(database, clock, person, is_right)
    view, progress = assign.next_page(database, person)
    assert not view.is_qualifying and progress == (0, 2), "the qualification is no part of the quota"
    assert list(votes.counted(database, study.id)) == [], "and of no statistic"
    for _ in range(2):
        view = assign.next_page(database, person)[0]
        assign.begin(database, person, view.key)
        clock.time += 60
        votes.save(database, person, view.key, Ballot("a", 3, "a", 3))
    assert {vote.kind for vote in votes.counted(database, study.id)} == {"ordinary"}
    end = outcomes.find_end(database, person)
    assert (end.outcome, end.exit.code) == ("complete", "DONE1")
    [row] = outcomes.list_participants(database, study.id)
    assert (row["qualification_right"], row["qualification_pairs"], row["votes"]) == (3, 4, 2)
    assert row["outcome"] == "complete"


def test_who_can_no_longer_qualify_is_told_at_once(database, clock, new_study, new_people):
    study = new_study(database, pairs=8, gold=5, exit_screened_out="OUT1", **QUALIFIES)
    [person] = new_people(database, study)
    vote_on_gold(database, clock, person, False)
    vote_on_gold(database, clock, person, False)
    assert assign.next_page(database, person)[0] == Done("screened out")
    assert outcomes.find_end(database, person).screened_out == "qualification"
    with database.reading() as connection:
        assert connection.scalar(select(people_table.c.qualified)) is None
    projects.change(database, study.id, state="closed")
    assert outcomes.find_end(database, person).outcome == "screened out", "whatever becomes of the study"


def test_a_pair_that_was_opened_before_the_owner_asked_for_checks_waits_for_them(
    database, clock, new_study, new_people
):
    study = new_study(database)
    [person] = new_people(database, study)
    view = assign.next_page(database, person)[0]
    projects.change(database, study.id, settings={"device_check": True, "check_attempts": 1})
    with pytest.raises(Refused, match="a check comes first"):
        assign.begin(database, person, view.key)
    attempt(database, clock, person, "device", wrong=6)
    with pytest.raises(Refused, match="was not passed"):
        assign.begin(database, person, view.key)


def test_a_gold_pair_that_the_owner_hides_does_not_count(database, clock, new_study, new_people):
    study = new_study(database, pairs=8, gold=5, **QUALIFIES)
    [person] = new_people(database, study)
    vote_on_gold(database, clock, person, False)
    [vote] = find_votes(database, study.id, VoteFilter(kind="qualification")).rows
    assert find_votes(database, study.id).rows == [], "votes of the study are listed apart"
    hide(database, study.id, vote["pair"], "the wrong answer is marked as known")
    vote_on_gold(database, clock, person, False)
    vote_on_gold(database, clock, person, True)


def test_too_few_gold_pairs_are_a_study_that_is_not_ready(database, clock, new_study, new_people):
    study = new_study(database, pairs=8, gold=1, **QUALIFIES)
    [person] = new_people(database, study)
    vote_on_gold(database, clock, person, True)
    assert assign.next_page(database, person)[0] == Done("not ready")
    assert outcomes.find_end(database, person).outcome is None


def test_votes_of_a_qualification_are_no_votes_of_others_on_a_pair(database, clock, new_study, new_people):
    study = new_study(database, pairs=3, gold=1, repeat_share=0.0, gold_share=1.0)
    first, second = new_people(database, study, 2)
    view = assign.next_page(database, first)[0]
    assign.begin(database, first, view.key)
    clock.time += 60
    votes.save(database, first, view.key, Ballot("a", 3, "a", 3))
    projects.change(database, study.id, settings={"qualify_pairs": 1, "qualify_right": 1})
    vote_on_gold(database, clock, second, True)
    [vote] = find_votes(database, study.id).rows
    assert vote["kind"] == "gold", "the same pair, which the second person has qualified by"
    for which in (VoteFilter(shared=True), VoteFilter(decided=True)):
        assert find_votes(database, study.id, which).rows == []


def test_a_withdrawal_deletes_what_the_checks_found(database, clock, new_study, new_people):
    study = new_study(database, **CHECKS)
    [person] = new_people(database, study)
    attempt(database, clock, person, "device")
    people.withdraw(database, study.id, person)
    [row] = outcomes.list_participants(database, study.id)
    assert (row["device_attempts"], row["device_right"], row["checked"]) == (0, None, None)

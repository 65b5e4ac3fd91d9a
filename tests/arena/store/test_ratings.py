"""Trials and ratings: everybody gets every page once, in an order of their own; no rating is lost or counted twice."""

from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from cmi._util.errors import InputError
from cmi.arena.audio.measure import SoundMeasurement
from cmi.arena.audio.sounds import register_all
from cmi.arena.store import checks, outcomes, people, projects
from cmi.arena.store.assign import Done
from cmi.arena.store.database import Database
from cmi.arena.store.errors import NotFound, Refused
from cmi.arena.store.pairs import NewPair, add_all
from cmi.arena.store.ratings import RatingBallot, counted_ratings, recent_ratings, save_rating
from cmi.arena.store.schema import ratings, sittings, sounds
from cmi.arena.store.trials import (
    KINDS,
    NewStimulus,
    NewTrial,
    TrialView,
    add_trials,
    begin_trial,
    find_trial_sound,
    look_at_trial,
    next_trial,
    skip_trial,
)


def make_trials(database: Database, kind: str, trials: int = 3, **settings: object) -> projects.Project:
    """Three systems a page; MUSHRA pages have the hidden reference and an anchor too. Sounds are nowhere on disk."""
    project = projects.create(database, "Rated", {"heard_share": 0.0, **settings}, kind=kind)  # type: ignore[arg-type]
    names = [f"{kind}{number}{part}" for number in range(trials) for part in ("x", "y", "z", "r", "n")]
    known = [SoundMeasurement(name, 10.0, 44_100, 2, -20.0, -3.0, [0.5, 1.0], "audio/flac") for name in names]
    with database.writing() as connection:
        ids = register_all(connection, project.id, [(Path(f"/sounds/{one.digest}"), one) for one in known])
        new = []
        for number in range(trials):
            x, y, z, reference, anchor = ids[5 * number : 5 * number + 5]
            takes = [NewStimulus(sound, system) for sound, system in ((x, "one"), (y, "two"), (z, "three"))]
            if kind == "mushra":
                takes += [NewStimulus(reference, "reference", "reference"), NewStimulus(anchor, "anchor35", "anchor35")]
            takes = takes[:1] if kind == "mos" else takes
            new.append(NewTrial(f"t{number}", f"text {number}", tuple(takes), reference=reference))
        assert add_trials(connection, project.id, new) == trials
        assert add_trials(connection, project.id, new) == 0, "the same import again adds nothing"
    return project


def answers_to(view: TrialView, value: int = 1) -> dict:
    return {axis: dict.fromkeys(view.stimuli, value) for axis in KINDS[view.kind].axes}


def begun(database: Database, person: str) -> TrialView:
    view = next_trial(database, person)[0]
    assert isinstance(view, TrialView)
    return begin_trial(database, person, view.key)


def stored(database: Database) -> int:
    with database.reading() as connection:
        return connection.scalar(select(func.count()).select_from(ratings)) or 0


@pytest.mark.parametrize("kind", ["mos", "mushra", "ranking"])
def test_everybody_rates_every_page_once_and_answers_are_stored_by_stimulus(database, new_people, kind):
    project = make_trials(database, kind)
    for person in new_people(database, project, 2):
        seen = []
        while isinstance(view := next_trial(database, person)[0], TrialView):
            assert next_trial(database, person)[0] == view, "a reload shows the same page"
            view = begin_trial(database, person, view.key)
            values = {name: 1 + one.position for name, one in view.stimuli.items()}
            ballot = RatingBallot(dict.fromkeys(KINDS[kind].axes, values))
            save_rating(database, person, view.key, ballot)
            seen.append(view.text)
        assert sorted(seen) == ["text 0", "text 1", "text 2"]
        assert next_trial(database, person) == (Done("no more pairs"), (3, 3))
    found = list(counted_ratings(database, project.id))
    assert len(found) == 6
    for row in found:
        assert all(values == [1 + place for place in range(len(row.stimuli))] for values in row.answers.values())


def test_pages_and_stimuli_come_in_an_order_of_each_persons_own(sqlite_database, new_people):
    project = make_trials(sqlite_database, "mushra", trials=4)
    orders = set()
    for person in new_people(sqlite_database, project, 8):
        view = begun(sqlite_database, person)
        orders.add(tuple(one.position for one in view.stimuli.values()))
    assert len(orders) > 4


def test_the_same_rating_again_is_the_same_and_another_corrects_it(database, new_people):
    project = make_trials(database, "mos")
    [person] = new_people(database, project)
    view = begun(database, person)
    ballot = RatingBallot(answers_to(view, 4), "fine", {"1": 3.0})
    first = save_rating(database, person, view.key, ballot)
    assert save_rating(database, person, view.key, ballot) == first._replace(again=True)
    assert save_rating(database, person, view.key, ballot._replace(heard={"1": 9.0})).again, "a retry heard more"
    second = save_rating(database, person, view.key, ballot._replace(answers=answers_to(view, 5)))
    assert (second.number, second.again, stored(database)) == (2, False, 2)
    assert [row.answers for row in counted_ratings(database, project.id)] == [{"alignment": [5], "musicality": [5]}]
    [recent] = recent_ratings(database, person, 5)
    assert recent.can_correct and recent.rating.answers["musicality"] == {"1": 5}
    assert look_at_trial(database, person, view.key).rating == recent.rating
    for value in (1, 2, 3, 4):
        save_rating(database, person, view.key, ballot._replace(answers=answers_to(view, value)))
    with pytest.raises(Refused, match="maximum"):
        save_rating(database, person, view.key, ballot._replace(answers=answers_to(view, 2)))


@pytest.mark.parametrize(
    ("kind", "answers", "said"),
    [
        ("mos", {"musicality": {"1": 3}}, "expected alignment, musicality"),
        ("mos", {"musicality": {"1": 3}, "alignment": {"1": 6}}, "alignment is 6, expected 1 to 5"),
        ("mos", {"musicality": {"1": 3}, "alignment": {"1": 0}}, "expected 1 to 5"),
        ("mos", {"musicality": {"1": 3}, "alignment": {"1": True}}, "expected 1 to 5"),
        ("mos", {"musicality": {"1": 3}, "alignment": {"2": 3}}, "the takes 2, expected 1"),
        ("mushra", {"musicality": {str(n): 50 for n in range(1, 5)}}, "expected 1, 2, 3, 4, 5"),
        ("mushra", {"musicality": {str(n): 101 for n in range(1, 6)}}, "expected 0 to 100"),
        ("ranking", {axis: {"1": 1, "2": 2, "3": 4} for axis in ("alignment", "musicality")}, "expected 1 to 3"),
    ],
)
def test_an_answer_off_the_scale_is_refused(sqlite_database, new_people, kind, answers, said):
    project = make_trials(sqlite_database, kind)
    [person] = new_people(sqlite_database, project)
    view = begun(sqlite_database, person)
    with pytest.raises(Refused, match=said):
        save_rating(sqlite_database, person, view.key, RatingBallot(answers))
    assert stored(sqlite_database) == 0


def test_ranks_are_stored_without_gaps_and_with_ties(sqlite_database, new_people):
    project = make_trials(sqlite_database, "ranking")
    [person] = new_people(sqlite_database, project)
    view = begun(sqlite_database, person)
    ranks = {axis: {"1": 3, "2": 1, "3": 3} for axis in ("alignment", "musicality")}
    save_rating(sqlite_database, person, view.key, RatingBallot(ranks))
    assert look_at_trial(sqlite_database, person, view.key).rating.answers["alignment"] == {"1": 2, "2": 1, "3": 2}
    dense = {axis: {"1": 2, "2": 1, "3": 2} for axis in ranks}
    assert save_rating(sqlite_database, person, view.key, RatingBallot(dense)).again


def test_what_was_not_heard_cannot_be_rated(sqlite_database, new_people, clock):
    sqlite_database.now = clock
    project = make_trials(sqlite_database, "mushra", heard_share=0.5)
    [person] = new_people(sqlite_database, project)
    view = begun(sqlite_database, person)
    assert view.needed == {**dict.fromkeys("12345", 5.0), "reference": 5.0}
    all_heard = dict.fromkeys(view.needed, 5.0)
    ballot = RatingBallot(answers_to(view, 50), heard=all_heard)
    with pytest.raises(Refused, match="cannot have heard"):
        save_rating(sqlite_database, person, view.key, ballot)
    clock.time += 60
    for name, said in (("3", "5 s of take 3"), ("reference", "5 s of the reference")):
        with pytest.raises(Refused, match=said):
            save_rating(sqlite_database, person, view.key, ballot._replace(heard={**all_heard, name: 1.0}))
    assert not save_rating(sqlite_database, person, view.key, ballot).again


def test_a_page_must_be_begun_and_is_nobody_elses(sqlite_database, new_people):
    project = make_trials(sqlite_database, "mos")
    mine, other = new_people(sqlite_database, project, 2)
    view = next_trial(sqlite_database, mine)[0]
    with pytest.raises(Refused, match="opened"):
        save_rating(sqlite_database, mine, view.key, RatingBallot(answers_to(view)))
    with pytest.raises(NotFound, match="opened"):
        find_trial_sound(sqlite_database, mine, view.key, "1")
    assert find_trial_sound(sqlite_database, mine, view.key, "reference").path.endswith("r")
    for ask in (begin_trial, look_at_trial, skip_trial):
        with pytest.raises(NotFound):
            ask(sqlite_database, other, view.key)
    begin_trial(sqlite_database, mine, view.key)
    with pytest.raises(NotFound, match="no such sound"):
        find_trial_sound(sqlite_database, mine, view.key, "2")


def test_a_page_with_a_missing_sound_is_passed_over_and_comes_back(database, new_people):
    project = make_trials(database, "ranking", trials=2)
    [person] = new_people(database, project)
    first = begun(database, person)
    with pytest.raises(Refused, match="nothing is wrong"):
        skip_trial(database, person, first.key)
    lost = first.stimuli["2"].sound.original.id
    with database.writing() as connection:
        connection.execute(update(sounds).where(sounds.c.id == lost).values(problem="missing"))
    skip_trial(database, person, first.key)
    second = begun(database, person)
    assert second.key != first.key
    save_rating(database, person, second.key, RatingBallot(answers_to(second)))
    assert next_trial(database, person)[0] == Done("no more pairs")
    with database.writing() as connection:
        connection.execute(update(sounds).where(sounds.c.id == lost).values(problem=None))
    assert next_trial(database, person)[0].key == first.key


def test_states_and_quotas_hold(sqlite_database, new_people):
    project = make_trials(sqlite_database, "mos", quota=1)
    mine, other = new_people(sqlite_database, project, 2)
    view = begun(sqlite_database, mine)
    people.change(sqlite_database, project.id, mine, state="paused")
    with pytest.raises(Refused, match="paused"):
        save_rating(sqlite_database, mine, view.key, RatingBallot(answers_to(view)))
    assert next_trial(sqlite_database, mine)[0] == Done("paused")
    people.change(sqlite_database, project.id, mine, state="active")
    unbegun = next_trial(sqlite_database, other)[0]
    projects.change(sqlite_database, project.id, state="closed")
    save_rating(sqlite_database, mine, view.key, RatingBallot(answers_to(view)))
    with pytest.raises(Refused, match="closed"):
        begin_trial(sqlite_database, other, unbegun.key)
    projects.change(sqlite_database, project.id, state="open")
    assert next_trial(sqlite_database, mine) == (Done("quota"), (1, 1))


def test_who_withdraws_leaves_no_rating(database, new_people):
    project = make_trials(database, "mos")
    [person] = new_people(database, project)
    view = begun(database, person)
    save_rating(database, person, view.key, RatingBallot(answers_to(view), "my words"))
    assert people.get(database, project.id, person).votes == 1
    next_trial(database, person)
    assert people.withdraw(database, project.id, person) == 1
    assert stored(database) == 0 and list(counted_ratings(database, project.id)) == []
    with database.reading() as connection:
        assert connection.scalar(select(func.count()).select_from(sittings)) == 0


def test_nobody_rates_before_the_sound_checks_and_the_exit_follows_the_ratings(database, new_people):
    checked = {"headphone_check": True, "check_attempts": 1}
    project = make_trials(database, "mos", trials=1, exit_complete="DONE1", exit_screened_out="OUT1")
    [person] = new_people(database, project)
    view = next_trial(database, person)[0]
    projects.change(database, project.id, settings=checked)
    assert next_trial(database, person)[0] == Done("checks")
    with pytest.raises(Refused, match="a check comes first"):
        begin_trial(database, person, view.key)
    assert outcomes.find_end(database, person).outcome is None
    number = checks.begin(database, person, "headphones")
    plan = checks.read_plan(database, person, "headphones", number)
    wrong = [(checks.right_answer("headphones", one) + 1) % checks.CHOICES for one in plan]
    start = database.now()
    database.now = lambda: start + 60
    checks.answer(database, person, "headphones", number, wrong)
    assert next_trial(database, person)[0] == Done("screened out")
    assert outcomes.find_end(database, person).exit.code == "OUT1"
    outcomes.admit(database, project.id, person)
    assert outcomes.find_end(database, person).outcome is None, "there is a page to rate"
    view = begun(database, person)
    save_rating(database, person, view.key, RatingBallot(answers_to(view)))
    assert outcomes.find_end(database, person).exit.code == "DONE1"


def test_a_project_keeps_its_kind(sqlite_database, new_study):
    mos = make_trials(sqlite_database, "mos")
    pairs = new_study(sqlite_database)
    with pytest.raises(InputError, match="of the kind mos, expected pairs"), sqlite_database.writing() as connection:
        add_all(connection, mos.id, mos.settings, [NewPair("p", "text", "a", "b")])
    with pytest.raises(InputError, match="of the kind pairs"), sqlite_database.writing() as connection:
        add_trials(connection, pairs.id, [NewTrial("t", "text", (NewStimulus("a", "one"),))])


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("mos", {"text": " "}, "the prompt is empty"),
        ("mos", {"stimuli": ()}, "0 stimuli on a page of the kind mos, expected 1"),
        ("ranking", {"stimuli": ("x",)}, "1 stimuli on a page of the kind ranking, expected 2 to 12"),
        ("ranking", {"stimuli": ("x", "x")}, "same recording"),
        ("mushra", {"stimuli": ("x", "y")}, "no reference"),
        ("mos", {"stimuli": ("unknown",)}, "no such sound"),
        ("mos", {"source_id": "i" * 201}, "201 characters"),
    ],
)
def test_a_wrong_trial_is_refused_with_its_line(sqlite_database, kind, change, said):
    project = projects.create(sqlite_database, "Rated", kind=kind)
    known = [SoundMeasurement(name, 1.0, 44_100, 2, -20.0, 0.0, [1.0], "audio/wav") for name in "xyz"]
    with sqlite_database.writing() as connection:
        made = register_all(connection, project.id, [(Path(one.digest), one) for one in known])
    ids = dict(zip("xyz", made, strict=True))
    stimuli = tuple(NewStimulus(ids.get(name, name), name) for name in change.pop("stimuli", ("x",)))
    trial = NewTrial(**{"source_id": "t", "text": "text", "stimuli": stimuli, "where": "takes.csv line 2: ", **change})
    with pytest.raises(InputError, match=rf"^takes.csv line 2: .*{said}"), sqlite_database.writing() as connection:
        add_trials(connection, project.id, [trial])

"""A trial that the owner hides is neither asked nor counted, keeps its ratings, and comes back; trials are browsed."""

import pytest
from sqlalchemy import select, update
from tests.arena.store.test_ratings import answers_to, begun, make_trials

from cmi.arena.exchange.rating_export import all_answers, preference_rows
from cmi.arena.statistics import report_project
from cmi.arena.store.assign import Done
from cmi.arena.store.browse import find_systems
from cmi.arena.store.browse_trials import RatingFilter, TrialFilter, describe_trial, find_ratings, find_trials
from cmi.arena.store.errors import NotFound, Refused
from cmi.arena.store.hiding import hide, show
from cmi.arena.store.ratings import RatingBallot, counted_ratings, save_rating
from cmi.arena.store.schema import audit, sounds
from cmi.arena.store.trials import TrialView, count_trials, next_trial, skip_trial


def ids(database, project) -> dict[str, str]:
    return {row["source_id"]: row["id"] for row in find_trials(database, project.id).rows}


def rate(database, person, feedback="") -> TrialView:
    view = begun(database, person)
    save_rating(database, person, view.key, RatingBallot(answers_to(view, 2), feedback))
    return view


def rate_all(database, person) -> int:
    done = 0
    while isinstance(next_trial(database, person)[0], TrialView):
        rate(database, person)
        done += 1
    return done


def test_a_hidden_trial_is_neither_asked_nor_counted_and_keeps_its_ratings(database, new_people):
    project = make_trials(database, "ranking")
    ada, bob = new_people(database, project, 2)
    rate_all(database, ada)
    first = ids(database, project)["t0"]
    hide(database, project.id, first, " take 2 is \n silent ", "trial")
    assert {row.source_id for row in counted_ratings(database, project.id)} == {"t1", "t2"}
    kept = {row.source_id: row.hidden for row in counted_ratings(database, project.id, hidden=True)}
    assert kept == {"t0": "take 2 is silent", "t1": None, "t2": None}
    assert (count_trials(database, project.id), count_trials(database, project.id, hidden=True)) == (2, 3)
    assert next_trial(database, ada) == (Done("no more pairs"), (3, 3)), "what she did stays done"
    assert rate_all(database, bob) == 2, "nobody is asked about it"
    assert next_trial(database, bob)[1] == (2, 2)
    for hidden, rated in ((False, 2), (True, 3)):
        progress = report_project(database, project.id, hidden=hidden)["progress"]
        assert (progress["trials"], progress["trials_rated"]) == (rated, rated)
        pairs = {row["pair"]: row["hidden"] for row in preference_rows(database, project.id, hidden=hidden)}
        assert pairs == {"t0": "take 2 is silent", "t1": "", "t2": ""} if hidden else {"t1": "", "t2": ""}
    assert {row["trial"] for row in all_answers(database, project.id)} == {"t1", "t2"}
    show(database, project.id, first, "trial")
    assert rate_all(database, bob) == 1
    assert len(list(counted_ratings(database, project.id))) == 6
    told = [(one["action"], one["reason"]) for one in describe_trial(database, project.id, first)["history"]]
    assert told == [("trial shown", ""), ("trial hidden", "take 2 is silent")]


def test_who_has_a_trial_when_it_is_hidden_goes_on_and_a_rating_under_way_is_kept(database, new_people):
    project = make_trials(database, "mos", trials=2)
    ada, bob = new_people(database, project, 2)
    view, his = begun(database, ada), begun(database, bob)
    with pytest.raises(Refused):
        skip_trial(database, bob, his.key)
    for name, trial in ids(database, project).items():
        if view.text.endswith(name[1:]):
            hide(database, project.id, trial, "noise", "trial")
    other = begun(database, ada)
    assert other.text != view.text
    save_rating(database, ada, view.key, RatingBallot(answers_to(view, 4)))  # from a browser that was offline
    assert [row.text for row in counted_ratings(database, project.id, hidden=True)] == [view.text]
    save_rating(database, ada, other.key, RatingBallot(answers_to(other, 4)))
    assert next_trial(database, ada)[0] == Done("no more pairs")
    assert begun(database, bob).text == other.text


def test_hiding_a_trial_twice_is_one_line_and_another_projects_is_not_found(database):
    project, other = make_trials(database, "mos", trials=1), make_trials(database, "mos", trials=1)
    [trial] = ids(database, project).values()
    for _ in range(2):
        hide(database, project.id, trial, "silent", "trial")
    with database.reading() as connection:
        lines = select(audit.c.action).where(audit.c.subject == trial)
        assert list(connection.scalars(lines)) == ["trial hidden"]
    for refused in (
        lambda: hide(database, other.id, trial, "of another project", "trial"),
        lambda: show(database, other.id, trial, "trial"),
        lambda: hide(database, project.id, trial, "not a pair"),
        lambda: describe_trial(database, other.id, trial),
    ):
        with pytest.raises(NotFound):
            refused()


def test_trials_are_searched_filtered_and_sorted(database, new_people):
    project = make_trials(database, "mushra")
    ada, bob = new_people(database, project, 2)
    written = f"t{rate(database, ada, 'muffled').text[-1]}"
    known = ids(database, project)

    def found(order="position", **which):
        rows = find_trials(database, project.id, TrialFilter(**which), order).rows
        return [row["source_id"] for row in rows]

    assert found() == ["t0", "t1", "t2"]
    assert found(text="TEXT 1") == ["t1"] and found(text="two t2") == ["t2"], "a system and an id"
    assert found(text="100%") == [] and found(system="three") == ["t0", "t1", "t2"] and found(system="thre") == []
    assert (found(state="rated"), found(state="untouched")) == ([written], sorted(set(known) - {written}))
    rate_all(database, ada)
    latest = f"t{rate(database, bob).text[-1]}"
    assert found(feedback=True) == [written]
    counts = {row["source_id"]: row["ratings"] for row in find_trials(database, project.id).rows}
    assert sorted(counts.values()) == [1, 1, 2]
    assert found("latest")[0] == found("most-ratings")[0] == found("fewest-ratings")[-1] == latest
    [row] = find_trials(database, project.id, TrialFilter(feedback=True)).rows
    assert row["systems"] == ["one", "two", "three", "reference", "anchor35"] and row["feedback"] == 1
    hide(database, project.id, known["t0"], "silent", "trial")
    with database.writing() as connection:
        lost = sounds.c.digest.in_(["mushra0x", "mushra1n"]) & (sounds.c.project == project.id)
        connection.execute(update(sounds).where(lost).values(problem="missing"))
    assert (found(state="hidden"), found(state="broken"), found(state="shown")) == (["t0"], ["t1"], ["t1", "t2"])
    page = find_trials(database, project.id, offset=1, limit=1)
    assert ([row["source_id"] for row in page.rows], page.total) == (["t1"], 3)
    assert find_systems(database, project.id) == ["anchor35", "one", "reference", "three", "two"]
    assert find_trials(database, make_trials(database, "mos").id, TrialFilter(system="two")).total == 0


def test_ratings_are_found_by_person_trial_and_words(database, new_people):
    project = make_trials(database, "mos")
    ada, bob = new_people(database, project, 2)
    first = rate(database, ada, "loses the beat")
    rate_all(database, ada)
    rate(database, bob)
    known = ids(database, project)
    trial = known[f"t{first.text[-1]}"]

    def count(**which):
        return find_ratings(database, project.id, RatingFilter(**which)).total

    assert (count(), count(person=ada), count(person=bob), count(person="nobody")) == (4, 3, 1, 0)
    assert (count(text="BEAT"), count(feedback=True), count(system="one"), count(system="two")) == (1, 1, 4, 0)
    [row] = find_ratings(database, project.id, RatingFilter(person=ada, trial=trial)).rows
    assert (row["feedback"], row["trial"], row["stimuli"][0]["answers"]) == (
        "loses the beat", trial, {"alignment": 2, "musicality": 2},
    )  # fmt: skip
    newest = find_ratings(database, project.id, limit=1).rows[0]
    oldest = find_ratings(database, project.id, order="oldest", offset=3).rows[0]
    assert newest["id"] == oldest["id"] and newest["person"] == bob
    before = count()
    hide(database, project.id, trial, "noise", "trial")
    assert count() < before == count(hidden=True)
    assert count(trial=trial) == 0 < count(trial=trial, hidden=True)


def test_a_trial_is_described_with_its_recordings(database):
    project = make_trials(database, "mushra", trials=1)
    [trial] = ids(database, project).values()
    found = describe_trial(database, project.id, trial)
    assert [(one["system"], one["role"]) for one in found["stimuli"]][2:] == [
        ("three", "take"), ("reference", "reference"), ("anchor35", "anchor35"),
    ]  # fmt: skip
    assert found["reference"]["seconds"] == 10.0 and "path" not in found["reference"]
    assert (found["broken"], found["hidden"], found["history"]) == (False, None, [])

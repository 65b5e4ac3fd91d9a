"""Votes: counted once whatever is clicked, corrected by new rows, stored unswapped, and there after kill -9."""

import os
import signal
import subprocess
import sys
import threading
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, update

from cmi.arena.store import people, projects
from cmi.arena.store import votes as votes_store
from cmi.arena.store.assign import View, begin, look, next_page
from cmi.arena.store.database import open_database
from cmi.arena.store.errors import NotFound, Refused
from cmi.arena.store.pairs import take
from cmi.arena.store.schema import pairs, views
from cmi.arena.store.schema import votes as votes_table
from cmi.arena.store.views import turned
from cmi.arena.store.votes import (
    CORRECTION_TIME,
    LONGEST_FEEDBACK,
    MOST_CORRECTIONS,
    Ballot,
    counted,
    latest_votes,
    recent,
    save,
)

BALLOT = Ballot("a", 3, "b", 4, "the bass drags at 0:20")


def rows(database) -> int:
    with database.reading() as connection:
        return connection.scalar(select(func.count()).select_from(votes_table))


def opened(database, person) -> View:
    return begin(database, person, next_page(database, person)[0].key)


def test_a_double_click_counts_once_and_other_content_is_a_correction(database, new_study, new_people):
    project = new_study(database)
    [person] = new_people(database, project)
    view = opened(database, person)
    first = save(database, person, view.key, BALLOT)
    again = save(database, person, view.key, BALLOT._replace(heard_a=9.0))
    assert first == (again.vote, 1, False) and again.again
    corrected = save(database, person, view.key, BALLOT._replace(musicality="a"))
    back = save(database, person, view.key, BALLOT)
    assert (corrected.number, back.number, back.again) == (2, 3, False)
    assert rows(database) == 3, "append-only: what was corrected stays"
    assert len(list(counted(database, project.id))) == 1
    assert look(database, person, view.key).vote.number == 3


def test_clicks_at_the_same_moment_make_one_row(database, new_study, new_people):
    project = new_study(database)
    [person] = new_people(database, project)
    view = opened(database, person)
    barrier, saved = threading.Barrier(8), []

    def click() -> None:
        barrier.wait()
        saved.append(save(database, person, view.key, BALLOT))

    threads = [threading.Thread(target=click) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rows(database) == 1 and len({one.vote for one in saved}) == 1 and sum(not one.again for one in saved) == 1


_names = count()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["next", "begin", "save", "replay", "correct"])), max_size=40)
)
def test_any_interleaving_of_votes_and_replays_counts_each_view_once(tmp_path, new_study, new_people, steps):
    database = open_database(str(tmp_path / f"{next(_names)}.sqlite3"))
    project = new_study(database, 8, overlap_share=0.5, repeat_share=0.2)
    crowd = new_people(database, project, 3)
    shown: dict[str, View] = {}
    expected: dict[str, Ballot] = {}
    past: dict[str, list[str]] = {person: [] for person in crowd}
    for index, step in steps:
        person = crowd[index]
        view = shown.get(person)
        if step == "next":
            found = next_page(database, person)[0]
            if isinstance(found, View):
                shown[person] = found
        elif step == "begin" and view:
            begin(database, person, view.key)
        elif step == "save" and view:
            if look(database, person, view.key).begun is None:
                with pytest.raises(Refused):
                    save(database, person, view.key, BALLOT)
            else:
                save(database, person, view.key, BALLOT)
                expected[view.key] = BALLOT
                past[person].append(view.key)
        elif step == "replay" and past[person]:
            assert save(database, person, past[person][-1], expected[past[person][-1]]).again
        elif step == "correct" and past[person]:
            key = past[person][0]
            expected[key] = expected[key]._replace(alignment_confidence=expected[key].alignment_confidence % 5 + 1)
            save(database, person, key, expected[key])
    got = {vote.view: vote for vote in counted(database, project.id)}
    assert set(got) == set(expected)
    assert len(list(counted(database, project.id))) == len(expected)
    for key, ballot in expected.items():
        assert got[key].alignment_confidence == ballot.alignment_confidence
        assert got[key].musicality == turned(ballot.musicality, got[key].swapped)
    database.close()


def test_choices_are_stored_in_the_pairs_own_sides_and_shown_back_as_they_were(database, new_study, new_people):
    project = new_study(database, 12, overlap_share=0.0, repeat_share=0.0)
    [person] = new_people(database, project)
    for _ in range(12):
        view = opened(database, person)
        save(database, person, view.key, Ballot("a", 1, "b", 5, "", 2.0, 3.0))
        assert look(database, person, view.key).vote.ballot == Ballot("a", 1, "b", 5, "", 2.0, 3.0)
    found = list(counted(database, project.id))
    assert {v.swapped for v in found} == {True, False}
    for vote in found:
        assert (vote.alignment, vote.musicality) == (("b", "a") if vote.swapped else ("a", "b"))
        assert (vote.seconds_a, vote.lufs_b, vote.system_a, vote.kind) == (10.0, -20.0, "one", "ordinary")


def test_a_vote_needs_the_takes_to_be_opened_and_heard(database, new_study, new_people, clock):
    database.now = clock
    project = new_study(database, 3, heard_share=0.5, heard_most=4.0)
    [person] = new_people(database, project)
    view = next_page(database, person)[0]
    assert (view.needed_a, view.needed_b) == (4.0, 4.0)

    def refused(ballot: Ballot) -> str:
        with pytest.raises(Refused) as error:
            save(database, person, view.key, ballot)
        return error.value.code

    heard = BALLOT._replace(heard_a=4.0, heard_b=4.0)
    assert refused(heard) == "begin"
    begin(database, person, view.key)
    assert refused(heard) == "heard", "eight seconds can't have passed yet"
    clock.time += 7.5
    assert refused(heard._replace(heard_a=1.0)) == "heard"
    assert save(database, person, view.key, heard).number == 1
    assert save(database, person, view.key, heard._replace(heard_a=0.0, musicality="a")).number == 2
    assert [vote.seconds for vote in counted(database, project.id)] == [7.5]


@pytest.mark.parametrize(
    "wrong",
    [
        {"alignment": "c"},
        {"musicality": ""},
        {"alignment_confidence": 0},
        {"musicality_confidence": 6},
        {"musicality_confidence": True},
        {"feedback": "x" * (LONGEST_FEEDBACK + 1)},
        {"heard_a": float("nan")},
        {"heard_b": -1.0},
    ],
)
def test_a_ballot_that_no_page_sends_is_refused(sqlite_database, new_study, new_people, wrong):
    [person] = new_people(sqlite_database, new_study(sqlite_database))
    view = opened(sqlite_database, person)
    with pytest.raises(Refused) as refused:
        save(sqlite_database, person, view.key, BALLOT._replace(**wrong))
    assert refused.value.code == "ballot" and rows(sqlite_database) == 0


def test_text_that_no_database_holds_as_it_is_does_no_harm(database, new_study, new_people):
    project = new_study(database)
    [person] = new_people(database, project)
    view = opened(database, person)
    save(database, person, view.key, BALLOT._replace(feedback="NUL \x00, half \ud83d a note, 好 \U0001f3b5 <script>"))
    assert recent(database, person, 5)[0].vote.ballot.feedback == "NUL , half \ufffd a note, 好 \U0001f3b5 <script>"


def test_a_view_begun_before_the_close_still_takes_its_vote_but_no_correction(database, new_study, new_people):
    project = new_study(database)
    [person] = new_people(database, project)
    view = opened(database, person)
    projects.change(database, project.id, state="closed")
    assert save(database, person, view.key, BALLOT).number == 1
    assert save(database, person, view.key, BALLOT).again
    with pytest.raises(Refused) as refused:
        save(database, person, view.key, BALLOT._replace(musicality="a"))
    assert refused.value.code == "closed"


def test_of_a_paused_person_no_vote_is_taken(database, new_study, new_people):
    project = new_study(database)
    [person] = new_people(database, project)
    view = opened(database, person)
    people.change(database, project.id, person, state="paused")
    with pytest.raises(Refused) as refused:
        save(database, person, view.key, BALLOT)
    assert refused.value.code == "paused"
    people.change(database, project.id, person, state="active")
    assert save(database, person, view.key, BALLOT).number == 1
    people.change(database, project.id, person, state="paused")
    assert save(database, person, view.key, BALLOT).again  # it is there: whoever asks again is told so


def test_corrections_are_limited_in_number_and_time(database, new_study, new_people, clock):
    database.now = clock
    [person] = new_people(database, new_study(database))
    view = opened(database, person)
    for number in range(1 + MOST_CORRECTIONS):
        assert save(database, person, view.key, BALLOT._replace(feedback=str(number))).number == number + 1
    other = opened(database, person)
    save(database, person, other.key, BALLOT)
    clock.time += CORRECTION_TIME - 1
    save(database, person, other.key, BALLOT._replace(feedback="in time"))
    clock.time += 2
    for key in (view.key, other.key):
        with pytest.raises(Refused) as refused:
            save(database, person, key, BALLOT._replace(feedback="once more"))
        assert refused.value.code == "final"
    assert [one.can_correct for one in recent(database, person, 5)] == [False, False]


def test_nobody_votes_for_another(database, new_study, new_people):
    project, other = new_study(database), new_study(database)
    [person], [stranger] = new_people(database, project), new_people(database, other)
    view = opened(database, person)
    with pytest.raises(NotFound):
        save(database, stranger, view.key, BALLOT)
    save(database, person, view.key, BALLOT)
    assert list(counted(database, other.id)) == [] and recent(database, stranger, 5) == []


def test_recent_votes_come_newest_first_as_they_count_now(database, new_study, new_people, clock):
    database.now = clock
    [person] = new_people(database, new_study(database))
    keys = []
    for _ in range(3):
        clock.time += 1
        keys.append(opened(database, person).key)
        save(database, person, keys[-1], BALLOT)
    clock.time += 1
    save(database, person, keys[0], BALLOT._replace(feedback="no: A"))
    found = recent(database, person, 2)
    assert [(one.view, one.vote.number) for one in found] == [(keys[0], 2), (keys[2], 1)]
    assert found[0].vote.ballot.feedback == "no: A" and found[0].text.startswith("text ")


WRITER = """
import sys
from cmi.arena.store.assign import begin, next_page
from cmi.arena.store.database import open_database
from cmi.arena.store.votes import Ballot, save
database = open_database(sys.argv[1])
while True:
    for person in sys.argv[2:]:
        view = begin(database, person, next_page(database, person)[0].key)
        saved = save(database, person, view.key, Ballot("a", 3, "b", 4))
        print(saved.vote, flush=True)
"""


def test_every_acknowledged_vote_is_there_after_kill_9(sqlite_database, new_study, new_people):
    project = new_study(sqlite_database, 600, overlap_share=0.0)
    crowd = new_people(sqlite_database, project, 3)
    path = sqlite_database.engine.url.database
    writer = subprocess.Popen([sys.executable, "-c", WRITER, path, *crowd], stdout=subprocess.PIPE, text=True)
    acknowledged = [writer.stdout.readline().strip() for _ in range(40)]
    os.kill(writer.pid, signal.SIGKILL)
    acknowledged += [line.strip() for line in writer.stdout if line.endswith("\n")]
    assert writer.wait() == -signal.SIGKILL
    again = open_database(path)
    with again.reading() as connection:
        there = set(connection.scalars(select(votes_table.c.id)))
    assert len(acknowledged) >= 40 and set(acknowledged) <= there
    assert len(there) <= len(acknowledged) + 1, "at most the one in flight was not told of"
    assert isinstance(next_page(again, crowd[0])[0], View), "and the study goes on"
    again.close()


def test_a_confidence_that_was_not_touched_is_stored_as_such(database, new_study, new_people):
    project = new_study(database, 1)
    [person] = new_people(database, project)
    view = opened(database, person)
    ballot = BALLOT._replace(alignment_confidence=3, alignment_touched=False, musicality_touched=True)
    save(database, person, view.key, ballot)
    [vote] = counted(database, project.id)
    assert (vote.alignment_confidence, vote.alignment_touched, vote.musicality_touched) == (3, False, True)
    assert recent(database, person, 1)[0].vote.ballot == ballot
    assert save(database, person, view.key, ballot).again
    assert save(database, person, view.key, ballot._replace(alignment_touched=True)).number == 2, "now it is meant"


def test_the_reference_is_heard_before_a_vote_if_the_study_requires_it(database, clock, new_study, new_people):
    database.now = clock
    project = new_study(database, 4, modalities=4, heard_share=0.5, require_reference=True, overlap_share=1.0)
    [person] = new_people(database, project)
    for _ in range(4):
        view = opened(database, person)
        clock.time += 12  # enough for 5 s of each take, which last 10 s
        ballot = BALLOT._replace(heard_a=5.0, heard_b=5.0)
        if view.reference is None:
            save(database, person, view.key, ballot)
            continue
        assert view.needed_reference == 5
        with pytest.raises(Refused, match="hear 5 s of the reference"):
            save(database, person, view.key, ballot)
        with pytest.raises(Refused, match="cannot have heard"):
            save(database, person, view.key, ballot._replace(heard_reference=5.0))
        clock.time += 5
        save(database, person, view.key, ballot._replace(heard_reference=5.0))
    assert sum("reference" in vote.heard for vote in stored(database, project)) == 2


def stored(database, project):
    with database.reading() as connection:
        return connection.execute(latest_votes(project.id)).all()


@pytest.mark.parametrize("meanwhile", ["a vote", "a release", "a withdrawal"])
def test_on_postgresql_a_vote_is_stored_only_on_the_view_that_was_read(
    postgres_database, new_study, new_people, monkeypatch, meanwhile
):
    """Something happens between reading the view and storing the vote, which are transactions of their own."""
    database = postgres_database
    project = new_study(database, 1, overlap_share=0.0)
    [person] = new_people(database, project)
    view, read, is_first = opened(database, person), votes_store.require_view, [True]

    def interrupt(*arguments):
        found = read(*arguments)
        if is_first:
            is_first.clear()
            if meanwhile == "a vote":
                save(database, person, view.key, BALLOT._replace(musicality="a"))
            elif meanwhile == "a withdrawal":
                people.withdraw(database, project.id, person)
            else:
                with database.writing() as connection:
                    connection.execute(update(views).values(held=None))
                    take(connection, view.pair, -1)
        return found

    monkeypatch.setattr(votes_store, "require_view", interrupt)
    if meanwhile == "a withdrawal":
        with pytest.raises(Refused, match="withdrawn"):
            save(database, person, view.key, BALLOT)
        assert rows(database) == 0
        return
    assert save(database, person, view.key, BALLOT).number == (2 if meanwhile == "a vote" else 1)
    with database.reading() as connection:
        assert connection.scalar(select(pairs.c.taken)) == 1

"""Sessions that are remembered for a moment: never longer than that, and not at all past a change of ours."""

import asyncio

import pytest

from cmi.arena.store import people
from cmi.arena.web.runner import Runner
from cmi.arena.web.state import KEEP_SESSION, Sessions


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        self.now += 0.001  # as a real one it never gives the same time twice
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def sessions(database, clock):
    return Sessions(Runner(database), clock)


@pytest.fixture
def joined(database, study):
    return people.join(database, people.invite(database, study.id, "annotator", 1)[0].token, None, True)


def state(sessions, joined):
    session = asyncio.run(sessions.find(joined.session_token))
    return None if session is None else session.state


def test_what_another_process_changed_is_seen_before_long(sessions, clock, joined, database, study):
    assert state(sessions, joined) == "active"
    people.change(database, study.id, joined.person, state="paused")
    assert state(sessions, joined) == "active"
    clock.now += KEEP_SESSION
    assert state(sessions, joined) == "paused"


def test_what_this_server_changed_is_seen_at_once(sessions, joined, database, study):
    assert state(sessions, joined) == "active"
    people.withdraw(database, study.id, joined.person)
    sessions.forget()
    assert state(sessions, joined) is None


def test_a_lookup_that_was_under_way_when_something_changed_does_not_count(sessions, joined, database, monkeypatch):
    real = people.session

    def slow(*arguments):
        found = real(*arguments)
        people.sign_out(database, joined.session_token)
        sessions.forget()
        return found

    monkeypatch.setattr(people, "session", slow)
    assert state(sessions, joined) == "active"
    monkeypatch.setattr(people, "session", real)
    assert state(sessions, joined) is None


def test_an_unknown_session_is_not_remembered(sessions, database, joined):
    assert asyncio.run(sessions.find("x" * 43)) is None
    assert not sessions._kept

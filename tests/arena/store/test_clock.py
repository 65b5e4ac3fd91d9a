"""A system clock that is set back an hour blocks nobody, loses no vote, and keeps votes in their order."""

import pytest

from cmi.arena.store import people
from cmi.arena.store.assign import Done, View, begin, next_page
from cmi.arena.store.choose_view import HOLD
from cmi.arena.store.database import Database, SteadyClock, open_database
from cmi.arena.store.errors import Refused
from cmi.arena.store.people import session
from cmi.arena.store.votes import Ballot, counted, recent, save

HOUR = 3600.0
HEARD = Ballot("a", 3, "b", 4, "", 4.0, 4.0)


class SystemClock:
    """Time of day that can be set, and seconds since the machine was started, which can't."""

    def __init__(self) -> None:
        self.day, self.up = 1_000_000.0, 50.0

    def pass_by(self, seconds: float) -> None:
        self.day, self.up = self.day + seconds, self.up + seconds

    def steady(self, latest: float = 0.0) -> SteadyClock:
        return SteadyClock(latest, lambda: self.day, lambda: self.up)


@pytest.fixture
def system() -> SystemClock:
    return SystemClock()


@pytest.fixture
def study(database: Database, new_study, system: SystemClock):
    database.now = system.steady()
    return new_study(database, 6, heard_share=0.5, heard_most=4.0, overlap_share=0.0, repeat_share=0.0)


def listen(database: Database, person: str) -> View:
    view = next_page(database, person)[0]
    assert isinstance(view, View)
    return begin(database, person, view.key)


def test_what_was_heard_before_the_clock_was_set_back_can_be_voted_on(database, study, new_people, system):
    [person] = new_people(database, study)
    view = listen(database, person)
    system.pass_by(5)
    system.day -= HOUR
    with pytest.raises(Refused, match="cannot have heard"):
        save(database, person, view.key, HEARD)
    system.pass_by(5)
    save(database, person, view.key, HEARD)
    [vote] = counted(database, study.id)
    assert vote.seconds == pytest.approx(10)


def test_votes_stay_in_their_order_and_views_in_flight_are_let_go_in_time(database, study, new_people, system):
    one, other = new_people(database, study, 2)
    keys = []
    for _ in range(3):
        keys.append(listen(database, one).key)
        system.pass_by(10)
        save(database, one, keys[-1], HEARD)
        system.day -= HOUR
    assert [vote.view for vote in counted(database, study.id)] == keys
    assert [vote.view for vote in recent(database, one, 2)] == keys[:0:-1]
    for _ in range(2):
        save(database, other, listen_later(database, other, system), HEARD)
    listen(database, other)
    system.day -= HOUR
    assert next_page(database, one)[0] == Done("no more pairs")
    system.pass_by(HOLD + 1)
    assert isinstance(next_page(database, one)[0], View)


def test_a_server_that_starts_after_the_clock_was_set_back_goes_on_from_the_last_vote(
    database, study, new_people, system
):
    [person] = new_people(database, study)
    first = listen_later(database, person, system)
    save(database, person, first, HEARD)
    second = listen(database, person)
    system.day -= HOUR
    database.now = system.steady(latest=second.begun)
    system.pass_by(10)
    save(database, person, second.key, HEARD)
    assert [vote.view for vote in recent(database, person, 2)] == [second.key, first]


def test_opening_a_database_takes_up_its_time(tmp_path, new_study, new_people):
    database = open_database(str(tmp_path / "arena.sqlite3"))
    ahead = database.now() + HOUR
    database.now = lambda: ahead
    view = listen(database, new_people(database, new_study(database))[0])
    database.close()
    database = open_database(str(tmp_path / "arena.sqlite3"))
    assert view.begun <= database.now() < ahead + 60
    database.close()


def test_time_that_goes_back_all_the_same_refuses_no_vote_and_counts_what_was_heard(
    database, study, new_people, system
):
    """As with two servers whose clocks differ, or a clock that was a year ahead."""
    one, other = new_people(database, study, 2)
    view = listen(database, one)
    for _ in range(5):
        system.pass_by(10)
        save(database, other, listen_later(database, other, system), HEARD)
    system.day -= 400 * 24 * HOUR
    database.now = system.steady(latest=database.now())
    assert isinstance(next_page(database, other)[0], View), "a view held until next year is let go"
    save(database, one, view.key, HEARD)
    [vote] = [vote for vote in counted(database, study.id) if vote.person == one]
    assert vote.seconds == 8.0


def listen_later(database: Database, person: str, system: SystemClock) -> str:
    view = listen(database, person)
    system.pass_by(10)
    return view.key


def test_sessions_and_links_outlast_a_clock_that_is_set_back(database, study, system):
    made = people.invite(database, study.id, "annotator", days=1)[0]
    system.day -= HOUR
    database.now = system.steady()
    signed_in = people.join(database, made.token, None, True)
    system.day -= HOUR
    database.now = system.steady()
    assert session(database, signed_in.session_token) is not None


def test_the_clock_follows_when_it_is_set_forward(system):
    clock = system.steady()
    system.day += HOUR
    assert clock() == system.day
    system.day -= 3 * HOUR
    system.pass_by(1)
    assert clock() == 1_000_000.0 + HOUR + 1
    system.day += 5 * HOUR
    assert clock() == system.day

"""People: links that work once, sessions that end, roles, and a withdrawal that leaves nothing."""

import threading

import pytest
from sqlalchemy import select

from cmi._util.errors import InputError
from cmi.arena.store import people, projects
from cmi.arena.store.assign import begin, next_page
from cmi.arena.store.errors import NotFound, Refused
from cmi.arena.store.people import DAY, invite, invite_again, join, look_at_invite, session, withdraw
from cmi.arena.store.schema import audit, metadata
from cmi.arena.store.votes import Ballot, counted, recent, save


def refused(code: str, call, *arguments) -> None:
    with pytest.raises(Refused) as error:
        call(*arguments)
    assert error.value.code == code


def test_a_link_shows_the_study_and_lets_one_person_in(database):
    project = projects.create(database, "Study", {"language": "zh"}, "May we?")
    [made] = invite(database, project.id, "annotator", days=2, quota=7)
    assert look_at_invite(database, made.token) == (projects.get(database, project.id), "annotator")
    refused("consent", join, database, made.token, "Ada", False)
    signed_in = join(database, made.token, "  Ada\n Lovelace ", True)
    assert signed_in.name == "Ada Lovelace" and signed_in.role == "annotator"
    found = session(database, signed_in.session_token)
    assert found == (signed_in.person, project.id, "annotator", signed_in.csrf, "active", "Ada Lovelace")
    refused("invite", join, database, made.token, "Bob", True)
    refused("invite", look_at_invite, database, made.token)
    [person] = people.list_people(database, project.id)
    assert (person.quota, person.votes) == (7, 0) and person.consented


def test_of_two_who_use_a_link_at_once_one_gets_in(database):
    project = projects.create(database, "Study")
    for _ in range(5):
        [made] = invite(database, project.id, "annotator", days=1)
        barrier, outcomes = threading.Barrier(2), []

        def use(token: str, barrier: threading.Barrier, outcomes: list[str]) -> None:
            barrier.wait()
            try:
                join(database, token, None, True)
                outcomes.append("in")
            except Refused as error:
                outcomes.append(error.code)

        threads = [threading.Thread(target=use, args=(made.token, barrier, outcomes)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["in", "invite"]
    assert len(people.list_people(database, project.id)) == 5


def test_unknown_expired_and_revoked_links_sound_the_same(database, clock):
    database.now = clock
    project = projects.create(database, "Study")
    late, revoked = invite(database, project.id, "annotator", days=1, count=2)
    people.revoke(database, project.id, revoked.id)
    clock.time += DAY + 1
    sentences = set()
    for token in ("nonsense", "", "\ud800\x00", late.token, revoked.token):
        for call in (look_at_invite, lambda database, token: join(database, token, None, True)):
            with pytest.raises(Refused) as error:
                call(database, token)
            sentences.add((error.value.code, str(error.value)))
    assert len(sentences) == 1


def test_a_session_ends_by_signing_out_or_by_itself(database, clock):
    database.now = clock
    project = projects.create(database, "Study")
    one, two = (join(database, made.token, None, True) for made in invite(database, project.id, "owner", 1, count=2))
    clock.time += 10 * DAY
    assert session(database, one.session_token).role == "owner"
    people.sign_out(database, one.session_token)
    assert session(database, one.session_token) is None and session(database, "\ud800") is None
    assert session(database, two.session_token)
    clock.time += people.SESSION_DAYS * DAY
    assert session(database, two.session_token) is None


def test_who_lost_the_cookie_comes_back_as_the_same_person(database, new_study, new_people):
    project = new_study(database)
    [person] = new_people(database, project)
    stale = invite_again(database, project.id, person, days=1)
    fresh = invite_again(database, project.id, person, days=1)
    refused("invite", join, database, stale.token, None, True)
    assert join(database, fresh.token, "another name", True).person == person
    assert len(people.list_people(database, project.id)) == 1
    refused("invite", join, database, fresh.token, None, True)


def test_withdrawal_removes_the_votes_and_all_that_is_personal(database, new_study, new_people):
    project = new_study(database, 6, overlap_share=1.0, repeat_share=0.3)
    [made] = invite(database, project.id, "annotator", days=1)
    leaver = join(database, made.token, "Secret Name", True)
    [other] = new_people(database, project)
    for person in (leaver.person, other):
        for _ in range(4):
            view = begin(database, person, next_page(database, person)[0].key)
            save(database, person, view.key, Ballot("a", 3, "b", 4, f"feedback of {person}"))
    next_page(database, leaver.person)[0]
    link = invite_again(database, project.id, leaver.person, days=1)
    assert withdraw(database, project.id, leaver.person) == 4
    assert {vote.person for vote in counted(database, project.id)} == {other}
    assert session(database, leaver.session_token) is None and recent(database, leaver.person, 9) == []
    refused("invite", join, database, link.token, None, True)
    refused("withdrawn", next_page, database, leaver.person)
    refused("withdrawn", invite_again, database, project.id, leaver.person, 1)
    refused("withdrawn", people.change, database, project.id, leaver.person, "active")
    with database.reading() as connection:
        everything = " ".join(
            str(tuple(row)) for table in metadata.tables.values() for row in connection.execute(select(table))
        )
        [entry] = connection.execute(select(audit.c.subject, audit.c.detail).where(audit.c.action == "withdrawn")).all()
    assert "Secret Name" not in everything and f"feedback of {leaver.person}" not in everything
    assert entry == (leaver.person, {"votes": 4})
    assert withdraw(database, project.id, leaver.person) == 0, "a second time changes nothing"


def test_ids_of_another_project_are_not_found(database, new_study, new_people):
    mine, other = new_study(database, 1), new_study(database, 1)
    [theirs] = new_people(database, other)
    [invited] = invite(database, other.id, "annotator", days=1)
    for call in (people.get, people.withdraw, people.change):
        with pytest.raises(NotFound):
            call(database, mine.id, theirs)
    with pytest.raises(NotFound):
        people.invite_again(database, mine.id, theirs, 1)
    with pytest.raises(NotFound):
        people.revoke(database, mine.id, invited.id)
    assert people.list_invites(database, mine.id) == []
    assert [row.used_at is not None for row in people.list_invites(database, other.id)].count(True) == 1


@pytest.mark.parametrize(
    ("role", "days", "quota", "count"),
    [
        *[("king", 1, None, 1), ("owner", 0, None, 1), ("owner", 366, None, 1), ("owner", float("nan"), None, 1)],
        *[("owner", 1, 0, 1), ("owner", 1, 2**70, 1), ("owner", 1, None, 0), ("owner", 1, None, 1001)],
    ],
)
def test_invites_that_make_no_sense_are_refused_in_one_sentence(sqlite_database, role, days, quota, count):
    project = projects.create(sqlite_database, "Study")
    with pytest.raises(InputError, match="expected"):
        invite(sqlite_database, project.id, role, days, quota, count)


def test_tokens_are_not_in_the_database(database):
    project = projects.create(database, "Study")
    [made] = invite(database, project.id, "annotator", days=1)
    signed_in = join(database, made.token, None, True)
    with database.reading() as connection:
        everything = " ".join(
            str(tuple(row)) for table in metadata.tables.values() for row in connection.execute(select(table))
        )
    assert made.token not in everything and signed_in.session_token not in everything


def test_a_new_link_ends_the_sessions_before_it(database):
    project = projects.create(database, "Study")
    first = join(database, invite(database, project.id, "annotator", days=1)[0].token, "Ada", True)
    link = invite_again(database, project.id, first.person, days=1)
    assert session(database, first.session_token) is None
    second = join(database, link.token, None, True)
    assert session(database, second.session_token).person == first.person
    assert people.end_sessions(database, project.id, first.person) == 1
    assert session(database, second.session_token) is None


def test_two_owners_who_remove_each_other_at_once_do_not_both_go(database):
    for _ in range(4):
        project = projects.create(database, "Study")
        owners = [join(database, made.token, None, True) for made in invite(database, project.id, "owner", 1, count=2)]
        barrier, outcomes = threading.Barrier(2), []

        def remove(person: str, project=project.id, barrier=barrier, outcomes=outcomes) -> None:
            barrier.wait()
            try:
                withdraw(database, project, person)
                outcomes.append("gone")
            except Refused as error:
                outcomes.append(error.code)

        threads = [threading.Thread(target=remove, args=(one.person,)) for one in owners]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["gone", "last owner"]
        assert people.has_owner(database, project.id)

"""The demonstration: every kind of prompt, made once, and a vote after a few seconds of listening."""

from collections import Counter

from cmi.arena.exchange.demo import WANTED, demo_project
from cmi.arena.store import people, projects
from cmi.arena.store.assign import begin, next_page
from cmi.arena.store.browse import find_pairs
from cmi.arena.store.votes import Ballot, save


def test_a_newcomer_finds_every_kind_of_prompt_and_can_vote_at_once(sqlite_database, clock):
    project = demo_project(sqlite_database)
    found = find_pairs(sqlite_database, project).rows
    assert Counter(row["modality"] for row in found) == WANTED
    assert sum(row["kind"] == "gold" for row in found) == 1
    assert {row["system_a"] for row in found} | {row["system_b"] for row in found} == {"careful", "careless"}
    sqlite_database.now = clock
    [invite] = people.invite(sqlite_database, project, "annotator", 1)
    person = people.join(sqlite_database, invite.token, None, True).person
    view = begin(sqlite_database, person, next_page(sqlite_database, person)[0].key)
    clock.time += 4
    assert save(sqlite_database, person, view.key, Ballot("a", 3, "b", 4, "", 2.0, 2.0)).number == 1
    assert demo_project(sqlite_database) == project and len(projects.list_all(sqlite_database)) == 1

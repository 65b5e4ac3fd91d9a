"""A pair that the owner hides is neither asked nor counted, keeps its votes, and comes back as it was."""

import pytest
from sqlalchemy import select

from cmi._util.errors import InputError
from cmi.arena.exchange.exporting import Selection, rows
from cmi.arena.statistics import report_project
from cmi.arena.store.assign import Done, View, begin, next_page
from cmi.arena.store.errors import NotFound, Refused
from cmi.arena.store.hiding import hide, history, replace, show
from cmi.arena.store.pairs import wanted
from cmi.arena.store.schema import pairs, sounds
from cmi.arena.store.votes import Ballot, counted, save

BALLOT = Ballot("a", 3, "b", 4, "fine")


def vote_on_all(database, person):
    while isinstance(view := next_page(database, person)[0], View):
        begin(database, person, view.key)
        save(database, person, view.key, BALLOT)


def ids(database, project):
    with database.reading() as connection:
        ours = select(pairs.c.id).where(pairs.c.project == project.id).order_by(pairs.c.position)
        return list(connection.scalars(ours))


def events(database, project, pair):
    with database.reading() as connection:
        return [(one.action, one.reason) for one in history(connection, project.id, pair)]


def test_a_hidden_pair_is_neither_asked_nor_counted_and_keeps_its_votes(database, new_study, new_people):
    project = new_study(database, 3, overlap_share=1.0, repeat_share=0.0)
    ada, bob = new_people(database, project, 2)
    vote_on_all(database, ada)
    first = ids(database, project)[0]
    hide(database, project.id, first, "  the reference is \n silent ")
    assert {vote.pair for vote in counted(database, project.id)} == set(ids(database, project)[1:])
    assert len(list(counted(database, project.id, hidden=True))) == 3, "its vote is kept"
    assert [pair for pair, *_ in wanted(database, project.id)] == ids(database, project)[1:]
    assert report_project(database, project.id)["progress"]["wanted"] == 4
    vote_on_all(database, bob)
    assert len(list(counted(database, project.id, hidden=True))) == 5, "nobody is asked about it"
    assert {row["pair"] for row in rows(database, project.id)} == {"p1", "p2"}
    everything = list(rows(database, project.id, Selection(hidden=True)))
    assert {row["pair"]: row["hidden"] for row in everything} == {"p0": "the reference is silent", "p1": "", "p2": ""}
    show(database, project.id, first)
    vote_on_all(database, bob)
    assert len(list(counted(database, project.id))) == 6
    assert events(database, project, first) == [("pair shown", ""), ("pair hidden", "the reference is silent")]


def test_who_has_a_pair_when_it_is_hidden_goes_on_and_a_vote_under_way_is_kept(database, new_study, new_people):
    project = new_study(database, 2, overlap_share=0.0, repeat_share=0.0)
    [ada] = new_people(database, project)
    view = next_page(database, ada)[0]
    begin(database, ada, view.key)
    hide(database, project.id, view.pair, "noise")
    other = next_page(database, ada)[0]
    assert other.pair != view.pair
    save(database, ada, view.key, BALLOT)  # from a browser that was offline
    assert [vote.pair for vote in counted(database, project.id, hidden=True)] == [view.pair]
    begin(database, ada, other.key)
    save(database, ada, other.key, BALLOT)
    assert next_page(database, ada)[0] == Done("no more pairs")


def test_hiding_twice_is_one_line_in_the_log_and_needs_a_reason(database, new_study):
    project = new_study(database, 1)
    [pair] = ids(database, project)
    for _ in range(2):
        hide(database, project.id, pair, "silent")
    assert events(database, project, pair) == [("pair hidden", "silent")]
    for reason in ("", " \n ", "x" * 501):
        with pytest.raises(InputError, match="expected 1 to 500"):
            hide(database, project.id, pair, reason)
    with pytest.raises(NotFound):
        hide(database, new_study(database, 1).id, pair, "of another project")
    show(database, project.id, pair)
    show(database, project.id, pair)
    assert len(events(database, project, pair)) == 2


def test_a_hidden_pair_stays_hidden_when_its_sounds_are_repaired(database, new_study, new_people):
    from cmi.arena.store.pairs import mark_broken

    project = new_study(database, 1)
    [pair] = ids(database, project)
    hide(database, project.id, pair, "silent")
    with database.writing() as connection:
        sound = connection.scalar(select(pairs.c.a))
        mark_broken(connection, project.id, sound)
    assert next_page(database, new_people(database, project)[0])[0] == Done("no more pairs")


def test_a_replacement_takes_the_place_of_a_pair_once(database, new_study, new_people):
    project = new_study(database, 2, gold=1, overlap_share=0.0, gold_share=1.0)
    old = ids(database, project)[0]
    with database.reading() as connection:
        spare = list(connection.scalars(select(sounds.c.id).order_by(sounds.c.digest)))[2]
    made = replace(database, project.id, old, "take a is cut off", {"a": spare})
    assert replace(database, project.id, old, "take a is cut off", {"a": spare}) == made, "a double click"
    with database.reading() as connection:
        row = connection.execute(select(pairs).where(pairs.c.id == made)).one()
        before = connection.execute(select(pairs).where(pairs.c.id == old)).one()
    assert (row.a, row.b, row.text, row.system_a, row.gold, row.about) == (
        spare, before.b, before.text, before.system_a, before.gold, before.about,
    )  # fmt: skip
    assert (row.source_id, row.replaces, before.hidden, row.kind) == ("p0 (2)", old, "take a is cut off", "gold")
    assert events(database, project, old) == [("pair replaced", "take a is cut off")]
    with pytest.raises(Refused, match="replaced already"):
        replace(database, project.id, old, "again", {"text": "another text"})
    with pytest.raises(InputError, match="same as the pair"):
        replace(database, project.id, made, "nothing changes", {})
    assert next_page(database, new_people(database, project)[0])[0].pair == made

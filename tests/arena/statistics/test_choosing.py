"""Pairs where the ranking is least certain come first: which systems get them, and that the server keeps the order."""

import asyncio

import pytest
from sqlalchemy import select, update

from cmi.arena.statistics.choosing import FLOOR, pair_weights, reorder_project
from cmi.arena.store import projects
from cmi.arena.store.assign import begin, next_page
from cmi.arena.store.pairs import draw_lot, pairs, set_order
from cmi.arena.store.votes import Ballot, save
from cmi.arena.web import state

SYSTEMS = "wxyz"
ALL = [(a, b) for a in SYSTEMS for b in SYSTEMS if a < b]


def cast(vote, counts):
    """counts: {(winner, loser): votes}."""
    names = [pair for pair, n in counts.items() for _ in range(n)]
    return [vote(f"h{i % 9}", f"p{i}", system_a=a, system_b=b) for i, (a, b) in enumerate(names)]


def test_systems_that_are_apart_are_asked_about_less_than_those_that_are_close(vote):
    close = {("w", "x"): 20, ("x", "w"): 20, ("y", "z"): 20, ("z", "y"): 20}
    apart = {(a, b): 38 for a in "wx" for b in "yz"} | {(b, a): 2 for a in "wx" for b in "yz"}
    weights = pair_weights(cast(vote, close | apart), ALL)
    assert min(weights["w", "x"], weights["y", "z"]) > 2 > 1 > max(weights["w", "y"], weights["x", "z"]) >= FLOOR
    assert sum(weights.values()) == pytest.approx(len(ALL))


def test_a_new_system_is_asked_about_most(vote):
    known = {pair: 30 for a in "wxy" for b in "wxy" if a < b for pair in ((a, b), (b, a))}
    weights = pair_weights(cast(vote, known), ALL)
    assert min(weights[a, "z"] for a in "wxy") > 1 > max(weights["w", "x"], weights["x", "y"]) >= FLOOR


def test_without_votes_or_a_choice_of_systems_all_weigh_the_same(vote):
    assert set(pair_weights([], ALL).values()) == {1.0}
    assert pair_weights(cast(vote, {("x", "y"): 5}), [("y", "x"), ("x", "y"), ("", "x"), ("x", "x")]) == {("x", "y"): 1}
    assert pair_weights(cast(vote, {("x", "y"): 5}), []) == {}


def test_a_lot_by_weight_is_drawn_first_as_often_as_its_weight_says():
    firsts = sum(draw_lot(seed, "one", 3.0) < draw_lot(seed, "other", 1.0) for seed in range(2000))
    assert firsts / 2000 == pytest.approx(3 / 4, abs=0.04)
    assert draw_lot(5, "one") == draw_lot(5, "one", 1.0)


def lots(database):
    with database.reading() as connection:
        return {row.source_id: row.lot for row in connection.execute(select(pairs.c.source_id, pairs.c.lot))}


def test_a_study_that_wants_it_gives_out_uncertain_pairs_first_and_can_go_back(database, new_study, new_people):
    project = new_study(database, 60, gold_share=0.0, repeat_share=0.0, overlap_share=0.0)
    names = [("new", SYSTEMS[n % 4]) if n % 3 == 0 else (SYSTEMS[n % 4], SYSTEMS[(n + 1) % 4]) for n in range(60)]
    with database.writing() as connection:
        for number, (a, b) in enumerate(names):
            which = update(pairs).where(pairs.c.source_id == f"p{number}")
            connection.execute(which.values(system_a=a, system_b=b))
    before = lots(database)
    assert reorder_project(database, project.id) == 0 and lots(database) == before, "only if the study wants it"
    projects.change(database, project.id, settings={"uncertain_first": True})
    [person] = new_people(database, project)
    for _ in range(20):
        view = next_page(database, person)[0]
        begin(database, person, view.key)
        save(database, person, view.key, Ballot("a", 3, "b", 4))
    assert reorder_project(database, project.id) > 0
    assert reorder_project(database, project.id) == 0, "the same votes give the same order"
    order = sorted(lots(database), key=lots(database).__getitem__)
    assert order != sorted(before, key=before.__getitem__)
    projects.change(database, project.id, settings={"uncertain_first": False})
    seen = {name for name, lot in lots(database).items() if abs(lot - before[name]) > 1e-9}
    assert seen == set(), "the order is by chance again"
    assert set_order(database, project.id, projects.get(database, project.id).settings, {}) == 0


def test_the_server_reorders_after_some_votes(sqlite_database, new_study, monkeypatch):
    database = sqlite_database
    project = new_study(database, 4, uncertain_first=True)
    with database.writing() as connection:
        connection.execute(update(pairs).values(lot=0.5))
    monkeypatch.setattr(state, "REORDER_EVERY", 3)

    async def count_votes(votes):
        orders = state.PairOrders(database)
        for _ in range(votes):
            orders.count_vote(project.id)
        await asyncio.gather(*orders.tasks)

    asyncio.run(count_votes(2))
    assert set(lots(database).values()) == {0.5}
    asyncio.run(count_votes(3))
    assert len(set(lots(database).values())) == 4

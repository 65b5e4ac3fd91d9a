"""Transactions in the event loop: never waiting for another writer, and on disk before anything is acknowledged."""

import asyncio
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from cmi.arena.store import assign, inline, projects, statements, votes
from cmi.arena.store.errors import Unavailable
from cmi.arena.store.inline import Busy, InlineDatabase
from cmi.arena.web.runner import Runner, SharedSync

BALLOT = votes.Ballot("a", 3, "b", 4)


@pytest.fixture
def study(sqlite_database, new_study):
    return new_study(sqlite_database, 20, gold_share=0.0, repeat_share=0.0)


@pytest.fixture
def person(sqlite_database, study, new_people):
    return new_people(sqlite_database, study)[0]


def test_another_process_that_writes_is_not_waited_for(sqlite_database, person):
    loop = InlineDatabase(sqlite_database)
    with sqlite3.connect(sqlite_database.engine.url.database, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy):
            assign.next_page(loop, person)
        other.execute("ROLLBACK")
    assert isinstance(assign.next_page(loop, person)[0], assign.View)


def test_another_thread_that_writes_is_not_waited_for_and_keeps_its_turn(sqlite_database, person):
    loop = InlineDatabase(sqlite_database)
    with sqlite_database.writing(), pytest.raises(Busy):
        assign.next_page(loop, person)
    with sqlite_database.writing():
        pass
    assert isinstance(assign.next_page(loop, person)[0], assign.View)


def test_a_request_that_finds_the_database_busy_is_answered_all_the_same(sqlite_database, person):
    run = Runner(sqlite_database)
    writing, done = threading.Event(), threading.Event()

    def write() -> None:
        with sqlite_database.writing():
            writing.set()
            done.wait()

    async def ask():
        asked = asyncio.create_task(run(assign.next_page, person))
        await asyncio.sleep(0.1)
        assert not asked.done()
        done.set()
        return await asked

    thread = threading.Thread(target=write)
    thread.start()
    writing.wait()
    assert isinstance(asyncio.run(ask())[0], assign.View)
    thread.join()


def test_a_vote_is_acknowledged_after_a_sync_that_began_after_it(sqlite_database, person, monkeypatch):
    run, events = Runner(sqlite_database), []
    sync, save = inline._sync, votes.save
    monkeypatch.setattr(inline, "_sync", lambda file: (events.append("sync"), sync(file)))

    def noted(*arguments):
        saved = save(*arguments)
        events.append("saved")
        return saved

    async def vote():
        view, _ = await run(assign.next_page, person)
        assert events == []  # it can be repeated
        await run(assign.begin, person, view.key)
        await run(noted, person, view.key, BALLOT)
        events.append("acknowledged")
        await run(noted, person, view.key, BALLOT)
        events.append("acknowledged again")

    asyncio.run(vote())
    assert events == ["sync", "saved", "sync", "acknowledged", "saved", "sync", "acknowledged again"]


def test_what_cannot_be_synced_is_not_acknowledged_and_then_merged(sqlite_database, study, person, monkeypatch):
    run = Runner(sqlite_database)

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    async def vote():
        view, _ = await run(assign.next_page, person)
        await run(assign.begin, person, view.key)
        with monkeypatch.context() as patched:
            patched.setattr(inline, "_sync", fail)
            with pytest.raises(Unavailable, match="nothing was confirmed"):
                await run(votes.save, person, view.key, BALLOT)
        assert Path(f"{sqlite_database.engine.url.database}-wal").stat().st_size > 0
        saved = await run(votes.save, person, view.key, BALLOT)
        assert Path(f"{sqlite_database.engine.url.database}-wal").stat().st_size == 0, "the database has it all"
        return saved

    assert asyncio.run(vote()).again
    assert len(list(votes.counted(sqlite_database, study.id))) == 1


def test_all_who_ask_during_a_sync_share_the_next_one_and_its_failure():
    calls, go = [], threading.Event()

    def sync() -> None:
        calls.append(time.monotonic())
        go.wait()
        if len(calls) == 2:
            raise Unavailable("no")

    async def ask():
        shared = SharedSync(sync)
        first = asyncio.create_task(shared())
        while not calls:
            await asyncio.sleep(0.01)
        others = [asyncio.create_task(shared()) for _ in range(20)]
        await asyncio.sleep(0.05)
        go.set()
        await first
        return await asyncio.gather(*others, return_exceptions=True)

    assert [type(one) for one in asyncio.run(ask())] == [Unavailable] * 20
    assert len(calls) == 2


def test_a_long_run_of_votes_does_not_leave_a_long_log(sqlite_database, study, person, monkeypatch):
    monkeypatch.setattr(inline, "CHECKPOINT_EVERY", 4)
    run = Runner(sqlite_database)

    async def vote_all():
        while isinstance(view := (await run(assign.next_page, person))[0], assign.View):
            await run(assign.begin, person, view.key)
            await run(votes.save, person, view.key, BALLOT)

    asyncio.run(vote_all())
    with sqlite3.connect(sqlite_database.engine.url.database) as connection:
        _, in_log, copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    assert in_log == copied < 500


def test_a_vote_takes_few_statements(database, new_study, new_people, monkeypatch):
    """Each costs the server 0.02 to 0.1 ms. On PostgreSQL, `begin` and the vote need no BEGIN and COMMIT besides."""
    expected = [4, 2, 3] if database.is_sqlite else [3, 2, 2]
    project = new_study(database, 6, modalities=2, gold_share=0.0, repeat_share=0.0, overlap_votes=2)
    first, second = new_people(database, project, 2)
    count, execute = [], statements.execute
    monkeypatch.setattr(statements, "execute", lambda *values: (count.append(values[1]), execute(*values))[1])

    def vote(person) -> list[int]:
        steps = []
        for step in ("next", "begin", "save"):
            count.clear()
            if step == "next":
                view = assign.next_page(database, person)[0].key
            elif step == "begin":
                assign.begin(database, person, view)
            else:
                votes.save(database, person, view, BALLOT)
            steps.append(len(count))
        return steps

    for person in (first, second):
        assert vote(person) == expected
    projects.change(database, project.id, state="paused")
    count.clear()
    assign.next_page(database, first)
    assert len(count) == 1

"""The database: made, migrated, private, and refused in one sentence when it is not ours, newer or damaged."""

import multiprocessing
import sqlite3
import stat
import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event, select, text

from cmi._util.errors import InputError
from cmi.arena.store import projects
from cmi.arena.store.assign import View, begin, next_page
from cmi.arena.store.database import open_database, storable
from cmi.arena.store.database_url import parse_url
from cmi.arena.store.errors import DiskFull, Unavailable
from cmi.arena.store.migrate import VERSION_TABLE
from cmi.arena.store.schema import metadata, people
from cmi.arena.store.schema import projects as table
from cmi.arena.store.votes import Ballot, counted, recent, save
from cmi.arena.web.state import server_id


def test_the_migrations_make_the_tables_that_the_code_speaks_of(database):
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE, "compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_opening_again_keeps_what_is_there(tmp_path: Path):
    first = open_database(str(tmp_path / "a.sqlite3"))
    made = projects.create(first, "Study")
    first.close()
    for url in (str(tmp_path / "a.sqlite3"), f"sqlite:///{tmp_path}/a.sqlite3"):
        again = open_database(url)
        assert projects.list_all(again) == [made]
        again.close()


ADDED = {  # columns, by the migration that added them
    "0006": ["trials.hidden"],
    "0005": ["projects.kind"],
    "0004": [*(f"people.{name}" for name in ("checked", "qualified", "screened_out", "outcome")), "views.qualifying"],
    "0003": ["pairs.hidden", "pairs.replaces", "votes.alignment_touched", "votes.musicality_touched", "servers.url"],
    "0002": ["sounds.size", "sounds.modified", "sounds.problem", "pairs.broken"],
}


ADDED_TABLES = {
    "0005": ["ratings", "sittings", "stimuli", "trials"],
    "0004": ["participants", "recruiting", "sound_checks"],
    "0002": ["servers"],
}


@pytest.mark.parametrize("version", ["0001", "0002", "0003", "0004", "0005"])
def test_a_study_of_an_earlier_version_is_kept_by_the_migrations(tmp_path: Path, new_people, new_study, version):
    path = str(tmp_path / "a.sqlite3")
    database = open_database(path)
    project = new_study(database, pairs=2)
    [person] = new_people(database, project)
    view = next_page(database, person)[0]
    begin(database, person, view.key)
    ballot = Ballot("a", 3, "b", 4, "fine")
    save(database, person, view.key, ballot)
    database.close()
    with sqlite3.connect(path) as connection:  # as it was before
        for step, columns in ADDED.items():
            for table_, column in (name.split(".") for name in columns if step > version):
                connection.execute(f"ALTER TABLE {table_} DROP COLUMN {column}")
        for table_ in (name for step, names in ADDED_TABLES.items() for name in names if step > version):
            connection.execute(f"DROP TABLE {table_}")
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '{version}'")
    again = open_database(path)
    assert [one.view for one in counted(again, project.id)] == [view.key]
    assert recent(again, person, 1)[0].vote.ballot == ballot, "nobody knows whether its confidences were touched"
    assert save(again, person, view.key, ballot).again, "a retry from before the migration is the same vote"
    assert isinstance(next_page(again, person)[0], View)
    name = server_id(again)
    again.close()
    last = open_database(path)
    assert server_id(last) == name and len(name) == 8
    last.close()


def _open(path: str) -> None:
    open_database(path).close()


def test_processes_that_open_a_new_database_at_once_all_succeed(tmp_path: Path):
    path = str(tmp_path / "a.sqlite3")
    crowd = [multiprocessing.get_context("spawn").Process(target=open_database, args=(path,)) for _ in range(3)]
    for process in crowd:
        process.start()
    for process in crowd:
        process.join()
    assert [process.exitcode for process in crowd] == [0, 0, 0]


def test_threads_that_open_a_new_postgres_database_at_once_all_succeed(postgres_url: str):
    failures: list[BaseException] = []

    def run() -> None:
        try:
            _open(postgres_url)
        except BaseException as error:
            failures.append(error)

    crowd = [threading.Thread(target=run) for _ in range(3)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert not failures


def test_the_file_is_its_owners_alone_and_in_wal_mode(sqlite_database):
    path = Path(sqlite_database.engine.url.database)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_votes_are_synced_and_foreign_keys_hold(sqlite_database):
    with sqlite_database.writing() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    with sqlite_database.writing(lasting=False) as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 1
    with sqlite_database.writing() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_a_database_of_a_newer_version_is_refused_in_one_sentence(database):
    with database.writing() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(InputError, match=r"newer cmi \(tables 9999.*upgrade cmi"):
        open_database(database.engine.url.render_as_string(hide_password=False))


def test_another_programs_database_is_left_alone(tmp_path: Path):
    path = tmp_path / "photos.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE photos (id INTEGER)")
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"not an arena's database.*'photos'"):
        open_database(str(path))
    with sqlite3.connect(path) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
    assert names == ["photos"] and len(path.read_bytes()) == len(before)


def test_another_programs_postgres_tables_may_lie_beside_ours_but_not_in_our_place(postgres_url: str):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE people (id INTEGER)")
    with pytest.raises(InputError, match=r"not an arena's database.*'people'"):
        open_database(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE people")
        connection.execute("CREATE TABLE photos (id INTEGER)")
    open_database(postgres_url).close()


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_one_sentence(tmp_path: Path, content: bytes):
    path = tmp_path / "a.sqlite3"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.sqlite3: .*(not an arena's database|cannot be used)"):
        open_database(str(path))
    assert path.read_bytes() == content


def test_a_database_that_breaks_while_it_is_open_is_unavailable_not_a_traceback(sqlite_database):
    path = Path(sqlite_database.engine.url.database)
    for number in range(50):
        projects.create(sqlite_database, f"Study {number}", consent="x" * 5000)
    sqlite_database.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\x5a" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(Unavailable, match="restore a backup"):
        projects.list_all(sqlite_database)


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite+nothing:///x", "http://a b", "://"])
def test_an_address_that_leads_nowhere_is_one_sentence(url: str):
    with pytest.raises(InputError, match="expected a path"):
        parse_url(url)


def test_a_folder_in_place_of_a_database_is_one_sentence(tmp_path: Path):
    with pytest.raises(InputError, match="a folder, expected a file"):
        open_database(str(tmp_path))
    assert list(tmp_path.parent.glob(f"{tmp_path.name}.*")) == []


def test_passwords_are_not_in_messages():
    with pytest.raises(InputError) as error:
        open_database("postgresql://arena:secret@127.0.0.1:1/arena")
    assert "secret" not in str(error.value) and "127.0.0.1:1" in str(error.value)


def test_a_folder_that_is_not_there_and_memory_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="No such file"):
        open_database(str(tmp_path / "nowhere" / "a.sqlite3"))
    with pytest.raises(InputError, match="lose its votes"):
        open_database("sqlite://")


def test_what_a_block_wrote_is_gone_if_it_raises(database):
    with pytest.raises(KeyError), database.writing() as connection:
        connection.execute(table.insert().values(id="x", title="t", state="open", settings={}, consent="", created=0.0))
        raise KeyError
    assert projects.list_all(database) == []
    with database.reading() as connection:
        assert connection.execute(select(people)).all() == []


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_stored_and_good_text_stays_as_it_is(given_text: str):
    kept = storable(given_text)
    kept.encode("utf-8")
    assert "\x00" not in kept
    if "\x00" not in given_text and not any("\ud800" <= character <= "\udfff" for character in given_text):
        assert kept == given_text


def test_what_people_listen_to_survives_a_crash_of_postgres(lazy_postgres, new_study, new_people):
    """They were told to begin, and their votes come minutes later."""
    database = open_database(lazy_postgres.url)
    project = new_study(database)
    crowd = new_people(database, project, 3)
    begun = [(person, begin(database, person, next_page(database, person)[0].key).key) for person in crowd]
    lazy_postgres.crash()
    lazy_postgres.start()
    database.close()
    for person, view in begun:
        assert save(database, person, view, Ballot("a", 3, "b", 4)).number == 1
    database.close()


def test_after_a_crash_of_postgres_one_request_fails(lazy_postgres, new_study, new_people):
    database = open_database(lazy_postgres.url)
    project = new_study(database)
    crowd = new_people(database, project, 3)
    begun = [(person, begin(database, person, next_page(database, person)[0].key).key) for person in crowd]
    lazy_postgres.crash()
    lazy_postgres.start()
    with pytest.raises(Unavailable):
        save(database, *begun[0], Ballot("a", 3, "b", 4))
    assert [save(database, *view, Ballot("a", 3, "b", 4)).number for view in begun] == [1, 1, 1]
    database.close()


@pytest.mark.parametrize(("default", "lasting"), [("off", "on"), ("on", "on"), ("remote_apply", "remote_apply")])
def test_votes_wait_for_the_disk_however_postgres_is_set_up(postgres_url: str, default: str, lasting: str):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{connection.info.dbname}" SET synchronous_commit TO {default}')
    database = open_database(postgres_url)
    for _ in range(2):
        with database.writing() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == lasting
        with database.writing(lasting=False) as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "off"
    database.close()


def test_what_people_listen_to_is_synced_by_sqlite(sqlite_database, new_study, new_people):
    project = new_study(sqlite_database)
    [person] = new_people(sqlite_database, project)
    view = next_page(sqlite_database, person)[0]
    synced = []

    @event.listens_for(sqlite_database.engine, "commit")
    def note_setting(connection) -> None:
        synced.append(connection.exec_driver_sql("PRAGMA synchronous").scalar())

    begin(sqlite_database, person, view.key)
    save(sqlite_database, person, view.key, Ballot("a", 3, "b", 4))
    assert synced == [2, 2]


def test_a_full_disk_is_told_as_such_and_keeps_nothing(sqlite_database):
    with sqlite_database.reading() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()

    @event.listens_for(sqlite_database.engine, "begin")
    def limit(connection) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(DiskFull, match=r"arena\.sqlite3: the disk is full; .*make room and run the same command again"):
        projects.create(sqlite_database, "Study", consent="x" * 20_000)
    assert projects.list_all(sqlite_database) == []


def test_a_full_disk_of_postgres_is_told_as_such(postgres_database):
    with pytest.raises(DiskFull, match="the disk is full"), postgres_database.writing() as connection:
        connection.exec_driver_sql("DO $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = 'disk_full'; END $$")

"""After a withdrawal no file of the study has the name or the words of who left: not by query, and not by its bytes."""

import os
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from cmi.arena.store import database as database_module
from cmi.arena.store import people, projects, recruit
from cmi.arena.store.assign import begin, next_page
from cmi.arena.store.backup import backup
from cmi.arena.store.database import Database, open_database
from cmi.arena.store.votes import Ballot, save

NAME = "Augusta Ada King"
WORDS = "the bassoon was unmistakably mine"


def leave_traces(database: Database, project: str) -> str:
    """A person with a name and some feedback, corrected and long enough to fill pages of its own."""
    [made] = people.invite(database, project, "annotator", days=1)
    person = people.join(database, made.token, NAME, True).person
    for number in range(4):
        view = begin(database, person, next_page(database, person)[0].key)
        save(database, person, view.key, Ballot("a", 3, "b", 4, f"{number} {WORDS} " * 90))
        save(database, person, view.key, Ballot("b", 3, "b", 4, f"{WORDS} {number}"))
    return person


def files_with_traces(folder: Path) -> list[str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return [path.name for path in found if any(trace.encode() in path.read_bytes() for trace in (NAME, WORDS))]


def test_name_and_feedback_are_in_no_file_and_in_no_later_backup(
    sqlite_database, new_study, tmp_path: Path, tmp_path_factory
):
    project = new_study(sqlite_database, 10).id
    person = leave_traces(sqlite_database, project)
    people.withdraw(sqlite_database, project, person)
    backup(sqlite_database, tmp_path / "copy.sqlite3")
    # copied, since reading the database itself would take SQLite's locks from this process
    copied = tmp_path_factory.mktemp("copied")
    subprocess.run(["cp", *map(str, tmp_path.iterdir()), str(copied)], check=True)
    assert {"arena.sqlite3", "arena.sqlite3-wal", "copy.sqlite3"} <= {path.name for path in copied.iterdir()}
    assert files_with_traces(copied) == []


def test_ids_of_a_recruiting_platform_are_in_no_file_either(
    sqlite_database, new_study, tmp_path: Path, tmp_path_factory
):
    project = new_study(sqlite_database, 2, participant="id", proof="proof").id
    token = recruit.recruiting_link(sqlite_database, project).token
    ids = {"id": NAME.replace(" ", "_"), "proof": WORDS}
    person = recruit.enter(sqlite_database, token, ids, True).person
    people.withdraw(sqlite_database, project, person)
    copied = tmp_path_factory.mktemp("copied")
    subprocess.run(["cp", *map(str, tmp_path.iterdir()), str(copied)], check=True)
    assert files_with_traces(copied) == []
    assert not any(ids["id"].encode() in path.read_bytes() for path in copied.iterdir())


def test_what_is_deleted_is_overwritten_whatever_sqlite_was_built_with(sqlite_database):
    with sqlite_database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA secure_delete").scalar() == 1


def test_a_backup_has_no_traces_even_of_a_database_that_has(sqlite_database, new_study, tmp_path: Path):
    """Such as one from which somebody withdrew under an earlier version."""
    project = new_study(sqlite_database, 10).id
    person = leave_traces(sqlite_database, project)
    sqlite_database.close()
    path = tmp_path / "arena.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("DELETE FROM votes")
        connection.execute("UPDATE people SET name = NULL WHERE id = ?", (person,))
        connection.commit()
    assert "arena.sqlite3" in files_with_traces(tmp_path)
    (tmp_path / "later").mkdir()
    backup(sqlite_database, tmp_path / "later" / "copy.sqlite3")
    assert files_with_traces(tmp_path / "later") == []


def test_while_somebody_reads_it_is_tried_again_with_later_transactions(
    sqlite_database, new_study, tmp_path: Path, monkeypatch
):
    monkeypatch.setattr(database_module, "FORGET_EVERY", 0.0)
    project = new_study(sqlite_database, 10).id
    person = leave_traces(sqlite_database, project)
    log = tmp_path / "arena.sqlite3-wal"
    with closing(sqlite3.connect(tmp_path / "arena.sqlite3", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM people").fetchall()
        people.withdraw(sqlite_database, project, person)
        projects.list_all(sqlite_database)
        assert log.stat().st_size > 0
        reader.execute("COMMIT")
    projects.list_all(sqlite_database)
    assert log.stat().st_size == 0


def test_what_could_not_be_forgotten_before_the_server_was_killed_is_forgotten_at_the_next_start(
    new_study, tmp_path: Path
):
    path = tmp_path / "arena.sqlite3"
    child = os.fork()
    if child == 0:
        database = open_database(str(path))
        project = new_study(database, 10).id
        person = leave_traces(database, project)
        with database.reading() as connection:
            connection.exec_driver_sql("SELECT * FROM people").fetchall()
            people.withdraw(database, project, person)
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert "arena.sqlite3-wal" in files_with_traces(tmp_path)
    open_database(str(path)).close()
    assert files_with_traces(tmp_path) == []


def test_a_dump_of_postgres_made_later_has_no_traces(postgres_database, postgres_url: str, new_study):
    program = shutil.which("pg_dump")
    if program is None:
        pytest.skip("no pg_dump here")
    project = new_study(postgres_database, 10).id
    person = leave_traces(postgres_database, project)

    def dump() -> str:
        return subprocess.run([program, postgres_url], capture_output=True, text=True, check=True).stdout

    assert NAME in dump() and WORDS in dump()
    people.withdraw(postgres_database, project, person)
    assert NAME not in dump() and WORDS not in dump()

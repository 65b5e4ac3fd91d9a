"""Restoring: the documented way after every kind of stop, killed at any moment, and never with another's log."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.arena.exchange.exporting import export
from cmi.arena.store import people, projects
from cmi.arena.store.assign import begin, next_page
from cmi.arena.store.backup import backup, restore
from cmi.arena.store.database import open_database
from cmi.arena.store.votes import Ballot, counted, save
from cmi.cli import app

BALLOT = {"choice": "a", "confidence": 3}


@contextmanager
def running_server(db: Path) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """A server in a process of its own, and a browser of sorts."""
    code = f"from cmi.arena.web.serve import serve; serve({str(db)!r}, port=0)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "The arena is open at" in line:
                break
        found = re.search(r"http://\S+", line)
        assert found is not None
        with httpx.Client(base_url=found[0], headers={"origin": found[0]}, timeout=60) as client:
            yield process, client
    finally:
        process.kill()
        process.communicate()


def join(client: httpx.Client, token: str) -> None:
    answer = client.post("/api/join", json={"token": token, "consent": True})
    client.headers["x-csrf-token"] = answer.json()["csrf"]


def vote(client: httpx.Client, times: int) -> None:
    for _ in range(times):
        view = client.get("/api/next").json()["view"]
        client.post(f"/api/views/{view}/begin").raise_for_status()
        body = {"alignment": BALLOT, "musicality": BALLOT, "feedback": "x" * 3000, "heard": {"a": 9.0, "b": 9.0}}
        client.post(f"/api/views/{view}/vote", json=body).raise_for_status()


def votes_of(db: Path) -> int:
    database = open_database(str(db))
    try:
        return sum(len(list(counted(database, project.id))) for project in projects.list_all(database))
    finally:
        database.close()


def copy_of(db: Path, target: Path) -> Path:
    database = open_database(str(db))
    try:
        return backup(database, target)
    finally:
        database.close()


@pytest.fixture
def study(tmp_path: Path, new_study) -> tuple[Path, str]:
    """A database with a study, and the link of an annotator."""
    db = tmp_path / "study.sqlite3"
    database = open_database(str(db))
    project = new_study(database, 60, folder=tmp_path, overlap_share=0.0, repeat_share=0.0, gold_share=0.0)
    [made] = people.invite(database, project.id, "annotator", days=1)
    database.close()
    return db, made.token


@pytest.fixture
def voted(tmp_path: Path, new_study, new_people) -> Callable[[str, int], Path]:
    """Makes a database with so many votes."""

    def make(name: str, votes: int) -> Path:
        database = open_database(str(tmp_path / name))
        project = new_study(database, 30, overlap_share=0.0, repeat_share=0.0, gold_share=0.0)
        [person] = new_people(database, project)
        for _ in range(votes):
            view = begin(database, person, next_page(database, person)[0].key)
            save(database, person, view.key, Ballot("a", 3, "b", 4, "x" * 2000))
        database.close()
        return tmp_path / name

    return make


def with_a_foreign_log(db: Path, put: Path) -> None:
    """Leave `db` as kill -9 leaves it, with a log, and put another file in its place, as one would by hand."""
    code = (
        "import os, sys; from cmi.arena.store.database import open_database; from cmi.arena.store import projects\n"
        "database = open_database(sys.argv[1])\n"
        "for n in range(40): projects.create(database, str(n), consent='x' * 9000)\n"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(db)], check=False)
    assert db.with_name(db.name + "-wal").stat().st_size > 0
    shutil.copy(put, db)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_documented_way_brings_a_backup_back_however_the_server_was_stopped(study, tmp_path: Path, how):
    db, token = study
    with running_server(db) as (process, client):
        join(client, token)
        vote(client, 5)
        copy = copy_of(db, tmp_path / "monday.sqlite3")
        vote(client, 20)
        with pytest.raises(InputError, match="in use by a server"):
            restore(copy, str(db))
        process.send_signal(how)
        assert process.wait(60) == (-signal.SIGKILL if how == signal.SIGKILL else 0)
        session = dict(client.cookies), client.headers["x-csrf-token"]
    left = {path.name for path in tmp_path.glob("study.sqlite3-*")}
    assert left == (set() if how != signal.SIGKILL else {"study.sqlite3-wal", "study.sqlite3-shm"})
    result = CliRunner().invoke(app, ["arena", "restore", str(copy), "--db", str(db)])
    assert result.exit_code == 0 and "1 projects and 5 votes" in result.output
    assert votes_of(db) == 5
    [replaced] = [path for path in tmp_path.glob("study.sqlite3.replaced-*") if not path.name.endswith("-wal")]
    assert votes_of(replaced) == 25, "what was replaced is kept, with what was in its log"
    with running_server(db) as (process, client):
        client.cookies.update(session[0])
        client.headers["x-csrf-token"] = session[1]
        vote(client, 3)
    assert votes_of(db) == 8


def test_a_backup_put_in_place_by_hand_beside_the_log_of_another_is_refused_and_unharmed(voted, tmp_path: Path):
    db = voted("study.sqlite3", 3)
    copy = copy_of(db, tmp_path / "monday.sqlite3")
    with_a_foreign_log(db, put=copy)
    result = CliRunner().invoke(app, ["arena", "export", str(tmp_path / "out"), "--db", str(db)])
    assert isinstance(result.exception, InputError) and not (tmp_path / "out").exists()
    assert re.search(r"study\.sqlite3-wal: the log of another database .* `cmi arena restore`", str(result.exception))
    assert db.read_bytes() == copy.read_bytes()
    restore(copy, str(db))
    assert votes_of(db) == 3


def test_what_another_program_ruined_is_told_on_opening_and_can_be_restored(voted, tmp_path: Path):
    db = voted("study.sqlite3", 3)
    copy = copy_of(db, tmp_path / "monday.sqlite3")
    with_a_foreign_log(db, put=copy)
    with closing(sqlite3.connect(db)) as connection, suppress(sqlite3.DatabaseError):
        connection.execute("SELECT * FROM audit").fetchall()
    for _ in range(2):
        with pytest.raises(InputError, match=r"study\.sqlite3: .*damaged .*cmi arena restore"):
            open_database(str(db))
    restore(copy, str(db))
    assert votes_of(db) == 3


def test_an_export_of_a_database_whose_indexes_have_lost_rows_is_no_success(voted, tmp_path: Path):
    """As a stale log leaves it: the quick check on opening finds nothing, and queries give no rows."""
    db = voted("study.sqlite3", 5)
    with closing(sqlite3.connect(db)) as connection:
        rows = connection.execute("SELECT * FROM votes").fetchall()
        index = connection.execute("SELECT * FROM sqlite_master WHERE name = 'ix_votes_project'").fetchone()
        connection.execute("DELETE FROM votes")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_master WHERE name = 'ix_votes_project'")
        connection.commit()
    with closing(sqlite3.connect(db)) as connection:  # which does not know of the index
        connection.executemany(f"INSERT INTO votes VALUES ({', '.join('?' * len(rows[0]))})", rows)
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", index)
        connection.commit()
    database = open_database(str(db))
    try:
        [project] = projects.list_all(database)
        assert list(counted(database, project.id)) == []
        with pytest.raises(InputError, match=r"study\.sqlite3: damaged .*cmi arena restore"):
            export(database, project.id, tmp_path / "out", audio="leave")
    finally:
        database.close()
    assert not (tmp_path / "out").exists()


def killed_restore(copy: Path, db: Path, operations: int) -> bool:
    """Restore in a process that is killed before its n-th change of a file's name; whether it came to its end."""
    child = os.fork()
    if child == 0:
        left = operations

        def kill(event: str, _: object) -> None:
            nonlocal left
            if event in ("os.rename", "os.remove"):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(kill)
        restore(copy, str(db))
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("log", [False, True])
def test_a_restore_that_is_killed_at_any_moment_leaves_the_old_database_or_the_new_one(voted, tmp_path: Path, log):
    original, copy = voted("original.sqlite3", 2), copy_of(voted("other.sqlite3", 7), tmp_path / "copy.sqlite3")
    seen, operations = [], 0
    while True:
        folder = tmp_path / f"{operations}"
        folder.mkdir()
        db = folder / "study.sqlite3"
        shutil.copy(original, db)
        if log:
            subprocess.run([sys.executable, "-c", KILLED_WRITER, str(db)], check=False)
        finished = killed_restore(copy, db, operations)
        seen.append(votes_of(db))
        if seen[-1] == 7:
            [replaced] = [path for path in folder.glob("*.replaced-*") if not path.name.endswith("-wal")]
            assert votes_of(replaced) == 2
            assert len(list_titles(replaced)) == (2 if log else 1), "its log belongs to it"
        assert len(list_titles(db)) == (2 if log and seen[-1] == 2 else 1)
        restore(copy, str(db))
        assert votes_of(db) == 7 and not list(folder.glob("*.unfinished*")) and not list(folder.glob("*.restoring"))
        if finished:
            break
        operations += 1
    assert seen == sorted(seen) and set(seen) == {2, 7} and operations >= 3


KILLED_WRITER = (
    "import os, sys; from cmi.arena.store.database import open_database; from cmi.arena.store import projects\n"
    "projects.create(open_database(sys.argv[1]), 'only in the log'); os.kill(os.getpid(), 9)"
)


def list_titles(db: Path) -> list[str]:
    database = open_database(str(db))
    try:
        return [project.title for project in projects.list_all(database)]
    finally:
        database.close()


def test_what_is_not_a_whole_backup_of_an_arena_changes_nothing(voted, tmp_path: Path):
    db = voted("study.sqlite3", 2)
    damaged, foreign, newer = (tmp_path / name for name in ("damaged", "foreign", "newer"))
    content = bytearray(copy_of(db, tmp_path / "copy").read_bytes())
    content[8192:40_000] = b"\x5a" * (40_000 - 8192)
    damaged.write_bytes(content)
    (tmp_path / "text").write_text("no database" * 1000)
    (tmp_path / "empty").touch()
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE photos (id INTEGER)")
    shutil.copy(tmp_path / "copy", newer)
    with closing(sqlite3.connect(newer)) as connection:
        connection.execute("UPDATE arena_version SET version_num = '9999'")
        connection.commit()
    before, names = db.read_bytes(), sorted(tmp_path.iterdir())
    for name, sentence in {
        "damaged": "damaged: damaged, or not a database .*earlier backup",
        "text": "text: damaged, or not a database",
        "empty": "empty: not an arena's database",
        "foreign": "foreign: not an arena's database .*'photos'",
        "newer": "newer: written by a newer cmi",
        "nowhere": "nowhere: no such file",
        "study.sqlite3": "the database itself",
    }.items():
        with pytest.raises(InputError, match=sentence):
            restore(tmp_path / name, str(db))
    assert db.read_bytes() == before and sorted(tmp_path.iterdir()) == names
    with pytest.raises(InputError, match="pg_restore"):
        restore(tmp_path / "copy", "postgresql://arena@localhost/arena")


def test_nothing_is_restored_while_any_program_has_the_database_open(voted, tmp_path: Path):
    db = voted("study.sqlite3", 1)
    copy = copy_of(db, tmp_path / "copy.sqlite3")
    code = (
        "import sqlite3, sys; connection = sqlite3.connect(sys.argv[1])\n"
        "connection.execute('SELECT * FROM votes').fetchall(); print('open', flush=True); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code, str(db)], text=True, **pipes) as other:
        assert other.stdout.readline() == "open\n"
        with pytest.raises(InputError, match="in use"):
            restore(copy, str(db))
    restore(copy, str(db))


def test_a_lost_database_is_restored_and_private(voted, tmp_path: Path):
    copy = copy_of(voted("study.sqlite3", 2), tmp_path / "copy.sqlite3")
    done = restore(copy, str(tmp_path / "new.sqlite3"))
    assert done[1:] == (1, 2, 0, None)
    assert (tmp_path / "new.sqlite3").stat().st_mode & 0o777 == 0o600


def test_a_plain_copy_with_its_log_is_a_backup_too(voted, tmp_path: Path):
    """As `cp study.sqlite3* elsewhere/` makes it, of a server that was killed."""
    db = voted("study.sqlite3", 2)
    subprocess.run([sys.executable, "-c", KILLED_WRITER, str(db)], check=False)
    for suffix in ("", "-wal"):
        shutil.copy(f"{db}{suffix}", tmp_path / f"plain{suffix}")
    restore(tmp_path / "plain", str(db))
    assert "only in the log" in list_titles(db)


def test_a_database_that_is_reached_by_a_link_is_restored_where_it_lies(voted, tmp_path: Path):
    db = voted("study.sqlite3", 2)
    copy = copy_of(db, tmp_path / "copy.sqlite3")
    (tmp_path / "linked").mkdir()
    link = tmp_path / "linked" / "db"
    link.symlink_to(db)
    with_a_foreign_log(link.resolve(), put=copy)
    with pytest.raises(InputError, match="the log of another database"):
        open_database(str(link))
    restore(copy, str(link))
    assert link.is_symlink() and votes_of(link) == votes_of(db) == 2


def test_who_withdrew_after_the_backup_stays_withdrawn(tmp_path: Path, new_study):
    db = tmp_path / "study.sqlite3"
    database = open_database(str(db))
    project = new_study(database, 30, overlap_share=0.0, repeat_share=0.0, gold_share=0.0)
    crowd = []
    for name in ("Augusta King", "Betty Holberton"):
        token = people.invite(database, project.id, "annotator", days=1)[0].token
        crowd.append(people.join(database, token, name, True).person)
        view = begin(database, crowd[-1], next_page(database, crowd[-1])[0].key)
        save(database, crowd[-1], view.key, Ballot("a", 3, "b", 4, f"words of {name} " * 100))
    copy = backup(database, tmp_path / "copy.sqlite3")
    people.withdraw(database, project.id, crowd[0])
    database.close()
    assert restore(copy, str(db))[1:4] == (1, 1, 1)
    assert b"Augusta" not in db.read_bytes() and b"Betty" in db.read_bytes()
    database = open_database(str(db))
    assert [vote.person for vote in counted(database, project.id)] == crowd[1:]
    assert people.get(database, project.id, crowd[0]).state == "withdrawn"
    database.close()


def test_who_may_use_the_database_may_lock_it(voted):
    """As a group that shares it may, like SQLite's own files beside it."""
    db = voted("study.sqlite3", 0)
    lock = db.with_name("study.sqlite3.lock")
    assert lock.stat().st_mode & 0o777 == 0o600
    lock.unlink()
    db.chmod(0o660)
    open_database(str(db)).close()
    assert lock.stat().st_mode & 0o777 == 0o660

"""Backups: whole while votes come in, and never over a file that is there."""

import threading
from pathlib import Path

import pytest

from cmi._util.errors import InputError
from cmi.arena.store.assign import begin, next_page
from cmi.arena.store.backup import backup
from cmi.arena.store.database import open_database
from cmi.arena.store.votes import Ballot, counted, save


def test_a_backup_while_votes_come_in_has_every_vote_from_before_it(sqlite_database, new_study, new_people, tmp_path):
    project = new_study(sqlite_database, 200, overlap_share=0.0)
    [person] = new_people(sqlite_database, project)
    acknowledged: list[str] = []
    enough, stop = threading.Event(), threading.Event()

    def write() -> None:
        while not stop.is_set() and len(acknowledged) < 150:
            view = begin(sqlite_database, person, next_page(sqlite_database, person)[0].key)
            save(sqlite_database, person, view.key, Ballot("a", 3, "b", 4))
            acknowledged.append(view.key)
            if len(acknowledged) == 10:
                enough.set()

    writer = threading.Thread(target=write)
    writer.start()
    enough.wait(60)
    before = set(acknowledged)
    copy = backup(sqlite_database, tmp_path / "copy.sqlite3")
    stop.set()
    writer.join()
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.sqlite3"]
    restored = open_database(str(copy))
    there = {vote.view for vote in counted(restored, project.id)}
    restored.close()
    assert before <= there <= set(acknowledged)


def test_nothing_is_overwritten_and_postgres_has_its_own_way(sqlite_database, tmp_path: Path):
    (tmp_path / "there").write_text("precious")
    with pytest.raises(InputError, match="already exists; choose another name"):
        backup(sqlite_database, tmp_path / "there")
    assert (tmp_path / "there").read_text() == "precious"
    with pytest.raises(InputError, match="No such file"):
        backup(sqlite_database, tmp_path / "nowhere" / "copy")


def test_postgres_is_told_of_pg_dump(postgres_database, tmp_path: Path):
    with pytest.raises(InputError, match="pg_dump"):
        backup(postgres_database, tmp_path / "copy")

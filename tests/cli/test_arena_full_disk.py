"""`cmi arena` when there is no room: one sentence that names the file that could not be written, nothing by halves.

A limit on the size of files stands in for a full disk: it needs no root, and fails in the same places.
"""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi.arena.exchange.importing import import_pairs, measure_source
from cmi.arena.store import people
from cmi.arena.store.assign import View, begin, next_page
from cmi.arena.store.database import open_database
from cmi.arena.store.projects import create
from cmi.arena.store.votes import Ballot, save

COUNT = 40


def run(*arguments: object, most_bytes: int | None = None) -> tuple[int, str]:
    def limit() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    command = [sys.executable, "-m", "cmi", "arena", *map(str, arguments)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, preexec_fn=limit, timeout=300, check=False, env=environment
    )
    return done.returncode, done.stderr


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    folder = tmp_path / "takes"
    folder.mkdir()
    for number in range(3):
        soundfile.write(folder / f"{number}.wav", 0.1 * np.sin(np.arange(80_000) / (3 + number)), 8000)
    rows = [
        {"id": f"p{n}", "text": f"{n} " + "long " * 500, "a": f"{n % 2}.wav", "b": "2.wav", "x_about": "x" * 10_000}
        for n in range(COUNT)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "pairs.jsonl"


@pytest.fixture
def db(pairs: Path, tmp_path: Path) -> Path:
    """A study with some votes."""
    path = tmp_path / "study.sqlite3"
    database = open_database(str(path))
    project = create(database, "Study", {"heard_share": 0.0})
    import_pairs(database, project.id, measure_source(pairs))
    person = people.join(database, people.invite(database, project.id, "annotator", 1)[0].token, None, True).person
    for _ in range(5):
        view = next_page(database, person)[0]
        assert isinstance(view, View)
        begin(database, person, view.key)
        save(database, person, view.key, Ballot("a", 3, "b", 4))
    database.close()
    return path


def is_one_sentence(said: str, names: Path) -> bool:
    return said.startswith("cmi: ") and str(names) in said and len(said.splitlines()) == 1


def test_an_import_that_finds_no_room_names_the_database_and_adds_nothing(pairs: Path, tmp_path: Path):
    db = tmp_path / "new.sqlite3"
    for most_bytes in (20_000, 350_000):  # too little for the tables, and for the pairs
        code, said = run("import", pairs, "--db", db, "--project", "Study", most_bytes=most_bytes)
        assert code == 2 and is_one_sentence(said.splitlines()[-1], db), said
        assert "Traceback" not in said
    code, said = run("import", pairs, "--db", db, "--project", "Study")
    assert code == 0, said
    database = open_database(str(db))
    with database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM pairs").scalar() == COUNT
    database.close()


def test_an_export_that_finds_no_room_names_what_it_wrote_not_the_source(db: Path, tmp_path: Path):
    out = tmp_path / "out"
    code, said = run("export", out, "--db", db, most_bytes=100_000)
    assert code == 2 and is_one_sentence(said, out / "audio"), said
    assert "takes" not in said
    code, said = run("export", out, "--db", db, "--audio", "leave", most_bytes=36_000)  # SQLite needs 32,768
    assert code == 2 and is_one_sentence(said, out / "preferences.jsonl"), said
    assert not list(out.rglob("*.unfinished"))
    assert run("export", out, "--db", db)[0] == 0


def test_a_backup_that_finds_no_room_names_the_backup_and_leaves_no_half_of_it(db: Path, tmp_path: Path):
    copy = tmp_path / "copy.sqlite3"
    code, said = run("backup", copy, "--db", db, most_bytes=100_000)
    assert code == 2 and is_one_sentence(said, copy), said
    assert not list(tmp_path.glob("copy.sqlite3*"))
    assert run("backup", copy, "--db", db)[0] == 0
    code, said = run("restore", copy, "--db", db, most_bytes=100_000)
    assert code == 2 and is_one_sentence(said, db), said
    assert run("export", tmp_path / "out", "--db", db)[0] == 0


def test_a_server_that_finds_no_room_at_its_start_says_so(tmp_path: Path):
    code, said = run("serve", "--db", tmp_path / "new.sqlite3", "--port", 0, most_bytes=20_000)
    assert code == 2 and is_one_sentence(said, tmp_path / "new.sqlite3"), said

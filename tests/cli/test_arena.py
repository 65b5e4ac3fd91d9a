"""`cmi arena` from the command line: pairs in, people in, votes out, and sentences for bad input."""

import json
import re
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.arena.store import people
from cmi.arena.store import projects as all_projects
from cmi.arena.store.assign import View, begin, next_page
from cmi.arena.store.browse import find_pairs
from cmi.arena.store.database import open_database
from cmi.arena.store.hiding import hide
from cmi.arena.store.votes import Ballot, save
from cmi.cli import app
from cmi.preferences import read_preferences


def cmi(*arguments: object, exit_code: int = 0) -> str:
    result = CliRunner().invoke(app, ["arena", *map(str, arguments)])
    assert result.exit_code == exit_code or not isinstance(result.exception, SystemExit), result.output
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    moments = np.arange(2000) / 8000
    for number in range(5):
        soundfile.write(tmp_path / f"{number}.wav", 0.1 * np.sin(2 * np.pi * (300 + 90 * number) * moments), 8000)
    rows = [{"id": f"p{n}", "text": "a tone", "a": f"{n}.wav", "b": f"{n + 1}.wav"} for n in range(4)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "pairs.jsonl"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "study.sqlite3"


def vote_on_all(db: Path, link: str, name: str | None = None) -> None:
    database = open_database(str(db))
    clock = SimpleNamespace(time=database.now())
    database.now = lambda: clock.time
    person = people.join(database, link.rpartition("#")[2], name, True).person
    while isinstance(view := next_page(database, person)[0], View):
        begin(database, person, view.key)
        clock.time += 60
        save(database, person, view.key, Ballot("a", 3, "b", 4, "", 30.0, 30.0))
    database.close()


def test_a_study_from_import_to_export(pairs: Path, db: Path, tmp_path: Path):
    assert "Spring: 4 pairs added (0 gold), 0 were there" in cmi("import", pairs, "--db", db, "--project", "Spring")
    assert json.loads(cmi("import", pairs, "--db", db, "--json"))["there"] == 4
    links = cmi("invite", "--db", db, "--count", 2, "--url", "https://arena.example.org/").split()
    assert len(links) == 2 and all(link.startswith("https://arena.example.org/join#") for link in links)
    vote_on_all(db, links[0])
    [project] = json.loads(cmi("projects", "--db", db, "--json"))
    assert (project["title"], project["pairs"], project["annotators"]) == ("Spring", 4, 1) and project["votes"] >= 4
    assert "Spring" in cmi("projects", "--db", db)
    done = json.loads(cmi("export", tmp_path / "out", "--db", db, "--json"))
    assert done["votes"] == 4 and len(list(read_preferences(Path(done["path"])))) == 8
    assert "8 rows of 4 votes" in cmi("export", tmp_path / "out", "--db", db, "--format", "parquet")
    assert json.loads(cmi("stats", "--db", db, "--json"))["progress"]["votes"] == project["votes"]
    assert cmi("stats", "--db", db).strip()
    copy = tmp_path / "copy.sqlite3"
    assert str(copy) in cmi("backup", copy, "--db", db)
    assert json.loads(cmi("projects", "--db", copy, "--json")) == [project]


def test_an_export_says_what_it_leaves_out_and_gives_splits(pairs: Path, db: Path, tmp_path: Path):
    cmi("import", pairs, "--db", db)
    vote_on_all(db, cmi("invite", "--db", db).strip())
    database = open_database(str(db))
    [project] = all_projects.list_all(database)
    hide(database, project.id, find_pairs(database, project.id).rows[0]["id"], "silent")
    database.close()
    said = cmi("export", tmp_path / "out", "--db", db, "--split", "train=1")
    assert "6 rows of 3 votes" in said and "1 votes on hidden pairs are left out; --hidden includes them" in said
    done = json.loads(cmi("export", tmp_path / "all", "--db", db, "--hidden", "--split", "test=1", "--json"))
    assert (done["votes"], done["hidden"], done["leaking"]) == (4, 0, 0)
    assert {one.about["split"] for one in read_preferences(Path(done["path"]))} == {"test"}
    for wrong in ("train=2", "x=1", "train=0.5", ""):
        with pytest.raises(InputError, match="--split"):
            cmi("export", tmp_path / "no", "--db", db, "--split", wrong)
    assert not (tmp_path / "no").exists()


def test_the_reference_is_required_from_the_command_line(pairs: Path, db: Path):
    def required() -> bool:
        database = open_database(str(db))
        [project] = all_projects.list_all(database)
        database.close()
        return project.settings.require_reference

    for option, expected in (("--require-reference", True), (None, True), ("--no-require-reference", False)):
        cmi("import", pairs, "--db", db, *([option] if option else []))
        assert required() is expected


def test_links_lead_to_where_the_arena_was_last_served(pairs: Path, db: Path):
    cmi("import", pairs, "--db", db)
    assert cmi("invite", "--db", db).startswith("http://127.0.0.1:8008/join#")
    database = open_database(str(db))
    all_projects.set_address(database, "https://arena.example.org")
    database.close()
    assert cmi("invite", "--db", db).startswith("https://arena.example.org/join#")
    assert cmi("invite", "--db", db, "--url", "http://localhost:9").startswith("http://localhost:9/join#")


def test_several_projects_have_to_be_named(pairs: Path, db: Path):
    for title in ("One", "Two"):
        cmi("import", pairs, "--db", db, "--project", title)
    for command in ("import", "invite", "stats"):
        with pytest.raises(InputError, match=r"2 projects .'One', 'Two'.; choose one with --project"):
            cmi(command, *([pairs] if command == "import" else []), "--db", db)
    with pytest.raises(InputError, match="no project is called 'Three'"):
        cmi("invite", "--db", db, "--project", "Three")
    one = json.loads(cmi("projects", "--db", db, "--json"))[0]["id"]
    assert "#" in cmi("invite", "--db", db, "--project", one, "--role", "owner")


def test_a_bad_import_leaves_no_project_and_no_file(pairs: Path, db: Path):
    pairs.write_text(pairs.read_text() + '{"text": "t", "a": "0.wav", "b": "gone.wav"}\n')
    with pytest.raises(InputError, match=r"line 5: 'b' cannot be used: .*gone\.wav"):
        cmi("import", pairs, "--db", db)
    assert not db.exists()


@pytest.mark.parametrize(
    "command", [["export", "out"], ["invite"], ["stats"], ["projects"], ["backup", "copy"], ["check"]]
)
def test_only_import_and_serve_make_a_database(db: Path, command: list[str]):
    with pytest.raises(InputError, match="no such file; name the arena's database"):
        cmi(*command, "--db", db)
    assert not db.exists()


def test_a_foreign_file_is_one_sentence(db: Path):
    with sqlite3.connect(db) as connection:
        connection.execute("CREATE TABLE photos (id INTEGER)")
    with pytest.raises(InputError, match="not an arena's database"):
        cmi("stats", "--db", db)


def test_sounds_that_are_lost_are_told_until_they_are_back(pairs: Path, db: Path, tmp_path: Path):
    cmi("import", pairs, "--db", db, "--project", "Spring")
    assert cmi("check", "--db", db) == "5 of 5 sounds are as they were imported\n"
    gone, changed = (tmp_path / "0.wav").read_bytes(), (tmp_path / "2.wav").read_bytes()
    (tmp_path / "0.wav").unlink()
    (tmp_path / "2.wav").write_bytes(gone)
    said = cmi("check", "--db", db, exit_code=1)
    assert f"missing: {tmp_path / '0.wav'} (pairs p0)\n" in said
    assert f"changed: {tmp_path / '2.wav'} (pairs p1, p2)\n" in said
    assert "3 of 5 sounds are as they were imported" in said
    found = json.loads(cmi("check", "--db", db, "--project", "Spring", "--json", exit_code=1))
    assert found["checked"] == 5 and {one["problem"] for one in found["problems"]} == {"missing", "changed"}
    assert "2 recordings are missing or have changed; `cmi arena check`" in cmi("stats", "--db", db)
    (tmp_path / "0.wav").write_bytes(gone)
    (tmp_path / "2.wav").write_bytes(changed)
    assert "5 of 5" in cmi("check", "--db", db)
    assert "cmi arena check" not in cmi("stats", "--db", db)


NASTY = "foo[bar] [/b] [red]\x1b[2J\x9b\u202e"


def test_names_and_titles_are_text_to_the_terminal(pairs: Path, db: Path, tmp_path: Path):
    """Rich takes `[bar]` for markup and fails at `[/b]`; a terminal obeys escapes."""
    rows = [json.loads(line) | {"system_a": NASTY, "system_b": "b[/b]", "id": NASTY} for line in pairs.open()][:1]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = cmi("import", pairs, "--db", db, "--project", f"{NASTY}\n\rtitle")
    database = open_database(str(db))
    [project] = all_projects.list_all(database)
    token = people.invite(database, project.id, "annotator", 1)[0].token
    database.close()
    vote_on_all(db, f"#{token}", name=NASTY)
    said += cmi("projects", "--db", db) + cmi("stats", "--db", db, "--minimum-votes", 1)
    said += cmi("projects", "--db", db, "--json") + cmi("stats", "--db", db, "--json")
    assert json.loads(cmi("projects", "--db", db, "--json"))[0]["title"] == project.title
    (tmp_path / "0.wav").unlink()
    said += cmi("check", "--db", db, exit_code=1) + cmi("check", "--db", db, "--json", exit_code=1)
    assert "foo[bar] [/b] [red]\\x1b[2J" in said
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", said)
    with pytest.raises(InputError) as caught:
        cmi("stats", "--db", db, "--project", NASTY)
    assert "\x1b" not in str(caught.value)


def test_a_password_in_the_databases_url_is_not_printed():
    for url in ("postgresql://ann:s3cr3t@127.0.0.1:1/x", "postgresql://ann@127.0.0.1:1/x?password=s3cr3t"):
        with pytest.raises(InputError) as caught:
            cmi("stats", "--db", url)
        assert "s3cr3t" not in str(caught.value) and "127.0.0.1:1" in str(caught.value)

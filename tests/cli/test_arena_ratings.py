"""`cmi arena` with ratings: takes in, ratings out, and a project that keeps its kind."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from tests.cli.test_arena import cmi

from cmi._util.errors import InputError
from cmi.arena.store import people, ratings, trials
from cmi.arena.store.browse_trials import find_trials
from cmi.arena.store.database import open_database
from cmi.arena.store.hiding import hide
from cmi.preferences import read_preferences


@pytest.fixture
def takes(tmp_path: Path) -> Path:
    """One prompt with a reference and two systems."""
    rng = np.random.default_rng(0)
    for name in ("reference", "one", "two"):
        soundfile.write(tmp_path / f"{name}.wav", 0.1 * rng.standard_normal(11_025), 22_050)
    rows = [f"{name},{name}.wav,a song,reference.wav,{name}" for name in ("one", "two")]
    (tmp_path / "takes.csv").write_text("\n".join(["id,audio,text,reference,generator", *rows]))
    return tmp_path / "takes.csv"


def rate(db: Path, project: str) -> None:
    """One MUSHRA page, by a new listener who recognises the hidden reference."""
    database = open_database(str(db))
    link = people.invite(database, project, "annotator", 1)[0]
    person = people.join(database, link.token, None, True).person
    view = trials.next_trial(database, person)[0]
    clock = database.now()
    trials.begin_trial(database, person, view.key)
    database.now = lambda: clock + 60
    heard = dict.fromkeys(view.needed, 1.0)
    scores = {name: 100 if one.role == "reference" else 50 for name, one in view.stimuli.items()}
    ratings.save_rating(database, person, view.key, ratings.RatingBallot({"musicality": scores}, "", heard))
    database.close()


def test_ratings_go_in_and_come_out(takes, tmp_path):
    db = tmp_path / "study.sqlite3"
    record = json.loads(cmi("import", takes, "--kind", "mushra", "--mid-anchor", "--db", db, "--json"))
    assert (record["added"], record["sounds"]) == (1, 5)
    assert "0 mushra pages added, 1 were there already" in cmi("import", takes, "--mid-anchor", "--db", db)
    assert len(list((tmp_path / "study.sqlite3.sounds/anchors").iterdir())) == 2
    rate(db, record["project"])
    [project] = json.loads(cmi("projects", "--db", db, "--json"))
    assert (project["kind"], project["pairs"], project["trials"], project["votes"]) == ("mushra", 0, 1, 1)
    assert "anchor70" in cmi("stats", "--db", db)
    assert json.loads(cmi("export", tmp_path / "out", "--db", db, "--json"))["preferences"] == 10
    assert {vote.choice for vote in read_preferences(tmp_path / "out")} >= {"both"}


def test_a_hidden_page_counts_only_if_asked_for_and_is_imported_again_under_another_group(takes, tmp_path):
    db = tmp_path / "study.sqlite3"
    project = json.loads(cmi("import", takes, "--kind", "mushra", "--db", db, "--json"))["project"]
    rate(db, project)
    database = open_database(str(db))
    hide(database, project, find_trials(database, project).rows[0]["id"], "take two is cut off", "trial")
    database.close()
    assert json.loads(cmi("stats", "--db", db, "--json"))["progress"]["ratings"] == 0
    assert json.loads(cmi("stats", "--db", db, "--hidden", "--json"))["progress"]["ratings"] == 1
    said = cmi("export", tmp_path / "out", "--db", db)
    assert "0 preferences of 0 ratings" in said
    assert "1 ratings of hidden trials are left out; --hidden includes them" in said
    done = json.loads(cmi("export", tmp_path / "all", "--db", db, "--hidden", "--json"))
    assert (done["ratings"], done["hidden"]) == (1, 0)
    assert {vote.about["hidden"] for vote in read_preferences(tmp_path / "all")} == {"take two is cut off"}
    rows = [f"{line},{'again' if number else 'group'}" for number, line in enumerate(takes.read_text().splitlines())]
    takes.write_text("\n".join(rows))
    assert "1 mushra pages added" in cmi("import", takes, "--db", db)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--kind", "mos"], "of the kind ranking, which never changes"),
        (["--gold", "0.1"], "gold pairs are for projects of pairs"),
        (["--mid-anchor"], "for projects of the kind mushra, not ranking"),
    ],
)
def test_what_does_not_fit_the_project_is_refused(takes, tmp_path, options, said):
    db = tmp_path / "study.sqlite3"
    cmi("import", takes, "--kind", "ranking", "--db", db)
    with pytest.raises(InputError, match=said):
        cmi("import", takes, "--db", db, *options)
    with pytest.raises(InputError, match="for projects of pairs, not of the kind ranking"):
        cmi("stats", "--db", db, "--margin", "0.1")
    with pytest.raises(InputError, match="gold pairs, which a project of the kind ranking does not have"):
        cmi("screen", "--db", db, "--gold-pairs", "8", "--gold-right", "6")


def test_a_wrong_manifest_makes_no_database(tmp_path):
    (tmp_path / "takes.csv").write_text("id,audio\n1,missing.wav\n")
    with pytest.raises(InputError, match=r"takes.csv line 2: 'audio' cannot be used"):
        cmi("import", tmp_path / "takes.csv", "--kind", "mos", "--db", tmp_path / "study.sqlite3")
    assert not (tmp_path / "study.sqlite3").exists()

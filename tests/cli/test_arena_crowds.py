"""`cmi arena recruit`, `screen` and `participants`: links and rates for an owner, and sentences for bad input."""

import csv
import json
import math
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.arena.statistics.pass_rates import pass_rate
from cmi.arena.store import projects, recruit
from cmi.arena.store.database import open_database
from cmi.cli import app


def cmi(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["arena", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "study.sqlite3"
    database = open_database(str(path))
    projects.create(database, "A study")
    database.close()
    return path


def test_the_link_for_a_platform_has_its_placeholders_and_stays_the_same(db):
    exits = ("--complete", "C1", "--screened-out", "C2", "--returned", "https://x.example/?p={PROLIFIC_PID}")
    link = cmi("recruit", "--db", db, "--platform", "prolific", *exits, "--url", "https://a.example").strip()
    start, _, rest = link.partition("&")
    assert start.startswith("https://a.example/enter?study=")
    assert rest == "PROLIFIC_PID={{%PROLIFIC_PID%}}&SESSION_ID={{%SESSION_ID%}}&STUDY_ID={{%STUDY_ID%}}"
    again = json.loads(cmi("recruit", "--db", db, "--json", "--url", "https://a.example"))
    assert again["links"] == [link] and again["settings"]["exit_complete"] == "C1"
    assert cmi("recruit", "--db", db, "--renew", "--url", "https://a.example").strip() != link
    jatos = cmi("recruit", "--db", db, "--platform", "jatos")
    assert "&workerId=[workerId]&proof=[proof]&studyResultId=[studyResultId]&" in jatos
    assert "takes nobody" in cmi("recruit", "--db", db, "--participant", "")
    with pytest.raises(InputError, match="no parameter names the participants"):
        cmi("recruit", "--db", db)


def test_signed_links_are_those_that_the_server_takes(db, tmp_path):
    (tmp_path / "ids.txt").write_text("\ufeffann\n\n  bob@x.example \n", "utf-8")
    links = cmi("recruit", "--db", db, "--participant", "id", "--sign", tmp_path / "ids.txt", "--signed-only").split()
    assert len(links) == 2
    database = open_database(str(db))
    for link in links:
        parameters = dict(part.split("=") for part in link.partition("?")[2].replace("%40", "@").split("&"))
        assert recruit.enter(database, parameters.pop("study"), parameters, True).role == "annotator"
    database.close()
    rows = list(csv.DictReader(cmi("participants", "--db", db).splitlines()))
    assert [row["participant"] for row in rows] == ["ann", "bob@x.example"]
    cmi("participants", tmp_path / "all.json", "--db", db)
    assert [row["parameters"] for row in json.loads((tmp_path / "all.json").read_text())] == [
        {"id": "ann"},
        {"id": "bob@x.example"},
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "no parameter names the participants"),
        (["--participant", "a b"], "'participant' is 'a b', expected the name of a parameter"),
        (["--platform", "prolific", "--complete", "javascript:alert(1)"], "'exit_complete' is not an address"),
        (["--participant", "id", "--sign", "missing.txt"], "missing.txt: cannot be read"),
        (["--participant", "id", "--sign", "bad.txt"], "bad.txt line 2: the participant id 'c d'"),
        (["--participant", "id", "--sign", "empty.txt"], "empty.txt: no participant ids"),
    ],
)
def test_a_link_that_cannot_work_is_one_sentence(db, tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    Path("bad.txt").write_text("ab\nc d\n")
    Path("empty.txt").write_text("\n")
    with pytest.raises(InputError) as refused:
        cmi("recruit", "--db", db, *options)
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_the_rates_of_a_studys_checks_are_shown(db):
    assert "no checks" in cmi("screen", "--db", db)
    found = json.loads(cmi("screen", "--db", db, "--headphones", "--gold-pairs", 8, "--gold-right", 7, "--json"))
    rates = {(one["check"], one["who"]): one["passes"] for one in found["rates"]}
    assert rates["headphones", "guesses"] == pytest.approx(1 - (1 - 13 / 729) ** 2)
    assert rates["qualification", "tosses a coin for each (one known answer)"] == pytest.approx(9 / 256)
    listener = rates["qualification", "is right on 90% of answers (one known answer)"]
    assert listener == pytest.approx(0.9**8 + 8 * 0.9**7 * 0.1)
    assert "device" not in {check for check, _ in rates}
    assert json.loads(cmi("screen", "--db", db, "--gold-pairs", 0, "--no-headphones", "--json"))["rates"] == []
    with pytest.raises(InputError, match="qualify_right is 9"):
        cmi("screen", "--db", db, "--gold-pairs", 8, "--gold-right", 9)
    with pytest.raises(InputError, match=r"expected a name that ends in \.csv or \.json"):
        cmi("participants", "x.txt", "--db", db)


@pytest.mark.parametrize(("trials", "needed", "right", "attempts"), [(6, 5, 1 / 3, 2), (8, 7, 0.5, 1), (8, 6, 0.81, 1)])
def test_rates_are_what_a_simulation_finds(trials, needed, right, attempts):
    rng, n = random.Random(2), 20_000
    passed = sum(
        any(sum(rng.random() < right for _ in range(trials)) >= needed for _ in range(attempts)) for _ in range(n)
    )
    rate = pass_rate(trials, needed, right, attempts)
    assert abs(passed / n - rate) < 4 * math.sqrt(rate * (1 - rate) / n)

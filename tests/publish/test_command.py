"""`cmi data stats` and `cmi data publish` as a user meets them."""

import json

import pytest
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.cli import app


def run(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["data", *map(str, arguments)], env={"COLUMNS": "200"})
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_stats_are_tables_a_record_and_a_page(votes, tmp_path):
    shown = run("stats", votes, "--html", tmp_path / "page.html")
    assert "agreement of raters (Table 6)" in shown and "confidence (figure 4)" in shown
    page = (tmp_path / "page.html").read_text()
    assert "<svg" in page and "http" not in page.replace("http-equiv", "")
    (record,) = json.loads(run("stats", votes, "--json", "--no-audio"))["datasets"]
    assert record["samples"] == 4 and record["hours"] is None
    assert "| samples | 4 | 4 |" in run("stats", votes, tmp_path / "takes", "--format", "markdown", "--no-audio")


def test_publish_says_what_it_wrote_and_what_it_left_out(votes, tmp_path):
    card = ("--contact", "data@example.org", "--consent", "They agreed.", "--fault", "Few songs.", "--sources", "Us.")
    said = run("publish", votes, tmp_path / "out", "--terms", "reference=CC0 1.0", *card)
    assert "7 rows, 5 recordings" in said
    text = (tmp_path / "out/README.md").read_text()
    assert "Consent: They agreed." in text and "- Few songs.\n" in text and "Sources: Us." in text


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ((), "--contact is required"),
        (("--contact", "me", "--public"), "--public is for --push OWNER/NAME"),
        (("--contact", "me", "--terms", "CC0"), "--terms 'CC0': expected SYSTEM=TERMS"),
        (("--contact", "me"), r"recordings of reference \(1\); state them with --terms 'reference=TERMS'"),
    ],
)
def test_what_is_missing_is_one_sentence(votes, tmp_path, more, sentence):
    with pytest.raises(InputError, match=sentence):
        run("publish", votes, tmp_path / "out", *more)
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_not_overwritten(votes, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="was not written by `cmi data publish`"):
        run("publish", votes, tmp_path / "out", "--contact", "me")

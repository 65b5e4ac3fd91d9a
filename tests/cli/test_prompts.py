"""`cmi prompts` from the command line."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.cli import app
from cmi.take import read_prompts


def cmi(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["prompts", *map(str, arguments)], env={"COLUMNS": "200"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


@pytest.fixture
def ideas(tmp_path: Path) -> Path:
    path = tmp_path / "ideas.txt"
    path.write_text("slow sad piano\nSlow sad piano.\nein schnelles Lied mit Gitarre\nthe rain song, no vocals\n")
    return path


def test_the_tables_say_what_became_of_the_sources(ideas, tmp_path):
    shown = cmi(ideas, "--out", tmp_path / "pool.jsonl", "--quota", "text=5", "--vocal-share", "0.5")
    assert "Not met: text: 3 of 5 prompts, because the sources have no more that fit." in shown
    for words in ("near repeats", "instrumental", "median", "de"):
        assert words in shown
    assert len(list(read_prompts(tmp_path / "pool.jsonl"))) == 3


def test_json_has_the_same_numbers(ideas, tmp_path):
    record = json.loads(cmi(ideas, "--out", tmp_path / "pool.jsonl", "--total", "2", "--json"))
    assert record["prompts"] == 2
    assert record["sources"] == {"ideas": {"read": 4, "exact": 1, "near": 0, "written": 2}}
    assert record["not_met"] == [] and record["words"]["text"]["longest"] <= 5


def test_a_dry_run_leaves_nothing(ideas, tmp_path):
    assert "no model was called and nothing was written" in cmi(ideas, "--out", tmp_path / "pool.jsonl", "--dry-run")
    assert not (tmp_path / "pool.jsonl").exists()


def test_bad_input_is_one_sentence(ideas, tmp_path):
    with pytest.raises(InputError, match="--quota paper gives shares"):
        cmi(ideas, "--out", tmp_path / "pool.jsonl", "--quota", "paper")
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    with pytest.raises(InputError, match="empty: no prompt that fits"):
        cmi(empty, "--out", tmp_path / "pool.jsonl")
    assert not (tmp_path / "pool.jsonl").exists()
    with pytest.raises(InputError, match="expected a name that ends in"):
        cmi(ideas, "--out", tmp_path / "pool.xml")

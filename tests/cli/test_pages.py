"""--html as a user meets it: a page beside the usual output, which stays as it is."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.cli import app

RATE = 8000
OWN = """
import soundfile
from cmi.take import Score

class Level:
    def score(self, takes):
        return [Score(float(abs(soundfile.read(take.audio)[0]).max()), float(len(take.prompt.text))) for take in takes]
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`cmi` beside takes/ (two prompts, two takes each, the second louder) and flat/ (recordings alone)."""
    (tmp_path / "own_pages.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for place in ("takes/calm", "takes/wild", "flat"):
        (tmp_path / place).mkdir(parents=True)
        for i in range(2):
            noise = np.random.default_rng(i).uniform(-1, 1, RATE)
            soundfile.write(tmp_path / place / f"{i}.wav", 0.1 * (i + 1) * noise, RATE)
    (tmp_path / "takes/calm/prompt.txt").write_text("a calm piece <b>")
    (tmp_path / "takes/wild/prompt.txt").write_text("a wild one")

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, list(arguments))

    return run


def scored(run: Callable[..., Any], *arguments: str) -> list[dict[str, Any]]:
    done = run("score", *arguments, "--model", "own_pages:Level", "--json")
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_folder_stands_for_its_recordings_or_for_those_of_its_prompts(run: Callable[..., Any]):
    assert [(one["id"], one["alignment"]) for one in scored(run, "flat", "--text", "slow")] == [
        ("flat/0.wav", 4.0),
        ("flat/1.wav", 4.0),
    ]
    assert [(one["id"], one["alignment"]) for one in scored(run, "takes")] == [
        ("takes/calm/0.wav", 16.0),
        ("takes/calm/1.wav", 16.0),
        ("takes/wild/0.wav", 10.0),
        ("takes/wild/1.wav", 10.0),
    ]


def test_a_folder_without_a_prompt_is_scored_with_a_note_and_with_one_it_is_used(run: Callable[..., Any]):
    command = ("score", "flat", "--model", "own_pages:Level")
    assert "alignment is to an empty prompt" in run(*command).stderr
    Path("flat/prompt.txt").write_text("calm")
    assert "empty prompt" not in run(*command).stderr
    assert {one["alignment"] for one in scored(run, "flat")} == {4.0}


def test_score_ranks_on_its_page_and_prints_what_it_printed_without_one(run: Callable[..., Any]):
    Path("flat/2.wav").write_text("not a sound")
    assert [one["id"] for one in scored(run, "takes", "--html", "out/scores.html")] == [
        one["id"] for one in scored(run, "takes")
    ]
    page = Path("out/scores.html").read_text("utf-8")
    order = [page.index(f"{place}. takes/{name}.wav") for place, name in enumerate(("calm/1", "calm/0", "wild/1"), 1)]
    assert order == sorted(order)
    assert page.count("<audio") == page.count('class="wave"') == 4
    assert 'src="../takes/calm/1.wav"' in page
    assert "a calm piece &lt;b&gt;" in page
    done = run("score", "flat", "--model", "own_pages:Level", "--html", "flat.html", "--embed-audio")
    assert "1 of 3 takes could not be scored" in str(done.exception)
    page = Path("flat.html").read_text("utf-8")
    assert page.count('src="data:audio/mpeg;base64,') == 2
    assert "flat/2.wav" in page and "Takes that could not be scored" in page


def test_pick_shows_the_pick_of_each_prompt_first(run: Callable[..., Any]):
    done = run("pick", "takes", "--model", "own_pages:Level", "--html", "picks.html")
    assert done.exit_code == 0, done.output
    page = Path("picks.html").read_text("utf-8")
    assert page.count('<li class="take best"><h3>1. 1.wav <span class="badge">picked</span></h3>') == 2
    assert page.count("1 other take<") == 2 and page.count("<audio") == 4


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (["bench", "table"], ["VocalSet, singing technique (VS-T)", "Qwen2-Audio", "supervised state of the art"]),
        (["rewardbench", "table"], ["cmi-pref: musicality preference", "Gemini2.5-Pro", "Kendall&#x27;s tau"]),
    ],
)
def test_published_numbers_are_a_leaderboard(run: Callable[..., Any], arguments: list[str], texts: list[str]):
    done = run(*arguments, "--html", "board.html")
    assert done.exit_code == 0, done.output
    page = Path("board.html").read_text("utf-8")
    assert all(text in page for text in texts)


def test_the_tables_of_cmi_bench_spell_out_rows_and_metrics(run: Callable[..., Any]):
    shown = run("bench", "table", "--rows", "VS-T,SDD").stdout
    assert "Rows: VS-T = VocalSet, singing technique; SDD = Song Describer, captioning." in shown
    assert "Metrics: Acc. = accuracy; BL. = BLEU-4; ME. = METEOR; RO. = ROUGE-L; BS. = BERTScore." in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["score", "flat", "--html", "page.pdf"], "page.pdf: expected a name that ends in .html"),
        (["score", "flat", "--html", "folder.html"], "folder.html: a folder, expected the name of a file"),
        (["score", "flat", "--embed-audio"], "--embed-audio needs --html"),
        (["score", "takes", "--text", "slow"], "takes: no recordings in it, only subfolders"),
        (["score", "empty"], "empty: no subfolders"),
        (["probe", "takes"], "takes: a folder of recordings, not a model"),
        (["pick", "takes", "--html", "flat/0.wav/page.html"], "flat/0.wav: Not a directory"),
        (["pick", "takes", "--embed-audio"], "--embed-audio needs --html"),
        (["bench", "table", "--html", "page"], "page: expected a name that ends in .html"),
        (["rewardbench", "table", "--html", "page"], "page: expected a name that ends in .html"),
    ],
)
def test_bad_input_is_one_sentence_before_anything_is_scored(
    run: Callable[..., Any], arguments: list[str], sentence: str
):
    Path("folder.html").mkdir()
    Path("empty").mkdir()
    model = ["--model", "own_pages:Level"] if arguments[0] in ("score", "pick") else []
    done = run(*arguments, *model)
    assert isinstance(done.exception, InputError)
    assert sentence in str(done.exception)

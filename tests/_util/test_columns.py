"""An unknown column is named with the nearest known one, and every file that our commands write is still read."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from cmi._util.errors import InputError
from cmi._util.records import Columns
from cmi.arena.exchange.importing import read_source
from cmi.judge.labels import label_preferences
from cmi.preferences import read_pairs, read_preferences, write_preferences
from cmi.reward.pick.candidates import read_manifest
from cmi.reward.train.config import TrainingSource
from cmi.reward.train.reading import read_examples
from cmi.rewardbench.data import own, studio
from cmi.studio.generate import generate_set
from cmi.studio.make import make_set
from cmi.take import read_takes

TAKES = "id, audio, text, lyrics, reference"
PREFERENCES = "id, text, lyrics, reference, a, b, axis, choice, confidence, rater"
PREFERENCE = {"a": "1.wav", "b": "2.wav", "axis": "musicality", "choice": "a"}

FLAT = """
from cmi.take import Score

class Flat:
    def score(self, takes):
        return [Score(1.0, 1.0) for _ in takes]
"""


def write(path: Path, *rows: dict[str, object]) -> Path:
    """JSON lines, or CSV, by the file's name."""
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def said(read, path: Path) -> str:
    with pytest.raises(InputError) as raised:
        list(read(path))
    return str(raised.value).removeprefix(str(path.parent) + "/")


def test_an_unknown_column_of_takes_is_named_with_the_one_that_was_meant(tmp_path: Path):
    path = write(tmp_path / "takes.csv", {"audio": "1.wav", "prompt": "slow"})
    expected = f"takes.csv line 1: unknown column 'prompt'; did you mean 'text'? Known columns: {TAKES}"
    assert said(read_takes, path) == expected
    path = write(tmp_path / "takes.jsonl", {"audio": "1.wav"}, {"audio": "2.wav", "lyrcs": "la"})
    expected = f"takes.jsonl line 2: unknown field 'lyrcs'; did you mean 'lyrics'? Known fields: {TAKES}"
    assert said(read_takes, path) == expected


@pytest.mark.parametrize(
    ("written", "meant"),
    [("path", "audio"), ("File", "audio"), ("caption", "text"), ("Text ", "text"), ("reference_audio", "reference")],
)
def test_what_others_call_a_column_is_known(tmp_path: Path, written: str, meant: str):
    assert f"; did you mean {meant!r}?" in said(read_takes, write(tmp_path / "t.csv", {written: "x"}))


def test_a_column_that_is_there_already_was_not_meant(tmp_path: Path):
    path = write(tmp_path / "takes.csv", {"audio": "1.wav", "text": "slow", "prompt": "fast"})
    assert said(read_takes, path) == (
        f"takes.csv line 1: unknown column 'prompt'; call one of your own x_prompt. Known columns: {TAKES}"
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [("winner", "choice"), ("annotator", "rater"), ("prompt", "text"), ("confidense", "confidence")],
)
@pytest.mark.parametrize("read", [read_preferences, read_pairs, own.DATA_SET.read, read_source])
def test_an_unknown_field_of_preferences_is_an_error_for_every_reader(tmp_path: Path, read, written: str, meant: str):
    row = {name: value for name, value in PREFERENCE.items() if name != meant} | {written: "a"}
    sentence = said(read, write(tmp_path / "p.jsonl", row))
    assert sentence.startswith(f"p.jsonl line 1: unknown field {written!r}; did you mean {meant!r}? Known fields: ")
    assert PREFERENCES in sentence


def test_ratings_name_their_own_columns(tmp_path: Path):
    path = write(tmp_path / "r.jsonl", {"audio": "1.wav", "musicality": 3, "tempo": 120})
    for read in (own.rows, lambda path: read_examples([TrainingSource(ratings=path)])):
        assert said(read, path) == (
            "r.jsonl line 1: unknown field 'tempo'; call one of your own x_tempo. "
            f"Known fields: {TAKES}, musicality, alignment"
        )


def test_the_group_of_candidates_is_known_where_it_counts(tmp_path: Path):
    sentence = said(read_manifest, write(tmp_path / "t.jsonl", {"audio": "1.wav", "grup": "x"}))
    assert (
        sentence
        == f"t.jsonl line 1: unknown field 'grup'; did you mean 'group'? Known fields: {TAKES}, group, ground_truth"
    )


def test_columns_of_ones_own_begin_with_x(tmp_path: Path):
    mine = {"x_tempo": "120", "x_prompt": "fast"}
    (take,) = read_takes(write(tmp_path / "t.csv", {"audio": "1.wav", **mine}))
    assert take[1].audio == tmp_path / "1.wav"
    preferences = write(tmp_path / "p.jsonl", {**PREFERENCE, **mine})
    (labelled,) = read_preferences(preferences)
    (item,) = own.DATA_SET.read(preferences)
    (pair,) = read_source(preferences)
    assert labelled.about == item.about == pair.about == read_pairs(preferences)[0].about == mine
    assert Columns(("a",)).own("b") == "x_b" and Columns(("a",)).own("a") == "a"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the studio writes."""
    folder = tmp_path_factory.mktemp("made")
    make_set(folder / "set", 8, workers=1)
    generate_set(folder / "takes", 1, 2, workers=1)
    return folder


def read_by_all(preferences: Path) -> None:
    assert list(read_preferences(preferences)) and read_pairs(preferences) and read_source(preferences)
    assert list(own.DATA_SET.read(preferences)) and read_examples([TrainingSource(preferences=preferences)])


def test_what_the_studio_writes_is_read_by_every_command(made: Path):
    read_by_all(made / "set" / "preferences.jsonl")
    assert read_source(made / "set") and list(studio.DATA_SET.read(made / "set", "all"))
    manifest = made / "takes" / "takes.jsonl"
    assert len(list(read_takes(manifest))) == 2
    assert [len(group.candidates) for group in read_manifest(manifest)] == [2]


def test_what_a_judge_labels_is_read_by_every_command(made: Path, tmp_path: Path):
    pairs = read_pairs(made / "set")
    kept = {"musicality": {pair.id: "a" for pair in pairs}}
    soft = {"musicality": {pair.id: {"a": 0.75, "b": 0.25} for pair in pairs}}
    write_preferences(label_preferences(pairs, kept, "judge@1", soft), tmp_path / "preferences.jsonl")
    read_by_all(tmp_path / "preferences.jsonl")


def test_a_file_in_which_nothing_is_asked_for_is_said_so(tmp_path: Path):
    (tmp_path / "mine.py").write_text(FLAT)
    write(tmp_path / "takes.csv", {"audio": "1.wav", "text": ""}, {"audio": "2.wav", "text": "None"})
    write(tmp_path / "asked.csv", {"audio": "1.wav", "text": ""}, {"audio": "2.wav", "text": "slow"})
    write(tmp_path / "takes.jsonl", {"audio": "1.wav"}, {"audio": "2.wav"})
    write(tmp_path / "pairs.jsonl", PREFERENCE)
    note = "{}: no row has a text, lyrics or a reference; takes are scored with an empty prompt"
    for arguments, file in (
        (["score", "--manifest", "takes.csv"], "takes.csv"),
        (["pick", "--manifest", "takes.jsonl"], "takes.jsonl"),
        (["rewardbench", "run", "--data", "pairs.jsonl", "--out", "out"], "pairs.jsonl"),
        (["score", "--manifest", "asked.csv"], ""),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "cmi", *arguments, "--model", "mine:Flat"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.stderr.count("no row has a text") == bool(file), done.stderr
        assert not file or f"cmi: {note.format(file)}\n" in done.stderr

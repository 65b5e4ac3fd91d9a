"""Sets as Hugging Face `datasets`, and back: the library itself loads what we write, and nothing is lost on the way."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi._util.errors import InputError
from cmi.plugs.datasets_io import read_dataset, write_dataset
from cmi.publish.sources import find_source

datasets = pytest.importorskip("datasets")

PROMPT = {"text": 'slow sad piano, 音 "quoted"', "lyrics": "la\nla", "reference": "r.wav"}
SETS = {
    "preferences.jsonl": [
        {"id": "1", "a": "1.wav", "b": "2.flac", "axis": "musicality", "choice": "a", "confidence": 4, "rater": "ann"}
        | PROMPT
        | {"split": "train", "truth": {"flaw": "hum", "strength": 0.5}, "x_mine": "kept"},
        {"id": "2", "a": "2.flac", "b": "1.wav", "axis": "alignment", "choice": "both", "rater": "bo", "split": "test"},
    ],
    "pairs.jsonl": [{"id": "1", "a": "1.wav", "b": "2.flac", **PROMPT}],
    "takes.jsonl": [
        {"id": "x", "audio": "1.wav", "generator": "g", "seed": 3, **PROMPT},
        {"id": "y", "audio": "r.wav"},
    ],
    "ratings.jsonl": [
        {"id": "x", "audio": "1.wav", "musicality": 3.5, "text": "t"},
        {"id": "y", "audio": "2.flac", "alignment": 2},
    ],
}


@pytest.fixture
def sounds(tmp_path) -> Path:
    folder = tmp_path / "set"
    folder.mkdir()
    for i, name in enumerate(("1.wav", "2.flac", "r.wav")):
        soundfile.write(folder / name, 0.1 * np.sin(np.arange(4000) * 0.01 * (i + 1)), 8000)
    return folder


def write(folder: Path, name: str, rows: list[dict]) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def content(path: Path | None) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path else ""


def rows_of(given: Path) -> list[tuple]:
    """What a set says, with the bytes of its recordings in place of their names."""
    return sorted(
        (
            *(row.id, row.prompt.text, row.prompt.lyrics, content(row.prompt.reference)),
            sorted((name, content(path)) for name, path in row.takes.items()),
            sorted(row.cells.items(), key=str),
        )
        for row in find_source(str(given)).rows()
    )


@pytest.fixture
def load(tmp_path):
    """The library's own loader, with a cache of the test's own."""
    return lambda folder, *config: datasets.load_dataset(str(folder), *config, cache_dir=str(tmp_path / "cache"))


@pytest.mark.parametrize("name", SETS)
def test_a_set_comes_back_the_same(name, sounds, tmp_path, load):
    source = write(sounds, name, SETS[name])
    done = write_dataset(find_source(str(source)), tmp_path / "hub")
    assert done.rows == len(SETS[name])
    loaded = load(tmp_path / "hub")
    assert sum(map(len, loaded.values())) == done.rows
    part = next(iter(loaded.values()))
    columns = {column for column, kind in part.features.items() if isinstance(kind, datasets.Audio)}
    assert columns == {column for row in SETS[name] for column in row if column in ("a", "b", "audio", "reference")}

    back = read_dataset(str(tmp_path / "hub"), tmp_path / "back")
    assert back.path.name == ("preferences.jsonl" if name == "pairs.jsonl" else name)
    assert rows_of(back.path) == rows_of(source)


def test_a_folder_of_splits_is_loaded_by_split(sounds, tmp_path, load):
    source = write(sounds, "preferences.jsonl", SETS["preferences.jsonl"])
    write_dataset(find_source(str(source)), tmp_path / "hub")
    assert list(load(tmp_path / "hub")) == ["train", "test"]
    assert read_dataset(str(tmp_path / "hub"), tmp_path / "back", split="test").rows == 1
    with pytest.raises(InputError, match="no split 'dev'; there are train, test"):
        read_dataset(str(tmp_path / "hub"), tmp_path / "other", split="dev")


def test_columns_of_others_are_renamed_or_kept_as_ours_of_the_user(sounds, tmp_path):
    rows = {
        "prompt": ["slow"],
        "audio_1": [{"bytes": (sounds / "1.wav").read_bytes(), "path": "../../etc/passwd"}],
        "audio_2": [{"bytes": (sounds / "2.flac").read_bytes(), "path": None}],
        "votes": [3],
    }
    sound = {"bytes": datasets.Value("binary"), "path": datasets.Value("string")}
    kinds = {"prompt": datasets.Value("string"), "audio_1": sound, "audio_2": sound, "votes": datasets.Value("int64")}
    theirs = datasets.Dataset.from_dict(rows, features=datasets.Features(kinds))
    theirs.cast_column("audio_1", datasets.Audio()).save_to_disk(tmp_path / "theirs")
    renamed = {"prompt": "text", "audio_1": "a", "audio_2": "b"}
    back = read_dataset(str(tmp_path / "theirs"), tmp_path / "back", renamed=renamed)
    [row] = map(json.loads, back.path.read_text().splitlines())
    assert (row["text"], row["x_votes"]) == ("slow", 3)
    assert content(tmp_path / "back" / row["a"]) == content(sounds / "1.wav") and row["a"].endswith(".wav")
    assert row["b"].endswith(".flac")
    with pytest.raises(InputError, match="neither 'a' and 'b' nor 'audio'"):
        read_dataset(str(tmp_path / "theirs"), tmp_path / "other")
    with pytest.raises(InputError, match="no column 'sound'"):
        read_dataset(str(tmp_path / "theirs"), tmp_path / "other", renamed={"sound": "audio"})


def test_a_row_cannot_name_a_file_of_this_machine(sounds, tmp_path):
    secret = tmp_path / "secret.wav"
    secret.write_bytes(b"RIFF secret")
    rows = {"audio": [{"bytes": None, "path": str(secret)}]}
    kinds = datasets.Features({"audio": {"bytes": datasets.Value("binary"), "path": datasets.Value("string")}})
    datasets.Dataset.from_dict(rows, features=kinds).save_to_disk(tmp_path / "theirs")
    with pytest.raises(InputError, match="no path to a file of the data set"):
        read_dataset(str(tmp_path / "theirs"), tmp_path / "back")
    assert not list((tmp_path / "back").rglob("*.wav"))


def test_a_stopped_command_goes_on_and_a_finished_one_is_kept(sounds, tmp_path, load):
    source = find_source(str(write(sounds, "takes.jsonl", SETS["takes.jsonl"])))
    (tmp_path / "hub" / "data").mkdir(parents=True)
    (tmp_path / "hub" / "data" / "train-00000-of-00009.parquet").write_bytes(b"torn")
    write_dataset(source, tmp_path / "hub")
    assert len(load(tmp_path / "hub")["train"]) == 2
    with pytest.raises(InputError, match="already"):
        write_dataset(source, tmp_path / "hub")


def test_what_cannot_be_loaded_is_one_sentence(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="cannot load it"):
        read_dataset(str(tmp_path / "empty"), tmp_path / "back")


def test_what_cmi_publishes_is_loaded_by_the_library(sounds, tmp_path, load):
    """Rows and recordings are two configurations of one data set."""
    from cmi.publish.card import CardText
    from cmi.publish.publish import PublishPlan, publish

    source = find_source(str(write(sounds, "preferences.jsonl", SETS["preferences.jsonl"])))
    publish(
        PublishPlan(source, tmp_path / "out", CardText("t", "me@example.org"), {"*": "CC0 1.0", "reference": "CC0 1.0"})
    )
    configs = datasets.get_dataset_config_names(str(tmp_path / "out"))
    loaded = {name: load(tmp_path / "out", name) for name in configs}
    assert {(name, split): len(part) for name, one in loaded.items() for split, part in one.items()} == {
        ("rows", "train"): 1,
        ("rows", "test"): 1,
        ("recordings", "train"): 3,
    }

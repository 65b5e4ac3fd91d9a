"""Pairs in: from files, studio sets and folders; once each, all or none, and errors that name line and file."""

import json
import os
from pathlib import Path

import pytest
from sqlalchemy import select

from cmi._util.errors import InputError
from cmi.arena.exchange.importing import import_pairs, measure_source
from cmi.arena.store import pairs, projects
from cmi.arena.store.schema import audit, sounds
from cmi.arena.store.schema import pairs as pairs_table


@pytest.fixture
def folder(tmp_path: Path, tone) -> Path:
    for number in range(5):
        tone(tmp_path / f"{number}.wav", seconds=0.5, frequency=200 + 100 * number)
    return tmp_path


def write(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def stored(database, project: str) -> dict[str, dict]:
    with database.reading() as connection:
        rows = connection.execute(select(pairs_table).where(pairs_table.c.project == project))
        return {row.source_id: row._asdict() for row in rows}


def bring(database, project: str, path: Path, gold: float = 0.0):
    return import_pairs(database, project, measure_source(path), gold)


def test_a_file_of_pairs_comes_in_with_all_it_says(database, folder: Path):
    rows = [
        {"id": "x", "text": "slow", "a": "0.wav", "b": "1.wav", "system_a": "s1", "generator_b": "s2", "split": "test"},
        {"id": "y", "text": "", "lyrics": "la", "reference": "2.wav", "a": "3.wav", "b": "4.wav", "x_n": 3},
    ]
    project = projects.create(database, "Study").id
    assert bring(database, project, write(folder / "pairs.jsonl", rows)) == (2, 0, 0, 5)
    found = stored(database, project)
    assert (found["x"]["system_a"], found["x"]["system_b"], found["x"]["about"]) == ("s1", "s2", {"split": "test"})
    assert (found["y"]["modality"], found["y"]["about"]) == ("text+lyrics+audio", {"x_n": 3})
    with database.reading() as connection:
        [detail] = connection.scalars(select(audit.c.detail).where(audit.c.action == "imported"))
    assert detail == {"added": 2, "there": 0, "gold": 0, "sounds": 5}


def test_the_same_import_again_adds_nothing_and_a_longer_file_adds_what_is_new(database, folder: Path):
    project = projects.create(database, "Study").id
    rows = [{"id": f"p{n}", "text": "t", "a": f"{n}.wav", "b": f"{n + 1}.wav"} for n in range(3)]
    path = write(folder / "pairs.jsonl", rows)
    assert bring(database, project, path).added == 3
    assert bring(database, project, path)[:2] == (0, 3)
    write(path, [*rows, {"id": "p3", "text": "t", "a": "3.wav", "b": "4.wav"}])
    assert bring(database, project, path)[:2] == (1, 3)
    assert sorted(row["position"] for row in stored(database, project).values()) == [0, 1, 2, 3]


def test_another_pair_of_the_same_id_is_not_silently_dropped(database, folder: Path):
    project = projects.create(database, "Study").id
    bring(database, project, write(folder / "one.jsonl", [{"text": "t", "a": "0.wav", "b": "1.wav"}]))
    other = write(folder / "two.jsonl", [{"text": "t", "a": "2.wav", "b": "3.wav"}])
    with pytest.raises(InputError, match=r"two\.jsonl line 1: the project has another pair called '1'"):
        bring(database, project, other)


def test_rows_about_one_pair_are_one_pair_and_gold_is_read(database, folder: Path):
    both = {"text": "t", "a": "0.wav", "b": "1.wav", "gold": True, "rater": "me"}
    rows = [
        {"id": "m", **both, "axis": "musicality", "choice": "b"},
        {"id": "n", **both, "axis": "alignment", "choice": "a"},
        {"id": "o", "text": "t", "a": "1.wav", "b": "2.wav", "gold": {"musicality": "a"}},
        {"id": "p", "text": "t", "a": "2.wav", "b": "3.wav", "axis": "musicality", "choice": "a"},
    ]
    project = projects.create(database, "Study").id
    assert bring(database, project, write(folder / "pairs.jsonl", rows)) == (3, 0, 2, 4)
    found = stored(database, project)
    assert found["m"]["gold"] == {"musicality": "b", "alignment": "a"} and found["m"]["kind"] == "gold"
    assert found["o"]["gold"] == {"musicality": "a"}
    assert (found["p"]["gold"], found["p"]["kind"]) == (None, "ordinary"), "someone's vote is no truth"


def test_a_share_of_the_pairs_that_the_studio_vouches_for_becomes_gold(sqlite_database, folder: Path, tone):
    for number in range(5, 21):
        tone(folder / f"{number}.wav", seconds=0.2, frequency=200 + 50 * number)
    rows = [
        {"id": f"p{n}", "text": "t", "a": f"{n}.wav", "b": f"{n + 1}.wav", "axis": ["musicality", "alignment"][n % 2]}
        | {
            "choice": "b",
            "confidence": 5 if n < 10 else 2,
            "rater": "studio",
            "truth": {"flaw": "hum", "kind": "tempo"},
        }
        for n in range(20)
    ]
    project = projects.create(sqlite_database, "Study").id
    assert bring(sqlite_database, project, write(folder / "preferences.jsonl", rows), gold=0.25).gold == 5
    found = stored(sqlite_database, project)
    golden = [name for name, row in found.items() if row["kind"] == "gold"]
    assert all(int(name[1:]) < 10 for name in golden), "only where everyone should hear it"
    assert {found[name]["gold"].get("musicality", "b") for name in golden} == {"b"}
    assert (found["p0"]["system_a"], found["p0"]["system_b"]) == ("hum", "clean")
    assert (found["p1"]["system_a"], found["p1"]["system_b"]) == ("other tempo", "as asked")


def test_a_folder_of_takes_gives_all_pairs_of_each_prompt(database, tmp_path: Path, tone):
    for prompt in ("calm", "wild"):
        (tmp_path / prompt).mkdir()
        for number, system in enumerate(("alpha", "beta", "gamma")):
            tone(
                tmp_path / prompt / f"{system}.wav",
                seconds=0.3,
                frequency=len(prompt) * 100 + number * 57 + ord(prompt[0]),
            )
    (tmp_path / "calm" / "prompt.txt").write_text("a calm piece\n")
    (tmp_path / "wild" / "prompt.txt").write_text("a wild song")
    (tmp_path / "wild" / "lyrics.txt").write_text("la\nla\n")
    tone(tmp_path / "wild" / "reference.wav", seconds=0.3, frequency=999)
    project = projects.create(database, "Study").id
    assert bring(database, project, tmp_path) == (6, 0, 0, 7)
    found = stored(database, project)
    assert sorted(found)[:3] == ["calm/alpha-beta", "calm/alpha-gamma", "calm/beta-gamma"]
    wild = found["wild/beta-gamma"]
    assert (wild["text"], wild["lyrics"], wild["modality"]) == ("a wild song", "la\nla", "text+lyrics+audio")
    assert (wild["system_a"], wild["system_b"]) == ("beta", "gamma")


def test_bad_audio_is_named_with_its_line_and_nothing_is_imported(database, folder: Path):
    (folder / "broken.wav").write_bytes(b"RIFF nothing")
    rows = [{"text": "t", "a": "0.wav", "b": "1.wav"}, {"text": "t", "a": "2.wav", "b": "broken.wav"}]
    project = projects.create(database, "Study").id
    with pytest.raises(InputError, match=r"pairs\.jsonl line 2: 'b' cannot be used: .*broken\.wav"):
        bring(database, project, write(folder / "pairs.jsonl", rows))
    rows[1]["b"] = "nowhere.wav"
    with pytest.raises(InputError, match=r"line 2: .*nowhere\.wav: No such file"):
        bring(database, project, write(folder / "pairs.jsonl", rows))
    assert pairs.count(database, project) == 0
    with database.reading() as connection:
        assert connection.execute(select(sounds)).all() == []


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"text": "t", "a": "0.wav"}, "line 2: 'b' is missing"),
        ({"text": "", "a": "0.wav", "b": "1.wav"}, "line 2: the prompt is empty: give a text"),
        ({"text": "t", "a": "0.wav", "b": "0.wav"}, "line 2: both takes are the same recording"),
        ({"text": "t", "a": "0.wav", "b": "1.wav", "gold": "yes"}, "line 2: 'gold' is 'yes'"),
        ({"text": "t", "a": "0.wav", "b": "1.wav", "gold": True}, "line 2: 'gold' is true, but"),
        ({"text": "t", "a": "0.wav", "b": "1.wav", "gold": {"overall": "a"}}, "line 2: gold says 'overall'"),
        ({"text": "t" * 30_000, "a": "0.wav", "b": "1.wav"}, "line 2: the text has 30000 characters"),
        ({"text": 5, "a": "0.wav", "b": "1.wav"}, "line 2: 'text' is int"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_imported(sqlite_database, folder: Path, row: dict, sentence: str):
    project = projects.create(sqlite_database, "Study").id
    good = {"text": "fine", "a": "2.wav", "b": "3.wav"}
    with pytest.raises(InputError, match=sentence):
        bring(sqlite_database, project, write(folder / "pairs.jsonl", [good, row]))
    assert pairs.count(sqlite_database, project) == 0


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        (
            {"x_rating": [float("nan")]},
            "line 2: the field 'x_rating' has nan, which is not a number in JSON; fix it or leave",
        ),
        ({"x_rating": {"deep": [float("inf")]}}, "line 2: the field 'x_rating' has inf, which"),
        ({"x_notes": ["half \ud83d"]}, "line 2: the field 'x_notes' contains an incomplete character"),
        ({"x_k\udc00": 1}, "line 2: the field 'x_k\ufffd' contains an incomplete character"),
        ({"truth": {"k\udc00": 1}}, "line 2: the field 'truth' contains an incomplete character"),
        ({"x_deep": json.loads("[" * 60 + "]" * 60)}, "line 2: the field 'x_deep' is nested more than 50 levels deep"),
    ],
)
def test_extra_fields_that_no_export_could_hold_are_refused_at_import(database, folder: Path, extra, sentence: str):
    project = projects.create(database, "Study").id
    good = {"text": "fine", "a": "2.wav", "b": "3.wav", "x_rating": 1e300, "x_notes": "好 \U0001f600 \x00"}
    with pytest.raises(InputError, match=sentence):
        bring(
            database,
            project,
            write(folder / "pairs.jsonl", [good, {"text": "t", "a": "0.wav", "b": "1.wav", **extra}]),
        )
    assert pairs.count(database, project) == 0
    assert bring(database, project, write(folder / "pairs.jsonl", [good])).added == 1


def test_a_file_whose_name_is_not_utf8_is_one_sentence(database, tmp_path: Path, tone):
    tone(tmp_path / "good.wav")
    named = tmp_path / "takes" / "calm"
    named.mkdir(parents=True)
    (named / "prompt.txt").write_text("calm")
    for name, hertz in ((b"a\xff.wav", 300), (b"b.wav", 400)):
        tone(tmp_path / "made.wav", frequency=hertz)
        (tmp_path / "made.wav").rename(named / os.fsdecode(name))
    project = projects.create(database, "Study").id
    with pytest.raises(InputError, match="is not UTF-8, which the database cannot store"):
        bring(database, project, tmp_path / "takes")
    assert pairs.count(database, project) == 0


def test_an_empty_source_and_a_share_without_truth_are_one_sentence(sqlite_database, folder: Path):
    project = projects.create(sqlite_database, "Study").id
    with pytest.raises(InputError, match="no pairs in it"):
        bring(sqlite_database, project, write(folder / "empty.jsonl", []))
    path = write(folder / "pairs.jsonl", [{"text": "t", "a": "0.wav", "b": "1.wav"}])
    with pytest.raises(InputError, match="none can be gold"):
        bring(sqlite_database, project, path, gold=0.5)


@pytest.mark.parametrize("name", ["nowhere", "nowhere.jsonl"])
def test_a_source_that_is_not_there_is_said_to_be_missing(tmp_path: Path, name: str):
    with pytest.raises(InputError, match=f"{name}: no such file or folder"):
        measure_source(tmp_path / name)

"""Real samples, in the layouts that mirdata documents, give what their annotations and the released truths say."""

import json
from pathlib import Path

import pytest

from cmi._util.records import read_records
from cmi.bench.catalog import find_corpus
from cmi.bench.data import _reading
from cmi.bench.instruction import Instruction
from cmi.bench.make import MakeOptions, make
from cmi.bench.scoring.responses import find_annotations


def released(shared, name):
    path = find_annotations(shared / "cmi-bench" / "annotations")[name]
    asked = (Instruction.from_record(record) for _, record in read_records(path))
    return {Path(each.audio_path).stem: each for each in asked}


def answered(shared, name):
    path = shared / "cmi-bench" / "responses" / "flamingo" / f"flamingo_{name}.jsonl.gz"
    return {Path(record["audioid"]).stem: record["correct_answer"] for _, record in read_records(path)}


def test_giantsteps(samples, shared, read):
    (example,) = read("giantsteps-key", samples / "giantsteps_key")  # the sample is 2 s long: one clip
    assert example.output == "D major" == answered(shared, "GS_key")[example.id]
    assert (samples / "giantsteps_key" / example.audio).is_file()


@pytest.mark.parametrize("kind", ["beat", "downbeat"])
def test_ballroom(kind, samples, shared, read):
    """The sample has the first three beats of its file."""
    (example,) = (e for e in read("ballroom", samples / "ballroom") if e.dataset == f"ballroom_{kind}")
    asked = released(shared, f"ballroom_{kind}")[example.id]
    assert f"{asked.output},".startswith(f"{example.output},")
    assert (example.start, example.end, example.split) == (asked.audio_start, asked.audio_end, asked.split)
    assert example.audio == "B_1.0/audio/Waltz/Media-105901.wav"


def test_gtzan(samples, shared, read):
    there = [e for e in read("gtzan", samples / "gtzan_genre") if (samples / "gtzan_genre" / e.audio).is_file()]
    assert [(e.id, e.output, e.split) for e in there] == [("country.00000", "country", "dev")]
    asked = released(shared, "GTZAN")["country.00000"]
    assert (asked.output, asked.split) == ("country", "dev")


def test_gtzan_rhythm(samples, read):
    folder = samples / "gtzan_genre"
    (path,) = folder.rglob("gtzan_country_00000.beats")
    rows = [line.split("\t") for line in path.read_text().split("\n") if line]
    beat, downbeat = read("gtzan-rhythm", folder)
    assert beat.output == _reading.write_times([float(time) for time, _ in rows])
    assert downbeat.output == _reading.write_times([float(time) for time, place in rows if place == "1"])
    assert beat.output.startswith("0.11s,0.83s,1.54s,2.28s,2.99s")
    assert downbeat.output.startswith("0.11s,2.99s")


def test_mtg_jamendo(samples, shared, read):
    examples = read("mtg-jamendo", samples / "mtg_jamendo_autotagging_moodtheme")
    assert {(e.audio, e.output, e.split) for e in examples} == {
        ("audios/48/948.mp3", "background", "train"),
        ("3346", "calm, melodic", "dev"),
        ("3524", "melodic", "test"),
    }
    assert answered(shared, "MTG_emotion")["3524.low"] == "melodic"


def test_medleydb(samples, read):
    (example,) = read("medleydb", samples / "medleydb_melody")
    assert example.output == "[('0.0464', 0), ('0.0522', 83)]"
    assert (example.start, example.end, example.split) == (0.0, 10.0, "train")
    assert example.audio == "audio/MusicDelta_Beethoven_MIX.wav"


def test_an_instruction_file_of_a_real_sample(samples, tmp_path):
    made, _ = make(find_corpus("ballroom"), samples / "ballroom", None, tmp_path, MakeOptions())
    record = json.loads(made.path.read_text())
    assert (tmp_path / record["audio_path"][0]).is_file()
    assert (made.questions, made.missing) == (1, ())

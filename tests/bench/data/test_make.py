"""Instruction files: whole, repeatable, with what is missing beside them, and scored perfectly by their own truth."""

import json
from pathlib import Path

import pytest

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS, find_corpus
from cmi.bench.evaluation import Item, Setting
from cmi.bench.make import MakeOptions, make
from cmi.bench.scoring.responses import read_instructions
from cmi.bench.tasks import load_task


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", sorted(set(DATASETS.corpora) - {"mirdata"}))  # which has tests of its own
def test_a_listener_that_repeats_the_truth_is_perfect_under_strict(name, built, tmp_path, tools):
    out = tmp_path / "out"
    made = make(find_corpus(name), built(name), None, out, MakeOptions())
    assert made
    for each in made:
        dataset = DATASETS[each.dataset]
        asked = [instruction for _, instruction in read_instructions(each.path, dataset)]
        assert len(asked) == each.questions > 0
        assert all((out / instruction.audio_path).is_file() for instruction in asked)
        items = [Item(i.instruction, i.output, i.output, i.audio_path, i.audio_start, i.audio_end) for i in asked]
        evaluation = load_task(dataset).evaluate(items, Setting(dataset.name, "strict", "oracle", tools))
        assert evaluation.unparsed == sum(not item.truth for item in items)
        for metric, value in zip(evaluation.metrics, evaluation.values()[0], strict=True):
            best = 0 if metric.better == "lower" else 1 if metric.name[1:] in ("r", "r^2") else 100
            assert metric.not_computed or value == pytest.approx(best, abs=1e-4), (dataset.name, metric.name)


@pytest.mark.parametrize("name", sorted(set(DATASETS.corpora) - {"mirdata"}))  # which has tests of its own
def test_the_same_files_give_the_same_bytes_and_unique_ids(name, built, tmp_path):
    folder = built(name)
    make(find_corpus(name), folder, None, tmp_path / "out", MakeOptions(split="all"))
    first = contents(tmp_path / "out")
    make(find_corpus(name), folder, None, tmp_path / "out", MakeOptions(split="all"))
    assert contents(tmp_path / "out") == first
    for path in (tmp_path / "out" / "annotations").iterdir():
        ids = [json.loads(line)["uuid"] for line in path.read_text().splitlines()]
        assert len(set(ids)) == len(ids) or name == "mtg-jamendo"  # whose tiny splits share their tracks


def test_missing_recordings_are_listed_and_not_asked_about(built, tmp_path):
    folder, out = built("ballroom"), tmp_path / "out"
    (folder / "audio" / "Waltz" / "Media-1.wav").unlink()
    beats, downbeats = make(find_corpus("ballroom"), folder, None, out, MakeOptions())
    assert (beats.questions, beats.missing) == (0, ("Media-1",)) == (downbeats.questions, downbeats.missing)
    assert contents(out).keys() == {"missing/CMI_ballroom_beat.txt", "missing/CMI_ballroom_downbeat.txt"}
    kept, _ = make(find_corpus("ballroom"), folder, None, out, MakeOptions(keep_missing=True))
    assert (kept.questions, kept.missing) == (1, ("Media-1",))


def test_a_list_of_what_was_missing_goes_when_it_is_found(built, tmp_path):
    folder, out = built("ballroom"), tmp_path / "out"
    recording = folder / "audio" / "Waltz" / "Media-1.wav"
    sound = recording.read_bytes()
    recording.unlink()
    make(find_corpus("ballroom"), folder, None, out, MakeOptions())
    recording.write_bytes(sound)
    make(find_corpus("ballroom"), folder, None, out, MakeOptions())
    assert contents(out).keys() == {
        "annotations/CMI_ballroom_beat.jsonl",
        "annotations/CMI_ballroom_downbeat.jsonl",
    }


def test_recordings_may_be_kept_apart(built, tmp_path):
    folder = built("ballroom")
    (folder / "audio").rename(tmp_path / "apart")
    beats, _ = make(find_corpus("ballroom"), folder, tmp_path / "apart", tmp_path / "out", MakeOptions())
    (line,) = beats.path.read_text().splitlines()
    assert json.loads(line)["audio_path"] == ["../apart/Waltz/Media-1.wav"]


def test_a_variant_is_used_and_named_in_the_record(built, tmp_path):
    (made,) = make(find_corpus("gtzan"), built("gtzan"), None, tmp_path / "out", MakeOptions(variant="brief"))
    record = json.loads(made.path.read_text().splitlines()[0])
    assert record["instruction"].startswith("Name the genre, one of: blues, classical,")
    assert record["task_type"] == {"major": ["multi_class"], "minor": ["genre_classification"], "prompt": ["brief"]}


def test_released_records_keep_their_words_spans_and_ids(built, tmp_path):
    folder = built("released")
    (folder / "testdata/GTZAN/a/blues.00012.wav").unlink()
    (made,) = make(find_corpus("released"), folder, None, tmp_path / "out", MakeOptions())
    (line,) = made.path.read_text().splitlines()
    record = json.loads(line)
    assert (record["instruction"], record["uuid"], record["audio_end"]) == ("Which genre?", "GTZAN/1", -1)
    assert made.missing == ("GTZAN/a/blues.00012.wav",)


@pytest.mark.parametrize("path", ["../outside.wav", "/outside.wav"])
def test_a_released_path_can_t_lead_out_of_the_audio_folder(path, built, tmp_path):
    folder = built("released")
    (tmp_path / "outside.wav").write_bytes(b"")
    record = {"instruction": "?", "output": "rock", "split": ["test"]}
    where = path if path[0] == "." else str(tmp_path / "outside.wav")
    (folder / "CMI_GTZAN.jsonl").write_text(json.dumps(record | {"audio_path": [where]}) + "\n")
    (made,) = make(find_corpus("released"), folder, None, tmp_path / "out", MakeOptions())
    assert (made.questions, len(made.missing)) == (0, 1)


def test_valence_that_repeats_arousal_is_said(built, tmp_path):
    folder = built("released")
    record = {"instruction": "?", "split": ["test"], "audio_path": ["data/a.wav"]}
    for axis in ("arousal", "valence"):
        lines = [json.dumps(record | {"output": output}) + "\n" for output in ("0.1", "0.2")]
        (folder / f"CMI_EMO_{axis}.jsonl").write_text("".join(lines))
    notes = {
        made.dataset: made.notes
        for made in make(find_corpus("released"), folder, None, tmp_path / "out", MakeOptions())
    }
    assert "it is not valence" in notes["EMO_valence"][0]
    assert notes["EMO_arousal"] == ()


def test_a_split_that_is_not_there_names_those_that_are(built, tmp_path):
    with pytest.raises(InputError, match="split 'dev'; its splits are test"):
        make(find_corpus("ballroom"), built("ballroom"), None, tmp_path / "out", MakeOptions(split="dev"))


def test_two_copies_of_a_data_set_are_refused(built, tmp_path):
    folder = built("ballroom")
    (folder / "copy").mkdir()
    (folder / "copy" / "Media-1.beats").write_text("0.5 1\n")
    with pytest.raises(InputError, match="'Media-1' twice"):
        make(find_corpus("ballroom"), folder, None, tmp_path / "out", MakeOptions())


def test_a_folder_that_can_t_be_written_is_one_sentence(built, tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(InputError, match="out"):
        make(find_corpus("ballroom"), built("ballroom"), None, tmp_path / "out", MakeOptions())

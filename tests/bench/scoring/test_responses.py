import gzip
import json
from pathlib import Path

import pytest

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS, split_name
from cmi.bench.instruction import Instruction
from cmi.bench.scoring.responses import ResponseFile, ResponseSet, audio_key, clean, find_annotations, find_responses

GTZAN = DATASETS["GTZAN"]


def authors(answers, **more):
    return [
        {
            "question": "Genre?",
            "response": a,
            "correct_answer": t,
            "audioid": f"../testdata/G/{t}.{i}.wav",
            "other": "",
            **more,
        }
        for i, (t, a) in enumerate(answers)
    ]


def annotation(truth, i, uuid="", split="test"):
    return Instruction("Genre?", truth, f"data/G/{truth}.{i}.wav", 0.0, 30.0, split, uuid=uuid).to_record()


def write(path: Path, records, array=False) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(records, indent=4) if array else "".join(json.dumps(record) + "\n" for record in records)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def entries(path, annotations=None):
    return list(ResponseSet(ResponseFile(path, "m", GTZAN), annotations))


def test_the_authors_array_under_a_jsonl_name_is_read(tmp_path):
    path = write(tmp_path / "m_GTZAN.jsonl.gz", authors([("blues", "blues"), ("rock", 7)]), array=True)
    items = [item for item, answered, _ in entries(path) if answered]
    assert [(item.answer, item.truth) for item in items] == [("blues", "blues"), ("7", "rock")]
    assert items[0].recording == "G/blues.0.wav"
    assert items[0].start is None


def test_our_lines_are_joined_by_id_and_what_is_missing_is_counted(tmp_path):
    truth = write(
        tmp_path / "CMI_GTZAN.jsonl",
        [annotation("blues", 0), annotation("x", 9, split="train"), annotation("rock", 1, "r")],
    )
    path = write(tmp_path / "m_GTZAN.jsonl", [{"id": "r", "response": "pop"}])
    assert [(item.truth, item.answer, answered) for item, answered, _ in entries(path, truth)] == [
        ("rock", "pop", True),
        ("blues", "", False),
    ]
    assert entries(path, truth)[0].item.end == 30.0


def test_a_failed_inference_is_not_an_empty_answer(tmp_path):
    truth = write(tmp_path / "CMI_GTZAN.jsonl", [annotation("blues", 0), annotation("rock", 1), annotation("pop", 2)])
    lines = [{"id": "GTZAN/0", "response": ""}, {"id": "GTZAN/1", "response": None}]
    path = write(tmp_path / "m_GTZAN.jsonl", [*lines, {"id": "GTZAN/2", "response": "x", "error": "out of memory"}])
    assert [answered for _, answered, _ in entries(path, truth)] == [True, False, False]


def test_questions_that_the_authors_dropped_are_found_by_order(tmp_path):
    truth = write(
        tmp_path / "CMI_GTZAN.jsonl", [annotation(t, i) for i, t in enumerate(["blues", "rock", "pop", "jazz"])]
    )
    answered = authors([("blues", "a"), ("rock", "b"), ("pop", "c"), ("jazz", "d")])
    path = write(tmp_path / "m_GTZAN.jsonl", [answered[1], answered[2]], array=True)
    assert [(item.truth, item.answer, ok) for item, ok, _ in entries(path, truth)] == [
        ("blues", "", False),
        ("rock", "b", True),
        ("pop", "c", True),
        ("jazz", "", False),
    ]
    path = write(tmp_path / "m_GTZAN.jsonl", [answered[2], answered[1]], array=True)
    with pytest.raises(InputError, match="record 2: not in"):
        entries(path, truth)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"response": "x"}], "neither 'correct_answer'"),
        ([{"id": "GTZAN/0", "response": "x"}], "--annotations"),
        ([], "empty"),
        (authors([("blues", ["a"])]), "record 1|line 1.*'response' is list"),
        (authors([("blues", "a")], audioid=None), "'audioid' is missing"),
        ([*authors([("blues", "a")]), {"correct_answer": "x"}], "'response' is missing"),
    ],
)
def test_bad_records_are_named(tmp_path, records, message):
    path = write(tmp_path / "m_GTZAN.jsonl", records)
    with pytest.raises(InputError, match=message) as caught:
        entries(path)
    assert "m_GTZAN.jsonl" in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{"id": "GTZAN/0", "response": "x"}] * 2, "line 2: id 'GTZAN/0' occurs twice"),
        ([{"id": "GTZAN/9", "response": "x"}], "line 1: id 'GTZAN/9' is not in"),
        ([{"id": "GTZAN/0", "response": "x"}, {"id": 3, "response": "x"}], "line 2: 'id' is missing or not text"),
    ],
)
def test_bad_ids_are_named(tmp_path, lines, message):
    truth = write(tmp_path / "CMI_GTZAN.jsonl", [annotation("blues", 0)])
    with pytest.raises(InputError, match=message):
        entries(write(tmp_path / "m_GTZAN.jsonl", lines), truth)


@pytest.mark.parametrize(
    ("field", "value"), [("output", None), ("audio_path", []), ("audio_start", "soon"), ("split", ["test", "train"])]
)
def test_bad_annotations_are_named(tmp_path, field, value):
    truth = write(tmp_path / "CMI_GTZAN.jsonl", [annotation("blues", 0) | {field: value}])
    with pytest.raises(InputError, match=rf"CMI_GTZAN.jsonl line 1: '{field}'"):
        entries(write(tmp_path / "m_GTZAN.jsonl", [{"id": "GTZAN/0", "response": "x"}]), truth)


def test_names_tell_model_and_data_set(tmp_path):
    for name in (
        "ltu_as/ltu_as_GTZAN.jsonl",
        "ltu_as/ltu_as_gtzan_beat.jsonl.gz",
        "mine/MTT.json",
        "notes.txt",
        "CMI_SDD.jsonl",
    ):
        write(tmp_path / name, [{}])
    assert {(file.model, file.dataset.name) for file in find_responses([tmp_path])} == {
        ("ltu_as", "GTZAN"),
        ("ltu_as", "gtzan_beat"),
        ("mine", "MTT"),
    }
    assert split_name("gama_it-Nsynth_pitch") == ("gama_it", DATASETS["Nsynth_pitch"])
    assert split_name("nonsense") is None


def test_a_second_run_stands_in_for_the_first(tmp_path):
    first = write(tmp_path / "gama" / "gama_DSing.jsonl", [{}])
    second = write(tmp_path / "gama-fix" / "gama_DSing.jsonl", [{}])
    for order in ([first, second], [second, first], [tmp_path]):
        (file,) = find_responses(order)
        assert file.path == second
        assert file.model == "gama"


def test_two_files_for_one_cell_are_bad_input(tmp_path):
    for folder in ("a", "b"):
        write(tmp_path / folder / "m_GTZAN.jsonl", [{}])
    with pytest.raises(InputError, match="both answer GTZAN for m"):
        find_responses([tmp_path])


def test_paths_that_hold_nothing_are_bad_input(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        find_responses([tmp_path / "nowhere"])
    with pytest.raises(InputError, match="no response files"):
        find_responses([tmp_path])
    with pytest.raises(InputError, match="name it"):
        find_responses([write(tmp_path / "answers.jsonl", [{}])])
    with pytest.raises(InputError, match="no annotation files"):
        find_annotations(tmp_path)


def test_clips_of_one_recording_are_resampled_together():
    assert DATASETS["GS_key"].recording("GS/0010089-3.wav") == DATASETS["GS_key"].recording("GS/0010089-0.wav")
    assert DATASETS["MTT"].recording("a/bach-01-aria-30-59.mp3") == "a/bach-01-aria"
    assert DATASETS["GTZAN"].recording("blues.00001.wav") == "blues.00001.wav"
    assert audio_key("/somewhere/data/Guzheng/x/data/74.flac") == audio_key("../testdata/Guzheng/x/data/74.flac")


def test_text_is_made_fit_to_encode():
    assert clean("a\ud800b") == "a\ufffdb"
    assert clean("𝄞") == "𝄞"
    assert len(clean("x" * 2_000_000)) == 1_000_000


def test_an_instruction_reads_back_from_the_authors_layout(shared):
    import gzip as gz

    for name, path in find_annotations(shared / "cmi-bench" / "annotations").items():
        with gz.open(path, "rt") as file:
            for line in list(file)[:50]:
                record = json.loads(line)
                assert Instruction.from_record(record).to_record() == record, name


def test_released_answers_follow_the_released_annotations(shared):
    annotations = find_annotations(shared / "cmi-bench" / "annotations")
    joined = 0
    for file in find_responses([shared / "cmi-bench" / "responses"]):
        if file.dataset.name in annotations:
            found = list(ResponseSet(file, annotations[file.dataset.name]))
            assert len(found) == file.dataset.size
            assert all(entry.answered for entry in found)
            joined += 1
    assert joined == 3 * 13

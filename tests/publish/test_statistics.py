"""The statistics of data: small sets counted by hand."""

import json
import shutil

import pytest

from cmi._util.errors import InputError
from cmi.publish.counts import DataCounts
from cmi.publish.page import stats_page
from cmi.publish.sources import find_source
from cmi.publish.statistics import describe
from cmi.publish.tables import all_tables


def test_votes_are_counted_by_sample_pair_and_prompt(votes):
    record = describe(find_source(str(votes)))
    counted = {name: record[name] for name in ("rows", "samples", "units", "takes", "references", "prompts", "raters")}
    assert counted == {"rows": 7, "samples": 4, "units": 2, "takes": 4, "references": 1, "prompts": 2, "raters": 2}
    assert record["systems"] == {"alpha": 2, "beta": 2}
    assert record["modalities"] == {"text": 2, "text+lyrics+audio": 2}
    assert record["has_lyrics"] == 2 and record["feedback"] == 1
    assert record["hours"] == pytest.approx((1 + 2 + 3 + 4) / 3600)
    assert record["reference_hours"] == pytest.approx(2 / 3600)
    assert (record["missing"], record["unreadable"]) == (0, 0)
    assert record["languages"] == {"prompts": {"en": 1, "ja": 1}, "lyrics": {"unknown": 1}}
    assert record["lengths"]["words of a prompt"]["max"] == 5
    assert record["lengths"]["seconds of a take"]["median"] == pytest.approx(2.5)


def test_choices_confidence_and_agreement_are_those_of_tables_6_and_7_and_figure_4(votes):
    record = describe(find_source(str(votes)), with_audio=False)
    assert record["choices"]["musicality"] == {"a": 1, "b": 3, "both": 0, "neither": 0}
    assert record["confidence"]["musicality"]["counts"] == {"1": 1, "2": 1, "3": 0, "4": 1, "5": 1}
    assert record["confidence"]["alignment"]["mean"] == 4  # the vote without a confidence does not count
    musicality = record["agreement"]["musicality"]
    assert (musicality["units"], musicality["pairs"], musicality["agreeing"]) == (2, 2, 1)
    assert record["agreement"]["alignment"]["units"] == 1  # one person judged the second pair
    (between,) = record["axes"].values()
    assert (between["same"], between["different"]) == (1, 2)
    assert between["confidence_same"] == {"musicality": 4, "alignment": 5}
    assert between["confidence_different"] == {"musicality": 3.5, "alignment": 3}
    assert record["hours"] is None


def test_a_repeated_vote_of_one_rater_is_no_agreement_between_raters(votes, write_lines):
    rows = [json.loads(line) for line in (votes / "preferences.jsonl").read_text().splitlines()]
    write_lines(votes / "preferences.jsonl", [rows[0], {**rows[0], "id": "again"}])
    record = describe(find_source(str(votes)), with_audio=False)
    assert record["samples"] == 2 and record["agreement"] == {}


def test_splits_are_counted_apart(votes):
    splits = describe(find_source(str(votes)), with_audio=False)["splits"]
    assert {name: (one["samples"], one["units"], one["prompts"]) for name, one in splits.items()} == {
        "train": (2, 1, 1),
        "test": (2, 1, 1),
    }
    assert splits["test"]["modalities"] == {"text+lyrics+audio": 2}


def test_takes_ratings_and_prompt_folders_are_read_too(tmp_path, votes, tone, write_lines):
    takes = describe(find_source(str(tmp_path / "takes")))
    assert (takes["takes"], takes["prompts"], takes["is_paired"], len(takes["systems"])) == (4, 2, False, 2)
    rows = [{"audio": "x.wav", "musicality": value, "rater": name} for name, value in (("Ann", 3), ("Bob", 5))]
    rated = describe(find_source(str(write_lines(tmp_path / "ratings.jsonl", rows))))
    assert rated["ratings"]["musicality"]["mean"] == 4 and rated["missing"] == 1
    tone(tmp_path / "folders/one/alpha.wav", 100)
    tone(tmp_path / "folders/one/beta.wav", 200)
    (tmp_path / "folders/one/prompt.txt").write_text("slow")
    pairs = describe(find_source(str(tmp_path / "folders")))
    assert (pairs["units"], pairs["systems"], pairs["choices"]) == (1, {"alpha": 1, "beta": 1}, {})


def test_a_file_of_prompts_is_counted(tmp_path, tone, write_lines):
    tone(tmp_path / "like.wav", 100, seconds=2)
    rows = [{"text": "slow sad piano", "split": "test"}, {"text": "fast", "lyrics": "la la", "reference": "like.wav"}]
    record = describe(find_source(str(write_lines(tmp_path / "prompts.jsonl", rows))))
    assert (record["samples"], record["prompts"], record["takes"], record["references"]) == (2, 2, 0, 1)
    assert record["modalities"] == {"text": 1, "text+lyrics+audio": 1}
    assert record["lengths"]["words of a prompt"]["max"] == 3
    assert {name: one["samples"] for name, one in record["splits"].items()} == {"test": 1, "not stated": 1}


def test_what_two_splits_share_is_said_beside_their_sizes(votes, tone, write_lines):
    def said() -> list[str]:
        record = describe(find_source(str(votes)))
        return next(table.notes for table in all_tables([record]) if table.title.endswith("splits"))

    assert said() == ["No text, lyrics or recording is in two splits."]
    row = {"id": "copy", "text": "A slow  song with PIANO", "a": "copy.wav", "b": "reference.wav", "split": "test"}
    lines = (votes / "preferences.jsonl").read_text().splitlines()
    write_lines(votes / "preferences.jsonl", [*map(json.loads, lines), row])
    shutil.copy(votes / "../takes/audio/alpha/1-0.flac", votes / "copy.wav")
    counted, *examples = said()
    assert counted == "In several splits: text 1, recording 1. For example:"
    assert "the same text, 'a slow song with piano', is in train (row 1A-musicality) and test (row copy)." in examples


def test_a_published_data_set_is_counted_by_its_name(tmp_path):
    music = tmp_path / "pam/human_eval/music"
    music.mkdir(parents=True)
    (music / "scores.csv").write_text(
        "Model,File Name,Text,OVL,REL\nreal,1,a tango,4,5\nldm,1,a tango,2,nan\nldm,2,,,\n"
    )
    record = describe(find_source("pam", tmp_path), with_audio=False)
    assert (record["samples"], record["prompts"], record["left_out"]) == (2, 1, {"no rating": 1})
    overview = all_tables([record])[0]
    assert overview.headers == ["", "pam", "pam (paper)"]
    assert overview.rows[0] == ["samples", "2", "500"]


def test_a_length_is_read_once_and_again_when_the_file_changes(votes, tone, monkeypatch):
    source = find_source(str(votes))
    describe(source)
    monkeypatch.setattr("cmi.publish.recordings.duration", lambda path: pytest.fail(f"{path} was opened again"))
    assert describe(source)["hours"] == pytest.approx(10 / 3600)
    monkeypatch.undo()


def test_recordings_that_cannot_be_read_are_counted(votes):
    (votes.parent / "takes/audio/alpha/1-0.flac").write_bytes(b"<html>")
    (votes / "reference.wav").unlink()
    record = describe(find_source(str(votes)))
    assert (record["unreadable"], record["missing"]) == (1, 1)


def test_names_in_the_data_are_text_on_the_page(votes, write_lines):
    rows = [json.loads(line) for line in (votes / "preferences.jsonl").read_text().splitlines()]
    write_lines(votes / "preferences.jsonl", [{**row, "generator_a": "<script>", "split": "<b>"} for row in rows])
    text = stats_page([describe(find_source(str(votes)))])
    assert "&lt;script&gt;" in text and text.count("<script>") == 1 and "<b>" not in text  # the page has one script
    assert "Confidence in musicality" in text


def test_a_row_costs_some_bytes_and_not_its_text():
    """Memory stays flat: what is kept of a sample is a few numbers."""
    counts = DataCounts()
    kept = [value for value in vars(counts).values() if hasattr(value, "itemsize")]
    assert len(kept) > 10 and sum(value.itemsize for value in kept) < 100


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "no row in it"),
        ('{"prompt": "slow"}\n', "neither 'a' and 'b' of pairs, nor 'audio' of takes, nor a prompt"),
    ],
)
def test_a_file_of_something_else_is_one_sentence(tmp_path, content, sentence):
    (tmp_path / "x.jsonl").write_text(content)
    with pytest.raises(InputError, match=sentence):
        describe(find_source(str(tmp_path / "x.jsonl")))


def test_votes_in_the_layout_of_cmi_pref_are_counted_as_the_paper_counts_them(tmp_path, write_lines):
    def vote(prompt: str, user: str, musicality: str, alignment: str, sure: float) -> dict:
        row = {"audio-path": f"cmi-pref/gen-audio/{prompt}-1.mp3", "audio2": f"cmi-pref/gen-audio/{prompt}-2.mp3"}
        row |= {
            "prompt": prompt,
            "lyrics": "",
            "ref-audio-path": "",
            "model_a": "yue",
            "model_b": "suno",
            "user id": user,
        }
        said = {"preference-musicality": musicality, "preference-alignment": alignment}
        return row | said | {f"confidence_{name}": sure for name in said}

    write_lines(tmp_path / "cmi-pref/cmi_train.jsonl", [vote("jazz", "1", "model_a", "model_b", 3.5)])
    tested = [vote("rock", "1", "model_a", "model_a", 5), vote("rock", "2", "model_a", "tie", 2)]
    write_lines(tmp_path / "cmi-pref/cmi_test.jsonl", tested)
    record = describe(find_source("cmi-pref", tmp_path), with_audio=False)
    assert (record["samples"], record["units"], record["prompts"], record["raters"]) == (3, 2, 2, 2)
    assert record["splits"]["test"]["samples"] == 2 and record["systems"] == {"suno": 2, "yue": 2}
    assert (record["agreement"]["musicality"]["agreeing"], "alignment" in record["agreement"]) == (1, False)
    assert record["axes"]["musicality, alignment"]["same"] == 1
    assert record["confidence"]["musicality"]["counts"] == {"1": 0, "2": 1, "3": 1, "4": 0, "5": 1}
    notes = [note for table in all_tables([record]) for note in table.notes]
    assert any(note.startswith("The paper: 492 pairs") for note in notes)

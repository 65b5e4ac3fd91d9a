"""Each published layout becomes items, with the paper's filters; hostile ones end in one sentence."""

import pytest

from cmi._util.errors import InputError
from cmi.rewardbench.data import (
    cmi_pref,
    cmi_pref_pseudo,
    count,
    counts_table,
    data_sets,
    find,
    music_arena,
    pam,
    released,
)
from cmi.rewardbench.items import Vote

# PAM


def test_pam_is_read_with_both_ratings(tmp_path, make):
    make.pam(tmp_path, "musicldm,7,a tango,2.5,3", 'real,8,"a waltz, slow",4.5,5')
    first, second = pam.DATA_SET.read(tmp_path)
    assert (first.id, first.dataset, first.prompt.text) == ("musicldm/7", "pam", "a tango")
    assert first.ratings == {"musicality": 2.5, "alignment": 3.0}
    assert first.about == {"generator": "musicldm", "split": "test"}
    assert second.prompt.text == "a waltz, slow"
    assert all(take.exists() for item in (first, second) for take in item.takes)


def test_pam_is_found_from_the_folder_of_the_zip_or_from_inside(tmp_path, make):
    make.pam(tmp_path, "musicldm,7,a tango,2.5,3")
    for folder in (tmp_path, tmp_path / "human_eval", tmp_path / "human_eval" / "music"):
        assert len(list(pam.DATA_SET.read(folder))) == 1


def test_pam_without_a_rating_is_left_out_and_a_missing_recording_is_not(tmp_path, make):
    make.pam(tmp_path, "musicldm,7,a tango,nan,", "musicldm,8,a tango,3,")
    (tmp_path / "human_eval/music/musicldm/8.wav").unlink()
    counts = count(pam.DATA_SET.survey(tmp_path))
    assert (counts.kept, counts.left_out, counts.absent) == (1, {"no rating": 1}, 1)


@pytest.mark.parametrize(
    ("row", "header", "sentence"),
    [
        ("musicldm,7,a tango,9,3", None, r"scores.csv line 2: 'OVL' is 9.0, expected a number from 1 to 5"),
        ("musicldm,7,a tango,good,3", None, r"scores.csv line 2: 'OVL' is 'good'"),
        ("..,../../x,a tango,3,3", None, r"scores.csv line 2: the path .* leads out of"),
        ("musicldm,7,,3,3", None, r"scores.csv line 2: 'Text' is missing"),
        ("musicldm,7,a tango,3", "Model,File Name,Text,OVL", r"line 1: no column 'REL' in the header"),
    ],
)
def test_bad_rows_of_pam_are_named(tmp_path, make, row, header, sentence):
    make.pam(tmp_path, row, **({"header": header} if header else {}))
    with pytest.raises(InputError, match=sentence):
        list(pam.DATA_SET.read(tmp_path))


# Music Arena


def test_a_battle_is_a_pair_with_one_overall_vote(tmp_path, make):
    make.battle(tmp_path, "u1", preference="B", lyrics="la la", is_instrumental=False)
    (item,) = music_arena.DATA_SET.read(tmp_path)
    assert item.votes == {"overall": Vote("b")}
    assert item.prompt.modality == "text+lyrics"
    assert item.takes[0] == tmp_path / "audio_files/01-2025JULAUG/u1-a.mp3"
    assert item.about == {
        "month": "2025-08",
        "voted": "2025-08-13T10:00:00-04:00",
        "period": "01-2025JULAUG",
        "generator_a": "musicgen",
        "generator_b": "acestep",
        "rater": "someone",
        "split": "test",
    }


def test_the_papers_filters_are_applied_and_counted(tmp_path, make):
    make.battle(tmp_path, "u1")
    make.battle(tmp_path, "u2", preference="TIE")
    make.battle(tmp_path, "u3", preference="BOTH_BAD")
    make.battle(tmp_path, "u4", audio_b="")
    make.battle(tmp_path, "u5", preference=None)
    make.battle(tmp_path, "u6", "07-2026JAN", date="2026-01-02T00:00:00-05:00", preference="TIE")
    counts = count(music_arena.DATA_SET.survey(tmp_path))
    assert counts.kept == 1
    assert counts.left_out == {"a recording is missing": 1, "both bad": 1, "no vote": 1, "split later": 1, "tie": 1}
    table = counts_table(data_sets()["music-arena"], counts)
    assert table.rows[0] == ["rows", "6", "2,800"]
    assert ["left out: both bad", "1", ""] in table.rows
    assert table.rows[-1] == ["kept", "1", "1,340"]
    assert len(list(music_arena.DATA_SET.read(tmp_path, split="later"))) == 0
    make.battle(tmp_path, "u7", "07-2026JAN", date="2026-01-02T00:00:00-05:00")
    assert [item.id for item in music_arena.DATA_SET.read(tmp_path, split="later")] == ["u7"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"preference": "MAYBE"}, r"u1.json: 'preference' is 'MAYBE', expected one of a, b, tie, both_bad"),
        ({"audio_a": "../../secret.mp3"}, r"u1.json: the path '../../secret.mp3' leads out of"),
        ({"audio_a": "/etc/passwd"}, r"leads out of"),
        ({"date": "yesterday"}, r"u1.json: 'date' is 'yesterday'"),
        ({"prompt": 5}, r"u1.json: 'prompt' is int, expected text"),
        ({"battle_uuid": None}, r"u1.json: 'battle_uuid' is missing"),
    ],
)
def test_bad_battles_are_named(tmp_path, make, changes, sentence):
    make.battle(tmp_path, "u1", **changes)
    with pytest.raises(InputError, match=sentence):
        list(music_arena.DATA_SET.read(tmp_path))


@pytest.mark.parametrize("content", ["{", "[]", '{"preference": "A"}', "[" * 100_000])
def test_files_that_are_no_battle_are_named(tmp_path, make, content):
    make.battle(tmp_path, "u1").write_text(content)
    with pytest.raises(InputError, match=r"u1.json: "):
        list(music_arena.DATA_SET.read(tmp_path))


# CMI-Pref


def test_a_vote_of_cmi_pref_has_both_axes_with_their_confidences(tmp_path, make):
    row = make.vote(
        **{"ref-audio-path": "cmi-pref/ref-audio/r.mp3", "lyrics": "la", "confidence_preference-alignment": "3.5"}
    )
    make.lines(tmp_path / "cmi_test.jsonl", row)
    (item,) = cmi_pref.DATA_SET.read(tmp_path)
    assert item.votes == {"musicality": Vote("a", 3), "alignment": Vote("b", 3.5)}
    assert item.prompt.modality == "text+lyrics+audio"
    assert item.prompt.reference == tmp_path / "ref-audio/r.mp3"
    assert item.takes == (tmp_path / "gen-audio/a.mp3", tmp_path / "gen-audio/b.mp3")
    assert {item.about[name] for name in ("generator_a", "generator_b", "rater", "prompt_id", "split")} == {
        *("songgen", "yue", "604", "90503", "test")
    }


@pytest.mark.parametrize("nothing", [None, "", "None", "nan", float("nan")])
def test_absent_lyrics_and_references_are_absent(tmp_path, make, nothing):
    make.lines(tmp_path / "cmi_test.jsonl", make.vote(**{"lyrics": nothing, "ref-audio-path": nothing}))
    (item,) = cmi_pref.DATA_SET.read(tmp_path)
    assert item.prompt.modality == "text"


def test_only_the_test_split_is_the_benchmark(tmp_path, make):
    make.lines(tmp_path / "cmi_train.jsonl", make.vote(), make.vote())
    make.lines(
        tmp_path / "cmi_test.jsonl",
        make.vote(**{"preference-musicality": "", "preference-alignment": None}),
        make.vote(),
    )
    make.lines(tmp_path / "cmi_data.jsonl", *[make.vote()] * 4)
    counts = count(cmi_pref.DATA_SET.survey(tmp_path))
    assert (counts.kept, counts.left_out) == (1, {"no preference": 1, "split train": 2})
    assert [item.id for item in cmi_pref.DATA_SET.read(tmp_path, "all")] == ["train-1", "train-2", "test-2"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"preference-musicality": "model_c"},
            r"cmi_test.jsonl line 1: 'preference-musicality' is 'model_c', expected",
        ),
        ({"confidence_preference-musicality": 7}, r"'confidence_preference-musicality' is 7, expected a number"),
        ({"audio2": "../b.mp3"}, r"cmi_test.jsonl line 1: the path '../b.mp3' leads out of"),
        ({"audio2": None}, r"cmi_test.jsonl line 1: 'audio2' is missing"),
    ],
)
def test_bad_votes_are_named(tmp_path, make, changes, sentence):
    make.lines(tmp_path / "cmi_test.jsonl", make.vote(**changes))
    with pytest.raises(InputError, match=sentence):
        list(cmi_pref.DATA_SET.read(tmp_path))


def test_a_missing_label_column_is_named(tmp_path, make):
    row = make.vote()
    del row["preference-alignment"]
    make.lines(tmp_path / "cmi_test.jsonl", row)
    with pytest.raises(InputError, match=r"cmi_test.jsonl line 1: no 'preference-alignment' \(audio-path"):
        list(cmi_pref.DATA_SET.read(tmp_path))


def test_pseudo_votes_leave_ties_out(tmp_path, make):
    tie = {"preference-musicality": "tie", "preference-alignment": "tie"}
    make.lines(tmp_path / "comparison_metadata_train.jsonl", make.vote(), make.vote(**tie))
    make.lines(tmp_path / "comparison_metadata_test.jsonl", make.vote(**{"preference-alignment": "both"}))
    items = list(cmi_pref_pseudo.DATA_SET.read(tmp_path))
    assert [item.about["split"] for item in items] == ["test", "train"]
    assert items[0].votes["alignment"].choice == "both"
    assert count(cmi_pref_pseudo.DATA_SET.survey(tmp_path)).left_out == {"no preference": 1}
    assert [item.about["split"] for item in cmi_pref_pseudo.DATA_SET.read(tmp_path, split="train")] == ["train"]


# the authors' list


def row(source: str, **more) -> dict:
    return {"source": source, "split": "test", "prompt": "x", "lyrics": "", "ref-audio-path": "", **more}


def test_the_authors_list_becomes_items_of_the_four_data_sets(tmp_path, make):
    make.lines(
        tmp_path / "all_test.jsonl",
        row(
            "PAM (music)",
            **{"audio-path": "human_eval/music/real/1.wav", "musicality": 4, "text-music alignment": "2.5"},
        ),
        row("MusicEval", **{"audio-path": "MusicEval_data/test_audio/0.wav", "musicality": 3.2}),
        row(
            "Music Arena (2025)",
            **{"audio-path": "x.mp3", "audio2": "MusicArena_data/audio_files/02-2025SEP/b.mp3", "preference": "B"},
        ),
        make.vote(lyrics=None),
        make.vote(split="train"),
        row("SomethingElse", **{"audio-path": "x.wav"}),
        row("Music Arena", **{"audio-path": "a.mp3", "audio2": "b.mp3", "preference": "tie"}),
    )
    items = list(released.DATA_SET.read(tmp_path))
    assert [item.dataset for item in items] == ["pam", "musiceval", "music-arena", "cmi-pref"]
    assert items[0].ratings == {"musicality": 4.0, "alignment": 2.5}
    assert items[1].ratings == {"musicality": 3.2}
    assert items[2].votes == {"overall": Vote("b")}
    assert items[2].about["month"] == "02-2025SEP"
    assert count(released.DATA_SET.survey(tmp_path)).left_out == {
        "source 'SomethingElse'": 1,
        "split train": 1,
        "tie or no vote": 1,
    }


def test_a_null_is_absent_in_the_prompt_and_present_in_the_released_group(tmp_path, make):
    make.lines(tmp_path / "all_test.jsonl", make.vote(lyrics=None), make.vote(**{"ref-audio-path": None}), make.vote())
    assert [(item.prompt.modality, item.about["modality"]) for item in released.DATA_SET.read(tmp_path)] == [
        ("text", "text+lyrics"),
        ("text", "text+ref"),
        ("text", "text"),
    ]


def test_recordings_of_the_list_are_found_in_the_folders_beside_it(tmp_path, make):
    make.pam(tmp_path / "pam", "real,1,x,4,4")
    make.musiceval(tmp_path / "musiceval", audio=make.clips(1, 2), **{"overall quality": [3.0, 4.0]})
    list(data_sets()["musiceval"].read(tmp_path / "musiceval"))
    make.lines(
        tmp_path / "released" / "all_test.jsonl",
        row("PAM", **{"audio-path": "human_eval/music/real/1.wav", "musicality": 4}),
        row("MusicEval", **{"audio-path": "MusicEval_data/test_audio/1.wav", "musicality": 4}),
        row("MusicEval", **{"audio-path": "MusicEval_data/test_audio/9.wav", "musicality": 4}),
        row("PAM", **{"audio-path": "human_eval/music/real/2.wav", "musicality": 4}),
    )
    found = [item.takes[0] for item in released.DATA_SET.read(tmp_path / "released")]
    assert found[0] == tmp_path / "pam/human_eval/music/real/1.wav"
    assert found[1].read_bytes() == make.sound(2)
    assert not found[2].exists()
    assert found[3] == tmp_path / "released/human_eval/music/real/2.wav"


def test_a_path_of_the_list_that_leads_out_is_refused(tmp_path, make):
    make.lines(tmp_path / "all_test.jsonl", row("PAM", **{"audio-path": "../../x.wav", "musicality": 4}))
    with pytest.raises(InputError, match=r"all_test.jsonl line 1: the path '../../x.wav' leads out of"):
        list(released.DATA_SET.read(tmp_path))


# finding them


@pytest.mark.parametrize(
    "name", ["pam", "musiceval", "music-arena", "cmi-pref", "cmi-pref-pseudo", "released", "studio"]
)
def test_a_folder_with_something_else_in_it_is_one_sentence(tmp_path, name):
    with pytest.raises(InputError, match=r": no .* in it, expected a data set as it was published$"):
        list(data_sets()[name].read(tmp_path))


def test_a_data_set_is_named_by_name_by_folder_or_by_file(tmp_path, make, monkeypatch):
    monkeypatch.setenv("CMI_DATA", str(tmp_path))
    make.pam(tmp_path / "pam", "real,1,x,4,4")
    mine = make.lines(tmp_path / "mine.jsonl", {"audio": "x.wav", "musicality": 3})
    assert find("pam").folder == tmp_path / "pam"
    assert find(f"released={tmp_path}").dataset.name == "released"
    assert find(str(mine)).dataset.name == "own"
    with pytest.raises(InputError, match=r"musiceval: not at .*musiceval; cmi data get musiceval"):
        find("musiceval")
    with pytest.raises(InputError, match=r"'nothing' is neither a file nor a data set; those are pam,"):
        find("nothing")
    with pytest.raises(InputError, match=r"no data set is called 'nothing'"):
        find("nothing=x")

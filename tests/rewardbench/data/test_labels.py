"""Published rows as preferences and ratings: every label is kept, and no prompt is in two splits that we draw."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi.preferences import Preference, Rating, prompt_key
from cmi.rewardbench.data import find
from cmi.rewardbench.data.labels import read_labels, split_of, stated_splits
from cmi.rewardbench.data.rows import LeftOut
from cmi.take import Pair, Prompt


def splits_of(found) -> dict[str, list]:
    labels = [each for each in read_labels(found) if not isinstance(each, LeftOut)]
    stated, parts = stated_splits(labels), defaultdict(list)
    for label in labels:
        parts[split_of(label, stated)].append(label)
    return dict(parts)


def test_a_vote_is_a_preference_on_each_axis(tmp_path, make):
    make.lines(tmp_path / "cmi_train.jsonl", make.vote(**{"confidence_preference-alignment": 2.5, "lyrics": "la"}))
    make.lines(tmp_path / "cmi_test.jsonl", make.vote(**dict.fromkeys(VOTES, "tie")))
    one, two, tie = read_labels(find(f"cmi-pref={tmp_path}"))
    assert (one.id, one.axis, one.choice, one.confidence) == ("train-1-musicality", "musicality", "a", 3)
    assert (two.id, two.axis, two.choice, two.confidence) == ("train-1-alignment", "alignment", "b", 2)
    assert one.rater == two.rater == "604"
    assert two.about["x_confidence"] == 2.5
    assert "x_confidence" not in one.about
    assert one.prompt == Prompt("lofi beat", "la")
    assert one.pair.a == tmp_path / "gen-audio" / "a.mp3"
    assert one.about == {
        "source": "cmi-pref",
        "generator_a": "songgen",
        "generator_b": "yue",
        "x_prompt_id": "90503",
        "split": "train",
    }
    assert tie == LeftOut("no preference", "test")


VOTES = ("preference-musicality", "preference-alignment")


def pref(folder, make, prompts, split="train"):
    rows = [make.vote(prompt=f"prompt {i}", **{"audio-path": f"gen-audio/{i}.mp3"}) for i in prompts]
    make.lines(folder / f"cmi_{split}.jsonl", *rows)


def test_a_tenth_of_the_prompts_of_train_is_valid_if_no_valid_split_is_published(tmp_path, make):
    pref(tmp_path, make, [i // 2 for i in range(2000)])
    pref(tmp_path, make, range(5000, 5100), "test")
    parts = splits_of(find(f"cmi-pref={tmp_path}"))
    assert len(parts["test"]) == 200
    assert 0.07 < len(parts["valid"]) / 4000 < 0.13
    assert len(parts["valid"]) + len(parts["train"]) == 4000
    train, valid = ({label.prompt for label in parts[name]} for name in ("train", "valid"))
    assert not train & valid


def test_a_published_valid_split_is_kept(tmp_path, make):
    for split in ("train", "val"):
        make.lines(tmp_path / f"pairs_{split}.jsonl", *(make.vote(prompt=f"{split} {i}") for i in range(50)))
    parts = splits_of(find(f"cmi-pref-pseudo={tmp_path}"))
    assert {name: len(labels) for name, labels in parts.items()} == {"train": 100, "valid": 100}


def test_without_any_split_the_prompts_decide_about_all_three(tmp_path, make):
    make.lines(tmp_path / "pairs.jsonl", *(make.vote(prompt=f"prompt {i}") for i in range(1000)))
    parts = splits_of(find(f"cmi-pref-pseudo={tmp_path}"))
    assert 0.75 < len(parts["train"]) / 2000 < 0.85
    assert 0.07 < len(parts["valid"]) / 2000 < 0.13
    assert sum(map(len, parts.values())) == 2000


def test_takes_without_a_prompt_are_split_by_its_number(tmp_path, make):
    """MusicEval's texts are not read; clips of one prompt by several systems stay together all the same."""
    names = [{"bytes": make.sound(i), "path": f"S{i % 3:03}_P{i // 3:03}.wav"} for i in range(120)]
    make.musiceval(tmp_path, "train", audio=names, **{"overall quality": [3.0] * 120, "textual alignment": [3.0] * 120})
    parts = splits_of(find(f"musiceval={tmp_path}"))
    train, valid = ({label.about["x_prompt_id"] for label in parts[name]} for name in ("train", "valid"))
    assert not train & valid
    assert (len(parts["train"]) % 3, len(parts["valid"]) % 3) == (0, 0)
    assert isinstance(parts["valid"][0], Rating)


@pytest.mark.parametrize("name", ["preferences", "ratings"])
def test_a_folder_of_yours_gives_its_rows_as_they_are(tmp_path, make, name):
    row = {"id": "x", "text": "tone", "split": "later", "x_own": 3}
    labels = {"preferences": {"a": "a.wav", "b": "b.wav", "axis": "overall", "choice": "b", "soft": 0.2}}
    labels["ratings"] = {"audio": "a.wav", "musicality": 4.5, "source": "mine"}
    make.lines(tmp_path / f"{name}.jsonl", row | labels[name])
    (label,) = read_labels(find(str(tmp_path)))
    assert label.id == "x"
    kept = {key: value for key, value in labels[name].items() if key in ("soft", "source")}
    assert label.about == {"split": "later", "x_own": 3} | kept


PROMPTS = st.builds(Prompt, st.text("ab c", max_size=4), st.text("ab ", max_size=2))


@given(st.lists(st.tuples(PROMPTS, st.sampled_from(["", "train", "test"]), st.integers(0, 3))), st.booleans())
def test_no_prompt_is_in_two_splits_that_we_draw(tmp_path_factory, rows, is_stated):
    folder = tmp_path_factory.getbasetemp()
    labels = [
        Preference(Pair(prompt, folder / f"{take}.wav", folder / "b.wav"), "overall", "a", about={"split": split})
        for prompt, split, take in rows
        if split or not is_stated
    ]
    labels = labels if is_stated else [Preference(one.pair, "overall", "a") for one in labels]
    stated, drawn = stated_splits(labels), defaultdict(set)
    for label in labels:
        was = label.about.get("split", "")
        drawn[was, prompt_key(label)].add(split_of(label, stated))
        assert was != "test" or split_of(label, stated) == "test"
    assert all(len(splits) == 1 for splits in drawn.values())

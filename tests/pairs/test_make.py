"""From takes to a file of pairs: what goes into it, which split, and that the same seed gives the same bytes."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as some

from cmi._util.errors import InputError
from cmi.pairs.checks import UNREADABLE
from cmi.pairs.filters import Filtered, GoodTake, TakeLimits
from cmi.pairs.leaks import Trait, find_leaks, prompt_traits
from cmi.pairs.make import PairSettings, _Identified, _sample, make_pairs, write_pairs
from cmi.pairs.pool import PooledTake, read_pool
from cmi.pairs.report import summarise, tables
from cmi.preferences import NamedPair, read_pairs, read_rows
from cmi.report.tables import print_tables
from cmi.take import Pair, Prompt

from .conftest import RATE, melody

TEXTS = [{"text": f"prompt {number}"} for number in range(10)]


def rows_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "preferences.jsonl").read_text().splitlines()]


def make(manifests, checker, folder: Path, **options) -> list[dict]:
    made = make_pairs(read_pool(manifests), PairSettings(**options), checker)
    folder.mkdir()
    write_pairs(made, summarise(made), folder)
    return rows_of(folder)


def test_pairs_are_what_judges_and_arenas_read(write_takes, checker, tmp_path):
    manifest = write_takes(TEXTS[:4], ["one", "two"])
    rows = make([manifest], checker, tmp_path / "pairs")
    assert set(rows[0]) == {
        *("id", "text", "lyrics", "reference", "a", "b", "generator_a", "generator_b", "modality", "split")
    }
    found = read_pairs(tmp_path / "pairs")
    assert len(found) == 4 and all(one.known == {} for one in found)
    for one in found:
        assert one.pair.a.resolve().is_file() and one.pair.b.resolve().is_file()
        assert one.pair.a.parent.name == one.about["generator_a"]
        assert one.pair.b.parent.name == one.about["generator_b"]


def test_takes_of_one_prompt_are_found_in_several_manifests(write_takes, checker, tmp_path):
    manifests = [
        write_takes(TEXTS[:3], ["one"], "first"),
        write_takes([{"text": "PROMPT  0"}, {"text": "prompt 2"}], ["two"], "second", first_seed=100),
    ]
    rows = make(manifests, checker, tmp_path / "pairs")
    assert sorted(row["text"] for row in rows) == ["prompt 0", "prompt 2"]


def test_a_folder_of_takes_is_read_by_its_file_names(tmp_path, checker):
    for number in range(2):
        folder = tmp_path / "takes" / str(number)
        folder.mkdir(parents=True)
        (folder / "prompt.txt").write_text(f"prompt {number}")
        for place, system in enumerate(("one", "two")):
            soundfile.write(folder / f"{system}.wav", melody(10 * number + place), RATE)
    rows = make([tmp_path / "takes"], checker, tmp_path / "pairs")
    assert {frozenset((row["generator_a"], row["generator_b"])) for row in rows} == {frozenset(("one", "two"))}


def test_takes_without_a_system_are_paired_only_on_request(write_takes, checker, tmp_path):
    manifest = write_takes(TEXTS[:2], ["one", "two"])
    manifest.write_text(manifest.read_text().replace('"generator"', '"x_name"'))
    with pytest.raises(InputError, match=r"no prompt has two of the 4 takes .* or --same-system"):
        make_pairs(read_pool([manifest]), PairSettings(), checker)
    assert len(make([manifest], checker, tmp_path / "pairs", same_system=True)) == 2


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(write_takes, checker, tmp_path):
    manifest = write_takes(TEXTS, ["one", "two", "three"])
    files = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        make([manifest], checker, tmp_path / name, pairs=12, seed=seed)
        files.append((tmp_path / name / "preferences.jsonl").read_bytes())
    assert files[0] == files[1] != files[2]


def test_the_order_of_manifests_changes_nothing(write_takes, checker, tmp_path):
    manifests = [write_takes(TEXTS[:5], [name], name, first_seed=20 * i) for i, name in enumerate(("one", "two"))]
    found = [make(order, checker, tmp_path / str(i)) for i, order in enumerate((manifests, manifests[::-1]))]
    first, second = ([row["id"] for row in rows] for rows in found)
    assert first == second


def test_a_held_out_system_is_in_test_only(write_takes, checker, tmp_path):
    manifest = write_takes(TEXTS, ["one", "two", "new"])
    options = {"hold_out": ("new",), "shares": {"train": 0.5, "test": 0.5}}
    made = make_pairs(read_pool([manifest]), PairSettings(**options), checker)
    splits = {pair.split for pair in made.pairs if "new" in (pair.a.take.system, pair.b.take.system)}
    assert splits == {"test"}
    assert Counter(pair.split for pair in made.pairs) == {"train": 5, "test": 15}
    assert made.would_leak == 10


def test_a_stated_split_is_kept(write_takes, checker, tmp_path):
    first = write_takes(TEXTS[:3], ["one", "two"], "a", split="test")
    second = write_takes(TEXTS[3:6], ["one", "two"], "b", first_seed=50, split="train")
    rows = make([first, second], checker, tmp_path / "pairs")
    assert {row["text"]: row["split"] for row in rows} == {
        f"prompt {number}": "test" if number < 3 else "train" for number in range(6)
    }


def test_prompts_of_one_reference_are_in_one_split_and_those_of_two_stated_ones_are_left_out(
    write_takes, checker, tmp_path
):
    for name in ("like.wav", "copy.wav"):
        (tmp_path / "takes").mkdir(exist_ok=True)
        soundfile.write(tmp_path / "takes" / name, melody(999), RATE)
    prompts = [
        {"text": "one", "reference": "like.wav", "split": "train"},
        {"text": "two", "reference": "copy.wav", "split": "test"},
        {"text": "three", "reference": "copy.wav", "split": "train"},
    ]
    made = make_pairs(read_pool([write_takes(prompts, ["x", "y"])]), PairSettings(), checker)
    assert sorted((pair.prompt.text, pair.split) for pair in made.pairs) == [("one", "train"), ("three", "train")]
    assert made.would_leak == 1


def test_a_test_split_has_as_many_pairs_of_each_modality(write_takes, checker, tmp_path):
    (tmp_path / "takes").mkdir()
    prompts = []
    for number in range(32):
        extra = {"lyrics": f"la {number}"} if number % 2 else {}
        if number % 4 > 1:
            soundfile.write(tmp_path / "takes" / f"like{number}.wav", melody(900 + number, 1.0), RATE)
            extra["reference"] = f"like{number}.wav"
        prompts.append({"text": f"prompt {number}", **extra})
    manifest = write_takes(prompts, ["one", "two"], seconds=3.5)
    rows = make([manifest], checker, tmp_path / "pairs", test_pairs=12, pairs=24)
    counts = Counter((row["split"], row["modality"]) for row in rows)
    modalities = ("text", "text+lyrics", "text+audio", "text+lyrics+audio")
    assert [counts["test", modality] for modality in modalities] == [3, 3, 3, 3]
    assert sum(counts.values()) == 24
    assert find_leaks(tmp_path / "pairs") == []


def test_takes_that_cannot_make_a_pair_are_an_error_that_says_why(write_takes, checker):
    manifest = write_takes(TEXTS[:2], ["one", "two"], seconds=1.0)
    with pytest.raises(InputError, match=r"all 4 takes were left out \(4 short\)"):
        make_pairs(read_pool([manifest]), PairSettings(), checker)
    made = make_pairs(read_pool([manifest]), PairSettings(limits=TakeLimits(min_seconds=0.5)), checker)
    assert len(made.pairs) == 2


def test_the_report_counts_what_the_file_has(write_takes, checker, tmp_path):
    manifest = write_takes(TEXTS, ["one", "two", "three"])
    rows = make([manifest], checker, tmp_path / "pairs", pairs=20)
    report = json.loads((tmp_path / "pairs" / "report.json").read_text())
    assert report["pairs"] == {"asked": 20, "possible": 30, "would_leak": 0, "made": 20, "prompts": 10}
    assert {(row["a"], row["b"]): row["pairs"] for row in report["systems"]} == Counter(
        (row["generator_a"], row["generator_b"]) for row in rows
    )
    assert {row["split"]: sum(row["pairs"].values()) for row in report["splits"]} == Counter(
        row["split"] for row in rows
    )
    print_tables(tables(report))


def test_the_report_says_how_often_a_is_the_louder_take(write_takes, checker, tmp_path):
    manifest = write_takes(TEXTS, ["one", "two"])
    for path in (tmp_path / "takes" / "audio" / "two").iterdir():
        samples, rate = soundfile.read(path)
        soundfile.write(path, samples / 10, rate)
    made = make_pairs(read_pool([manifest]), PairSettings(), checker)
    nulls = {row["null"]: row for row in summarise(made)["nulls"]}
    assert nulls["louder"]["share"] == 1.0 and nulls["louder"]["a"] == 0.5  # sides are balanced
    assert nulls["longer"]["share"] == 0.0 and nulls["longer"]["a"] is None


prompts = some.lists(
    some.tuples(
        some.sampled_from("abcd"),  # text
        some.sampled_from(["", "", "la", "lo"]),  # lyrics
        some.none() | some.sampled_from("rst"),  # reference
        some.lists(some.tuples(some.sampled_from("XYZ"), some.integers(0, 25)), min_size=1, max_size=5),  # takes
        some.sampled_from(["", "", "train", "test"]),  # stated split
    ),
    max_size=8,
)


@settings(max_examples=200)
@given(prompts, some.integers(0, 5), some.none() | some.integers(4, 8), some.sampled_from([(), ("X",)]))
def test_no_sampled_pairs_leak_whatever_takes_share(found, seed, test_pairs, hold_out):
    asked = _Identified([], [], [])
    takes: dict[tuple[int, str], GoodTake] = {}
    for number, (text, lyrics, reference, own, stated) in enumerate(found):
        prompt = Prompt(text, lyrics, Path(reference) if reference else None)
        asked.prompts.append(prompt)
        sounds = [Trait("recording", reference)] if reference else []
        asked.traits.append(frozenset([*prompt_traits(prompt), *sounds]))
        for system, recording in own:
            take = PooledTake(Path(str(recording)), number, system, "", stated)
            takes[number, str(recording)] = GoodTake(take, number, str(recording), UNREADABLE)
    options = PairSettings(test_pairs=test_pairs, hold_out=hold_out, seed=seed)
    try:
        made = _sample(asked, Filtered(list(takes.values()), []), 0, options, None, random.Random(seed))
    except InputError:
        return  # no prompt has two takes of two systems
    rows = [
        NamedPair("", Pair(pair.prompt, pair.a.take.path, pair.b.take.path), {}, {"split": pair.split})
        for pair in made.pairs
    ]
    assert find_leaks(rows) == []
    for pair in made.pairs:
        assert pair.split == "test" or not {pair.a.take.system, pair.b.take.system} & set(hold_out)


def test_rows_are_read_back_as_they_were_made(write_takes, checker, tmp_path):
    make([write_takes(TEXTS[:3], ["one", "two"])], checker, tmp_path / "pairs")
    rows = list(read_rows(tmp_path / "pairs"))
    assert len({row.id for row in rows}) == 3 and all(row.axis is None and row.choice is None for row in rows)

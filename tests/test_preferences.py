import doctest
import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cmi import preferences
from cmi._util.errors import InputError
from cmi.preferences import AXES, Preference, draw_split, read_preferences, write_preferences
from cmi.take import Pair, Prompt

ROW = {"id": "p1", "text": "slow", "reference": "r.wav", "a": "x/a.flac", "b": "b.flac", "axis": "alignment"}
ROW |= {"choice": "b", "confidence": 4, "rater": "studio", "split": "test", "truth": {"flaw": "hum"}}


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_line_is_read_with_all_it_says(tmp_path):
    (labelled,) = read_preferences(write(tmp_path / "p.jsonl", ROW))
    pair = Pair(Prompt("slow", "", tmp_path / "r.wav"), tmp_path / "x/a.flac", tmp_path / "b.flac")
    about = {"split": "test", "truth": {"flaw": "hum"}}
    assert labelled == Preference(pair, "alignment", "b", 4, "studio", "p1", about)


def resolved(preference: Preference) -> Preference:
    pair, prompt = preference.pair, preference.prompt
    reference = prompt.reference and prompt.reference.resolve()
    return replace(preference, pair=Pair(replace(prompt, reference=reference), pair.a.resolve(), pair.b.resolve()))


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20).filter(
    lambda text: text == "" or text.strip().lower() not in ("", "none", "null", "nan")
)
NAMES = st.from_regex(r"[a-z0-9 é,\"]{1,8}\.wav", fullmatch=True).map(str.strip)
ABOUT = st.fixed_dictionaries(
    {},
    optional={
        "split": st.sampled_from(["train", "test"]),
        "truth": st.dictionaries(st.sampled_from(["flaw", "kind"]), WORDS | st.integers(), min_size=1),
        "seconds": st.floats(0, 1e6),
        "repeat": st.booleans(),
        "x_mine": WORDS.filter(bool),
    },
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([".jsonl", ".csv", ".parquet"]),
    st.lists(
        st.tuples(
            *(WORDS, WORDS, st.none() | NAMES, NAMES, NAMES, st.sampled_from(AXES)),
            *(st.sampled_from(["a", "b", "both", "neither"]), st.sampled_from([None, 1, 5]), WORDS, ABOUT),
        ),
        max_size=4,
    ),
)
def test_what_is_written_is_read_back(tmp_path_factory, suffix, drawn):
    """In a folder of its own, so that paths lead out of it and back in."""
    folder = tmp_path_factory.mktemp("p")
    (folder / "out").mkdir()
    written = [
        Preference(
            Pair(Prompt(text, lyrics, folder / reference if reference else None), folder / a, folder / "sub" / b),
            *(axis, choice, confidence, rater, f"row {number}", about),
        )
        for number, (text, lyrics, reference, a, b, axis, choice, confidence, rater, about) in enumerate(drawn)
    ]
    path = folder / "out" / f"p{suffix}"
    write_preferences(written, path)
    assert [resolved(one) for one in read_preferences(path)] == written


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": ""}, "line 1: 'a' is missing"),
        ({"axis": "taste"}, "line 1: 'axis' is 'taste', expected one of musicality, alignment, overall"),
        ({"choice": "c"}, "line 1: 'choice' is 'c', expected one of a, b, both, neither"),
        ({"choice": None}, "line 1: 'choice' is missing"),
        ({"confidence": 6}, "line 1: 'confidence' is 6, expected a number from 1 to 5"),
        ({"text": 3}, "line 1: 'text' is int"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        list(read_preferences(write(tmp_path / "p.jsonl", ROW | change)))


def test_two_rows_of_one_id_are_refused(tmp_path):
    with pytest.raises(InputError, match="line 2: 'id' is 'p1'"):
        list(read_preferences(write(tmp_path / "p.jsonl", ROW, ROW)))


def test_the_examples_in_the_docstrings_run():
    assert doctest.testmod(preferences).failed == 0 < doctest.testmod(preferences).attempted


def test_a_split_that_a_file_states_is_taken_and_otherwise_the_prompt_tells_it(tmp_path):
    stated = write(tmp_path / "s.jsonl", {**ROW, "id": "1", "split": "valid"}, {**ROW, "id": "2", "split": None})
    assert [one.id for one in read_preferences(stated, "valid")] == ["1"]
    assert not [*read_preferences(stated, "train"), *read_preferences(stated, "test")]
    rows = [{key: ROW[key] for key in ("a", "b", "axis", "choice")} | {"text": f"tune {n // 3}"} for n in range(900)]
    drawn = {split: list(read_preferences(write(tmp_path / "p.jsonl", *rows), split)) for split in preferences.SPLITS}
    assert sum(map(len, drawn.values())) == 900
    assert {split: len(found) // 3 for split, found in drawn.items()} == pytest.approx(
        {"train": 240, "valid": 30, "test": 30}, abs=25
    )
    assert len({one.prompt for found in drawn.values() for one in found}) == sum(
        len({one.prompt for one in found}) for found in drawn.values()
    ), "no prompt is in two splits"
    assert draw_split(Prompt("Tune  1")) == draw_split(Prompt("tune 1")), "as it is spelled"


def test_a_table_from_a_data_frame_is_read(tmp_path):
    """NaN for nothing, whole numbers as fractions, and words in any case."""
    row = {
        **ROW,
        "axis": "Alignment",
        "choice": " B",
        "confidence": 4.0,
        "lyrics": float("nan"),
        "truth": '{"flaw": "hum"}',
    }
    (found,) = read_preferences(write(tmp_path / "p.jsonl", row | {"x_n": float("nan"), "system_a": "s"}))
    assert (found.axis, found.choice, found.confidence, found.prompt.lyrics) == ("alignment", "b", 4, "")
    assert found.about == {"split": "test", "truth": {"flaw": "hum"}, "generator_a": "s"}


def test_a_name_that_is_no_format_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"p\.xlsx: expected a name that ends in \.jsonl, \.csv, \.parquet"):
        write_preferences([], tmp_path / "p.xlsx")
    assert not list(tmp_path.iterdir())

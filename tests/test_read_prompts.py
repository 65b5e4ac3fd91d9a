"""Prompts files: what is written is read back, whatever the format; what is wrong is one sentence."""

import json
import string
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.preferences import write_rows
from cmi.take import Prompt, PromptRow, prompt_record, read_prompts

ABSENT = {"none", "null", "nan"}  # words that mean an empty cell
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30).filter(
    lambda text: not text or (text.strip() and text.strip().lower() not in ABSENT)
)
names = st.text(string.ascii_letters + string.digits + "-_", min_size=1, max_size=8).filter(
    lambda name: name.lower() not in ABSENT
)


@st.composite
def prompt_rows(draw: st.DrawFn, folder: Path) -> list[PromptRow]:
    rows = []
    for name in draw(st.lists(names, min_size=1, max_size=5, unique=True)):
        reference = draw(st.none() | names.map(lambda stem: folder / f"{stem}.wav"))
        prompt = Prompt(draw(texts), draw(texts), reference)
        if not (prompt.text or prompt.lyrics or prompt.reference):
            prompt = Prompt("a waltz")
        about = draw(st.dictionaries(st.sampled_from(["language", "source", "licence", "x_mine"]), texts.filter(bool)))
        rows.append(PromptRow(name, prompt, draw(texts), draw(st.none() | st.booleans()), draw(texts), about))
    return rows


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
@settings(max_examples=40)
@given(data=st.data())
def test_what_is_written_is_read_back(suffix, data):
    with TemporaryDirectory() as name:
        folder = Path(name)
        rows = data.draw(prompt_rows(folder))
        write_rows((prompt_record(row, folder) for row in rows), folder / f"prompts{suffix}")
        assert list(read_prompts(folder / f"prompts{suffix}")) == rows


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = ["id", "text", "lyrics", "reference", "caption", "vocals", "language", "split", "x_own", "prompt"]


@given(st.lists(st.dictionaries(st.sampled_from(FIELDS), junk) | junk, max_size=4))
def test_any_json_is_read_or_refused_in_one_sentence(records):
    with TemporaryDirectory() as name:
        path = Path(name, "prompts.json")
        path.write_text(json.dumps(records))
        try:
            found = list(read_prompts(path))
        except InputError as error:
            assert "prompts.json" in str(error)
        else:
            assert len(found) == len(records) == len({row.id for row in found})
            assert all(row.prompt.text or row.prompt.lyrics or row.prompt.reference for row in found)


def test_a_row_is_numbered_and_its_paths_are_those_of_the_file(tmp_path):
    path = tmp_path / "prompts.csv"
    path.write_text("text,reference,vocals,licence,x_n\na waltz,like.wav,yes,CC0,7\na march,,,,\n")
    first, second = read_prompts(path)
    assert (first.id, first.prompt) == ("1", Prompt("a waltz", reference=tmp_path / "like.wav"))
    assert (first.vocals, first.about, first.own) == (True, {"licence": "CC0", "x_n": "7"}, {"x_n": "7"})
    assert (second.id, second.vocals, second.about) == ("2", None, {})


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"id": "b"}, "a prompt without text, lyrics and reference, expected at least one of them"),
        ({"id": "a", "text": "x"}, "'id' is 'a', the id of an earlier row"),
        ({"text": "x", "vocals": "perhaps"}, "'vocals' is 'perhaps', expected true or false"),
        ({"text": "x", "vocals": 2}, "'vocals' is '2', expected true or false"),
        ({"prompt": "x"}, "unknown field 'prompt'; did you mean 'text'?"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_named(tmp_path, row, sentence):
    path = tmp_path / "prompts.jsonl"
    path.write_text(json.dumps({"id": "a", "text": "fine"}) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(InputError) as caught:
        list(read_prompts(path))
    assert str(caught.value).startswith(f"{path} line 2: {sentence.partition(';')[0]}")

"""YAML and TOML that people write: a key twice is an error, and no file can exhaust the machine."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi._util.config import MOST_BYTES, MOST_DEPTH, read_table
from cmi._util.errors import InputError
from cmi.judge.prompt_file import read_role
from cmi.llm.endpoint_file import read_endpoint
from cmi.reward.train.config import bundled_configs, load_config

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.fixture
def read(tmp_path: Path):
    def read(text: str) -> object:
        (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
        return read_table(tmp_path / "config.yaml")

    return read


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("seed: 1\nlr: 2\nseed: 3\n", r"config.yaml line 3: the key 'seed' occurs twice, first in line 1$"),
        ("model:\n  dim: 1\n  dim: 2\n", r"line 3: the key 'dim' occurs twice, first in line 2"),
        ("{a: 1, a: 2}", r"line 1: the key 'a' occurs twice, first in line 1"),
        ("a: 1\n'a': 2\n", r"line 2: the key 'a' occurs twice"),
        ("- x\n- {k: [{b: 1, b: 1}]}", r"line 2: the key 'b'"),
        ("[" * (MOST_DEPTH + 1) + "]" * (MOST_DEPTH + 1), r"line 1: nested deeper than 50 levels"),
        ("[" * 100_000, r"line 1: nested deeper than 50 levels"),
        ("a:\n" + "".join(f"{' ' * i}a:\n" for i in range(1, 60)), r"nested deeper"),
        (LAUGHS, r"more than 100,000 values, with its aliases"),
        ("a: &a [*a]", r"more than 100,000 values"),
        ("x" * (MOST_BYTES + 1), r"larger than 1,000,000 bytes"),
        ("a: [1, 2", r"line \d: not YAML"),
        ("!!python/object/apply:os.system ['true']", r"line 1: not YAML"),
        ("2001-99-99 00:00:00", r"not YAML"),
        ("a: " + "9" * 5000, r"not YAML"),
        ("a: \x00", r"not YAML"),
    ],
)
def test_yaml_that_is_not_taken_is_one_sentence(read, text: str, sentence: str):
    with pytest.raises(InputError, match=sentence):
        read(text)


def test_plain_yaml_reads_as_ever(read):
    assert read("a: 1\nb: &x {c: [1, 2.5, yes, null]}\nd: *x\n") == {
        "a": 1,
        "b": {"c": [1, 2.5, True, None]},
        "d": {"c": [1, 2.5, True, None]},
    }
    assert read("base: &b {x: 1, y: 2}\nmine: {<<: *b, x: 3}\n")["mine"] == {"x": 3, "y": 2}
    assert read("1: a\n'1': b\n") == {1: "a", "1": "b"}
    assert read("") == {}
    assert [load_config(name) for name in bundled_configs()]


@given(text=st.text(st.sampled_from("ab:-[]{}&*!<>|\n '\"0"), max_size=60))
def test_no_text_is_a_traceback(tmp_path_factory: pytest.TempPathFactory, text: str):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(text)
    try:
        read_table(path)
    except InputError as error:
        assert str(path) in str(error)


def test_a_training_configuration_with_a_key_twice_is_refused(tmp_path: Path):
    (tmp_path / "mine.yaml").write_text("seed: 1\nseed: 2\n")
    with pytest.raises(InputError, match=r"mine.yaml line 2: the key 'seed' occurs twice, first in line 1"):
        load_config(str(tmp_path / "mine.yaml"))


def test_an_endpoint_or_a_prompt_with_a_key_twice_is_refused(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text('url = "http://localhost/v1"\nmodel = "m"\nurl = "http://example.org/v1"\n')
    for read in (lambda: read_endpoint(path), lambda: read_role(str(path))):
        with pytest.raises(InputError, match=r"mine.toml line 3: the key 'url' occurs twice"):
            read()


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, "a = " + "9" * 5000, "a = 1\n[a]\nb = 2", "a = {x = 1, x = 2}", "\ufeffa = \x00"]
)
def test_toml_that_cannot_be_read_is_one_sentence(tmp_path: Path, text: str):
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="mine"):
        read_table(tmp_path / "mine.toml")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "mine.json: the key 'c' occurs twice"),
        ('{"a": ', "mine.json: not JSON"),
        ("[" * 100_000, "mine.json: not JSON"),
        ("[1]", "mine.json: a list of 1, expected a table"),
    ],
)
def test_json_that_cannot_be_read_is_one_sentence(tmp_path: Path, text: str, sentence: str):
    (tmp_path / "mine.json").write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_table(tmp_path / "mine.json")

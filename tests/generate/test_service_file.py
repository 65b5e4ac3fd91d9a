"""A description says what it needs in one sentence, and the descriptions that come with cmi are complete."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi import Prompt
from cmi._util.errors import InputError
from cmi.generate import GenerationError
from cmi.generate.service import ServiceGenerator, load_service
from cmi.generate.service_file import fill_template, find_field, list_services, read_service

PAGE = Path(__file__).parents[2] / "docs" / "services.md"
EXAMPLE = """
url = "https://api.example.com/v1"
documentation = "https://example.com/docs"
version = "model-2"
licence = "terms of Example"
price = 0.05
accepts = ["text", "lyrics"]
auth = {header = "Authorization", value = "Bearer {key}", key_env = "EXAMPLE_API_KEY"}
submit = {path = "/songs", body = {prompt = "{text}", lyrics = "{lyrics}", length = "{seconds}"}, job = "id"}
poll = {path = "/songs/{job}", state = "status", done = ["succeeded"], failed = ["failed"]}
download = {audio = "url", field = "song.url"}
"""


def test_ten_lines_describe_a_service(tmp_path: Path):
    path = tmp_path / "example.toml"
    path.write_text(EXAMPLE)
    made = load_service(path)
    assert (made.name, made.version, made.accepts, made.price) == ("example", "model-2", ("text", "lyrics"), 0.05)
    assert made.settings == {"prompt": "{text}", "lyrics": "{lyrics}", "length": "{seconds}"}
    assert EXAMPLE.strip() in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("price = 0.05", "", "'price' is missing"),
        ("price = 0.05", "price = -1", "'price' is -1, expected at least 0"),
        ("price = 0.05", "prize = 0.05", "'prize' is not known; did you mean 'price'"),
        ("https://api.example.com/v1", "api.example.com", "expected an address"),
        ("https://api.example.com/v1", "http://api.example.com/v1", "not https, and the key would be readable"),
        ("{lyrics}", "la la", "the body of 'submit' does not use {lyrics}"),
        ("{seconds}", "{second}", "'submit.body' has {second}, expected one of instrumental"),
        ("/songs/{job}", "/songs/{id}", "'poll' has {id}, expected one of job"),
        (', job = "id"}', "}", "'submit.job' is missing"),
        ('field = "song.url"', 'field = ""', "'download' needs a field"),
        ('"text", "lyrics"', '"text", "lyrics", "reference"', "'reference' is missing: say how it is sent"),
        ("Bearer {key}", "Bearer", "expected a text with {key}"),
        ('"url"', '"link"', "'download.audio' is 'link', expected one of url, base64, hex, body"),
        ("price = 0.05", 'price = 0.05\nrequires = ["reference"]', "'requires' names reference"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, old: str, new: str, sentence: str):
    path = tmp_path / "example.toml"
    assert old in EXAMPLE
    path.write_text(EXAMPLE.replace(old, new))
    with pytest.raises(InputError) as raised:
        read_service(path)
    assert str(path) in str(raised.value) and sentence in str(raised.value)


def test_a_name_that_is_not_there_lists_those_that_are():
    with pytest.raises(InputError, match=r"'suno' is not a service: choose from elevenlabs-music, .* name a TOML file"):
        read_service("suno")


def test_what_a_user_writes_is_never_read_as_a_template():
    template = {"a": "{text}", "b": "say: {text}", "c": ["{seed}", "{lyrics}"], "d": {"e": "{instrumental}"}}
    values = {"text": "{seed} {key} \\1", "seed": 7, "lyrics": None, "instrumental": True}
    assert fill_template(template, values) == {
        "a": "{seed} {key} \\1", "b": "say: {seed} {key} \\1", "c": [7], "d": {"e": True},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "found"),
    [("a.0.b", 1), ("a.1.b", None), ("a.b", None), ("x", None), (("x", "a.0.b"), 1), ("a.0.b.c", None)],
)
def test_a_field_that_is_not_there_is_none(path: str, found: int | None):
    assert find_field({"a": [{"b": 1}]}, path) == found


@pytest.mark.parametrize("name", list_services())
def test_a_description_that_comes_with_cmi_is_complete(name: str):
    service = read_service(name)
    assert "not run here" in service.written and "Price: " in service.written
    assert service.documentation.startswith("https://") and service.url.startswith("https://")
    assert service.auth is not None and service.price > 0 and service.name == name
    assert f"| `{name}` |" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list_services())
def test_the_request_of_a_description_has_the_prompt_in_it(name: str, tmp_path: Path):
    service = read_service(name)
    reference = tmp_path / "like.wav"
    soundfile.write(reference, np.full(8000, 0.1, np.float32), 8000)
    prompt = Prompt("a waltz", "la la" if "lyrics" in service.accepts else "", None)
    if "reference" in service.accepts:
        prompt = Prompt("a waltz", "", reference)
    values = ServiceGenerator(service)._values(prompt, 7, 30.0) | {"project": "p"}
    sent = json.dumps(fill_template(service.submit.body, values), default=lambda content: f"{len(content)} bytes")
    expected = {"text": "a waltz", "lyrics": "la la", "seed": "7", "seconds": "30", "milliseconds": "30000"}
    for used in service.uses & set(expected):
        assert expected[used] in sent
    assert "{" not in sent.replace('{"', "").replace("{}", "")


def test_what_a_service_cannot_do_without_is_asked_for_before_anything_is_sent():
    with pytest.raises(GenerationError, match=r"minimax-music-2\.0 needs lyrics"):
        load_service("minimax-music-2.0").generate(Prompt("a waltz"), 0, None)

"""Requests that attack: a 4xx and one sentence, and the server goes on."""

import gzip
import io
import json
import math

import numpy as np
import pytest
import schemathesis
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from tests.serve.conftest import encoded, sound

from cmi.serve import ServeLimits

TOKEN = "a-token-of-24-characters"


def wav(samples, rate=16_000) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, rate, subtype="PCM_16", format="WAV")
    return file.getvalue()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "the request"),
        (b"{", "the request"),
        (b"[" * 100_000, "the request"),
        (b'{"audio": {"path": "a"}, "takes": []}', "takes"),
        (b'{"audio": {"path": "a", "rate": 16000}}', "samples with their rate, or a path"),
        (b'{"audio": {"samples": "AAAA"}}', "samples with their rate, or a path"),
        (json.dumps({"audio": sound() | {"rate": 16_000.5}}).encode(), "audio.rate"),
        (json.dumps({"audio": sound() | {"rate": 1}}).encode(), "audio.rate"),
        (json.dumps({"audio": sound() | {"channels": 100}}).encode(), "audio.channels"),
        (json.dumps({"audio": sound(), "txt": "piano"}).encode(), "txt"),
        (json.dumps({"audio": {"samples": "AAA", "rate": 16_000}}).encode(), "not valid base64"),
        (json.dumps({"audio": {"samples": "AAAA", "rate": 16_000}}).encode(), "3 bytes are not whole 32-bit samples"),
        (json.dumps({"audio": {"samples": "", "rate": 16_000}}).encode(), "without samples"),
        (json.dumps({"audio": {"samples": encoded([math.inf]), "rate": 16_000}}).encode(), "NaN or infinite"),
        (json.dumps({"audio": sound(), "text": "x" * 200_001}).encode(), "text"),
        (json.dumps({"takes": [{"audio": sound(seconds=0.001)}] * 257}).encode(), "takes"),
    ],
)
def test_a_bad_body_is_one_sentence(client, body, said):
    answer = client.post("/score", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert said in answer.json()["message"]
    assert len(answer.json()["message"]) < 300


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "audio 1"),
        (b"RIFF....WAVEfmt ", "audio 1"),
        (wav(np.zeros((100, 100), np.int16)), "100 channels"),
        (wav(np.full(8_000, 0.3, np.float32))[:60], "audio 1"),
        (gzip.compress(bytes(10**6)), "audio 1"),
    ],
)
def test_a_bad_file_is_one_sentence(client, content, said):
    answer = client.post("/score", files={"audio": content})
    assert answer.status_code == 422
    assert said in answer.json()["message"]
    assert "/tmp" not in answer.json()["message"]


@pytest.mark.parametrize(
    "form",
    [
        {"data": {"audio": "no file"}},
        {"files": {"sound": b"x"}},
        {"data": {"text": "piano"}, "files": {"reference": b"x"}},
        {"files": [("audio", b"x"), ("text", b"a file")]},
        {"files": [("audio", b"x"), ("reference", b"x"), ("reference", b"x")]},
        {"data": {"text": ["one", "two"]}, "files": {"audio": b"x"}},
    ],
)
def test_a_form_with_other_fields_is_one_sentence(client, form):
    answer = client.post("/score", **form)
    assert answer.status_code == 422
    assert answer.json()["message"]


def test_what_is_no_form_is_said_to_be_none(client):
    answer = client.post("/score", content=b"x", headers={"content-type": "multipart/form-data; boundary=y"})
    assert answer.status_code in (400, 422)


def test_no_path_outside_of_the_allowed_folders_is_read(client, folder):
    (folder / "link.wav").symlink_to(folder.parent / "secret.wav")
    (folder / "loop.wav").symlink_to(folder / "loop.wav")
    names = [
        "../secret.wav",
        str(folder.parent / "secret.wav"),
        "/etc/passwd",
        "link.wav",
        "a\0b",
        "x/../../secret.wav",
    ]
    for name in [*names, "y" * 4000]:
        answer = client.post("/score", json={"audio": {"path": name}})
        assert answer.status_code in (403, 422), name
        assert "secret" not in answer.json()["message"].replace(name, "")
    assert client.post("/score", json={"audio": {"path": "../takes/loud.wav"}}).status_code == 200
    assert client.post("/score", json={"audio": {"path": "loop.wav"}}).status_code in (403, 422)


def test_without_allowed_folders_no_path_is_read(serving, folder):
    answer = serving().post("/score", json={"audio": {"path": str(folder / "loud.wav")}})
    assert answer.status_code == 403
    assert "--allow" in answer.json()["message"]


def test_a_request_that_is_too_large_is_refused_whether_it_says_so_or_not(client):
    large = json.dumps({"audio": sound(seconds=40)}).encode()
    assert client.post("/score", content=large).status_code == 413
    assert client.post("/score", content=iter([large[:1000], large[1000:]])).status_code == 413


def test_more_than_fits_into_memory_at_once_is_told_to_come_back(serving):
    small = serving(limits=ServeLimits(body_bytes=2_000_000, bytes_at_once=10_000))
    answer = small.post("/score", json={"audio": sound()})
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "1"
    assert small.post("/score", json={"audio": sound(seconds=0.05)}).status_code == 200


def test_a_compressed_request_is_not_unpacked(client):
    bomb = gzip.compress(json.dumps({"audio": sound(), "text": " " * 10**6}).encode())
    answer = client.post("/score", content=bomb, headers={"content-encoding": "gzip"})
    assert answer.status_code == 415


def test_with_a_token_nothing_but_health_is_served_without_it(serving):
    client = serving(token=TOKEN)
    assert client.get("/healthz").status_code == 200
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Bearer"}, {"authorization": TOKEN[:-1]}):
        assert client.post("/score", json={"audio": sound()}, headers=headers).status_code == 401
        assert client.get("/metrics", headers=headers).status_code == 401
    allowed = {"authorization": f"Bearer {TOKEN}", "host": "reward.example"}
    assert client.post("/score", json={"audio": sound()}, headers=allowed).status_code == 200


def test_without_a_token_no_page_of_another_site_and_no_other_name_is_served(client):
    body = {"audio": sound()}
    assert client.post("/score", json=body, headers={"origin": "https://evil.example"}).status_code == 403
    assert client.post("/score", json=body, headers={"host": "evil.example"}).status_code == 421


def as_files(files) -> list:
    """Parts of a form that the client can encode: a made-up number or list is sent as its text."""

    def encodable(value):
        return value if isinstance(value, str | bytes) or hasattr(value, "read") else str(value)

    parts = files.items() if isinstance(files, dict) else files
    return [
        (name, (part[0], encodable(part[1]), *part[2:]) if isinstance(part, tuple) else encodable(part))
        for name, part in parts
    ]


def operations(client) -> list:
    described = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    return [result.ok() for result in described.get_all_operations()]


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode))
def test_requests_made_up_from_the_description_bring_no_500(client, mode):
    asked = 0
    for operation in operations(client):

        @settings(
            max_examples=25, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
        )
        @given(operation.as_strategy(generation_mode=mode), st.none())
        def each(case, _):
            nonlocal asked
            arguments = case.as_transport_kwargs(base_url="http://127.0.0.1")
            arguments.pop("cookies", None)
            if isinstance(arguments.get("data"), str | bytes):
                arguments["content"] = arguments.pop("data")
            if arguments.get("files"):
                arguments["files"] = as_files(arguments["files"])
            headers = dict(arguments.pop("headers", None) or {})
            given_headers = {name: value.encode("utf-8", "surrogatepass") for name, value in headers.items()}
            answer = client.request(**arguments, headers=given_headers)
            asked += 1
            assert answer.status_code < 500, answer.text
            if answer.status_code >= 400 and "application/json" in answer.headers.get("content-type", ""):
                assert answer.json()["message"]

        try:
            each()
        except Unsatisfiable:  # nothing in it that could be wrong
            assert mode == GenerationMode.NEGATIVE
    assert asked > 30

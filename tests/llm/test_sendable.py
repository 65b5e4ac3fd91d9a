"""A file of pairs or questions cannot have recordings from elsewhere sent to an endpoint."""

import json
from base64 import b64decode
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.bench.instruction import Instruction
from cmi.cli import app
from cmi.judge.prompt_file import read_role
from cmi.testing.chat_endpoint import fake_endpoint
from cmi.testing.rule_endpoint import judge_by_rule as rule


def write_tone(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, 0.1 * np.sin(np.arange(8000) / 5).astype(np.float32), 16_000)
    return path


@pytest.fixture
def private(tmp_path: Path) -> Path:
    return write_tone(tmp_path / "private" / "memo.wav")


@pytest.fixture
def data(tmp_path: Path, private: Path) -> Path:
    """A folder of data, with a link that leads out of it."""
    folder = tmp_path / "set"
    write_tone(folder / "audio" / "a.wav")
    (folder / "audio" / "link.wav").symlink_to(private)
    return folder


def outside(kind: str, private: Path) -> str:
    return {"absolute": str(private), "climbing": "../private/memo.wav", "link": "audio/link.wav"}[kind]


def cmi(*words: object) -> Any:
    result = CliRunner().invoke(app, [*map(str, words)])
    if isinstance(result.exception, InputError):
        raise result.exception
    return result


@pytest.mark.parametrize("field", ["a", "b", "reference"])
@pytest.mark.parametrize("kind", ["absolute", "climbing", "link"])
def test_pairs_cannot_name_recordings_elsewhere(data: Path, private: Path, kind: str, field: str):
    row = {"id": "p1", "text": "x", "a": "audio/a.wav", "b": "audio/a.wav"} | {field: outside(kind, private)}
    (data / "pairs.jsonl").write_text(json.dumps(row) + "\n")
    with fake_endpoint(partial(rule, role=read_role("two-axes"))) as server:
        command = ("judge", data / "pairs.jsonl", "--url", server.url, "--model", "m", "--out", data.parent / "run")
        for more in ((), ("--dry-run",)):
            with pytest.raises(InputError, match=f"pair 'p1.*': {private} is not in {data}; .* --audio-from"):
                cmi(*command, *more)
        assert not server.calls
        assert cmi(*command, "--audio-from", private.parent).exit_code == 0
        assert server.calls["answered"] == 1


def test_examples_of_a_prompt_file_cannot_either(data: Path, private: Path, tmp_path: Path):
    (data / "pairs.jsonl").write_text('{"id": "p1", "text": "x", "a": "audio/a.wav", "b": "audio/a.wav"}\n')
    prompt = tmp_path / "prompts" / "mine.toml"
    prompt.parent.mkdir()
    prompt.write_text(
        'name = "mine"\nversion = 1\nscale = [1, 5]\n[axes.musicality]\nchoice = "c"\nscore_a = "sa"\nscore_b = "sb"\n'
        f'[texts]\nsystem = "Judge."\n[[examples]]\ntext = "x"\na = "{private}"\nb = "{private}"\nanswer = "{{}}"\n'
    )
    with fake_endpoint(lambda body: "") as server, pytest.raises(InputError, match=f"prompt 'mine': {private}"):
        cmi(
            "judge",
            data / "pairs.jsonl",
            "--url",
            server.url,
            "--model",
            "m",
            "--prompt",
            prompt,
            "--out",
            tmp_path / "run",
        )


@pytest.mark.parametrize("kind", ["absolute", "climbing", "link"])
def test_questions_of_the_benchmark_cannot_name_audio_elsewhere(data: Path, private: Path, kind: str):
    (data / "annotations").mkdir()
    name = outside(kind, private)
    name = f"../{name}" if kind == "climbing" else name
    records = [Instruction("Which?", "C minor", path, 0.0, 0.5).to_record() for path in ("audio/a.wav", name)]
    (data / "annotations" / "CMI_GS_key.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    with fake_endpoint(lambda body: "C minor") as server:
        command = ("bench", "run", "--data", data / "annotations", "--out", data.parent / "out", "--json")
        endpoint = ("--listener", "openai", "--url", server.url, "--model", "m")
        with pytest.raises(InputError, match=r"memo\.wav is not in .* --audio-from"):
            cmi(*command, *endpoint)
        assert not server.calls
        assert cmi(*command, *endpoint, "--audio-from", private.parent).exit_code == 0
        assert server.calls["answered"] == 2
    assert cmi(*command, "--listener", "null:constant").exit_code == 0  # nothing leaves this process


def test_only_sound_is_sent_and_only_as_we_encode_it(data: Path):
    secret = b"root:x:0:0 secret words"
    (data / "audio" / "notes.wav").write_bytes(secret)
    row = {"id": "p1", "text": "x", "a": "audio/a.wav", "b": "audio/notes.wav"}
    tagged = data / "audio" / "a.wav"
    tagged.write_bytes(tagged.read_bytes() + b"LIST" + len(secret).to_bytes(4, "little") + secret)
    good = row | {"id": "p2", "b": "audio/a.wav"}
    (data / "pairs.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(good) + "\n")
    bodies: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> str:
        bodies.append(body)
        return rule(body, read_role("two-axes"))

    with fake_endpoint(answer) as server:
        said = cmi(
            "judge", data / "pairs.jsonl", "--url", server.url, "--model", "m", "--out", data.parent / "r", "--json"
        )
    assert json.loads(said.output)["failed"] == 1
    sent = [
        part["input_audio"]["data"] for m in bodies[0]["messages"] for part in m["content"] if "input_audio" in part
    ]
    assert len(bodies) == 1 and len(sent) == 2 and not any(b"secret" in b64decode(data) for data in sent)

"""`cmi distance` as a user meets it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.cli import app
from cmi.reward.model.encoders.musicnn import WHEEL

RATE = 16_000


@pytest.fixture
def run(tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`cmi distance` beside tones/ and noises/, twelve recordings of 3 s each."""
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / WHEEL.file_name).symlink_to(wheel)
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    time = np.arange(3 * RATE) / RATE
    for i in range(12):
        for name, sound in (
            ("tones", np.sin(2 * np.pi * (200 + 40 * i) * time)),
            ("noises", rng.normal(size=3 * RATE)),
        ):
            Path(name).mkdir(exist_ok=True)
            soundfile.write(f"{name}/{i:02}.wav", 0.1 * sound, RATE)

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["distance", *arguments])

    return run


def test_tones_are_far_from_noises_a_broken_file_is_left_out_and_the_numbers_come_again(run: Callable[..., Any]):
    Path("tones/broken.wav").write_text("not a sound")
    done = run("tones", "noises", "--json")
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert (record["takes"], record["reference_takes"], record["windows"], record["dimensions"]) == (12, 12, 12, 200)
    assert [found["metric"] for found in record["distances"]] == ["fad", "kad", "mad"]
    assert all(found["p"] < 0.05 for found in record["distances"])
    assert [row["file"] for row in record["left_out"]] == ["tones/broken.wav"]
    assert json.loads(run("tones", "noises", "--json").stdout) == record


def test_a_list_of_takes_is_read_and_recordings_in_both_sets_are_told(run: Callable[..., Any]):
    rows = [{"audio": f"tones/{i:02}.wav"} for i in range(12)]
    Path("takes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run("takes.jsonl", "tones", "--metric", "kad")
    assert done.exit_code == 0, done.output
    assert "12 recordings are in both sets" in done.stdout
    assert "Fréchet" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tones", "nowhere"], "nowhere: no such file or folder"),
        (["tones", "empty"], "empty: 0 recordings, expected 10 to 5,000"),
        (["tones", "noises", "--metric", "fid"], "--metric fid: expected fad, kad, mad"),
        (["tones", "noises", "--encoder", "audiobox-ce"], "audiobox-ce is not an encoder"),
        (["tones", "noises", "--encoder", "nothing"], "nothing is not an encoder"),
    ],
)
def test_bad_input_is_one_sentence(run: Callable[..., Any], arguments: list[str], sentence: str):
    Path("empty").mkdir()
    done = run(*arguments)
    assert isinstance(done.exception, InputError)
    assert sentence in str(done.exception)
    assert "\n" not in str(done.exception)

"""Speech is told from music by voices and songs in a folder, at tiny size; nothing is taken off music."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
import speech
from safetensors.torch import load_file

from cmi.reward import model
from cmi.reward.model.checkpoint import WEIGHTS

RATE = 16_000
NANO = Path(model.__file__).parent / "weights" / "nano"


def utterance(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    times = np.arange(RATE) / RATE
    voice = sum(np.sin(2 * np.pi * k * (120 + 40 * np.sin(3 * times)) * times) / k for k in range(1, 20))
    return 0.05 * voice * np.abs(np.sin(2 * np.pi * 2 * times)) + 0.005 * rng.standard_normal(RATE)


def song(seed: int) -> np.ndarray:
    times = np.arange(21 * RATE) / RATE
    pitches = 220 * 2 ** (np.random.default_rng(seed).integers(0, 12, 4) / 12)
    return 0.1 * sum(np.sin(2 * np.pi * pitch * times) for pitch in pitches) * np.exp(-4 * (times % 0.5))


@pytest.mark.slow
def test_voices_and_songs_make_a_layer(tmp_path, wheel, monkeypatch, capsys):
    monkeypatch.setenv("CMI_CACHE", str(wheel.parent))
    monkeypatch.setattr(speech, "VOICE_PACKAGES", {"hedgewars-data": speech.VOICE_PACKAGES["hedgewars-data"]})
    for name in ("Default", "British"):
        folder = tmp_path / "voices/hedgewars-data/Sounds/voices" / name
        folder.mkdir(parents=True)
        for seed in range(speech.FEWEST):
            soundfile.write(folder / f"{seed}.wav", utterance(seed), RATE)
    for name in ("one", "naev-data"):
        (tmp_path / "music" / name).mkdir(parents=True)
        soundfile.write(tmp_path / "music" / name / "song.wav", song(len(name)), RATE)
    monkeypatch.setattr(speech, "PER_PACKAGE", {"voice": 2, "voices": 2, "music": 1})
    arguments = [tmp_path / "voices", tmp_path / "music", NANO, tmp_path]
    monkeypatch.setattr("sys.argv", ["speech.py", *map(str, arguments)])
    speech.main()
    made, shipped = load_file(tmp_path / WEIGHTS), load_file(NANO / WEIGHTS)
    assert {name for name in shipped if not made[name].equal(shipped[name])} == {
        "craft.speech.weight",
        "craft.speech.bias",
    }
    said = capsys.readouterr().out.splitlines()
    (music,) = (line for line in said if line.startswith("music that was learned from"))
    assert music.endswith("anything taken off 0")
    assert any(line.startswith("speech that was learned from: 2 of 2 noted") for line in said)

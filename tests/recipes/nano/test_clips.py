"""Clips are packed and read back, at tiny size."""

import json
import shutil
from pathlib import Path

import _soundfile_data
import blend
import clips
import numpy as np
import packs
import pytest
import soundfile
import torch
from flaws import FLAWS

CPU = torch.device("cpu")


@pytest.fixture
def music(tmp_path):
    """Two songs of two packages, and one that is silent."""
    rng = np.random.default_rng(0)
    for package, level in (("one", 0.1), ("naev-data", 0.2), ("silent", 0.0)):
        folder = tmp_path / "music" / package
        folder.mkdir(parents=True)
        soundfile.write(folder / "song.flac", rng.normal(0, 1, 8000 * 22) * level, 8000)
    return tmp_path / "music"


def test_clips_of_music_are_packed_and_read_back(music, tmp_path, monkeypatch, capsys):
    out = tmp_path / "clips"
    monkeypatch.setattr("sys.argv", ["clips.py", "music", str(music), str(out)])
    clips.main()
    assert capsys.readouterr().out == "tests: 1 clips\nmusic-b: 1 clips\nmusic-c: 1 clips\nmusic-d: 1 clips\n"
    (library,) = Path(_soundfile_data.__file__).parent.glob("libsndfile*")
    shutil.copy(library, out / "libsndfile_x86_64.so")
    sounds, rows = packs.read_pack(out, "tests", CPU)
    assert [row["package"] for row in rows] == ["naev-data"]
    assert [row["package"] for row in packs.read_rows(out, "music-c")] == ["one"]
    assert sounds.shape == (1, packs.HEARD)
    levels = (sounds.float() / packs.FULL_SCALE).square().mean(dim=1).sqrt()
    assert levels == pytest.approx(torch.full((1,), clips.LEVEL), rel=0.1)


@pytest.mark.parametrize("name", FLAWS)
def test_every_flaw_leaves_something_finite_and_as_long(name):
    sound = torch.randn(2, 6 * 32_000, generator=torch.Generator().manual_seed(0)) * 0.1
    found = FLAWS[name](sound, torch.tensor([0.3, 1.0]), torch.Generator().manual_seed(1))
    assert found.shape == sound.shape
    assert found.isfinite().all()
    assert not torch.equal(found, sound)


def test_a_blend_is_compared_with_its_parts(tmp_path, monkeypatch, capsys):
    def write(path, rows):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    for model, scores in (("nano@1", [1.0, 0.0, 0.5, 0.2]), ("tags@1", [0.0, 1.0, 2.0, 0.1])):
        rows = [{"key": f"k{i}", "alignment": score} for i, score in enumerate(scores)]
        write(tmp_path / "models" / model / "scores.jsonl", rows)
    about = {"dataset": "cmi-real x", "about": {"question": "genre"}, "votes": {"alignment": {"choice": "a"}}}
    write(tmp_path / "items.jsonl", [{**about, "keys": ["k0", "k1"]}, {**about, "keys": ["k2", "k3"]}])
    monkeypatch.setattr("sys.argv", ["blend.py", str(tmp_path)])
    blend.main()
    genre = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("x: genre"))
    assert genre.split()[2:5] == ["2", "100.0", "50.0"]


def test_sounds_of_a_game_are_joined_voices_and_noises_by_turns(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("voices/a/one.ogg", "voices/a/two.ogg", "effects/bang.wav"):
        path = tmp_path / "game" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, 0.1 * rng.standard_normal(8_000), 16_000)
    made = list(clips.sound_clips([tmp_path], {"game": 4}))
    assert [about["speech"] for _, about in made] == [True, False, True, False]
    assert all(len(clip) == clips.SIZE for clip, _ in made)

"""The ear learns what the studio knows of its takes."""

import numpy as np
import pytest
import torch

pytest.importorskip("pyworld", reason="sung lyrics need the vocals extra")

from ear_targets import NAMES, SAMPLES, StudioTake, Targets, answers, read_sounds, read_targets
from train_ear import FULL_SCALE, train_ear

from cmi._util.errors import InputError
from cmi.preferences import read_preferences
from cmi.reward.model.encoders.ear import log_mel
from cmi.reward.model.encoders.nano import levelled
from cmi.studio.make import make_set
from cmi.studio.recordings import TakeRecipe, TakeSource, recipe_record


def test_answers_are_what_the_recipe_says():
    recipe = TakeRecipe(TakeSource(seed=3, wishes=(("style", "waltz"), ("tempo", 200.0))), flaw="noise", strength=0.7)
    found = answers(recipe_record(recipe))
    assert {name for name, value in zip(NAMES["style"], found["style"], strict=True) if value} == {"waltz"}
    assert dict(zip(NAMES["flaw"], found["flaw"], strict=True))["noise"] == pytest.approx(0.7)
    assert found["flaw"].sum() == pytest.approx(0.7)
    assert found["tempo"][0] == pytest.approx(1.0, abs=0.01)
    assert found["voice"][0] == 0


def test_of_a_track_only_the_flaw_is_known():
    found = answers(recipe_record(TakeRecipe(TakeSource(track="0123456789abcdef"), flaw="hum", strength=0.4)))
    assert found["flaw"].sum() == pytest.approx(0.4)
    assert np.isnan(found["tempo"]).all()
    assert all((found[subject] == -1).all() for subject in NAMES if subject != "flaw")


def test_lessons_and_sounds_are_those_of_the_set(tmp_path):
    make_set(tmp_path, 3, seed=28, workers=2)
    targets = read_targets(tmp_path, {row.id for row in read_preferences(tmp_path / "preferences.jsonl")})
    files = {path.stem for path in (tmp_path / "audio").iterdir()}
    assert {take.name for take in targets.takes} == files
    for better, worse in targets.pairs.tolist():
        assert not targets.answers["flaw"][better].any()
        assert targets.answers["flaw"][worse].any()
    sounds = read_sounds(tmp_path, targets.takes)
    assert sounds.shape == (len(files), SAMPLES)
    assert sounds.dtype == torch.int16
    assert sounds.abs().amax(dim=1).min() > 1000


def test_an_ear_learns_to_tell_hiss_from_none():
    """A few seconds of tones, half of them with noise, which is then plain in what the ear makes of new ones."""
    rng = torch.Generator().manual_seed(0)
    times = torch.arange(32_000) / 32_000

    def tone(noisy: bool) -> torch.Tensor:
        pitch = 100 + 800 * torch.rand((), generator=rng)
        hiss = torch.randn(times.shape, generator=rng) * (0.1 if noisy else 0.0005)
        return (3000 * (torch.sin(2 * torch.pi * pitch * times) + hiss)).to(torch.int16)

    sounds = torch.stack([tone(noisy=i % 2 == 1) for i in range(48)])
    unknown = {subject: torch.full((48, len(names)), -1.0) for subject, names in NAMES.items()}
    flaws = torch.zeros(48, len(NAMES["flaw"]))
    flaws[1::2, NAMES["flaw"].index("noise")] = 1.0
    known = {**unknown, "flaw": flaws, "tempo": torch.full((48, 1), torch.nan)}
    pairs = torch.arange(40).view(20, 2)
    targets = Targets([StudioTake(str(i), {}) for i in range(40)], {s: v[:40] for s, v in known.items()}, pairs)
    losses = []
    ear = train_ear(targets, sounds[:40], 25, batch=4, report=lambda step, found: losses.append(found["flaw"]))
    assert losses[-1] < 0.5 * losses[0]
    with torch.inference_mode():
        frames = ear(log_mel(levelled(sounds[40:].float() / FULL_SCALE)))
        heard = ear.words(frames, 2).mean(dim=1)
    clean, noisy = heard[::2], heard[1::2]
    apart = (clean.mean(dim=0) - noisy.mean(dim=0)).norm()
    assert apart > 2 * max(clean.std(dim=0).norm(), noisy.std(dim=0).norm())


def test_pairs_that_a_set_does_not_have_teach_nothing(tmp_path):
    (tmp_path / "made.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="too few pairs to learn from"):
        read_targets(tmp_path, {"1-000000"})

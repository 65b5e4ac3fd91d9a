"""The untrained scorer: its arithmetic against ten plain lines, and what it says of prompts it can't read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cmi._util.errors import InputError
from cmi.audio import Waveform
from cmi.reward.engine.token_cache import TokenCache
from cmi.reward.model.encoders.nano import TAGS
from cmi.reward.scoring.scorers import is_reward_model, load_scorer
from cmi.reward.scoring.tags import BANK, TagScorer, standardised, tag_weights
from cmi.take import Prompt, Take


class FixedTagger:
    """Hears the mean of a recording, and reads texts as random directions of their own."""

    def __init__(self) -> None:
        self.heard: list[Waveform] = []

    def hear(self, sound: Waveform) -> Any:
        self.heard.append(sound)
        seed = round(1000 * float(sound.samples.mean()))
        return np.random.default_rng(seed).normal(size=len(TAGS))

    def read(self, text: str) -> torch.Tensor:
        drawn = torch.randn(8, generator=torch.Generator().manual_seed(sum(map(ord, text))))
        return drawn / drawn.norm()


@pytest.fixture
def bank() -> Any:
    return np.random.default_rng(7).normal(2.0, 3.0, size=(40, len(TAGS)))


def sound(level: float) -> Waveform:
    """A tone around `level`; 0 is silence."""
    tone = np.sin(2 * np.pi * 440 * np.arange(16_000) / 16_000)
    return Waveform((level * (1 + tone / 2)).astype(np.float32), 16_000)


def plainly(odds: Any, cosines: Sequence[float], bank: Any) -> float:
    """The definition, number by number."""
    middle = sum(cosines) / len(cosines)
    weights = [(c - middle) ** 3 for c in cosines]

    def dot(row: Any) -> float:
        means, spreads = bank.mean(axis=0), bank.std(axis=0)
        return sum((row[i] - means[i]) / spreads[i] * weights[i] for i in range(len(weights)))

    usual = [dot(row) for row in bank]
    mean = sum(usual) / len(usual)
    return (dot(odds) - mean) / (sum((u - mean) ** 2 for u in usual) / len(usual)) ** 0.5


def test_the_score_of_a_text_is_what_it_is_defined_as(bank):
    tagger = FixedTagger()
    take = Take(Prompt("slow sad piano"), sound(0.25))
    (score,) = TagScorer(tagger, bank).score([take])  # type: ignore[arg-type]
    cosines = [float(tagger.read(name) @ tagger.read("slow sad piano")) for name in TAGS]
    assert score.alignment == pytest.approx(plainly(tagger.hear(sound(0.25)), cosines, bank), rel=1e-5)
    assert score.musicality == 0


def test_over_the_bank_every_text_has_mean_0_and_deviation_1(bank):
    z = (bank - bank.mean(axis=0)) / bank.std(axis=0)
    weights = tag_weights(np.random.default_rng(1).normal(size=len(TAGS)))
    scores = [standardised(row, weights, z) for row in z]
    assert np.mean(scores) == pytest.approx(0, abs=1e-9) and np.std(scores) == pytest.approx(1)


def test_a_take_is_nearest_to_itself_as_a_reference(bank):
    scorer = TagScorer(FixedTagger(), bank)  # type: ignore[arg-type]
    takes = [Take(Prompt(reference=sound(0.5)), sound(level)) for level in (0.5, 0.1, 0.2, 0.3)]
    own, *others = (score.alignment for score in scorer.score(takes))
    assert own > max(others)


def test_a_prompt_that_asks_for_nothing_is_a_tie(bank):
    scorer = TagScorer(FixedTagger(), bank)  # type: ignore[arg-type]
    assert [tuple(score) for score in scorer.score([Take(Prompt(), sound(0.1)), Take(Prompt(), sound(0.2))])] == [
        (0.0, 0.0),
        (0.0, 0.0),
    ]


def test_a_file_is_heard_once_whatever_is_asked_of_it(bank, tmp_path: Path):
    soundfile = pytest.importorskip("soundfile")
    soundfile.write(tmp_path / "a.wav", sound(0.25).samples, 16_000)
    takes = [Take(Prompt(text), tmp_path / "a.wav") for text in ("piano", "drums")]
    first, second = FixedTagger(), FixedTagger()
    cache = TokenCache(tmp_path / "cache")
    before = TagScorer(first, bank, cache).score(takes)  # type: ignore[arg-type]
    assert TagScorer(second, bank, cache).score(takes) == before  # type: ignore[arg-type]
    assert (len(first.heard), len(second.heard)) == (1, 0)


def test_silence_is_an_error(bank):
    with pytest.raises(InputError, match="silent"):
        TagScorer(FixedTagger(), bank).score([Take(Prompt("piano"), sound(0.0))])  # type: ignore[arg-type]


def test_the_shipped_bank_has_every_tag_and_names_its_tracks():
    bank = np.load(BANK, allow_pickle=False)
    assert bank.shape[1] == len(TAGS) and bank.shape[0] >= 50
    assert np.isfinite(bank).all() and (bank.std(axis=0) > 0).all()
    assert len(BANK.with_name("bank.txt").read_text().splitlines()) == len(bank)
    assert BANK.stat().st_size < 300_000


def test_the_name_is_a_scorer_that_speaks_of_alignment_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not is_reward_model("tags") and is_reward_model("nano") and not is_reward_model("my:Class")
    assert load_scorer("tags").axes == ("alignment",)
    (tmp_path / "tags").mkdir()
    assert is_reward_model("tags")  # a folder of yours comes first

"""The same take, the same score: alone, in any company, in any order."""

import random

import numpy as np
import pytest
import soundfile
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cmi.audio import Waveform
from cmi.errors import InputError
from cmi.reward.encoders.muq_mulan import RATE
from cmi.reward.model import PromptTokens
from cmi.reward.scorer import RewardScorer
from cmi.take import Prompt, Take


def noise(seconds: float, seed: int) -> Waveform:
    samples = np.random.default_rng(seed).standard_normal(int(seconds * RATE)).astype(np.float32) / 10
    return Waveform(samples, RATE)


LENGTHS = [0.3, 1.0, 1.0, 2.5, 31.0]
SOUNDS = [noise(seconds, seed) for seed, seconds in enumerate(LENGTHS)]
PROMPTS = [
    Prompt("slow piano"),
    Prompt("slow piano", "la la la"),
    Prompt("fast drums", "", SOUNDS[1]),
    Prompt("", "oh oh", SOUNDS[4]),
    Prompt(),
]
TAKES = [Take(prompt, sound) for prompt in PROMPTS for sound in SOUNDS]


@pytest.fixture(scope="module")
def alone(tiny):
    """Each take on its own, without the engine."""

    @torch.inference_mode()
    def score(take: Take) -> tuple[float, float]:
        prompt = take.prompt
        text, lyrics = (
            tiny.encoder.encode_text(torch.tensor([tiny.tokenize(t)])) for t in (prompt.text, prompt.lyrics)
        )
        sounds = (prompt.reference, take.audio)
        heard = [tiny.hear(torch.from_numpy(sound.samples.copy())) if sound else None for sound in sounds]
        alignment, musicality = tiny(PromptTokens(text, lyrics, heard[0]), heard[1])[0].tolist()
        return musicality, alignment

    return [score(take) for take in TAKES]


@given(batch=st.integers(1, 64), seed=st.integers(0, 1000))
@settings(max_examples=6, deadline=None)
def test_scores_depend_on_nothing_but_the_take(tiny, alone, batch, seed):
    order = random.Random(seed).sample(range(len(TAKES)), len(TAKES))
    scores = RewardScorer(tiny, batch=batch).score([TAKES[i] for i in order])
    for i, score in zip(order, scores, strict=True):
        assert (score.musicality, score.alignment) == pytest.approx(alone[i], abs=1e-6)


def test_files_are_heard_up_to_the_limit_and_the_seconds_are_said(tiny, tmp_path):
    path = tmp_path / "long.wav"
    soundfile.write(path, noise(15, 9).samples, RATE)
    (judged,) = RewardScorer(tiny, "first10").judge([Take(Prompt("a"), path)])
    (same,) = RewardScorer(tiny).judge([Take(Prompt("a"), Waveform(noise(15, 9).samples[: 10 * RATE], RATE))])
    assert judged.seconds == 10
    assert judged.score == pytest.approx(same.score, abs=1e-3)  # 16 bits in the file
    (whole,) = RewardScorer(tiny).judge([Take(Prompt("a"), path)])
    assert whole.seconds == 15


def test_each_text_and_each_recording_is_encoded_once(tiny, monkeypatch):
    read, heard = [], []
    kind = type(tiny.encoder)
    ids, chunks = kind.encode_text, kind.encode_sound
    monkeypatch.setattr(kind, "encode_text", lambda self, x, n: read.append(tuple(x[0].tolist())) or ids(self, x, n))
    monkeypatch.setattr(kind, "encode_sound", lambda self, x, n: heard.append(len(x)) or chunks(self, x, n))
    RewardScorer(tiny).score(TAKES)
    assert len(read) == len(set(read)) == 5
    assert sum(heard) == 6  # five recordings, one of them of two chunks


def test_what_can_not_be_heard_is_bad_input(tiny, tmp_path):
    scorer = RewardScorer(tiny)
    with pytest.raises(InputError, match="nowhere"):
        scorer.score([Take(Prompt("a"), tmp_path / "nowhere.wav")])


def test_no_takes_no_scores(tiny):
    assert RewardScorer(tiny).score([]) == []

"""CMI-RM's arithmetic in every clone: small checkpoints of our own making and their scores (`golden/make.py`)."""

import itertools
import json

import pytest
import torch

from cmi.reward.model.head import PromptTokens
from cmi.reward.model.reward_model import RewardModel

from .golden.make import CASES, FOLDER, HEADS, score_cases, tokens_of, tones


@pytest.mark.parametrize("name", HEADS)
def test_scores_are_as_they_were(name):
    expected = json.loads((FOLDER / "expected.json").read_text("utf-8"))[name]
    found = score_cases(RewardModel.from_pretrained(FOLDER / name, device="cpu"))
    assert set(found) == set(expected) == set(CASES)
    for case, scores in expected.items():
        assert found[case] == pytest.approx(scores, abs=1e-5), case


@pytest.mark.parametrize("name", HEADS)
def test_every_part_of_a_prompt_counts(name):
    """Scores that did not depend on their input would be equal to any golden ones."""
    expected = json.loads((FOLDER / "expected.json").read_text("utf-8"))[name]
    for axis in (0, 1):
        scores = sorted(expected[case][axis] for case in CASES)
        assert min(b - a for a, b in itertools.pairwise(scores)) > 1e-4, scores


@torch.inference_mode()
def test_a_changed_weight_is_noticed():
    name, expected = "self-attention", json.loads((FOLDER / "expected.json").read_text("utf-8"))
    model = RewardModel.from_pretrained(FOLDER / name, device="cpu")
    model.encoder.audio_module.transformer.layers[0][1][1].weight.mul_(1.01)
    words = [model.encoder.encode_text(tokens_of(text)) for text in CASES["text"][:2]]
    found = model(PromptTokens(*words), model.hear(tones(3)))[0].tolist()
    assert found != pytest.approx(expected[name]["text"], abs=1e-5)

"""A take that does what its prompt asks is also compared with itself under a prompt that was not its own."""

from pathlib import Path

import pytest
import torch

from cmi.reward.model.head import HeadConfig, RewardHead
from cmi.reward.train.config import LossSettings
from cmi.reward.train.data import Label, TrainingExample, with_wrong_prompts
from cmi.reward.train.forward import Trainee, objective
from cmi.take import Prompt


def pair(text: str, axis: str = "alignment", value: float = 1.0) -> TrainingExample:
    return TrainingExample(Prompt(text), (Path("a"), Path("b")), {axis: Label(value)})


def test_each_pair_about_alignment_gets_the_next_prompt_that_differs():
    batch = with_wrong_prompts([pair("x"), pair("x"), pair("m", "musicality"), pair("y")])
    assert [one.wrong_prompt and one.wrong_prompt.text for one in batch] == ["y", "y", None, "x"]


def test_where_all_prompts_are_the_same_there_is_no_wrong_one():
    assert [one.wrong_prompt for one in with_wrong_prompts([pair("x"), pair("x")])] == [None, None]


def test_the_take_that_fits_is_the_one_preferred():
    assert pair("x", value=1.0).aligned == 0
    assert pair("x", value=0.0).aligned == 1


@pytest.fixture
def trainee() -> Trainee:
    small = HeadConfig(dim=8, heads=1, dim_head=8, ff_hidden=8, prompt_depth=1, joint_depth=1, mlp_dim=8)
    return Trainee(RewardHead(small), LossSettings())


@pytest.mark.parametrize(("wrong", "dearer"), [(-3.0, False), (3.0, True)])
def test_it_costs_if_the_wrong_prompt_scores_higher(trainee, wrong, dearer):
    scores = {axis: torch.tensor([0.0, 0.0, wrong]) for axis in ("musicality", "alignment", "overall")}
    settings = LossSettings(label_smoothing=0.0, wrong_prompts=1.0)
    alone = objective(trainee, scores, [pair("x")], {"alignment": 1}, settings)
    added = objective(trainee, scores, [pair("x")], {"alignment": 1}, settings, [(0, 2)]) - alone
    assert (float(added) > 1) == dearer

"""Scores of the authors' own code on random checkpoints, one item at a time, come out to 1e-5."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from cmi.reward.model.encoders.muq_mulan import RATE
from cmi.reward.model.head import PromptTokens
from cmi.reward.model.reward_model import RewardModel

VARIANTS = ["sa_p4j1", "sa_p1j4", "ca_p1j2", "ds_mean4", "ds_conv4"]


def waveform(golden: Path, name: str) -> torch.Tensor:
    return torch.from_numpy(np.load(golden / "wav" / f"{name}.npy").astype(np.float32) / 32768)


@pytest.mark.parametrize("variant", VARIANTS)
@torch.inference_mode()
def test_every_case_of_every_variant(golden, golden_folder, variant):
    model = RewardModel.from_pretrained(golden_folder(variant))
    expected = json.loads((golden / variant / "expected.json").read_text())
    heard: dict[tuple[str, int], torch.Tensor] = {}

    def tokens(name: str, seconds: int) -> torch.Tensor:
        if (name, seconds) not in heard:
            heard[name, seconds] = model.hear(waveform(golden, name)[: seconds * RATE])
        return heard[name, seconds]

    compared = 0
    for case in json.loads((golden / "cases.json").read_text()):
        text, lyrics = (model.encoder.encode_text(torch.tensor([case[key]])) for key in ("text_ids", "lyrics_ids"))
        for seconds in (120, 30):
            wanted = expected[f"single_max_dur_{seconds}"].get(case["id"])
            if wanted is not None:
                reference = tokens(case["ref"], seconds) if case["ref"] else None
                scores = model(PromptTokens(text, lyrics, reference), tokens(case["audio"], seconds))
                assert scores[0].tolist() == pytest.approx(wanted, abs=1e-5), case["id"]
                compared += 1
    assert compared == sum(len(expected[f"single_max_dur_{seconds}"]) for seconds in (120, 30)) >= 20


@torch.inference_mode()
def test_every_stage(golden, golden_folder):
    model = RewardModel.from_pretrained(golden_folder("sa_p4j1"))
    stages = np.load(golden / "stages_sa_p4j1_eval_3s_text.npz")
    case = json.loads((golden / "cases.json").read_text())[0]
    muq = model.encoder.audio_module.model["model"]
    mel = muq.mel(waveform(golden, "eval_3s")[None])
    stem = muq.conv(mel)
    conformer = muq.conformer(stem)
    projected = model.encoder.audio_module.proj(conformer)
    take = model.encoder.audio_module.transformer(projected)
    xlmr = model.encoder.text_module.model(input_ids=torch.tensor([case["text_ids"]])).last_hidden_state
    text = model.encoder.text_module.transformer(xlmr)
    lyrics = model.encoder.encode_text(torch.tensor([case["lyrics_ids"]]))
    prompt = model.head.fuse(model.head.join(PromptTokens(text, lyrics)))
    found = {
        "mel_norm": mel.transpose(1, 2),
        "conv_out": stem,
        "conformer_out": conformer,
        "audio_proj": projected,
        "audio_tokens": take,
        "xlmr_last_hidden": xlmr,
        "text_tokens": text,
        "prompt_embedding": prompt.mean(dim=1),
        "scores": model.head.judge(prompt, take),
    }
    for name, tensor in found.items():
        np.testing.assert_allclose(tensor.numpy(), stages[name], atol=1e-5, err_msg=name)
    # The authors append one masked token where there is no reference; we append none.
    np.testing.assert_allclose(prompt.numpy(), stages["prompt_embed"][:, stages["prompt_mask"][0]], atol=1e-5)


def test_the_full_size_is_the_published_one(golden):
    """Keys and shapes of the full model, built without memory, against the list of the authors' own."""
    from cmi.reward.model.checkpoint import check_keys, encoder_config, head_config

    lines = [line.split("\t") for line in (golden / "full_state_dict_keys.tsv").read_text().splitlines()]
    published = {key: tuple(int(n) for n in shape.split("x")) if shape else () for key, shape, _ in lines}
    with torch.device("meta"):
        from cmi.reward.model.encoders.muq_mulan import MuQMuLan, MuQMuLanConfig
        from cmi.reward.model.head import HeadConfig, RewardHead

        model = RewardModel(MuQMuLan(encoder_config(published)), RewardHead(head_config(published)))
    assert model.encoder.config == MuQMuLanConfig()
    assert model.head.config == HeadConfig()
    check_keys({key: tuple(tensor.shape) for key, tensor in model.checkpoint_state().items()}, published)

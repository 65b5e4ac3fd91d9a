"""A worker for SALMONN-13B v1 (bytedance/SALMONN): the first 30 s of a clip, 16 kHz, and up to 200 tokens of answer.

    python recipes/listeners/salmonn/worker.py --clone SALMONN --checkpoint salmonn_v1.pth \
        --beats BEATs_iter3_plus_AS2M_finetuned_on_AS2M_cpt2.pt

Decoding is by beam search, without sampling. Answers keep <s> and </s>, as those of CMI-Bench do.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))
import worker_common as common

COMMIT = "a58bba799a2eec05df09df102553f5c623808c12"
RATE = 16_000
SOUND = "<Speech><SpeechHere></Speech>"  # CMI-Bench has no space after it; SALMONN's own script has one


def load(options: argparse.Namespace) -> Any:
    common.enter_clone(options.clone, ".")
    from config import Config
    from models.salmonn import SALMONN
    from transformers import WhisperFeatureExtractor

    settings = Config(SimpleNamespace(cfg_path="configs/decode_config.yaml", options=None)).config
    settings.model.llama_path = options.vicuna
    settings.model.whisper_path = options.whisper
    settings.model.beats_path = options.beats
    settings.model.ckpt = options.checkpoint
    device = common.find_device()
    salmonn = SALMONN.from_config(settings.model)
    salmonn.to(device)
    salmonn.eval()
    processor = WhisperFeatureExtractor.from_pretrained(options.whisper)
    return SimpleNamespace(salmonn=salmonn, processor=processor, settings=settings, device=device)


def answer(model: Any, question: str, audio: str) -> str:
    import torch
    from utils import prepare_one_sample

    samples = prepare_one_sample(audio, model.processor, cuda_enabled=model.device == "cuda")
    prompt = model.settings.model.prompt_template.format(SOUND + question.strip())
    with torch.cuda.amp.autocast(dtype=torch.float16):
        return str(model.salmonn.generate(samples, model.settings.generate, prompts=[prompt])[0])


def main() -> None:
    parser = common.make_parser(__doc__ or "")
    parser.add_argument("--checkpoint", required=True, type=common.existing_path, help="salmonn_v1.pth")
    parser.add_argument("--beats", required=True, type=common.existing_path, help="weights of BEATs")
    parser.add_argument("--vicuna", default="lmsys/vicuna-13b-v1.1", type=common.hub_name, help="hub name or folder")
    parser.add_argument("--whisper", default="openai/whisper-large-v2", type=common.hub_name, help="hub name or folder")
    common.run_listener("salmonn", RATE, parser.parse_args(), COMMIT, load, answer)


if __name__ == "__main__":
    main()

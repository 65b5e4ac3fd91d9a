"""A worker for LTU-AS (YuanGongND/ltu): the first 10 s of a clip and its transcript, 16 kHz, and up to 500 tokens.

    python recipes/listeners/ltu_as/worker.py --clone ltu --base vicuna_ltuas --checkpoint ltuas_long_noqa_a6.bin \
        --whisper large-v1.pt

Whisper large-v1 gives the features; whisper-at with large-v2 writes the transcript, which is part of the prompt.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path += list(map(str, Path(__file__).resolve().parents))[1:3]
import lora_listener
import worker_common as common

COMMIT = "2002aad8305ee5579a2237a85a6e792c1174cda7"
RATE = 16_000
POOLED = 20  # frames of Whisper
INVENTED = re.compile(r"(?:thanks|thank you) for watching[.!]?", re.IGNORECASE)  # by Whisper, about silence


def load(options: argparse.Namespace) -> Any:
    folder = options.clone / "src" / "ltu_as"
    lora_listener.enter_repository(folder, "hf-dev/transformers-main")
    sys.path.insert(0, str(folder / "whisper"))
    import torch
    import whisper_at
    from whisper.model import ModelDimensions, Whisper

    device = common.find_device()
    weights = torch.load(options.whisper, map_location="cpu")
    features = Whisper(ModelDimensions(**weights["dims"]))
    features.load_state_dict(weights["model_state_dict"], strict=False)
    return SimpleNamespace(
        llama=lora_listener.load_llama(options.base, options.checkpoint, 0.05, device),
        features=features.to(device),
        transcriber=whisper_at.load_model("large-v2", device=device),
    )


def answer(model: Any, question: str, audio: str) -> str:
    import torch

    transcript = INVENTED.sub("", model.transcriber.transcribe(audio)["text"].lstrip())
    prompt = model.llama.prompter.generate_prompt(question, transcript)
    heard = encode(model.features, audio).unsqueeze(0)
    if model.llama.device == "cuda":
        heard = heard.half().to("cuda")
    with torch.cuda.amp.autocast():
        text = lora_listener.generate(model.llama, prompt, heard, 500, top_k=500, repetition_penalty=1.1)
    return text[5:-4].partition("### Response:\n")[2].strip()  # without <s> and </s>


def encode(features: Any, audio: str) -> Any:
    """Return the outputs of Whisper's layers but the first, averaged over 20 frames each."""
    import numpy
    import torch
    from skimage.measure import block_reduce
    from whisper.transcribe import transcribe_audio

    _, layers = transcribe_audio(features, audio)
    by_layer = torch.permute(layers[0], (2, 0, 1)).detach().cpu().numpy()
    return torch.FloatTensor(block_reduce(by_layer, (1, POOLED, 1), numpy.mean)[1:])


def main() -> None:
    parser = common.make_parser(__doc__ or "")
    lora_listener.add_options(parser, "vicuna_ltuas of the repository", "ltuas_long_noqa_a6.bin")
    parser.add_argument("--whisper", required=True, type=common.existing_path, help="large-v1.pt of OpenAI's Whisper")
    common.run_listener("ltu_as", RATE, parser.parse_args(), COMMIT, load, answer)


if __name__ == "__main__":
    main()

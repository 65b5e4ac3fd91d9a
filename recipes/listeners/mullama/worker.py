"""A worker for MU-LLaMA (shansongliu/MU-LLaMA): the first minute of a clip, 24 kHz, and up to 1024 tokens of answer.

    python recipes/listeners/mullama/worker.py --clone MU-LLaMA --checkpoint checkpoint.pth --llama LLaMA

The folder of LLaMA-2 has tokenizer.model and 7B/ in Meta's own format. MU-LLaMA downloads the file knn.index when it is
loaded, if that is missing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))
import worker_common as common

COMMIT = "c7c8db6100d2faa9427eaac20f987dea03b6e29d"
RATE = 24_000


def load(options: argparse.Namespace) -> Any:
    common.enter_clone(options.clone / "MU-LLaMA", ".")
    from data.utils import load_and_transform_audio_data
    from llama import format_prompt
    from llama import load as load_llama

    neighbours = options.knn or str(Path(options.checkpoint).parent)
    model = load_llama(
        options.checkpoint, options.llama, mert_path=options.mert, knn=True, knn_dir=neighbours, llama_type="7B"
    )
    model.eval()
    return SimpleNamespace(model=model, read=load_and_transform_audio_data, format_prompt=format_prompt)


def answer(mullama: Any, question: str, audio: str) -> str:
    import torch

    model, tokenizer = mullama.model, mullama.model.tokenizer
    inputs = {"Audio": [mullama.read([audio]), 1]}
    tokens = tokenizer.encode(mullama.format_prompt(question), bos=True, eos=False)
    with torch.cuda.amp.autocast():
        answers = model.generate(
            inputs,
            [tokens],
            max_gen_len=1024,
            temperature=0.6,
            top_p=0.8,
            cache_size=100,
            cache_t=20.0,
            cache_weight=0.0,  # of the neighbours
        )
    return str(answers[0]).strip()


def main() -> None:
    parser = common.make_parser(__doc__ or "")
    parser.add_argument("--checkpoint", required=True, type=common.existing_path, help="MU-LLaMA's checkpoint.pth")
    parser.add_argument("--llama", required=True, type=common.existing_path, help="folder of LLaMA-2")
    parser.add_argument("--mert", default="m-a-p/MERT-v1-330M", type=common.hub_name, help="hub name or folder")
    parser.add_argument("--knn", type=common.existing_path, help="folder of knn.index; by default the checkpoint's")
    common.run_listener("mullama", RATE, parser.parse_args(), COMMIT, load, answer)


if __name__ == "__main__":
    main()

"""A worker for Audio Flamingo 1 (NVIDIA/audio-flamingo): the first 33.25 s of a clip, 44.1 kHz, 128 tokens of answer.

    python recipes/listeners/flamingo/worker.py --clone audio-flamingo --checkpoint foundation.pt \
        --clap clapcap_weights_2023.pth

It is the foundation model, not the chat model. Questions reach it in lower case, by its own code.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))
import worker_common as common

COMMIT = "5ea6f6d6dc50b35f24d0362ef0c24680b5199414"
RATE = 44_100
TASK = "The task is audio QA."  # CMI-Bench's words; the model's own examples have "audio question answering"
SAMPLING = {"do_sample": True, "top_k": 30, "top_p": 0.95, "num_return_sequences": 1}


def load(options: argparse.Namespace) -> Any:
    import yaml

    folder = options.clone / "inference"
    common.enter_clone(folder, ".")
    from data import AudioTextDataProcessor
    from inference_examples import prepare_model, prepare_tokenizer

    settings = yaml.safe_load((folder / "configs" / "foundation.yaml").read_text(encoding="utf-8"))
    clap, flamingo = settings["clap_config"], settings["model_config"]
    clap.update(checkpoint=options.clap, config_root=str(folder / "my_ms_clap" / "src" / "configs"))
    flamingo.update(lang_encoder_path=options.opt, tokenizer_path=options.opt, cache_dir=None)
    tokenizer = prepare_tokenizer(flamingo)
    processor = AudioTextDataProcessor(data_root="", clap_config=clap, tokenizer=tokenizer, max_tokens=1024)
    model = prepare_model(model_config=flamingo, clap_config=clap, checkpoint_path=options.checkpoint)
    return SimpleNamespace(model=model, tokenizer=tokenizer, processor=processor)


def answer(flamingo: Any, question: str, audio: str) -> str:
    from inference_examples import inference

    item = {"name": audio, "prefix": TASK, "prompt": question}
    processor = flamingo.processor
    return str(inference(flamingo.model, flamingo.tokenizer, item, processor.process(item), SAMPLING)[0])


def main() -> None:
    parser = common.make_parser(__doc__ or "")
    parser.add_argument("--checkpoint", required=True, type=common.existing_path, help="foundation.pt")
    parser.add_argument("--clap", required=True, type=common.existing_path, help="clapcap_weights_2023.pth")
    parser.add_argument("--opt", default="facebook/opt-iml-max-1.3b", type=common.hub_name, help="hub name or folder")
    common.run_listener("flamingo", RATE, parser.parse_args(), COMMIT, load, answer)


if __name__ == "__main__":
    main()

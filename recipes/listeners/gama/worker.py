"""A worker for GAMA and GAMA-IT (Sreyan88/GAMA): the first 10.24 s of a clip, 16 kHz, and up to 400 tokens of answer.

    python recipes/listeners/gama/worker.py --clone GAMA --base Llama-2-7b-chat-hf-qformer \
        --checkpoint stage4_ckpt/pytorch_model.bin

GAMA is the checkpoint of stage 4, and GAMA-IT is that of stage 5.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path += list(map(str, Path(__file__).resolve().parents))[1:3]
import lora_listener
import worker_common as common

COMMIT = "041c3a623c6c635e65463cef16ce0cfde72e5c57"
RATE = 16_000


def load(options: argparse.Namespace) -> Any:
    lora_listener.enter_repository(options.clone, "hf-dev-train/transformers-main")
    return lora_listener.load_llama(options.base, options.checkpoint, 0.0, common.find_device())


def main() -> None:
    parser = common.make_parser(__doc__ or "")
    lora_listener.add_options(parser, "Llama-2-7b-chat-hf-qformer", "pytorch_model.bin of stage 4 or 5")
    common.run_listener("gama", RATE, parser.parse_args(), COMMIT, load, lora_listener.answer_by_filter_bank)


if __name__ == "__main__":
    main()

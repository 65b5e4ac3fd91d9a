"""A worker for LTU (YuanGongND/ltu): the first 10.24 s of a clip, 16 kHz, and up to 400 tokens of answer.

python recipes/listeners/ltu/worker.py --clone ltu --base vicuna_ltu --checkpoint ltu_ori_paper.bin
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path += list(map(str, Path(__file__).resolve().parents))[1:3]
import lora_listener
import worker_common as common

COMMIT = "2002aad8305ee5579a2237a85a6e792c1174cda7"
RATE = 16_000


def load(options: argparse.Namespace) -> Any:
    lora_listener.enter_repository(options.clone / "src" / "ltu", "hf-dev/transformers-main")
    return lora_listener.load_llama(options.base, options.checkpoint, 0.05, common.find_device())


def main() -> None:
    parser = common.make_parser(__doc__ or "")
    lora_listener.add_options(parser, "vicuna_ltu of the repository", "ltu_ori_paper.bin")
    common.run_listener("ltu", RATE, parser.parse_args(), COMMIT, load, lora_listener.answer_by_filter_bank)


if __name__ == "__main__":
    main()

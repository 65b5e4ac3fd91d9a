"""A worker for Pengi (microsoft/Pengi): 7 s of a clip, 44.1 kHz, and up to 30 tokens of answer.

    python recipes/listeners/pengi/worker.py --clone Pengi [--ask]

CMI-Bench's authors let Pengi describe the clip and did not give it the question; this worker does the same. With --ask
it gets the question, cut to the 40 tokens that Pengi reads. Of a clip longer than 7 s Pengi takes 7 s at random.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))
import worker_common as common

COMMIT = "31d5e37d0cf5a7bdcdcb4fbd8f2072674f993cea"
RATE = 44_100
END = " <|endoftext|>"


def load(options: argparse.Namespace) -> Any:
    common.enter_clone(options.clone, ".")
    if not Path("configs", "base.pth").exists():
        sys.exit(f"{options.clone / 'configs'} has no base.pth: download it from https://zenodo.org/record/8387083")
    from wrapper import PengiWrapper

    return SimpleNamespace(pengi=PengiWrapper(config="base", use_cuda=True), is_asked=options.ask)


def answer(model: Any, question: str, audio: str) -> str:
    pengi = model.pengi
    if not model.is_asked:
        return str(pengi.describe(audio_paths=[audio], max_len=30, beam_size=3, temperature=1.0, stop_token=END)[0])
    made = pengi.generate(
        audio_paths=[audio],
        text_prompts=[question],
        add_texts=[""],
        max_len=30,
        beam_size=3,
        temperature=1.0,
        stop_token=END,
    )
    texts, _scores = made[0]
    return str(texts[0])


def main() -> None:
    parser = common.make_parser(__doc__ or "")
    parser.add_argument("--ask", action="store_true", help="give it the question")
    common.run_listener("pengi", RATE, parser.parse_args(), COMMIT, load, answer)


if __name__ == "__main__":
    main()

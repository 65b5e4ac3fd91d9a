"""A worker for MusicGen in audiocraft (facebookresearch/audiocraft), for its style and stereo models: 32 kHz, no words.

    python recipes/generators/musicgen/worker.py --clone audiocraft [--model facebook/musicgen-stereo-melody]

Models named `melody` take the melody of a reference, and `style` takes its style, from an excerpt of 3 s.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))
import worker_common as common

COMMIT = "896ec7c47f5e5d1e5aa1e4b260c4405328bf009d"
USUAL, LONGEST = 30.0, 300.0  # seconds; beyond 30 s the model continues its own music
EXCERPT = 3.0  # seconds


def load(options: argparse.Namespace) -> Any:
    common.enter_clone(options.clone, ".")
    from audiocraft.models import MusicGen

    model = MusicGen.get_pretrained(options.model)
    if is_style(options.model):
        model.set_style_conditioner_params(eval_q=1, excerpt_length=EXCERPT)
    return SimpleNamespace(model=model, is_style=is_style(options.model))


def generate(musicgen: Any, request: dict[str, Any]) -> None:
    model, text = musicgen.model, request["text"] or None
    if not request["reference"]:
        common.require_parts(request, "text")
    seconds = request["seconds"] or USUAL
    common.require_length(seconds, 1, USUAL if musicgen.is_style else LONGEST)
    common.set_seeds(request["seed"])
    both = musicgen.is_style and text and request["reference"]
    model.set_generation_params(duration=seconds, cfg_coef=3.0, cfg_coef_beta=5.0 if both else None)
    if request["reference"]:
        import torch

        samples, rate = common.read_audio(request["reference"])
        made = model.generate_with_chroma([text], torch.from_numpy(samples)[None], rate)
    else:
        made = model.generate([text])
    common.write_take(request, made[0].cpu().numpy(), model.sample_rate)


def is_style(model: str) -> bool:
    return model.rstrip("/").endswith("style")


def main() -> None:
    parser = common.make_parser(__doc__ or "")
    parser.add_argument("--model", default="facebook/musicgen-style", help="its name on the hub")
    options = parser.parse_args()
    takes_references = is_style(options.model) or "melody" in options.model
    about = {
        "name": options.model.rstrip("/").rpartition("/")[2],
        "version": options.model,
        "accepts": ["text", "reference"] if takes_references else ["text"],
        "licence": "MIT (code), CC-BY-NC-4.0 (weights)",
        "settings": {"cfg_coef": 3.0},
    }
    common.run_generator(about, options, COMMIT, load, generate)


if __name__ == "__main__":
    main()

"""A worker for LeVo 2 (tencent-ailab/SongGeneration): songs and instrumental music of up to 4 min 30 s, 48 kHz stereo.

    python recipes/generators/levo/worker.py --clone SongGeneration --checkpoint songgeneration_v2_large

It uses the repository's class LeVoInference, which loads version 2 of the model only. LeVo ends a song by itself;
`seconds` is its limit. Of a reference the first 10 s are used. Without lyrics the music is instrumental.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path += list(map(str, Path(__file__).resolve().parents))[1:3]
import worker_common as common
from lyric_formats import read_sections, write_levo

COMMIT = "b1b03ec93a38ae4a566ad8a22010f51dd49cb803"
PARAMS = {"cfg_coef": 1.5, "temperature": 0.8, "top_k": 5000, "top_p": 0.0}  # those of the repository's generate.py
NO_WORDS = "."


def load(options: argparse.Namespace) -> Any:
    checkpoint = str(options.checkpoint.resolve())
    os.environ.setdefault("TRANSFORMERS_CACHE", str(options.clone / "third_party" / "hub"))
    common.enter_clone(options.clone, "tools/gradio", ".", "codeclm/tokenizer", "codeclm/tokenizer/Flow1dVAE")
    module = importlib.import_module("levo_inference_lowmem" if options.low_memory else "levo_inference")
    return SimpleNamespace(levo=module.LeVoInference(checkpoint), folder=tempfile.TemporaryDirectory())


def generate(model: Any, request: dict[str, Any]) -> None:
    levo = model.levo
    if not request["lyrics"]:
        common.require_parts(request, "text")
    longest = float(levo.max_duration)
    common.require_length(request["seconds"] or longest, 1, longest)
    reference = request["reference"]
    if reference:  # separated voices are kept by file name, and other folders may have a file of the same name
        reference = str(common.copy_under_own_name(reference, Path(model.folder.name)))
    common.set_seeds(request["seed"])
    samples = levo(
        lyric=write_levo(read_sections(request["lyrics"])) if request["lyrics"] else NO_WORDS,
        description=describe(request["text"]),
        prompt_audio_path=reference,
        gen_type="mixed" if request["lyrics"] else "bgm",
        params={**PARAMS, "duration": request["seconds"] or longest},
    )
    common.write_take(request, samples.cpu().float().numpy(), levo.cfg.sample_rate)


def describe(text: str | None) -> str | None:
    """End a description with a full stop, as the repository's demonstration does."""
    text = (text or "").strip()
    return text if not text or text.endswith(".") else f"{text}."


def main() -> None:
    parser = common.make_parser(__doc__ or "")
    parser.add_argument("--checkpoint", required=True, type=Path, help="folder with config.yaml and model.pt")
    parser.add_argument("--low-memory", action="store_true", help="load parts of the model when they are needed")
    options = parser.parse_args()
    about = {
        "name": "levo-2",
        "version": options.checkpoint.resolve().name,
        "accepts": ["text", "lyrics", "reference"],
        "licence": "License Terms of SongGeneration: academic, research and education purposes only",
        "settings": {**PARAMS, "low_memory": options.low_memory},
    }
    common.run_generator(about, options, COMMIT, load, generate)


if __name__ == "__main__":
    main()

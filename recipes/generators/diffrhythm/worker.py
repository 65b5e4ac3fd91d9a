"""A worker for DiffRhythm 1.2 (ASLP-lab/DiffRhythm): songs and instrumental music, 44.1 kHz stereo.

    python recipes/generators/diffrhythm/worker.py --clone DiffRhythm [--model full] [--style reference]

The style is either a text or a recording of 10 s or more, never both: --style says which. The model `base` makes 95 s,
and `full` 96 to 285 s; a shorter take is the beginning of that. Lyrics get times at a steady pace, or keep theirs.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path += list(map(str, Path(__file__).resolve().parents))[1:3]
import worker_common as common
from lyric_formats import write_lrc

COMMIT = "28ad63c0f096fe2ee258bcabbcf081d5d9366afd"
RATE = 44_100
MAX_FRAMES = {"base": 2048, "full": 6144}
LONGEST = {"base": 95, "full": 285}  # seconds
SHORTEST_FULL = 96
SHORTEST_REFERENCE = 10.0


def load(options: argparse.Namespace) -> Any:
    common.enter_clone(options.clone, "infer", ".")
    from infer_utils import prepare_model

    device = common.find_device()
    cfm, tokenizer, muq, vae = prepare_model(MAX_FRAMES[options.model], device)
    return SimpleNamespace(
        cfm=cfm, tokenizer=tokenizer, muq=muq, vae=vae, device=device, size=options.model, style=options.style
    )


def generate(model: Any, request: dict[str, Any]) -> None:
    from infer import inference
    from infer_utils import get_lrc_token, get_negative_style_prompt, get_reference_latent, get_style_prompt

    common.require_parts(request, model.style)
    wanted = request["seconds"] or LONGEST[model.size]
    common.require_length(wanted, 1, LONGEST[model.size])
    try:
        lrc = write_lrc(request["lyrics"] or "", wanted, needs_closing_line=model.size == "base")
    except ValueError as error:
        raise common.TakeRefused("lyrics too long", str(error)) from error
    common.set_seeds(request["seed"])
    if model.style == "text":
        style = get_style_prompt(model.muq, prompt=request["text"])
    else:
        require_recording(request["reference"])
        style = get_style_prompt(model.muq, wav_path=request["reference"])
    length = LONGEST["base"] if model.size == "base" else max(SHORTEST_FULL, math.ceil(wanted))
    frames = MAX_FRAMES[model.size]
    text, start_time, end_frame, song_duration = get_lrc_token(frames, lrc, model.tokenizer, length, model.device)
    latent, pred_frames = get_reference_latent(model.device, frames, False, None, None, model.vae)
    (song,) = inference(
        cfm_model=model.cfm,
        vae_model=model.vae,
        cond=latent,
        text=text,
        duration=end_frame,
        style_prompt=style,
        negative_style_prompt=get_negative_style_prompt(model.device),
        start_time=start_time,
        pred_frames=pred_frames,
        batch_infer_num=1,
        song_duration=song_duration,
        chunked=True,  # fits 8 GB
    )
    common.write_take(request, song.numpy() / 32_768, RATE)  # 16-bit whole numbers


def require_recording(path: str) -> None:
    """Refuse a reference that the model would stop at."""
    samples, rate = common.read_audio(path)
    if samples.shape[1] < SHORTEST_REFERENCE * rate:
        raise common.TakeRefused("reference too short", f"{path}: shorter than {SHORTEST_REFERENCE:g} s")


def main() -> None:
    parser = common.make_parser(__doc__ or "")
    parser.add_argument("--model", choices=list(MAX_FRAMES), default="base", help="95 s, or 96 to 285 s")
    parser.add_argument("--style", choices=["text", "reference"], default="text", help="what gives the style")
    options = parser.parse_args()
    about = {
        "name": "diffrhythm" if options.model == "base" else "diffrhythm-full",
        "version": "DiffRhythm-1_2" if options.model == "base" else "DiffRhythm-1_2-full",
        "accepts": [options.style, "lyrics"],
        "licence": "Apache-2.0 (code and DiT weights)",
        "settings": {"style": options.style, "steps": 32, "cfg_strength": 4.0, "chunked": True},
    }
    common.run_generator(about, options, COMMIT, load, generate)


if __name__ == "__main__":
    main()

"""A worker for SongGen (LiuZH-19/SongGen): English songs of up to 30 s from a description and lyrics, 16 kHz mono.

    python recipes/generators/songgen/worker.py --clone SongGen [--model LiuZH-19/SongGen_interleaving_A_V] [--voice]

With --voice a reference is taken: SongGen imitates the voice of its first three seconds, and nothing else of it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path += list(map(str, Path(__file__).resolve().parents))[1:3]
import worker_common as common
from lyric_formats import read_sections, write_lines

COMMIT = "94d2d20ca882aa55c8e0abc6154a6ac52840c781"
LONGEST = 30.0  # seconds


def load(options: argparse.Namespace) -> Any:
    common.enter_clone(options.clone, ".")
    from songgen import (
        SongGenDualTrackForConditionalGeneration,
        SongGenMixedForConditionalGeneration,
        SongGenProcessor,
    )

    device = common.find_device()
    if is_dual(options.model):
        model = SongGenDualTrackForConditionalGeneration.from_pretrained(options.model, attn_implementation="sdpa")
    else:
        model = SongGenMixedForConditionalGeneration.from_pretrained(options.model, attn_implementation="sdpa")
    processor = SongGenProcessor(options.model, device)
    return SimpleNamespace(model=model.to(device), processor=processor, is_dual=is_dual(options.model))


def generate(songgen: Any, request: dict[str, Any]) -> None:
    common.require_parts(request, "text", "lyrics")
    common.require_length(request["seconds"] or LONGEST, 1, LONGEST)
    common.set_seeds(request["seed"])
    processor, model = songgen.processor, songgen.model
    inputs = processor(
        text=request["text"],
        lyrics=write_lines(read_sections(request["lyrics"])),
        ref_voice_path=request["reference"],
        separate=request["reference"] is not None,  # leave out the accompaniment of the reference
    )
    made = model.generate(**inputs, do_sample=True)
    tracks = [track.cpu().numpy().squeeze() for track in (made if songgen.is_dual else [made])]
    shortest = min(len(track) for track in tracks)
    common.write_take(request, sum(track[:shortest] for track in tracks), model.config.sampling_rate)


def is_dual(model: str) -> bool:
    """Whether a model makes accompaniment and voice as two tracks, which are added."""
    return "interleaving" in model.lower()


def main() -> None:
    parser = common.make_parser(__doc__ or "")
    parser.add_argument("--model", default="LiuZH-19/SongGen_mixed_pro", help="its name on the hub, or a folder")
    parser.add_argument("--voice", action="store_true", help="take references, for their voice")
    options = parser.parse_args()
    about = {
        "name": "songgen-dual" if is_dual(options.model) else "songgen",
        "version": options.model,
        "accepts": ["text", "lyrics", "reference"] if options.voice else ["text", "lyrics"],
        "licence": "Apache-2.0 (code; the repository states none for the weights)",
        "settings": {"voice": options.voice},
    }
    common.run_generator(about, options, COMMIT, load, generate)


if __name__ == "__main__":
    main()

"""A worker for YuE, first version (multimodal-art-projection/YuE): songs and instrumental music from tags and lyrics.

    python recipes/generators/yue/worker.py --clone YuE [--stage1-model m-a-p/YuE-s1-7B-anneal-en-icl]

All of YuE's inference is at the top level of one script, infer.py, so that a take is one run of it, in a process of
its own: both models are loaded again for each take. A section of the lyrics gives up to 30 s. Only models named `-icl`
take a reference, of which the first 30 s are used.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path += list(map(str, Path(__file__).resolve().parents))[1:3]
import worker_common as common
from lyric_formats import read_sections, write_tags, write_yue

COMMIT = "9f1394bae1d8d218fea750c1413c2d9d731c7310"
TOKENS = 100  # a second: 50 for the voice, 50 for the accompaniment
SECTION = 30.0  # seconds
SHORTEST, LONGEST = 6.0, 300.0  # its second stage works on pieces of 6 s
SECTIONS = 2  # generated if no length is asked for; more need a GPU of 80 GB
PENALTY = 1.1


def load(options: argparse.Namespace) -> argparse.Namespace:
    script = options.clone / "inference" / "infer.py"
    codec = options.clone / "inference" / "xcodec_mini_infer"
    if not script.is_file():
        raise SystemExit(f"{script} is missing: check out the commit that this worker was written for, {COMMIT}")
    if not any(codec.glob("*")):
        raise SystemExit(f"{codec} is empty: clone https://huggingface.co/m-a-p/xcodec_mini_infer there")
    return options


def generate(options: argparse.Namespace, request: dict[str, Any]) -> None:
    if not request["lyrics"]:
        common.require_parts(request, "text")
    common.require_length(request["seconds"] or SECTION, SHORTEST, LONGEST)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "log.txt"
        with log.open("w", encoding="utf-8") as stream:
            done = subprocess.run(  # noqa: S603
                make_command(options, request, folder),
                cwd=options.clone / "inference",
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        text = log.read_text(encoding="utf-8", errors="replace")
        sys.stderr.write(text)
        mixes = sorted((folder / "out").glob("*.mp3"))
        if done.returncode or not mixes:
            last = text.strip().splitlines()[-1:] or ["it wrote nothing"]
            raise common.TakeRefused("infer.py failed", f"infer.py ended with code {done.returncode}: {last[0]}")
        common.write_take(request, *common.read_audio(mixes[0]))


def make_command(options: argparse.Namespace, request: dict[str, Any], folder: Path) -> list[str]:
    """Write the tags and lyrics to files, and return the command that generates from them into the folder `out`."""
    lyrics, sections = write_yue(read_sections(request["lyrics"] or ""))
    seconds = request["seconds"]
    count = min(sections, SECTIONS if seconds is None else math.ceil(seconds / SECTION))
    tokens = TOKENS * SECTION if seconds is None else math.ceil(TOKENS * seconds / count)
    (folder / "genre.txt").write_text(write_tags(request["text"] or ""), encoding="utf-8")
    (folder / "lyrics.txt").write_text(lyrics, encoding="utf-8")
    command = {
        "--stage1_model": options.stage1_model,
        "--stage2_model": options.stage2_model,
        "--genre_txt": folder / "genre.txt",
        "--lyrics_txt": folder / "lyrics.txt",
        "--run_n_segments": count,
        "--stage2_batch_size": options.stage2_batch_size,
        "--output_dir": folder / "out",
        "--max_new_tokens": int(min(tokens, TOKENS * SECTION)),
        "--repetition_penalty": PENALTY,
        "--seed": request["seed"] % 2**32,
    }
    words = [str(word) for pair in command.items() for word in pair]
    if request["reference"]:
        words += ["--use_audio_prompt", "--audio_prompt_path", request["reference"]]
        words += ["--prompt_start_time", "0", "--prompt_end_time", "30"]
    return [sys.executable, "infer.py", *words]


def main() -> None:
    parser = common.make_parser(__doc__ or "")
    parser.add_argument("--stage1-model", default="m-a-p/YuE-s1-7B-anneal-en-cot", help="its name on the hub")
    parser.add_argument("--stage2-model", default="m-a-p/YuE-s2-1B-general", help="its name on the hub")
    parser.add_argument("--stage2-batch-size", type=int, default=4, help="more is faster and needs more memory")
    options = parser.parse_args()
    takes_references = options.stage1_model.rstrip("/").endswith("-icl")
    about = {
        "name": "yue-icl" if takes_references else "yue",
        "version": options.stage1_model,
        "accepts": ["text", "lyrics", "reference"] if takes_references else ["text", "lyrics"],
        "licence": "Apache-2.0 (code and weights); the authors ask for the credit 'YuE by HKUST/M-A-P'",
        "settings": {"stage2_model": options.stage2_model, "repetition_penalty": PENALTY},
    }
    common.run_generator(about, options, COMMIT, load, generate)


if __name__ == "__main__":
    main()

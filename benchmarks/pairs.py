"""Sampling and splitting pairs: time and peak memory of `cmi pairs` on made-up takes whose checks are cached.

    python benchmarks/pairs.py [--pairs 100000] [--prompts 10000] [--per-prompt-takes 7] [--systems 23]

The takes are as many and as long as a study's: prompts of the four modalities with lyrics of 1,000 characters, takes by
some of the systems, fingerprints of 30 s. The files hold random bytes, and the cache holds what checks would have
found, so what is measured is a second run: reading the manifest, looking files up, comparing fingerprints within each
prompt, splitting, sampling, writing. The command runs in a fresh process; its peak is its resident memory (wait4).
"""

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# This process imports nothing heavy before the command is done: on Linux a child's peak starts from its parent's.

LYRICS = 1_000  # characters
FRAMES = 235  # of a fingerprint of 30 s
BATCH = 1_000


def write_takes(folder: Path, prompts: int, takes: int, systems: int) -> None:
    """The manifest, with a small file for each take and each reference."""
    draw = random.Random(0)
    with (folder / "takes.jsonl").open("w", encoding="utf-8") as manifest:
        for number in range(prompts):
            prompt = {"text": f"prompt {number}, " + " ".join(draw.choices(("slow", "sad", "piano", "drums"), k=20))}
            if number % 2:
                prompt["lyrics"] = f"song {number} " + "la " * (LYRICS // 3)
            if number % 4 > 1:
                prompt["reference"] = f"references/{number}.wav"
                write_file(folder / prompt["reference"])
            for place, system in enumerate(draw.choices(range(systems), k=takes)):
                audio = f"audio/system-{system:02d}/{number}-{place}.wav"
                write_file(folder / audio)
                row = {"audio": audio, "generator": f"system-{system:02d}", "group": str(number), **prompt}
                manifest.write(json.dumps(row) + "\n")


def write_file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(os.urandom(32))


def fill_cache(folder: Path) -> None:
    """What checking the files would have found, had they been music; in a process of its own, as it imports numpy."""
    import numpy as np

    from cmi._util.cache import VectorCache
    from cmi.pairs.checks import CHECKS, FILES, PRINTS, file_keys
    from cmi.pairs.fingerprint import BANDS

    rng = np.random.default_rng(0)
    with VectorCache(folder / "cache") as cache:
        files = sorted(folder.rglob("*.wav"))
        for start in range(0, len(files), BATCH):
            paths = files[start : start + BATCH]
            digests = [hashlib.sha256(path.read_bytes()).digest() for path in paths]
            vectors = [np.frombuffer(digest, np.uint8).astype(np.float32) for digest in digests]
            cache.put_many(FILES, zip(file_keys(paths), vectors, strict=True))
            seconds, loudness = rng.uniform(10, 60, len(paths)), rng.normal(-18, 4, len(paths))
            checks = [
                np.array([s, 1, 0.9, 0, level, 2000, 3], np.float32) for s, level in zip(seconds, loudness, strict=True)
            ]
            cache.put_many(CHECKS, zip(digests, checks, strict=True))
            prints = rng.normal(0, 6, (len(paths), FRAMES * BANDS)).astype(np.float32)
            cache.put_many(PRINTS, zip(digests, prints, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--prompts", type=int, default=10_000)
    parser.add_argument("--per-prompt-takes", type=int, default=7)
    parser.add_argument("--systems", type=int, default=23)
    parser.add_argument("--fill", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.fill:
        fill_cache(given.fill)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_takes(folder, given.prompts, given.per_prompt_takes, given.systems)
        subprocess.run([sys.executable, __file__, "--fill", name], check=True)
        command = [sys.executable, "-m", "cmi", "pairs", "takes.jsonl", "--out", "pairs", "--pairs", str(given.pairs)]
        command += ["--test-pairs", "500", "--hold-out-system", "system-00"]
        environment = {**os.environ, "CMI_CACHE": str(folder / "cache")}
        began = time.monotonic()
        child = subprocess.Popen(command, cwd=folder, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - began
        if status:
            sys.exit("the command failed")
        with (folder / "pairs" / "preferences.jsonl").open("rb") as file:
            written = sum(1 for _ in file)
    peak = usage.ru_maxrss / 1024
    takes = given.prompts * given.per_prompt_takes
    processor = usage.ru_utime + usage.ru_stime
    print(f"{takes:,} takes, {given.prompts:,} prompts -> {written:,} pairs")
    print(f"{seconds:.1f} s, {processor:.1f} s of them on a processor, peak {peak:.0f} MB")


if __name__ == "__main__":
    main()

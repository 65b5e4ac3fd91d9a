"""What a report costs beside a plain `cmi score` of the same takes: seconds, processor seconds, and their ratio.

    python benchmarks/report.py [--takes 200] [--against]

The takes are the studio's, 30 s each, two for each prompt. Each command runs in a process of its own with an empty
cache. With `--against`, half of the takes are another generator's, and the distance between both sets is measured too.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cmi._util.cache import cache_folder

PER_PROMPT = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--takes", type=int, default=200)
    parser.add_argument("--against", action="store_true", help="two generators with half of the takes each")
    options = parser.parse_args()
    names = ("one", "two") if options.against else ("one",)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prompts = options.takes // PER_PROMPT // len(names)
        for seed, name in enumerate(names):
            how = ["--prompts", str(prompts), "--candidates", str(PER_PROMPT), "--seed", str(seed)]
            run_cmi(["studio", "generate", name, *how], folder)
        takes = sorted(str(path.relative_to(folder)) for name in names for path in folder.glob(f"{name}/*/*.flac"))
        against = ["--against", "two"] if options.against else []
        costs = {
            "cmi score": run_cmi(["score", *takes, "--text", "slow piano"], folder),
            "cmi report": run_cmi(["report", "one", *against], folder),
        }
    print(f"{len(takes)} takes of 30 s, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for name, (seconds, processor) in costs.items():
        print(f"{name:10} {seconds:6.1f} s, {processor:6.1f} processor seconds, {processor / len(takes):.2f} a take")
    ratio = costs["cmi report"][1] / costs["cmi score"][1]
    print(f"a report costs {ratio:.1f} times as much as the scores alone")


def run_cmi(arguments: list[str], folder: Path) -> tuple[float, float]:
    """Seconds and processor seconds of a command with a cache that holds musicnn's weights alone."""
    with tempfile.TemporaryDirectory() as cache:
        for wheel in cache_folder().glob("*.whl"):
            Path(cache, wheel.name).symlink_to(wheel)
        environment = {**os.environ, "CMI_CACHE": cache}
        begin, used = time.perf_counter(), processor_seconds()
        command = [sys.executable, "-m", "cmi", *arguments]
        subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin, processor_seconds() - used


def processor_seconds() -> float:
    """Of all processes that were started from here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()

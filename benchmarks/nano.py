"""How fast `nano` scores on a CPU: takes of 30 s from memory, as a batch, on as many cores as this process may use.

    python benchmarks/nano.py [--takes 12] [--prompts 12] [--rounds 3] [--against OTHER/src]

With `--against`, another tree's code scores the same takes in turns with this one, in processes of their own, so that
other work on the machine slows both alike; the ratio is that of the medians, and the scores are compared.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

RATE = 32_000


def score(count: int, prompts: int) -> tuple[float, float, list[tuple[float, float]]]:
    """Seconds and processor seconds for a take, after one that warms up, and the scores."""
    from cmi.audio import Waveform
    from cmi.reward.model.reward_model import RewardModel
    from cmi.reward.scoring.scorer import RewardScorer
    from cmi.take import Prompt, Take

    t = np.arange(30 * RATE) / RATE
    takes = []
    for seed in range(count):
        draw = np.random.default_rng(seed)
        notes = sum(np.sin(2 * np.pi * pitch * t) for pitch in draw.uniform(80, 900, 4))
        sound = 0.1 * notes * np.exp(-6 * (t % draw.uniform(0.3, 0.8))) + 0.005 * draw.standard_normal(t.size)
        takes.append(Take(Prompt(f"slow piano number {seed % prompts}"), Waveform(sound.astype(np.float32), RATE)))
    scorer = RewardScorer(RewardModel.from_pretrained("nano", device="cpu"))
    scorer.score(takes[:1])
    begin, begin_cpu = time.perf_counter(), time.process_time()
    scores = scorer.score(takes)
    return (
        (time.perf_counter() - begin) / count,
        (time.process_time() - begin_cpu) / count,
        [(one.musicality, one.alignment) for one in scores],
    )


def run(tree: str, count: int, prompts: int) -> tuple[float, float, list[tuple[float, float]]]:
    environment = {"GOMP_SPINCOUNT": "10000", **os.environ, "PYTHONPATH": tree}  # as `cmi` sets it
    command = [sys.executable, __file__, "--takes", str(count), "--prompts", str(prompts), "--once"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds, cpu, scores = json.loads(done.stdout.splitlines()[-1])
    return seconds, cpu, scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--takes", type=int, default=12)
    parser.add_argument("--prompts", type=int, default=12, help="different ones")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(score(options.takes, options.prompts)))
        return
    trees = {"here": str(Path(__file__).parents[1] / "src")} | ({"there": options.against} if options.against else {})
    seconds: dict[str, list[float]] = {name: [] for name in trees}
    cpu: dict[str, list[float]] = {name: [] for name in trees}
    scores = {}
    for _ in range(options.rounds):
        for name, tree in trees.items():
            took, used, scores[name] = run(tree, options.takes, options.prompts)
            seconds[name].append(took)
            cpu[name].append(used)
    machine = f"{os.cpu_count()} cores; load {os.getloadavg()[0]:.1f}"
    print(f"{machine}; {options.takes} takes of 30 s, {options.prompts} prompts, {options.rounds} rounds")
    for name in trees:
        rates = ", ".join(f"{1 / took:.2f}" for took in seconds[name])
        each = ", ".join(f"{one:.2f}" for one in cpu[name])
        print(f"{name:6} takes a second: {rates}; processor seconds for a take: {each}")
    if options.against:
        for what, found in (("wall clock", seconds), ("processor", cpu)):
            ratio = statistics.median(found["there"]) / statistics.median(found["here"])
            print(f"{what}: {ratio:.2f} times as fast here")
        print(
            f"largest difference of a score: {np.abs(np.array(scores['here']) - np.array(scores['there'])).max():.1e}"
        )


if __name__ == "__main__":
    main()

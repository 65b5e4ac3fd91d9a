"""Learn a generator, optimise it against a reward, and write down what happened.

    python recipes/rl/run.py learn generator.pt [--small]
    python recipes/rl/run.py optimise generator.pt results/ --method grpo --seed 1 [--small]

Methods: grpo, dpo, best-of-n, and shuffled, which is GRPO with the rewards of a group mixed up: what comes of it is
due to the method and not to the reward. `--small` is the size of the tests: minutes on a CPU. Each measurement is added
to results/METHOD-SEED.jsonl as it comes, and takes before and after are kept beside it for the page (`page.py`).
"""

import argparse
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import soundfile
import torch
from corpus import TextReader, write_caption
from generator import GeneratorConfig, SongGenerator
from optimise import (
    HELD_OUT,
    Judges,
    Measured,
    RlConfig,
    best_of,
    learn,
    measure,
    optimise_dpo,
    optimise_grpo,
    record_of,
    seed_everything,
)
from safetensors.torch import load_file, save_file

from cmi.audio import Waveform
from cmi.reward.scoring import load_scorer

FULL = (GeneratorConfig(), RlConfig())
SMALL = (
    GeneratorConfig(dim=64, depth=2, heads=4, longest=320),
    RlConfig(
        bars=2, learn_steps=150, learn_batch=16, steps=3, prompts=2, songs=3, held_out=3, held_out_songs=2, every=3
    ),
)
COUNTS = (1, 2, 4, 8, 16)
KEPT = 8  # takes of each kind for the page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["learn", "optimise"])
    parser.add_argument("generator", type=Path)
    parser.add_argument("results", type=Path, nargs="?")
    parser.add_argument("--method", choices=["grpo", "dpo", "best-of-n", "shuffled"], default="grpo")
    parser.add_argument("--model", default="nano")
    parser.add_argument("--second", default="tags")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    sizes, config = SMALL if options.small else FULL
    if options.steps:
        config = RlConfig(**{**config.__dict__, "steps": options.steps, "learn_steps": options.steps})
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    seed_everything(options.seed)
    model = SongGenerator(sizes).to(device)
    # spawned: torch's threads do not survive a fork
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        read_text = TextReader(device)
        if options.command == "learn":
            begin = time.perf_counter()
            for step, loss in learn(model, config, read_text, pool):
                if step % 50 == 0 or step == config.learn_steps - 1:
                    print(f"step {step}: {loss:.3f} nats a token, {time.perf_counter() - begin:.0f} s", flush=True)
            save_file(model.state_dict(), options.generator)
            return
        model.load_state_dict(load_file(options.generator, device=str(device)))
        judges = Judges(load_scorer(options.model, cache_gb=0), load_scorer(options.second), read_text, pool)
        optimise(model.eval(), config, judges, options.method, options.seed, options.results)


def optimise(
    learned: SongGenerator, config: RlConfig, judges: Judges, method: str, seed: int, results: Path
) -> list[Measured]:
    """Measure before, while and after; each measurement is written as it comes."""
    results.mkdir(parents=True, exist_ok=True)
    found: list[Measured] = []
    with (results / f"{method}-{seed}.jsonl").open("w", encoding="utf-8") as log:

        def keep(measured: Measured) -> None:
            found.append(measured)
            log.write(json.dumps(record_of(measured)) + "\n")
            log.flush()
            shown = ", ".join(f"{name} {mean:.3f}" for name, (mean, _) in measured.values.items())
            print(
                f"{method} {measured.step}: KL {measured.kl:.1f}, diversity {measured.diversity:.2f}, {shown}",
                flush=True,
            )

        def look(step: int, model: SongGenerator, rewards: np.ndarray) -> None:
            if step % config.every == 0 or step == config.steps:
                measured, _, sounds = measure(model, learned, config, judges, step)
                keep(measured)
                if step == config.steps:
                    _keep_takes(sounds, config, results / f"{method}-{seed}")

        if method == "best-of-n":
            for measured in best_of(learned, config, judges, [n for n in COUNTS if n <= 4 * config.songs]):
                keep(measured)
            return found
        first, _, sounds = measure(learned, learned, config, judges, 0)
        keep(first)
        _keep_takes(sounds, config, results / "before")
        if method == "dpo":
            optimise_dpo(learned, config, judges, seed, look)
        else:
            optimise_grpo(learned, config, judges, seed, look, shuffled=method == "shuffled")
    return found


def _keep_takes(sounds: Sequence[Waveform], config: RlConfig, folder: Path) -> None:
    """The first take of some held-out prompts, with the prompts beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for prompt in range(min(KEPT, config.held_out)):
        sound = sounds[prompt * config.held_out_songs]
        soundfile.write(folder / f"{prompt}.flac", sound.samples, sound.rate)
        rows.append({"text": write_caption(HELD_OUT + prompt).text, "audio": f"{prompt}.flac"})
    (folder / "takes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()

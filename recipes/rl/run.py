"""Learn a generator of songs, optimise it against nano, and write down what happened.

    python recipes/rl/run.py results/ --together 8      the whole study, on a GPU
    python recipes/rl/run.py results/ --size tiny        the size of the tests: seconds on a CPU, and worth nothing
    python recipes/rl/run.py results/ --only grpo-1      one run of the study
    python recipes/rl/page.py results/ page.html         curves, a table, and takes to listen to

results/generator.safetensors    what was learned; every run starts from it
results/METHOD-SEED.jsonl        a line for each measurement: all its songs with what is known of them
results/METHOD-SEED/             takes of the last measurement, for the page

Methods: before, the songs of the generator as it was learned, of which best of N is computed; grpo and dpo; grpo-null
and dpo-null with random rewards: what comes of them is due to the method and not to the reward; and grpo-truth, which
is given the truth as its reward. The same command goes on with the runs that are not finished. On a GPU, let several
runs share it: `--together 8` starts each in a process of its own.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import cast

import soundfile
import torch
from corpus import TextReader, write_caption
from generator import GeneratorConfig, SongGenerator
from optimise import (
    HELD_OUT,
    Draw,
    Measured,
    Rewarder,
    RlConfig,
    draw_pool,
    learn,
    measure,
    optimise_dpo,
    optimise_grpo,
)
from safetensors.torch import load_file, save_file
from take_rewards import Array, Judges, Noise, PlainNumbers, Truth, hear_clean

from cmi._util.errors import InputError
from cmi._util.files import claim, make_folder, whole_file
from cmi.audio import Waveform
from cmi.reward.scoring import load_scorer

SIZES = {
    "full": (GeneratorConfig(), RlConfig()),
    "tiny": (
        GeneratorConfig(dim=32, depth=1, heads=2, longest=160),
        RlConfig(
            bars=1, learn_steps=20, learn_batch=8, steps=2, prompts=2, songs=2, held_out=2, held_out_songs=2, every=2,
            candidates=3, pool=4, clean_takes=6,
        ),
    ),
}  # fmt: skip
BEFORE = "before"
METHODS = {BEFORE: 1, "grpo": 3, "dpo": 3, "grpo-null": 3, "dpo-null": 3, "grpo-truth": 3}  # seeds
GENERATOR = "generator.safetensors"
KEPT = 6  # takes of each kind for the page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--only", metavar="METHOD-SEED", help="some runs, such as grpo-1,dpo-2; 'learn' to learn alone")
    parser.add_argument("--model", default="nano", help="the scorer to optimise")
    parser.add_argument("--together", type=int, default=1, help="runs at a time, each in a process of its own")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that render, of all runs")
    parser.add_argument("--learn-steps", type=int)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--every", type=int, help="steps between measurements")
    options = parser.parse_args()
    sizes, config = SIZES[options.size]
    given = {"steps": options.steps, "learn_steps": options.learn_steps, "every": options.every}
    config = RlConfig(**{**config.__dict__, **{name: value for name, value in given.items() if value}})
    runs = [f"{method}-{seed}" for method, seeds in METHODS.items() for seed in range(1, seeds + 1)]
    wanted = options.only.split(",") if options.only else runs
    if unknown := [run for run in wanted if run not in ("learn", *runs)]:
        parser.error(f"--only {unknown[0]}: expected learn or one of {', '.join(runs)}")
    try:
        make_folder(options.results)
        claim(options.results, {**asdict(config), "generator": asdict(sizes), "model": options.model}, "run.py")
    except InputError as error:
        sys.exit(f"run.py: {error}")
    learned = options.results / GENERATOR
    unfinished = [run for run in runs if run in wanted and not is_finished(options.results, run, config)]
    if options.together > 1 and len(unfinished) > 1:
        if not learned.exists():
            _start("learn", options.workers).check_returncode()
        # the seeds of DPO learn from the same songs: they are drawn once if one process does them all
        groups = groupby(unfinished, key=lambda run: run.rpartition("-")[0] if run.startswith("dpo") else run)
        started = [",".join(own) for _, own in groups]
        with ThreadPoolExecutor(options.together) as pool:
            done = list(pool.map(lambda own: _start(own, max(2, options.workers // options.together)), started))
        sys.exit(max(one.returncode for one in done))
    study(options.results, sizes, config, unfinished, options.model, options.workers)


def _start(runs: str, workers: int) -> "subprocess.CompletedProcess[bytes]":
    """The same command for some runs, in a process of their own."""
    command = [sys.executable, *sys.argv, "--only", runs, "--together", "1", "--workers", str(workers)]
    return subprocess.run(command, check=False)  # noqa: S603


def study(
    results: Path, sizes: GeneratorConfig, config: RlConfig, runs: Sequence[str], scorer: str, workers: int
) -> None:
    """Learn the generator if it is not there, then do the runs one after the other."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(1)
    model = SongGenerator(sizes).to(device)
    learned = results / GENERATOR
    with _workers(workers) as pool:
        read_text = TextReader(device)
        if not learned.exists():
            begin = time.perf_counter()
            for step, loss in learn(model, config, read_text, pool):
                if step % 100 == 0 or step == config.learn_steps - 1:
                    print(f"step {step}: {loss:.3f} nats a token, {time.perf_counter() - begin:.0f} s", flush=True)
            _save(model.state_dict(), learned)
        second = PlainNumbers(_clean_timbres(results, config, pool), pool)
        if not runs:
            return
        model.load_state_dict(load_file(learned, device=str(device)))
        judges = Judges(load_scorer(scorer, cache_gb=0), read_text, pool)
        for run in runs:
            optimise(model.eval(), config, judges, second, run, results)


def _clean_timbres(results: Path, config: RlConfig, pool: Executor) -> Array:
    """What the second scorer knows, heard once for all runs."""
    path = results / "clean.safetensors"
    if not path.exists():
        _save({"timbres": torch.from_numpy(hear_clean(config.bars, config.clean_takes, pool))}, path)
    return cast(Array, load_file(path)["timbres"].numpy())


def _save(tensors: Mapping[str, torch.Tensor], path: Path) -> None:
    with whole_file(path) as unfinished:
        save_file(dict(tensors), unfinished)


@contextmanager
def _workers(count: int) -> Iterator[Executor]:
    """Processes that write and render songs; a thread if there is to be only one."""
    if count == 1:
        with ThreadPoolExecutor(1) as pool:
            yield pool
    else:  # spawned: torch's threads do not survive a fork
        with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
            yield pool


def optimise(
    learned: SongGenerator, config: RlConfig, judges: Judges, second: PlainNumbers, run: str, results: Path
) -> None:
    """One run; each measurement is written as it comes."""
    method, _, number = run.rpartition("-")
    seed = int(number)
    begin = time.perf_counter()
    with (results / f"{run}.jsonl").open("w", encoding="utf-8") as log:

        def watch(step: int, model: SongGenerator) -> None:
            if step % config.every == 0 or step == config.steps:
                songs_each = config.candidates if method == BEFORE else config.held_out_songs
                measured = measure(model, learned, config, judges, second, seed, step, songs_each)
                record = {**measured.record(), "method": method, "seed": seed, "time": time.perf_counter() - begin}
                log.write(json.dumps(record) + "\n")
                log.flush()
                print(f"{run} {_summary(measured)}, {record['time']:.0f} s", flush=True)
                _keep_takes(measured.sounds[::songs_each], results / run)

        rewarder = _rewarder(method, judges)
        if method == BEFORE:
            watch(0, learned)
        elif method.startswith("dpo"):
            optimise_dpo(learned, config, _pool(learned, config, rewarder, results, method), seed, watch)
        else:
            optimise_grpo(learned, config, rewarder, seed, watch)


def _rewarder(method: str, judges: Judges) -> Rewarder:
    if method.endswith("-null"):
        return Noise(judges.read_text)
    return Truth(judges.read_text) if method.endswith("-truth") else judges


def _pool(learned: SongGenerator, config: RlConfig, rewarder: Rewarder, results: Path, method: str) -> Draw:
    """The songs that DPO learns from, and their rewards; drawn once for all seeds."""
    path = results / f"{method}-pool.safetensors"
    if not path.exists():
        _save(draw_pool(learned, config, rewarder)._asdict(), path)
    return Draw(**load_file(path, device=str(next(learned.parameters()).device)))


def _summary(measured: Measured) -> str:
    songs = measured.songs
    names = ("musicality", "alignment", "second", "clean", "in_key", "heeded", "notes", "parts", "tempo")
    shown = [f"{name} {sum(song[name] for song in songs) / len(songs):.3g}" for name in names]
    kl, different = (sum(values) / len(values) for values in (measured.kl, measured.diversity))
    return f"step {measured.step}: KL {kl:.1f}, diversity {different:.2f}, {', '.join(shown)}"


def is_finished(results: Path, run: str, config: RlConfig) -> bool:
    """Whether the last measurement is there, and whole."""
    path = results / f"{run}.jsonl"
    try:
        last = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    except (OSError, IndexError, ValueError):
        return False
    return bool(last["step"] == (0 if run.startswith(BEFORE) else config.steps))


def _keep_takes(sounds: Sequence[Waveform], folder: Path) -> None:
    """The first take of some held-out prompts, with the prompts beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for prompt, sound in enumerate(sounds[:KEPT]):
        soundfile.write(folder / f"{prompt}.mp3", sound.samples, sound.rate)
        rows.append({"text": write_caption(HELD_OUT + prompt).text, "audio": f"{prompt}.mp3"})
    (folder / "takes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()

"""The reward server under load: many clients at once, every answer compared with `cmi score`'s, memory and refusals.

    python benchmarks/serve.py [--clients 200] [--seconds 60] [--takes 20] [--prompts 50] [--length 10] [--model nano]

Each client posts takes under prompts, both drawn from pools, as a trainer's workers do, and comes back after
Retry-After when it is refused. The alternative is `cmi score`: the engine in one process, on the takes and prompts
that were answered. The server's memory is its resident set, read while it works.
"""

import argparse
import asyncio
import base64
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import soundfile

RATE = 32_000
AskedTake = tuple[str, str, dict[str, Any]]  # path, text, request
Answered = tuple[tuple[str, str], tuple[float, float]]  # path and text, scores


def write_takes(folder: Path, count: int, seconds: float) -> list[Path]:
    """Plucked chords with noise: enough like music for timing."""
    draw = np.random.default_rng(0)
    t = np.arange(round(RATE * seconds)) / RATE
    paths = []
    for number in range(count):
        notes = sum(np.sin(2 * np.pi * pitch * t) for pitch in draw.uniform(80, 900, 4))
        sound = 0.1 * notes * np.exp(-6 * (t % draw.uniform(0.3, 0.8))) + 0.005 * draw.standard_normal(t.size)
        paths.append(folder / f"{number}.wav")
        soundfile.write(paths[-1], sound.astype(np.float32), RATE, subtype="FLOAT")
    return paths


def score_here(asked: list[tuple[str, str]], model: str) -> tuple[dict[tuple[str, str], tuple[float, float]], float]:
    """What `cmi score` says of each take under its text, and the seconds for each, after the model is loaded."""
    from cmi.reward.scoring.scorers import load_scorer, require_scores
    from cmi.take import Prompt, Take

    scorer = load_scorer(model, cache_gb=0)
    takes = [Take(Prompt(text), Path(path)) for path, text in asked]
    list(scorer.judge(takes[:1]))
    begin = time.perf_counter()
    scores = [(score.musicality, score.alignment) for score in require_scores(scorer.judge(takes))]
    return dict(zip(asked, scores, strict=True)), (time.perf_counter() - begin) / len(takes)


def resident(pid: int) -> float:
    """Megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def ask(client: httpx.AsyncClient, jobs: list[AskedTake], place: int, end: float, found: Counter[int | str],
              answers: list[Answered], waits: list[float]) -> None:  # fmt: skip
    draw = random.Random(place)
    while time.perf_counter() < end:
        path, text, body = draw.choice(jobs)
        begin = time.perf_counter()
        try:
            answer = await client.post("/score", json=body)
        except httpx.HTTPError as error:
            found[type(error).__name__] += 1
            continue
        found[answer.status_code] += 1
        if answer.status_code == 429:
            await asyncio.sleep(min(float(answer.headers["retry-after"]), max(0.0, end - time.perf_counter())))
        elif answer.status_code == 200:
            (score,) = answer.json()["takes"]
            answers.append(((path, text), (score["musicality"], score["alignment"])))
            waits.append(time.perf_counter() - begin)


async def load(
    url: str, jobs: list[AskedTake], clients: int, seconds: float, pid: int
) -> tuple[Counter[int | str], list[Answered], list[float], list[float]]:
    found: Counter[int | str] = Counter()
    answers: list[Answered] = []
    waits: list[float] = []
    memory: list[float] = []
    end = time.perf_counter() + seconds
    limits = httpx.Limits(max_connections=clients)

    async def watch() -> None:
        while time.perf_counter() < end:
            memory.append(resident(pid))
            await asyncio.sleep(1)

    async with httpx.AsyncClient(base_url=url, limits=limits, timeout=300, trust_env=False) as client:
        await asyncio.gather(
            watch(), *(ask(client, jobs, place, end, found, answers, waits) for place in range(clients))
        )
    return found, answers, waits, memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--takes", type=int, default=20)
    parser.add_argument("--prompts", type=int, default=50)
    parser.add_argument("--length", type=float, default=10)
    parser.add_argument("--model", default="nano")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        jobs = []
        for path in write_takes(Path(name), options.takes, options.length):
            samples = soundfile.read(path, dtype="float32")[0]
            sound = {"samples": base64.b64encode(samples.astype("<f4").tobytes()).decode(), "rate": RATE}
            for number in range(options.prompts):
                text = f"slow piano number {number}"
                jobs.append((str(path), text, {"audio": sound, "text": text}))
        command = [sys.executable, "-m", "cmi", "serve", "--model", options.model, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            url = re.search(r"http://\S+", server.stdout.readline())
            assert url is not None
            found, answers, waits, memory = asyncio.run(
                load(url[0], jobs, options.clients, options.seconds, server.pid)
            )
            server.terminate()
        known, alone = score_here(sorted({what for what, _ in answers}), options.model)
    wrong = sum(known[what] != scores for what, scores in answers)
    middle = memory[len(memory) // 2 :]
    print(
        json.dumps(
            {
                "clients": options.clients,
                "seconds": options.seconds,
                "answers by status": {str(status): count for status, count in found.items()},
                "answers that differ from cmi score's": wrong,
                "of them different takes and prompts": len(known),
                "takes answered a second": round(len(answers) / options.seconds, 2),
                "cmi score, takes a second (it hears each recording once)": round(1 / alone, 2),
                "median and 95 % of waiting, s": [round(float(np.quantile(waits, q)), 3) for q in (0.5, 0.95)],
                "memory after a third, at most in the second half, MB": [
                    round(memory[len(memory) // 3]), round(max(middle))
                ],
            },
            indent=2,
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()

"""Judging over an endpoint: speed against the endpoint's own limit, and 2,000 pairs in both orders in spite of faults.

    python benchmarks/judge.py

speed     a local endpoint with a fixed latency and a rate limit; how much of the limit the client gets
faults    the same verdicts from an endpoint without and with 20 % faults: counts, lost pairs, what is billed twice
kills     the same again, by a process that is killed with SIGKILL at random moments and started again
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from cmi.judge.prompt_file import read_role
from cmi.llm import Chat, Endpoint, Request, user
from cmi.testing.chat_endpoint import FakeEndpoint, fake_endpoint
from cmi.testing.rule_endpoint import judge_by_rule as rule

RATE = 16_000
SETTINGS = 'url = "{url}"\nmodel = "rule"\ntimeout = 5\ntries = 15\nrepairs = 8\n'


def speed(folder: Path, latency: float, rate: float, seconds: float) -> float:
    """The share of the endpoint's limit that the client gets, in answers a second."""
    requests = [Request(str(number), (user(f"question {number}"),)) for number in range(round(rate * seconds))]
    with (
        fake_endpoint(lambda body: "yes", latency=latency, rate=rate) as server,
        Chat(Endpoint(server.url, "x", concurrency=256), folder) as chat,
    ):
        began = time.monotonic()
        times = [time.monotonic() - began for _ in chat.ask_all(requests)]
        refused = server.calls["429"]
    found = len(times) // 2  # the client has found the limit by then
    steady = (len(times) - found) / (times[-1] - times[found - 1])
    print(
        f"latency {latency:g} s, limit {rate:g}/s: {steady:.1f}/s in the 2nd half: {steady / rate:.1%} of the limit, "
        f"{len(times) / times[-1] / rate:.1%} with the search for it; {refused} calls refused",
        flush=True,
    )
    return steady / rate


def write_pairs(folder: Path, count: int) -> Path:
    folder.mkdir()
    rng = np.random.default_rng(5)
    moments = np.arange(2048) / RATE
    for number in range(count + 1):
        tone = 0.3 * np.sin(2 * np.pi * (300 + 40 * (number % 20)) * moments)
        noise = rng.uniform(0, 0.5) * rng.normal(0, 0.3, moments.size)
        soundfile.write(folder / f"{number}.wav", (tone + noise).clip(-1, 1).astype(np.float32), RATE)
    rows = ({"id": f"p{i}", "text": f"tone {i}", "a": f"{i}.wav", "b": f"{i + 1}.wav"} for i in range(count))
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def label(pairs: Path, server: FakeEndpoint, out: Path, is_over: Callable[[], bool] = lambda: False) -> dict[str, Any]:
    """What `cmi judge label` says; {} if it was killed, which happens when `is_over` says so."""
    settings = out.parent / "endpoint.toml"
    settings.write_text(SETTINGS.format(url=server.url))
    command = [sys.executable, "-m", "cmi", "judge", "label", str(pairs), "--endpoint", str(settings), "--json"]
    process = subprocess.Popen([*command, "--out", str(out)], stdout=subprocess.PIPE, text=True)
    while process.poll() is None and not is_over():
        time.sleep(0.05)
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    said, _ = process.communicate()
    return {} if process.returncode else {key: value for key, value in json.loads(said).items() if key != "file"}


def disturbed(pairs: Path, folder: Path, expected: dict[str, Any], faults: float, kills: int) -> None:
    answer = partial(rule, role=read_role("two-axes"), first=0.2)
    rng, began = random.Random(1), time.monotonic()
    with fake_endpoint(answer, faults=faults) as server:
        for _ in range(kills):
            goal = len(server.billed) + rng.randint(1, 800 // kills * 5)
            label(pairs, server, folder, lambda goal=goal: len(server.billed) >= goal)  # type: ignore[misc]
        found = label(pairs, server, folder)
    twice = sum(count > 1 for count in server.billed.values())
    print(
        f"{faults:.0%} faults, {kills} kills: {'same counts' if found == expected else 'OTHER COUNTS'}, "
        f"{found['failed']} failed, {found['unparsed']} unparsed, {len(server.billed):,} billed, {twice} twice, "
        f"{server.calls['replayed']} asked again, {sum(server.calls.values()):,} calls, "
        f"{time.monotonic() - began:.0f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement of speed")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, (latency, rate) in enumerate(((0.2, 20.0), (0.5, 40.0), (1.0, 30.0))):
            speed(folder / f"speed {number}", latency, rate, asked.seconds)
        pairs = write_pairs(folder / "pairs", asked.pairs)
        with fake_endpoint(partial(rule, role=read_role("two-axes"), first=0.2)) as server:
            began = time.monotonic()
            expected = label(pairs, server, folder / "plain")
            print(f"no faults: {len(server.billed):,} answers, {time.monotonic() - began:.0f} s", flush=True)
        disturbed(pairs, folder / "faults", expected, 0.2, 0)
        disturbed(pairs, folder / "kills", expected, 0.2, 10)


if __name__ == "__main__":
    main()

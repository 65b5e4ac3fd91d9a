"""How fast CMI-RM scores, at full size with random weights: the encoder alone, and takes from memory and from files.

    python benchmarks/reward_model.py                             on a GPU if there is one
    python benchmarks/reward_model.py --takes 4 --device cpu

Beside the engine runs the plain way, in the same process: one take after another, each on its own. On a GPU it also
says how long a take alone waits for its score, in the engine, in the server's queue and over HTTP, what bf16 changes
against fp32, and what company changes. The figures are in docs/performance.md.

To compare with another version, run this file with PYTHONPATH set to its src, on the same machine.
"""

import argparse
import base64
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import soundfile
import torch
from numpy.typing import NDArray

from cmi import audio
from cmi._util.device import choose_device
from cmi.audio import Waveform
from cmi.reward.engine.token_cache import TokenCache
from cmi.reward.model.encoders.muq_mulan import RATE, MuQMuLan, MuQMuLanConfig
from cmi.reward.model.head import HeadConfig, PromptTokens, RewardHead
from cmi.reward.model.reward_model import RewardModel
from cmi.reward.scoring.scorer import RewardScorer
from cmi.take import Prompt, Score, Take

WORDS = ("slow", "sad", "piano", "rain", "warm", "strings", "fast", "drums", "bright", "guitar", "choir", "dreamy")
DISTINCT = 64  # recordings; more takes are copies of them that nothing recognises as such


def tokenize(text: str) -> list[int]:
    """A stand-in for XLM-R's tokenizer: two ids for each word."""
    return [0, *(5 + WORDS.index(word) * 2 + i for word in text.split() for i in range(2)), 2]


def build(device: torch.device) -> RewardModel:
    torch.manual_seed(0)
    with torch.device(device):
        return RewardModel(MuQMuLan(MuQMuLanConfig()), RewardHead(HeadConfig()), "random", tokenize=tokenize)


def music(seed: int, rate: int = RATE) -> NDArray[np.float32]:
    """30 s of partials that come and go, and noise."""
    rng = np.random.default_rng(seed)
    t = np.arange(30 * rate) / rate
    sound = 0.02 * rng.standard_normal(t.size)
    for frequency in rng.uniform(60, 4000, 6):
        sound += 0.1 * np.sin(2 * np.pi * frequency * t) * (0.5 + 0.5 * np.sin(2 * np.pi * rng.uniform(0.1, 4) * t))
    return sound.astype(np.float32)


def in_memory(count: int) -> list[Take]:
    """Takes, each with a text of its own."""
    rng = np.random.default_rng(1)
    sounds = [music(seed) for seed in range(min(count, DISTINCT))]
    texts = [" ".join(rng.choice(WORDS, rng.integers(4, 16))) for _ in range(count)]
    return [Take(Prompt(text), Waveform(sounds[i % DISTINCT], RATE)) for i, text in enumerate(texts)]


def on_disk(takes: Sequence[Take], folder: Path, times: int) -> list[Take]:
    """The same prompts with recordings in FLAC, 44.1 kHz, stereo, all of them `times` over."""
    files: list[Take] = []
    for i in range(times * len(takes)):
        path = folder / f"{i}.flac"
        if i < DISTINCT:
            soundfile.write(path, np.stack([music(i, 44_100), music(i + 1000, 44_100)], axis=1), 44_100)
        elif i < len(takes):
            path.write_bytes((folder / f"{i % DISTINCT}.flac").read_bytes() + f"copy {i}".encode())
        else:
            path.hardlink_to(folder / f"{i % len(takes)}.flac")
        files.append(Take(takes[i % len(takes)].prompt, path))
    return files


@torch.inference_mode()
def one_by_one(model: RewardModel, takes: Sequence[Take], device: torch.device) -> None:
    for take in takes:
        sound = take.audio if isinstance(take.audio, Waveform) else audio.load(take.audio, RATE, 120)
        texts = (torch.tensor([tokenize(words)], device=device) for words in (take.prompt.text, ""))
        prompt = PromptTokens(*(model.encoder.encode_text(ids) for ids in texts))
        model(prompt, model.hear(torch.from_numpy(sound.samples).to(device)))[0].tolist()


def rate_of(count: int, work: Callable[[], object], repeats: int = 2) -> float:
    """Items a second: the best of some runs, after one that warms up."""
    work()
    return max(count / seconds_of(work) for _ in range(repeats))


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def say(what: str, rate: float, than: float | None = None) -> None:
    print(f"{what:36}{rate:9.2f} a second" + ("" if than is None else f", {rate / than:.1f} times"), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--takes", type=int, default=1024)
    parser.add_argument("--batch", type=int)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    device, count = choose_device(options.device), options.takes
    takes = in_memory(count)
    few = takes[:32]
    model = build(device)
    exact = RewardScorer(model).score(few) if device.type == "cuda" else []
    model.placed(device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    print(f"{name}; {model.precision}; torch {torch.__version__}; {count} takes of 30 s, each with a text of its own")
    scorer = RewardScorer(model, batch=options.batch)

    size = scorer.batching.size
    chunks = torch.stack([torch.from_numpy(music(seed)) for seed in range(size)]).to(device)
    rounds = max(1, count // size // 2)
    with torch.inference_mode():
        rate = rate_of(rounds * size, lambda: [model.encoder.encode_sound(chunks) for _ in range(rounds)])
    say(f"encoder alone, chunks, batch {size}", rate)

    slow = rate_of(len(few), lambda: one_by_one(model, few, device), 1)
    say("from memory, one by one", slow)
    say("from memory, the engine", rate_of(count, lambda: scorer.score(takes)), slow)
    with tempfile.TemporaryDirectory() as folder:
        times = 4 if device.type == "cuda" else 1  # a run long enough for the start of the workers not to count
        many = on_disk(takes, Path(folder), times)
        files = many[:count]
        slow = rate_of(len(few), lambda: one_by_one(model, files[: len(few)], device), 1)
        say("from FLAC, one by one", slow)
        fast = len(many) / seconds_of(lambda: scorer.score(many))
        say(f"from FLAC, {scorer.workers} workers, {len(many)} takes", fast, slow)
        keeping = RewardScorer(model, batch=options.batch, cache=TokenCache(Path(folder) / "cache", 10**11))
        first = count / seconds_of(lambda: keeping.score(files))
        say("from FLAC, filling the cache", first)
        again = [Take(Prompt("warm bright choir"), take.audio) for take in many]
        say(
            f"cached, under a new prompt, {len(many)} takes",
            len(many) / seconds_of(lambda: keeping.score(again)),
            first,
        )
        again = [Take(Prompt("slow sad rain"), take.audio) for take in many]
        say("once more, under another prompt", len(many) / seconds_of(lambda: keeping.score(again)), first)
        decoding = files[: 2 * scorer.workers * 8] if device.type == "cuda" else files
        with ProcessPoolExecutor(scorer.workers, get_context("fork"), torch.set_num_threads, (1,)) as pool:
            list(pool.map(decode, [take.audio for take in decoding[: scorer.workers]]))
            seconds = seconds_of(lambda: list(pool.map(decode, [take.audio for take in decoding])))
        say(f"decoding alone, {scorer.workers} processes", len(decoding) / seconds)
    report_latency(scorer, in_memory(64)[32:])
    if device.type == "cuda":
        report_differences(scorer, few, exact)
        print(f"GPU memory, at most: {torch.cuda.max_memory_allocated() / 1e9:.1f} GB")


def decode(path: Path) -> int:
    return audio.load(path, RATE, 120).samples.size


def report_latency(scorer: RewardScorer, takes: Sequence[Take]) -> None:
    """How long one take waits for its score on a warm model; each has a text of its own, none is remembered."""
    from cmi.reward.scoring.scorers import NamedScorer
    from cmi.serve.score_queue import ScoreQueue

    def wait_for(ask: Callable[[Take], object], word: str) -> str:
        new = [Take(Prompt(f"{take.prompt.text} {word}"), take.audio) for take in takes]
        waited = sorted(seconds_of(partial(ask, take)) * 1e3 for take in new)
        return f"median {np.median(waited):.1f} ms, 95 % {np.quantile(waited, 0.95):.1f} ms, n = {len(waited)}"

    for word in ("slow", "sad"):  # warm up
        wait_for(lambda take: scorer.score([take]), word)
    print("a take alone, in the engine:        ", wait_for(lambda take: scorer.score([take]), "rain"), flush=True)
    queue = ScoreQueue(NamedScorer("random", scorer, scorer))
    print(
        "a take alone, in the server's queue:", wait_for(lambda take: queue.ask([take])[0].result(), "warm"), flush=True
    )
    try:
        import httpx
        import uvicorn

        from cmi.serve.app import create_app
    except ImportError as error:
        print(f"not over HTTP: {error}")
        return
    server = uvicorn.Server(uvicorn.Config(create_app(queue), port=0, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as client:

        def post(take: Take) -> None:
            assert isinstance(take.audio, Waveform)
            samples = base64.b64encode(take.audio.samples.astype("<f4").tobytes()).decode()
            body = {"audio": {"samples": samples, "rate": take.audio.rate}, "text": take.prompt.text}
            client.post("/score", json=body).raise_for_status()

        wait_for(post, "bright")
        print("a take alone, over HTTP:            ", wait_for(post, "choir"), flush=True)
    server.should_exit = True


def report_differences(scorer: RewardScorer, takes: Sequence[Take], exact: Sequence[Score]) -> None:
    together = np.array(scorer.score(takes))
    alone = np.array([scorer.score([take])[0] for take in takes])
    backwards = np.array(scorer.score(list(reversed(takes))))[::-1]
    company = max(np.abs(alone - together).max(), np.abs(backwards - together).max())
    spread = np.array(exact).std(axis=0)
    print(f"bf16 against fp32: {np.abs(together - np.array(exact)).max():.5f} at most; scores spread by {spread}")
    print(f"alone or backwards against together: {company:.7f} at most")


if __name__ == "__main__":
    main()

"""A pool of many prompts: `cmi prompts` against comparing every prompt with every other.

    python benchmarks/prompts.py [--prompts 100000] [--compared 2000]

The prompts are made up: sentences of 12 to 60 words with the frequencies of a natural language, a tenth of them exact
repeats and a tenth near repeats of earlier ones. Shown are the seconds and the memory of the whole command, from the
file to the pool, and the CPU seconds that all pairs would take, extrapolated from the first `--compared` prompts.
"""

import argparse
import resource
import sys
import tempfile
import time
from itertools import combinations, islice
from multiprocessing import Process
from pathlib import Path

import numpy as np

from cmi.preferences import write_rows
from cmi.prompts.duplicates import split_words
from cmi.prompts.pool import SIMILARITY, PoolPlan, build_pool
from cmi.report.tables import Table, print_tables
from cmi.take import read_prompts


def write_texts(count: int, path: Path) -> None:
    rng = np.random.default_rng(0)
    vocabulary = np.array([f"word{i}" for i in range(20_000)])
    texts: list[str] = []
    for _ in range(count):
        kind = rng.random()
        if texts and kind < 0.2:
            words = texts[rng.integers(len(texts))].split()
            texts.append(" ".join(words if kind < 0.1 else [*words, "indeed"]))
        else:
            texts.append(" ".join(vocabulary[np.minimum(rng.zipf(1.3, rng.integers(12, 60)), 20_000) - 1]))
    write_rows(({"text": text} for text in texts), path)


def compare_all(texts: list[str]) -> float:
    """The CPU seconds of comparing all pairs."""
    began = time.process_time()
    sets = [set(split_words(text)) for text in texts]
    sum(len(a & b) >= SIMILARITY * len(a | b) for a, b in combinations(sets, 2))
    return time.process_time() - began


def peak_megabytes() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=100_000)
    parser.add_argument("--compared", type=int, default=2000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        maker = Process(target=write_texts, args=(given.prompts, folder / "texts.jsonl"))  # its memory does not count
        maker.start()
        maker.join()
        before, began, worked = peak_megabytes(), time.perf_counter(), time.process_time()
        report = build_pool(PoolPlan([folder / "texts.jsonl"], folder / "pool.jsonl"))
        seconds, cpu = time.perf_counter() - began, time.process_time() - worked
        grown = peak_megabytes() - before
        few = [row.prompt.text for row in islice(read_prompts(folder / "texts.jsonl"), given.compared)]
    every = compare_all(few) * (given.prompts / len(few)) ** 2
    counts = report.sources["texts"]
    numbers = [f"{seconds:.1f}", f"{cpu:.1f}", f"{grown:.0f}", f"{counts.exact:,}", f"{counts.near:,}"]
    rows = [
        ["MinHash, the whole command", *numbers],
        ["all pairs, extrapolated", "-", f"{every:,.0f}", "-", "-", "-"],
    ]
    headers = ["", "seconds", "CPU seconds", "MB beyond the start", "repeats", "near repeats"]
    print_tables([Table(f"{given.prompts:,} prompts", headers, rows)])


if __name__ == "__main__":
    main()

"""Peak memory of scoring a response file of growing length: cmi against loading the whole file.

    python benchmarks/memory.py [--sizes 1 5000 20000 80000]

Compared, as the peak resident memory (getrusage) of a fresh process each:
    score_file      all that `cmi bench score` does: the model, its nulls, intervals; one single-label, one beat task
    json.load       nothing but loading the whole file, which is where the straightforward scorer starts

Files are made up, in the authors' layout, about 600 bytes a record. A file of up to REMEMBERED characters
(`cmi.bench.scoring.one_file`) is kept in memory for the nulls; a longer one is read again for each. A file of one
record shows the floor: imports.
"""

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

# This process imports nothing heavy before the last child is done: on Linux a child's peak starts from its parent's.

GENRES = ("blues", "classical", "country", "disco", "hiphop", "jazz", "metal", "pop", "reggae", "rock")
INSTRUCTION = "Listen to this clip and answer in the format of the examples, without any explanation. "
SEED = 0


class Peak(NamedTuple):
    megabytes: float
    seconds: float


def genre_record(draw: random.Random, number: int) -> dict[str, Any]:
    question = 4 * INSTRUCTION + f"Choose one of: {', '.join(GENRES)}."
    return _record(question, draw.choice(GENRES), draw.choice(GENRES), number)


def beat_record(draw: random.Random, number: int) -> dict[str, Any]:
    start, period = draw.random(), draw.uniform(0.4, 0.8)
    beats = [",".join(f"{start + shift + i * period:.2f}s" for i in range(30)) for shift in (0, draw.random() / 5)]
    return _record(INSTRUCTION, beats[0], beats[1], number)


def _record(question: str, truth: str, answer: str, number: int) -> dict[str, Any]:
    audio = f"../testdata/made_up/audio/{number:08d}.wav"
    return {"question": question, "response": answer, "correct_answer": truth, "audioid": audio, "other": ""}


TASKS: dict[str, Callable[[random.Random, int], dict[str, Any]]] = {"GTZAN": genre_record, "gtzan_beat": beat_record}


def write(path: Path, dataset: str, size: int) -> None:
    """One JSON array, record by record."""
    draw = random.Random(SEED)
    with path.open("w", encoding="utf-8") as file:
        for number in range(size):
            file.write(",\n" if number else "[\n")
            json.dump(TASKS[dataset](draw, number), file, indent=4)
        file.write("\n]\n")


def score(path: Path) -> None:
    from cmi.bench.metrics.tools import Tools
    from cmi.bench.scoring.one_file import score_file
    from cmi.bench.scoring.responses import find_responses

    score_file(find_responses([path])[0], "paper", Tools())


def load(path: Path) -> None:
    with path.open(encoding="utf-8") as file:
        json.load(file)


def peak(work: Callable[[Path], None], path: Path) -> Peak:
    """To be called in a fresh process."""
    work(path)
    used = resource.getrusage(resource.RUSAGE_SELF)
    to_megabytes = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
    return Peak(used.ru_maxrss / to_megabytes, time.process_time())


def in_fresh_process(work: Callable[[Path], None], path: Path) -> Peak:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(peak, work, path).result()


def lines(sizes: list[int]) -> Iterator[list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        for dataset in TASKS:
            path = Path(folder) / f"made-up_{dataset}.json"
            for size in sizes:
                write(path, dataset, size)
                scored, loaded = in_fresh_process(score, path), in_fresh_process(load, path)
                numbers = path.stat().st_size / 1e6, scored.megabytes, loaded.megabytes, scored.seconds
                yield [dataset, f"{size:,}", *(f"{number:,.1f}" for number in numbers)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 5_000, 20_000, 80_000], help="records per file")
    rows = list(lines(parser.parse_args().sizes))

    from rich.console import Console

    from cmi.bench.scoring.one_file import REMEMBERED
    from cmi.report.tables import Table, print_tables

    headers = ("data set", "records", "file", "score_file", "json.load", "CPU s of score_file")
    note = f"A file is kept in memory up to {REMEMBERED / 1e6:.0f} million characters of questions, answers and truths."
    print_tables([Table("Peak resident memory, MB", headers, rows, notes=[note])], Console())


if __name__ == "__main__":
    main()

"""How many texts are encoded to score one tagging file: each distinct text once, against everything for every item.

    python benchmarks/embedding_reuse.py FILE

Compared:
    ours            what cmi.bench.tasks asks its embedder for, counted: the distinct answers, and the tags, once
    for every item  the answer and the whole tag list anew, as the released evaluator of CMI-Bench does

Encoding is timed, in CPU seconds with MiniLM on one thread (the least of 3), on a sample of 200 distinct answers and on
the tag list. Both totals are extrapolated from that, with the same cost per text and ours' batches on both sides, which
favours the alternative.
"""

import argparse
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console

from cmi._util.errors import InputError
from cmi.bench.evaluation import Setting
from cmi.bench.metrics.embed import Progress, TextEmbedder, load_embedder
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.responses import ResponseSet, find_responses
from cmi.bench.tasks import load_task
from cmi.report.tables import Table, print_tables

SAMPLE = 200
ROUNDS = 3
SEED = 0


@dataclass
class Recorder:
    """An embedder that remembers what it is asked for, and embeds nothing."""

    name: str = "none"
    dimension: int = 1
    asked: list[list[str]] = field(default_factory=list)

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        self.asked.append(list(texts))
        return np.zeros((len(texts), self.dimension), np.float32)


def asked_for(file: Path) -> tuple[str, int, list[str], list[str]]:
    """What is scored, how many items it has, and the texts that scoring it encodes: answers and tags."""
    response_file = find_responses([file])[0]
    items = [entry.item for entry in ResponseSet(response_file) if entry.answered]
    recorder, tools = Recorder(), Tools()
    tools.embedder = recorder  # type: ignore[assignment]
    dataset = response_file.dataset
    load_task(dataset).evaluate(items, Setting(dataset.name, "paper", response_file.model, tools))
    if len(recorder.asked) != 2:
        raise InputError(f"{file}: {dataset.name} is scored without a text embedder, name a tagging file such as MTT's")
    answers, tags = recorder.asked
    return f"{response_file.model} {dataset.name}", len(items), answers, tags


def seconds_per_text(embedder: TextEmbedder, texts: Sequence[str]) -> float:
    rounds = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        embedder.encode(texts)
        rounds.append(time.process_time() - begin)
    return min(rounds) / len(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="a response file of MTT, MTG_genre, MTG_emotion, ...")
    try:
        name, items, answers, tags = asked_for(parser.parse_args().file)
        embedder = load_embedder("minilm", cache=None)
    except InputError as error:
        sys.exit(str(error))

    torch.set_num_threads(1)  # threads that wait for each other would count as work
    sample = random.Random(SEED).sample(answers, min(SAMPLE, len(answers)))
    per_answer, per_tag = seconds_per_text(embedder, sample), seconds_per_text(embedder, tags)

    counts = {"ours": (len(answers), len(tags)), "for every item": (items, items * len(tags))}
    texts = {side: sum(count) for side, count in counts.items()}
    seconds = {side: a * per_answer + t * per_tag for side, (a, t) in counts.items()}
    rows = [[side, f"{a:,}", f"{t:,}", f"{texts[side]:,}", f"{seconds[side]:,.1f}"] for side, (a, t) in counts.items()]
    more, longer = (cost["for every item"] / cost["ours"] for cost in (texts, seconds))
    rows.append(["ratio", "", "", f"{more:,.0f}", f"{longer:,.0f}"])
    notes = (
        f"{items:,} items, {len(tags)} tags; embedder {embedder.name}.",
        f"Measured: {1000 * per_answer:.2f} ms per answer (over {len(sample)}), {1000 * per_tag:.2f} ms per tag.",
        "The seconds of both lines are extrapolated from these two; neither was run in full.",
    )
    headers = ("", "answers encoded", "tags encoded", "texts", "CPU seconds (extrapolated)")
    print_tables([Table(f"Encoding texts to score {name}", headers, rows, notes=notes)], Console())


if __name__ == "__main__":
    main()

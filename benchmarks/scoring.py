"""What it costs to score one model under `--protocol paper`: cmi against the libraries that the field uses.

    python benchmarks/scoring.py FOLDER_OF_RESPONSES [--repeat N]

Compared, in CPU seconds, on all data sets that need no text embedder:
    plain   NLTK, rouge_score, mir_eval and jiwer, item by item (plain_libraries.py)
    ours    the same numbers from cmi.bench.tasks
    full    what `cmi bench score` does per file: read it, score the model and its null baselines, draw 1000 bootstrap
            samples for intervals and tests

Each of the three runs in a fresh process, so that none finds what another has cached, and shows the least of N runs.
Start-up (imports, WordNet) and the reading of answers are rows of their own. Times are shown only if all values agree.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from cmi._util.errors import InputError
from cmi.bench.evaluation import Item, Setting
from cmi.bench.scoring.responses import ResponseFile, ResponseSet, find_responses

AGREE = 1e-6  # on the scale of the published table, 0 - 100
RESAMPLES = 1000

Values = dict[str, float]  # by metric
Scorer = Callable[[ResponseFile, list[Item]], Values | None]


class Run(NamedTuple):
    """One side's costs in CPU seconds, and what it found. Data sets that it does not score are absent."""

    start_up: float
    reading: float
    seconds: dict[str, float]  # by data set
    values: dict[str, Values]


def plain(_files: Sequence[ResponseFile]) -> Scorer:
    from plain_libraries import SCORERS

    def score(file: ResponseFile, items: list[Item]) -> Values | None:
        scorer = SCORERS.get(file.dataset.name)
        return scorer(items) if scorer else None

    return score


def ours(files: Sequence[ResponseFile]) -> Scorer:
    from cmi.bench.metrics.tools import Tools
    from cmi.bench.tasks import load_task

    tools = Tools()
    _ = tools.thesaurus
    tasks = {file.dataset.name: load_task(file.dataset) for file in files}

    def score(file: ResponseFile, items: list[Item]) -> Values:
        setting = Setting(file.dataset.name, "paper", file.model, tools)
        evaluation = tasks[file.dataset.name].evaluate(items, setting)
        named = zip(evaluation.metrics, evaluation.values()[0], strict=True)
        return {metric.name: float(value) for metric, value in named if not metric.not_computed}

    return score


def full(files: Sequence[ResponseFile]) -> Scorer:
    from cmi.bench.metrics.tools import Tools
    from cmi.bench.scoring.one_file import score_file
    from cmi.bench.tasks import load_task

    tools = Tools()
    _ = tools.thesaurus
    for file in files:
        load_task(file.dataset)

    def score(file: ResponseFile, _items: list[Item]) -> Values:
        cells = score_file(file, "paper", tools, resamples=RESAMPLES)
        return {cell.metric: cell.value for cell in cells if cell.model == file.model and cell.value is not None}

    return score


SIDES = {"plain": plain, "ours": ours, "full": full}


def run(side: str, folder: Path) -> Run:
    """Score every file once. To be called in a fresh process: start-up is all that it has used until then."""
    files = scored_files(folder)
    score = SIDES[side](files)
    start_up = time.process_time()

    answers = {file: [entry.item for entry in ResponseSet(file) if entry.answered] for file in files}
    reading = time.process_time() - start_up

    seconds, values = {}, {}
    for file, items in answers.items():
        begin = time.process_time()
        found = score(file, items)
        if found is not None:
            seconds[file.dataset.name] = time.process_time() - begin
            values[file.dataset.name] = found
    return Run(start_up, reading, seconds, values)


def scored_files(folder: Path) -> list[ResponseFile]:
    """The response files of the folder's one model, without the data sets that need a text embedder."""
    files = find_responses([folder])
    if len({file.model for file in files}) > 1:
        raise InputError(f"{folder}: holds several models, name a folder with the answers of one")
    scored = [file for file in files if file.dataset.name != "MTT" and not file.dataset.name.startswith("MTG_")]
    if not scored:
        raise InputError(f"{folder}: holds only data sets that need a text embedder; see embedding_reuse.py")
    return scored


def in_fresh_process(side: str, folder: Path) -> Run:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(run, side, folder).result()


def least(runs: Sequence[Run]) -> Run:
    """The least of each time; values do not change between runs."""
    first = runs[0]
    seconds = {name: min(each.seconds[name] for each in runs) for name in first.seconds}
    return Run(min(each.start_up for each in runs), min(each.reading for each in runs), seconds, first.values)


def differences(mine: dict[str, Values], theirs: dict[str, Values]) -> dict[str, float]:
    """By how much the metrics of each data set differ at most; a metric that one side lacks differs without bound."""
    result = {}
    for name in mine.keys() & theirs.keys():
        a, b = mine[name], theirs[name]
        result[name] = max(abs(a[metric] - b[metric]) for metric in a) if a.keys() == b.keys() else float("inf")
    return result


def insist_on_agreement(sides: dict[str, Run]) -> None:
    for side in ("plain", "full"):
        for name, difference in differences(sides["ours"].values, sides[side].values).items():
            if not difference <= AGREE:
                told = f"ours {sides['ours'].values[name]}, {side} {sides[side].values[name]}"
                sys.exit(f"{name}: values differ, so that times mean nothing: {told}")


def show(sides: dict[str, Run], title: str) -> None:
    from rich.console import Console

    from cmi.report.tables import Table, print_tables

    plain, ours, full = sides["plain"], sides["ours"], sides["full"]
    differ = differences(ours.values, plain.values)

    def line(name: str, values: str, differ: str, costs: Sequence[float | None]) -> list[str]:
        shown = [f"{cost:.3f}" if cost is not None else "-" for cost in costs]
        theirs, mine, _ = costs
        return [name, values, differ, *shown[:2], f"{theirs / mine:.1f}" if theirs and mine else "-", shown[2]]

    rows = []
    for name, found in ours.values.items():
        values = "  ".join(f"{metric} {value:.4f}" for metric, value in found.items())
        costs = (plain.seconds.get(name), ours.seconds[name], full.seconds[name])
        rows.append(line(name, values, f"{differ[name]:.0e}" if name in differ else "-", costs))
    both = [sum(side.seconds[name] for name in plain.seconds) for side in (plain, ours, full)]
    rows.append(line("total, scored by both", "", "", both))
    rows.append(line("total, all", "", "", (None, sum(ours.seconds.values()), sum(full.seconds.values()))))
    starts = [f"{side.start_up:.3f}" for side in (plain, ours, full)]
    rows.append(["start-up, once", "", "", *starts[:2], "", starts[2]])
    notes = (
        f"Reading the answers, the same for plain and ours, comes on top: {min(plain.reading, ours.reading):.3f}.",
        "plain: NLTK, rouge_score, mir_eval, jiwer; '-' where it is left out (emotion, Guzheng, melody).",
        f"full: reading, the model, its null baselines and {RESAMPLES} bootstrap draws, as `cmi bench score` does.",
        f"'differ': the largest difference of a value between plain and ours; ours and full agree to {AGREE:.0e} too.",
    )
    headers = ("data set", "values", "differ", "plain", "ours", "plain / ours", "full")
    print_tables([Table(title, headers, rows, labels=2, notes=notes)], Console())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the response files of one model")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each side, of which the least time counts")
    arguments = parser.parse_args()
    try:
        model = scored_files(arguments.folder)[0].model
        runs: dict[str, list[Run]] = {side: [] for side in SIDES}
        for _ in range(arguments.repeat):
            for side in SIDES:
                runs[side].append(in_fresh_process(side, arguments.folder))
    except InputError as error:
        sys.exit(str(error))
    sides = {side: least(each) for side, each in runs.items()}
    insist_on_agreement(sides)
    show(sides, f"Scoring {model}, protocol paper: CPU seconds, least of {arguments.repeat}")


if __name__ == "__main__":
    main()

"""The demonstration's MIR part: ask a listener and null baselines about the studio's MIR set.

    annotations/, audio/    the set, with exact truth (`cmi.studio.mir`)
    answers-1f3a9c02/       the listener's answers; other installed packages make it another listener
    nulls/                  the null baselines' answers
    scores.jsonl            CMI-Bench's metrics of all

Clips are distributed over one process per core, as shards of `cmi bench run`.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from cmi._util.cache import cache_folder
from cmi._util.workers import process_pool
from cmi.bench.ask import Listener
from cmi.bench.ask.answer_log import Shard
from cmi.bench.ask.nulls import NULLS, NullListener
from cmi.bench.ask.registry import Options, load_listener
from cmi.bench.ask.run import RunPlan, Summary, is_done, model_name, read_data, run, run_elsewhere
from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Protocol
from cmi.bench.scoring.many_files import DEFAULT_EMBEDDER, Settings, score_all
from cmi.bench.scoring.one_file import BenchCell
from cmi.bench.scoring.responses import find_responses
from cmi.bench.scoring.tables import score_tables
from cmi.demo import Progress, counter
from cmi.report.numbers import interval, number
from cmi.report.tables import Table
from cmi.studio.mir import make_mir_set

PROTOCOL: Protocol = "strict"


def answer_mir(folder: Path, listener: str, clips: int, seconds: int, seed: int, on_progress: Progress) -> list[Table]:
    """Return the listener beside the nulls, then each in full. Call it before torch starts threads, because it forks.

    Questions that failed, for lack of a package or network, are asked again by the next call.
    """
    on_made = counter(on_progress, "MIR clips recorded", 2 * clips)
    make_mir_set(folder, clips, seed, lambda: on_made(1), seconds)
    data = read_data([folder / "annotations"])
    named = load_listener(listener, Options())
    answers = folder / f"answers-{hashlib.sha256(named.full.encode()).hexdigest()[:8]}"
    plan = RunPlan(answers, named.short, named.full, data, retry_failed=True)
    asked = _ask(listener, plan, clips, on_progress)
    for null in NULLS:
        run(NullListener(null), RunPlan(folder / "nulls", model_name(null), null, data))
    cells = _score(folder, answers, asked)
    title = f"What can be heard: {clips} pieces of {seconds} s, {clips} notes, protocol {PROTOCOL}"
    notes = [f"Listener: {named.full}.", *_explain_failures(asked), _NULLS_NOTE]
    nulls = [null.removeprefix("null:") for null in NULLS]
    headers = ["task", "metric", "n", named.short, "95 %", "unparsed", "failed", *nulls, "best null", "its value"]
    return [Table(title, headers, _rows(cells, named.short), labels=2, notes=notes), *score_tables(cells)]


def _ask(listener: str, plan: RunPlan, clips: int, on_progress: Progress) -> list[Summary]:
    """Ask the listener about all clips; shard i has the i-th clip of each data set."""

    def run_shards() -> None:
        with process_pool() as pool:
            shards = [replace(plan, shard=Shard(number, clips)) for number in range(1, clips + 1)]
            for done, _ in enumerate(pool.map(_ask_shard, [listener] * clips, shards), 1):
                on_progress("MIR clips answered", done, clips)

    return run_elsewhere(plan, (lambda: None) if is_done(plan) else run_shards).summaries


def _ask_shard(listener: str, plan: RunPlan) -> None:
    run(_load(listener), plan)


@cache
def _load(listener: str) -> Listener:
    return load_listener(listener, Options()).listener


def _score(folder: Path, answers: Path, asked: Sequence[Summary]) -> list[BenchCell]:
    """Score all listeners; leave out data sets to which the listener has no answers."""
    known = {summary.path for summary in asked if summary.answered}
    files = [file for file in find_responses([answers]) if str(file.path) in known]
    settings = Settings(folder / "annotations", [PROTOCOL], DEFAULT_EMBEDDER, "", 1000, cache_folder())
    return score_all(
        [*files, *find_responses([folder / "nulls"])],
        settings,
        folder / "scores.jsonl",
        on_scored=lambda name: None,
        on_embedded=lambda count: None,
    )


_NULLS_NOTE = (
    "With fewer than ten clips only shares have an interval, a wide one. The nulls do not use the audio: they answer "
    "nothing, the prompt's example or a constant; the best null may also know which answer is the most frequent."
)


def _rows(cells: Sequence[BenchCell], listener: str) -> list[list[str]]:
    """One row per metric: the listener beside the nulls; empty cells if the listener has no answers."""
    at = {(cell.model, cell.row, cell.metric): cell for cell in cells}
    null_models = [model_name(null) for null in NULLS]
    rows = []
    for row, metric in dict.fromkeys((cell.row, cell.metric) for cell in cells if cell.model == null_models[0]):
        mine, nulls = at.get((listener, row, metric)), [at[model, row, metric] for model in null_models]
        told = mine or nulls[0]
        said = [number(mine.value, 1), interval((mine.low, mine.high), 1)] if mine else ["", ""]
        counts = [str(mine.unparsed), str(mine.missing)] if mine else ["", str(told.n)]
        best = [told.best_null or "", number(told.null_value, 1)]
        rows.append(
            [_TASKS[row], metric, str(told.n), *said, *counts, *(number(null.value, 1) for null in nulls), *best]
        )
    return rows


_TASKS = {dataset.row: dataset.task.replace("_", " ") for dataset in DATASETS.values()}


def _explain_failures(asked: Sequence[Summary]) -> list[str]:
    """Why questions failed: each reason once, with its tasks."""
    tasks: dict[str, list[str]] = {}
    for summary in asked:
        if summary.failed:
            share = "" if not summary.answered else f" ({summary.failed} of {summary.questions})"
            tasks.setdefault(summary.error, []).append(DATASETS[summary.dataset].task + share)
    return [f"Not answered: {', '.join(names)}; {error}." for error, names in tasks.items()]

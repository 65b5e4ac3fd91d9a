"""What can be heard: the studio's MIR set asked of models that hear and of answers that need no ears.

    annotations/, audio/    the set, whose truth is exact (`cmi.studio.mir`)
    answers-1f3a9c02/       a listener's answers; with other packages installed it is another listener
    nulls/                  those of the listeners without ears
    scores.jsonl            CMI-Bench's metrics of all

Clips are shared out over processes, one for each core, by the shards of `cmi bench run`.
"""

import hashlib
from collections.abc import Callable, Sequence
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
from cmi.report.numbers import interval, number
from cmi.report.tables import Table
from cmi.studio.mir import make_mir_set

PROTOCOL: Protocol = "strict"
Progress = Callable[[str, int, int], None]


def hear_mir(folder: Path, listener: str, clips: int, seconds: int, seed: int, on_progress: Progress) -> list[Table]:
    """The listener beside nulls, then each in full. Call it before torch is at work: processes are forked.

    What failed for want of a package or a network is asked again by the next call.
    """
    made = iter(range(1, 2 * clips + 1))
    make_mir_set(folder, clips, seed, lambda: on_progress("MIR clips recorded", next(made), 2 * clips), seconds)
    data = read_data([folder / "annotations"])
    ears = load_listener(listener, Options())
    answers = folder / f"answers-{hashlib.sha256(ears.full.encode()).hexdigest()[:8]}"
    plan = RunPlan(answers, ears.short, ears.full, data, retry_failed=True)
    heard = _hear(listener, plan, clips, on_progress)
    for null in NULLS:
        run(NullListener(null), RunPlan(folder / "nulls", model_name(null), null, data))
    cells = _score(folder, answers, heard)
    title = f"What can be heard: {clips} pieces of {seconds} s, {clips} notes, protocol {PROTOCOL}"
    notes = [f"Listener: {ears.full}.", *_unheard(heard), _WIDE]
    headers = [
        "task",
        "metric",
        "n",
        ears.short,
        "95 %",
        "unparsed",
        "failed",
        *(null.removeprefix("null:") for null in NULLS),
        "best null",
        "its value",
    ]
    return [Table(title, headers, _rows(cells, ears.short), labels=2, notes=notes), *score_tables(cells)]


def _hear(listener: str, plan: RunPlan, clips: int, on_progress: Progress) -> list[Summary]:
    """How the listener's answers stand when all are there. Shard i of so many has the i-th clip of each data set."""

    def run_shards() -> None:
        with process_pool() as pool:
            shards = [replace(plan, shard=Shard(number, clips)) for number in range(1, clips + 1)]
            for done, _ in enumerate(pool.map(_hear_shard, [listener] * clips, shards), 1):
                on_progress("MIR clips heard", done, clips)

    return run_elsewhere(plan, (lambda: None) if is_done(plan) else run_shards).summaries


def _hear_shard(listener: str, plan: RunPlan) -> None:
    run(_loaded(listener), plan)


@cache
def _loaded(listener: str) -> Listener:
    """One for each process: its models are loaded once."""
    return load_listener(listener, Options()).listener


def _score(folder: Path, answers: Path, heard: Sequence[Summary]) -> list[BenchCell]:
    """All metrics of all listeners; the one with ears is scored where it could answer at all."""
    known = {summary.path for summary in heard if summary.answered}
    files = [file for file in find_responses([answers]) if str(file.path) in known]
    settings = Settings(folder / "annotations", [PROTOCOL], DEFAULT_EMBEDDER, "", 1000, cache_folder())
    return score_all(
        [*files, *find_responses([folder / "nulls"])],
        settings,
        folder / "scores.jsonl",
        on_scored=lambda name: None,
        on_embedded=lambda count: None,
    )


_WIDE = (
    "Of fewer than ten clips only shares have an interval, a wide one. Nulls need no ears: empty, example and constant "
    "are answers that need no listening; the best null may also know which answer is the most frequent."
)


def _rows(cells: Sequence[BenchCell], ears: str) -> list[list[str]]:
    """One for each metric: what is heard, beside answers without ears; empty where nothing can be heard here."""
    at = {(cell.model, cell.row, cell.metric): cell for cell in cells}
    null_models = [model_name(null) for null in NULLS]
    rows = []
    for row, metric in dict.fromkeys((cell.row, cell.metric) for cell in cells if cell.model == null_models[0]):
        mine, nulls = at.get((ears, row, metric)), [at[model, row, metric] for model in null_models]
        told = mine or nulls[0]
        said = [number(mine.value, 1), interval((mine.low, mine.high), 1)] if mine else ["", ""]
        counts = [str(mine.unparsed), str(mine.missing)] if mine else ["", str(told.n)]
        best = [told.best_null or "", number(told.null_value, 1)]
        rows.append(
            [_TASKS[row], metric, str(told.n), *said, *counts, *(number(null.value, 1) for null in nulls), *best]
        )
    return rows


_TASKS = {dataset.row: dataset.task.replace("_", " ") for dataset in DATASETS.values()}


def _unheard(heard: Sequence[Summary]) -> list[str]:
    """Why questions could not be answered, each reason once with its tasks."""
    tasks: dict[str, list[str]] = {}
    for summary in heard:
        if summary.failed:
            share = "" if not summary.answered else f" ({summary.failed} of {summary.questions})"
            tasks.setdefault(summary.error, []).append(DATASETS[summary.dataset].task + share)
    return [f"Not heard here: {', '.join(names)}; {error}." for error, names in tasks.items()]

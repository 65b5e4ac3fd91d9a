"""The demonstration's MIR part: ask a listener and null baselines about the studio's MIR set.

    annotations/, audio/    the set, with exact truth (`cmi.studio.mir`)
    answers-1f3a9c02/       the listener's answers; other installed packages make it another listener
    nulls/                  the null baselines' answers
    scores.jsonl            CMI-Bench's metrics of all

Clips are distributed over one process per core, as shards of `cmi bench run`.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cmi._util.cache import cache_folder
from cmi._util.records import read_records
from cmi._util.workers import process_pool
from cmi.bench.ask import Listener
from cmi.bench.ask.answer_log import Shard
from cmi.bench.ask.nulls import NULLS, NullListener
from cmi.bench.ask.registry import Options, load_listener
from cmi.bench.ask.run import RunPlan, Summary, is_done, model_name, read_data, run, run_elsewhere
from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Protocol
from cmi.bench.scoring.many_files import DEFAULT_EMBEDDER, Settings, score_all
from cmi.bench.scoring.names import METRICS
from cmi.bench.scoring.one_file import BenchCell
from cmi.bench.scoring.responses import find_responses
from cmi.bench.scoring.tables import MARKS, score_tables
from cmi.demo import Progress, counter
from cmi.report.numbers import interval, number
from cmi.report.tables import Table
from cmi.studio.mir import make_mir_set

PROTOCOL: Protocol = "strict"
MARKS_NOTE = "▲ above the best null, ▼ below it, · no significant difference (Holm-adjusted p < .05)."
MAIN_METRICS = ("FM@70ms", "RPA")  # of a task that has one of them; else its first metric


class MirAnswer(NamedTuple):
    """The right answer to a question about a clip, and the listener's ('' if it gave none)."""

    task: str
    truth: str
    answer: str


class AnsweredClip(NamedTuple):
    audio: Path
    answers: list[MirAnswer]


class MirPart(NamedTuple):
    tables: list[Table]  # the main metrics, the listener beside each null, then each listener in full
    clips: list[AnsweredClip]


def answer_mir(folder: Path, listener: str, clips: int, seconds: int, seed: int, on_progress: Progress) -> MirPart:
    """Have the listener and the nulls answer, and score them. Call it before torch starts threads, because it forks.

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
    title = f"{clips} pieces of {seconds} s and {clips} notes, protocol {PROTOCOL}"
    notes = [f"Listener: {named.full}.", *_explain_failures(asked), _NULLS_NOTE]
    nulls = [null.removeprefix("null:") for null in NULLS]
    headers = ["task", "metric", "n", named.short, "95 %", "unparsed", "failed", *nulls, "best null", "its value"]
    full = Table("The listener and each null", headers, _rows(cells, named.short), labels=2, notes=notes[-1:])
    main = [cell for cell in main_cells(cells) if cell.model == named.short]
    cut = main_table(title, named.short, main, 0, [_notice(named.short, main), *notes[:-1]])
    return MirPart([cut, full, *score_tables(cells)], _clips(folder, asked))


def main_cells(cells: Iterable[BenchCell]) -> list[BenchCell]:
    """Return the main metric of each model and row, without null baselines that were not asked."""
    chosen: dict[tuple[str, str], BenchCell] = {}
    for cell in cells:
        if not cell.is_null and ((cell.model, cell.row) not in chosen or cell.metric in MAIN_METRICS):
            chosen[cell.model, cell.row] = cell
    return list(chosen.values())


def main_table(title: str, model: str, cells: Iterable[BenchCell], digits: int, notes: Sequence[str]) -> Table:
    """One row for each of a model's main cells. The first note is what to notice."""
    rows = []
    for cell in cells:
        words = [_TASKS[cell.row], METRICS.get(cell.metric, cell.metric)]
        values = [number(cell.value, digits), interval((cell.low, cell.high), digits)]
        null = [number(cell.null_value, digits), cell.best_null or "", MARKS[cell.verdict]]
        rows.append([*words, str(cell.n), *values, *null])
    headers = ["task", "metric", "n", model, "95 %", "best null", "which is", "verdict"]
    return Table(title, headers, rows, labels=2, notes=[*notes, MARKS_NOTE])


def _notice(listener: str, cells: Sequence[BenchCell]) -> str:
    """Two sentences: where the listener is above the nulls, and where it is not."""
    if not cells:
        return f"The listener {listener} answered nothing. The reasons are below, and the same command asks again."
    below = [cell for cell in cells if (cell.value or 0.0) <= (cell.null_value or 0.0)]
    count = f"{len(cells) - len(below)} of {len(cells)}"
    above = f"The listener {listener} is above the best null, which does not use the audio, on {count} tasks."
    if below:
        named = ", ".join(f"{_TASKS[c.row]} ({number(c.value, 0)} against {number(c.null_value, 0)})" for c in below)
        return f"{above} It is not on {named}: with {below[0].n} clips that may be chance."
    return f"{above} With {cells[0].n} clips of each kind this shows that it works, not how well."


def _clips(folder: Path, asked: Sequence[Summary]) -> list[AnsweredClip]:
    answers = {
        record["id"]: str(record.get("response", ""))
        for summary in asked
        if summary.answered
        for _, record in read_records(Path(summary.path))
    }
    clips: dict[str, list[MirAnswer]] = {}
    for file in sorted((folder / "annotations").glob("*.jsonl")):
        for _, item in read_records(file):
            task = DATASETS[item["uuid"].rpartition("-")[0]].task.replace("_", " ")
            answer = MirAnswer(task, item["output"], answers.get(item["uuid"], ""))
            clips.setdefault(item["audio_path"][0], []).append(answer)
    return [AnsweredClip(folder / audio, found) for audio, found in sorted(clips.items())]


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

"""The demonstration: make music whose truth is known, and have cmi judge it.

    takes/          takes for one prompt by the studio's imperfect generator, with their truth
    pairs/          a small preference set by the studio
    scores.jsonl    the scores of both
    rewardbench/    the same pairs as a data set of CMI-RewardBench
    probe.json      a few songs in many versions, and how the scores moved
    bench.jsonl     CMI-Bench's metrics for the sample answers that come with cmi
    mir/            a small MIR set by the studio, with answers and scores
    index.html      the page that shows it all

Each part is stored as it is made; the same call reuses it.
"""

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

from cmi import __version__
from cmi._util.cache import cache_folder
from cmi._util.errors import InputError
from cmi._util.files import make_folder, write_whole
from cmi._util.records import read_records
from cmi.bench.scoring.many_files import DEFAULT_EMBEDDER, Settings, score_all
from cmi.bench.scoring.names import task_title
from cmi.bench.scoring.one_file import BenchCell
from cmi.bench.scoring.responses import find_responses
from cmi.bench.scoring.tables import score_tables
from cmi.demo import Progress, counter
from cmi.demo.mir import MirPart, answer_mir, main_cells, main_table
from cmi.demo.small_probe import small_probe
from cmi.preferences import Preference, read_preferences
from cmi.probe.accuracy import (
    ALL,
    Accuracy,
    OrderedTakes,
    accuracies,
    answers,
    asked_takes,
    prompt_questions,
    questions,
    read_measurements,
)
from cmi.probe.versions import compose_songs
from cmi.report.tables import Table, to_json
from cmi.reward.pick.candidates import read_folder
from cmi.reward.pick.pick import Pick, Weights, pick, takes_of
from cmi.reward.scoring.score_log import score_takes
from cmi.reward.scoring.scorers import NamedScorer, ScoredTake, require_scores
from cmi.rewardbench.evaluation.tables import full_tables
from cmi.rewardbench.runs import run as benchmark
from cmi.rewardbench.runs.run_folder import About
from cmi.rewardbench.runs.sources import read_sources
from cmi.studio.generate import generate_set
from cmi.studio.make import make_set
from cmi.studio.render import soundfont
from cmi.take import Take

SCORES = "scores.jsonl"


@dataclass(frozen=True)
class DemoPlan:
    """How much is made, and from which seeds. nano was trained on seed 11, so these pieces are new to it."""

    takes: int = 6
    takes_seed: int = 3
    pairs: int = 32
    pairs_seed: int = 2025
    songs: int = 4
    seconds: float = 10.0  # of a song
    songs_seed: int = 1
    clips: int = 4  # of the MIR set: pieces, and as many single notes
    clip_seconds: int = 10
    clips_seed: int = 1
    listener: str = "reference"


class JudgedPair(NamedTuple):
    """A pair, what makes its worse take worse, and how far the scorer puts the better one above it."""

    question: OrderedTakes
    difference: str
    margin: float


class BenchPart(NamedTuple):
    tables: list[Table]  # the main metrics of the first model, each model in full, then the nulls
    above: dict[str, list[bool]]  # of each model: whether it is above the best null on each metric


@dataclass(frozen=True)
class Demo:
    model: str
    plan: DemoPlan
    pick: Pick
    truths: Mapping[str, Mapping[str, Any]]  # by the name of the take, as the generator wrote them
    accuracies: list[Accuracy]
    judged: list[JudgedPair]
    rewardbench: list[Table]
    probe: list[Table]  # the summary first; the first note of a first table is what to notice
    bench: BenchPart
    mir: MirPart
    versions: dict[str, str]


def run_demo(out: Path, load: Callable[[], NamedScorer], plan: DemoPlan, on_progress: Progress) -> Demo:
    """Run all parts with the scorer that `load` returns."""
    make_folder(out)
    manifest = generate_set(
        out / "takes", 1, plan.takes, plan.takes_seed, on_made=lambda *step: on_progress("takes generated", *step)
    )
    make_set(out / "pairs", plan.pairs, plan.pairs_seed, on_made=lambda *step: on_progress("pairs recorded", *step))
    mir = answer_mir(out / "mir", plan.listener, plan.clips, plan.clip_seconds, plan.clips_seed, on_progress)
    scorer = load()  # after the studio's processes were forked, which need no model
    found, judged = _judge(out, scorer, on_progress)
    return Demo(
        model=scorer.name,
        plan=plan,
        pick=_pick(out, scorer, on_progress),
        truths={Path(row["audio"]).name: row["truth"] for _, row in read_records(manifest)},
        accuracies=found,
        judged=judged,
        rewardbench=_rewardbench(out, scorer, on_progress),
        probe=_probe(out / "probe.json", scorer, plan, on_progress),
        bench=_bench(out / "bench.jsonl", on_progress),
        mir=mir,
        versions={
            "cmi": __version__,
            "Python": platform.python_version(),
            "torch": version("torch"),
            "soundfont": soundfont().name,
        },
    )


def _pick(out: Path, scorer: NamedScorer, on_progress: Progress) -> Pick:
    [group] = read_folder(out / "takes")
    takes = takes_of([group])
    scored = _score(out, takes, scorer, "takes scored", on_progress)
    return pick(group, dict(zip(takes, scored, strict=True)), Weights())


def _judge(out: Path, scorer: NamedScorer, on_progress: Progress) -> tuple[list[Accuracy], list[JudgedPair]]:
    """Uses all splits, because no scorer was trained on these pieces."""
    pairs = list(read_preferences(out / "pairs" / "preferences.jsonl"))
    asked = [*questions(pairs), *prompt_questions(pairs)]
    takes = asked_takes(asked)
    scores = require_scores(_score(out, takes, scorer, "takes of pairs scored", on_progress))
    by_take = dict(zip(takes, scores, strict=True))
    differences = {one.id: _difference(one) for one in pairs}
    judged = [
        JudgedPair(
            one, differences[one.id], getattr(by_take[one.better], one.axis) - getattr(by_take[one.worse], one.axis)
        )
        for one in asked
        if ALL in one.groups
    ]
    return accuracies(asked, answers(asked, by_take), read_measurements(out / "pairs")), judged


def _difference(pair: Preference) -> str:
    """'ringing 0.55', the worse take's flaw and its strength; or the attribute that it does not have."""
    truth = pair.about["truth"]
    return f"{truth['flaw']} {truth['strength']:.2f}" if truth["flaw"] else f"another {truth['kind']}"


def _rewardbench(out: Path, scorer: NamedScorer, on_progress: Progress) -> list[Table]:
    """Like `cmi rewardbench run --data studio=pairs/ --split all`, with the scores from the log."""
    folder = out / "rewardbench"
    questions = benchmark.prepare([f"studio={out / 'pairs'}"], folder, "all")
    takes = len({key for question in questions for key in question.keys})
    benchmark.measure_takes(questions, folder, counter(on_progress, "takes measured for nulls", takes))
    on_scored = counter(on_progress, "takes scored for CMI-RewardBench", takes)
    benchmark.score_questions(questions, About(scorer.name), scorer, folder, on_scored, out / SCORES)
    [source] = read_sources([folder])
    own = [system for system in source.systems if system.about.name == scorer.name]
    return full_tables(replace(source, systems=tuple(own)).evaluate("strict"), "strict")


def _score(
    out: Path, takes: list[Take], scorer: NamedScorer, what: str, on_progress: Progress
) -> list[ScoredTake | InputError]:
    """InputError for the first take that cannot be scored."""
    results = score_takes(takes, scorer, [out / SCORES], counter(on_progress, what, len(takes)))
    require_scores(results)
    return results


def _probe(path: Path, scorer: NamedScorer, plan: DemoPlan, on_progress: Progress) -> list[Table]:
    settings = {
        "model": scorer.name,
        "songs": plan.songs,
        "seconds": plan.seconds,
        "seed": plan.songs_seed,
        "format": 2,
    }
    kept = _kept(path, settings)
    if kept is None:
        songs = compose_songs(plan.songs, plan.seconds, plan.songs_seed)
        tables = small_probe(
            scorer, songs, plan.songs_seed, lambda *step: on_progress("versions of songs scored", *step)
        )
        kept = {"settings": settings, "tables": [asdict(table) for table in tables]}
        write_whole(path, to_json(kept))
    return [Table(**table) for table in kept["tables"]]


def _kept(path: Path, settings: dict[str, Any]) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return found if found.get("settings") == settings else None
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: not written by `cmi demo` ({error}); remove it") from error


def _bench(log: Path, on_progress: Progress) -> BenchPart:
    with as_file(files("cmi.bench").joinpath("samples")) as samples:
        found = find_responses([samples / "responses"])
        on_scored = counter(on_progress, "sample answers scored", len(found))
        settings = Settings(samples / "annotations", ["strict"], DEFAULT_EMBEDDER, "", 1000, cache_folder())
        cells = score_all(found, settings, log, lambda name: on_scored(1), on_embedded=lambda count: None)
    above: dict[str, list[bool]] = {}
    for cell in cells:
        if not cell.is_null and cell.verdict:
            above.setdefault(cell.model, []).append(cell.verdict == "above null")
    model = next(iter(above))
    of_task: dict[str, BenchCell] = {}  # its first data set
    for cell in main_cells(cells):
        if cell.model == model:
            of_task.setdefault(task_title(cell.row), cell)
    main = main_table("One metric of each task, protocol strict", model, of_task.values(), 2, [_notice(above)])
    return BenchPart([main, *score_tables(cells)], above)


def _notice(above: Mapping[str, Sequence[bool]]) -> str:
    """Two sentences: how often each model is above the nulls, and what that says."""
    (model, own), *others = above.items()
    rest = "".join(f", {name}'s on {sum(one)}" for name, one in others)
    return (
        f"{model}'s sample answers are above the best null on {sum(own)} of {len(own)} metrics{rest}. parrot repeats "
        "the prompt's example: a model that is not above the nulls has not been shown to use the audio."
    )

"""Score a benchmark's takes with one model after the other, and list the takes that cannot be scored.

Each distinct take is scored once and each score is logged at once: the same command resumes.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from cmi._util.errors import InputError
from cmi._util.files import make_folder
from cmi._util.runlog import RunLog
from cmi.features import measure_features
from cmi.report.tables import Table, notes_about
from cmi.reward.engine.windows import DEFAULT_WINDOW
from cmi.reward.model.validation import validation_notes
from cmi.reward.scoring.calibration import Calibration
from cmi.reward.scoring.on_ray import open_scorer
from cmi.reward.scoring.score_log import score_takes
from cmi.reward.scoring.scorers import NamedScorer, described, is_reward_model, load_scorer
from cmi.rewardbench.data import data_folder, data_sets, find
from cmi.rewardbench.evaluation.cells import RESAMPLES, RewardCell
from cmi.rewardbench.evaluation.nulls import generators_of
from cmi.rewardbench.items import RatedItem
from cmi.rewardbench.runs.judging import JudgedItem
from cmi.rewardbench.runs.run_folder import (
    HEARD,
    SCORES,
    About,
    AskedItem,
    ScoringFailure,
    model_folder,
    question,
    read_run,
    require_current,
    write_failures,
    write_items,
    write_pair_scores,
)
from cmi.rewardbench.runs.sources import read_sources
from cmi.rewardbench.tasks import Key, Protocol, key
from cmi.take import Scorer, Take

BENCHMARK = ("pam", "musiceval", "music-arena", "cmi-pref")
SHOWN = 10  # failures in a table; the file has all

OnDone = Callable[[int], None]  # gets the number of newly finished takes


class Outcome(NamedTuple):
    """The result of scoring with one model."""

    about: About
    takes: int
    failures: list[ScoringFailure]
    remarks: Sequence[tuple[str, str]] = ()  # a take and what is to be known of it, such as that it was cut off


def open_data(spec: str, split: str = "") -> Iterator[RatedItem]:
    """Read the items of a data set: NAME, NAME=FOLDER, a file of preferences or ratings, or a studio set's folder.

    `split` is one of its splits, 'all' for all of them, '' for the one that the benchmark uses.
    """
    is_studio = spec not in data_sets() and all(
        (Path(spec) / name).is_file() for name in ("preferences.jsonl", "about.json")
    )
    found = find(f"studio={spec}" if is_studio else spec)
    return found.dataset.read(found.folder, split)


def data_at_hand() -> list[str]:
    """Return the names of the benchmark's data sets that were downloaded."""
    return [name for name in BENCHMARK if (data_folder() / name).exists()]


def prepare(specs: Sequence[str], out: Path, split: str = "") -> list[AskedItem]:
    """Read all data and write the items to the folder."""
    if not specs:
        raise InputError(
            f"none of {', '.join(BENCHMARK)} is on disk; name data with --data, or run `cmi data get NAME`"
        )
    questions = [question(item) for spec in specs for item in open_data(spec, split)]
    if not questions:
        raise InputError(f"{', '.join(specs)}: no items in it" + (f" of split {split!r}" if split else ""))
    make_folder(out)
    require_current(out)
    write_items(out, questions)
    return questions


def require_windows(models: Sequence[str]) -> None:
    """InputError for a model whose window cannot be set."""
    for name in models:
        if not is_reward_model(name):
            raise InputError(f"--window is for reward models (nano, cmi-rm, a checkpoint), not {name}")


@contextmanager
def open_model(
    name: str, window: str = "", prompt: bool = True, device: str = "auto", ray: int = 0
) -> Iterator[tuple[About, NamedScorer]]:
    """Load a model by its name, with `ray` in so many processes on Ray; only reward models have a window."""
    with open_scorer(ray, name, None, device, window or DEFAULT_WINDOW) as scorer:
        yield About(scorer.name, scorer.axes, window, prompt), scorer


def score_questions(
    questions: Sequence[AskedItem],
    about: About,
    scorer: NamedScorer,
    out: Path,
    on_done: OnDone,
    log: Path | None = None,
) -> Outcome:
    """Score the takes that are neither in the folder nor in the log, and write them to both."""
    place = model_folder(out, about)
    takes = list(_distinct(questions).values())
    logs = [place / SCORES, *([log] if log else [])]
    results = score_takes(takes, scorer, logs, on_done, hide_prompt=not about.prompt)
    failures, remarks = [], []
    for take, scored in zip(takes, results, strict=True):
        if isinstance(scored, InputError):
            failures.append(ScoringFailure(described(take.audio), str(scored)))
        else:
            remarks += [(described(take.audio), remark) for remark in scored.notes]
    write_failures(place, failures)
    return Outcome(about, len(takes), failures, remarks)


def measure_takes(questions: Sequence[AskedItem], out: Path, on_done: OnDone) -> None:
    """Log the features for nulls; takes that cannot be decoded are left out."""
    takes = _distinct(questions)
    measure_once = cache(measure_features)  # a recording may occur with many prompts
    with RunLog(out / HEARD, key="key") as log:
        for name, take in takes.items():
            if name not in log:
                with suppress(InputError):
                    log.append({"key": name, **measure_once(take.audio)._asdict()})
            on_done(1)
        log.finish()


def run(
    models: Sequence[str],
    questions: Sequence[AskedItem],
    out: Path,
    window: str,
    prompt: bool,
    device: str,
    started: Callable[[str, int], OnDone],
    log: Path | None = None,
    ray: int = 0,
) -> Iterator[Outcome]:
    """Measure the features for nulls, then score with each model; `started` gets each step and its number of takes."""
    count = len(_distinct(questions))
    measure_takes(questions, out, started("measured for nulls", count))
    for name in models:
        with open_model(name, window, prompt, device, ray) as (about, scorer):
            yield score_questions(questions, about, scorer, out, started(f"scored by {about.name}", count), log)
        del scorer
        gc.collect()  # before the next model is loaded


def write_calibrated(out: Path, calibration: Calibration) -> str:
    """Put the corrected scores of a run's model beside its own, as another model; return what could not be corrected.

    InputError if the run has no scores of the calibration's model.
    """
    run = read_run(out)
    wanted = About(calibration.model, window=calibration.window).name
    system = next((one for one in run.systems if one.about.name == wanted), None)
    if system is None:
        known = ", ".join(one.about.name for one in run.systems)
        raise InputError(
            f"the calibration was fitted to {wanted}, but the run has {known}; fit one to that model's scores"
        )
    corrected: dict[Key, JudgedItem] = {}
    missing = 0
    for item in run.items:
        scores = [score for score in system.scores.get(key(item), ()) if score is not None]
        if len(scores) == len(item.takes):
            names = generators_of(item) or ("",) * len(scores)
            missing += not all(name in of.offsets for of in calibration.axes.values() for name in names)
            corrected[key(item)] = JudgedItem(tuple(map(calibration.correct, scores, names)))
    write_pair_scores(out, replace(system.about, calibration=calibration.digest), corrected)
    return f"{missing} of {len(corrected)} items have a generator that is not in the calibration" if missing else ""


def evaluate(
    scorer: str | Scorer,
    data: Path | str,
    out: Path | str | None = None,
    protocol: Protocol = "strict",
    split: str = "",
    resamples: int = RESAMPLES,
) -> list[RewardCell]:
    """Return how well a scorer agrees with people: one cell for each task, with interval, n and best null.

    `scorer` is a name that `cmi.load_scorer` takes, or an object with `score(takes)`. `data` is a data set's name, a
    file of preferences or ratings, or a studio set's folder. With `out` scores are kept there; the same call resumes.
    A look at a test set is logged on this machine (`cmi.rewardbench.runs.looks`).

    >>> import json, numpy, soundfile, tempfile
    >>> from pathlib import Path
    >>> import cmi, cmi.rewardbench
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, seconds in {"a": 1, "b": 2, "c": 3}.items():
    ...     soundfile.write(folder / f"{name}.wav", numpy.sin(numpy.arange(seconds * 16_000) / 20), 16_000)
    >>> votes = [("a", "b", "b"), ("c", "a", "a"), ("b", "c", "b")]
    >>> rows = [{"text": "a tune", "a": f"{a}.wav", "b": f"{b}.wav", "axis": "musicality", "choice": choice}
    ...         for a, b, choice in votes]
    >>> _ = (folder / "votes.jsonl").write_text("\\n".join(map(json.dumps, rows)))
    >>> class Longer:
    ...     def score(self, takes):
    ...         return [cmi.Score(soundfile.info(take.audio).duration, 0.0) for take in takes]
    >>> cell = cmi.rewardbench.evaluate(Longer(), folder / "votes.jsonl")[0]
    >>> cell.model, cell.metric, cell.n, cell.value, cell.best_null
    ('Longer', 'ACC', 3, 1.0, 'longer')
    """
    named = load_scorer(scorer) if isinstance(scorer, str) else NamedScorer(type(scorer).__name__, scorer)
    with TemporaryDirectory() as temporary:
        folder = Path(out or temporary)
        questions = prepare([str(data)], folder, split)
        measure_takes(questions, folder, lambda done: None)
        score_questions(questions, About(named.name, named.axes), named, folder, lambda done: None)
        return [cell for source in read_sources([folder]) for cell in source.evaluate(protocol, resamples).cells]


def _distinct(questions: Sequence[AskedItem]) -> dict[str, Take]:
    return {name: take for one in questions for name, take in zip(one.keys, one.item.asked, strict=True)}


def outcome_table(outcomes: Sequence[Outcome], out: Path) -> Table:
    """Return the counts of scored and failed takes, with the reasons."""
    rows = [
        [one.about.name, str(one.takes), str(one.takes - len(one.failures)), str(len(one.failures))] for one in outcomes
    ]
    notes = []
    for one in outcomes:
        notes += [f"{error}." if audio in error else f"{audio}: {error}." for audio, error in one.failures[:SHOWN]]
        more = len(one.failures) - SHOWN
        notes += [f"... and {more} more; all are in failures.jsonl."] if more > 0 else []
        said = notes_about(one.remarks)
        more = len(said) - SHOWN
        notes += [*said[:SHOWN], *([f"... and {more} more notes; all are in scores.jsonl."] if more > 0 else [])]
    notes += validation_notes(*(one.about.model for one in outcomes))
    return Table(f"Scored into {out}", ["model", "takes", "scored", "failed"], rows, notes=tuple(dict.fromkeys(notes)))

"""Score a benchmark's takes with one model after the other; what can't be scored is listed, and the run goes on.

Each distinct take is scored once, and each score is on disk as it comes: the same command resumes after any stop. One
model is in memory at a time.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cmi._util.errors import InputError
from cmi._util.files import make_folder
from cmi._util.runlog import RunLog, read_records
from cmi.report.tables import Table
from cmi.reward.scoring.load_scorer import NamedScorer
from cmi.rewardbench.baselines import REWARD_MODELS, axes_of, load_baseline
from cmi.rewardbench.data import DATA_SETS, data_folder, find
from cmi.rewardbench.evaluation.nulls import hear
from cmi.rewardbench.items import Item
from cmi.rewardbench.runs.run_folder import (
    HEARD,
    SCORES,
    About,
    Failure,
    Question,
    model_folder,
    question,
    write_failures,
    write_items,
)
from cmi.take import Audio, Prompt, Take

BENCHMARK = ("pam", "musiceval", "music-arena", "cmi-pref")
SHOWN = 10  # failures that a table names; the file has all

OnDone = Callable[[int], None]  # told how many more takes are done


class Outcome(NamedTuple):
    """How a model's run went."""

    about: About
    takes: int
    failures: list[Failure]
    notes: Sequence[str] = ()  # about takes that were scored, such as that a recording was cut off


def open_data(spec: str, split: str = "") -> Iterator[Item]:
    """The items of a data set: NAME, NAME=FOLDER, a file of preferences or ratings, or the folder of a studio set.

    `split` is one of its splits, 'all' for all of them, '' for the one that the benchmark uses.
    """
    is_studio = spec not in DATA_SETS and all(
        (Path(spec) / name).is_file() for name in ("preferences.jsonl", "about.json")
    )
    found = find(f"studio={spec}" if is_studio else spec)
    read = found.dataset.reader.read
    return read(found.folder, None if split == "all" else split) if split else read(found.folder)


def data_at_hand() -> list[str]:
    """The names of the benchmark's data sets that were downloaded."""
    return [name for name in BENCHMARK if (data_folder() / name).exists()]


def prepare(specs: Sequence[str], out: Path, split: str = "") -> list[Question]:
    """Read all data, and note in the folder what will be asked."""
    if not specs:
        raise InputError(f"none of {', '.join(BENCHMARK)} was downloaded; name data with --data, or cmi data get NAME")
    questions = [question(item) for spec in specs for item in open_data(spec, split)]
    if not questions:
        raise InputError(f"{', '.join(specs)}: no item in it" + (f" of split {split!r}" if split else ""))
    make_folder(out)
    write_items(out, questions)
    return questions


def require_windows(models: Sequence[str]) -> None:
    """InputError for a model whose window can't be set."""
    for name in models:
        if name not in REWARD_MODELS and not Path(name).is_dir():
            raise InputError(
                f"--window is for reward models of cmi's (nano, cmi-rm, a checkpoint's folder), not {name}"
            )


def open_model(name: str, window: str = "", prompt: bool = True, device: str = "auto") -> tuple[About, NamedScorer]:
    """A model by its name; a window is for reward models alone."""
    if window:
        from cmi.reward.model.reward_model import RewardModel

        model = RewardModel.from_pretrained(REWARD_MODELS.get(name, name), device=device)
        listener = model.scorer(window=window)
        scorer = NamedScorer(model.full_name, listener, listener.judge)
    else:
        scorer = load_baseline(name, device)
    return About(scorer.name, axes_of(name), window, prompt), scorer


def score_takes(
    questions: Sequence[Question], about: About, scorer: NamedScorer, out: Path, on_done: OnDone
) -> Outcome:
    """Score what the folder does not hold yet."""
    place = model_folder(out, about)
    takes = _distinct(questions)
    failures: list[Failure] = []
    with RunLog(place / SCORES, key="key") as log:
        pending = {name: take for name, take in takes.items() if name not in log}
        on_done(len(takes) - len(pending))
        asked = [take if about.prompt else Take(Prompt(), take.audio) for take in pending.values()]
        for name, take, score in zip(pending, asked, scorer.judge(asked), strict=True):
            if isinstance(score, InputError):
                failures.append(Failure(_name(take.audio), str(score)))
            else:
                said = {"notes": scorer.notes[take]} if take in scorer.notes else {}
                log.append({"key": name, **score._asdict(), **said})
            on_done(1)
        log.finish()
    write_failures(place, failures)
    said = {record["key"]: record.get("notes", ()) for record in read_records(place / SCORES)}
    notes = [f"{_name(take.audio)}: {note}" for name, take in takes.items() for note in said.get(name, ())]
    return Outcome(about, len(takes), failures, notes)


def hear_takes(questions: Sequence[Question], out: Path, on_done: OnDone) -> None:
    """Note what nulls go by; a take that can't be heard is left out."""
    takes = _distinct(questions)
    hear_once = cache(hear)  # a recording is asked about under many prompts
    with RunLog(out / HEARD, key="key") as log:
        for name, take in takes.items():
            if name not in log:
                with suppress(InputError):
                    log.append({"key": name, **hear_once(take.audio)._asdict()})
            on_done(1)
        log.finish()


def run(
    models: Sequence[str],
    questions: Sequence[Question],
    out: Path,
    window: str,
    prompt: bool,
    device: str,
    started: Callable[[str, int], OnDone],
) -> Iterator[Outcome]:
    """Each model in turn, after what nulls need was heard. `started` is told what begins and how many takes it has."""
    count = len(_distinct(questions))
    hear_takes(questions, out, started("heard for nulls", count))
    for name in models:
        about, scorer = open_model(name, window, prompt, device)
        yield score_takes(questions, about, scorer, out, started(f"scored by {about.name}", count))
        del scorer
        gc.collect()  # before the next model is loaded


def _distinct(questions: Sequence[Question]) -> dict[str, Take]:
    return {name: take for one in questions for name, take in zip(one.keys, one.item.asked, strict=True)}


def _name(audio: Audio) -> str:
    return str(audio) if isinstance(audio, Path) else f"a waveform of {audio.seconds:.1f} s"


def outcome_table(outcomes: Sequence[Outcome], out: Path) -> Table:
    """What was scored and what was not, and why."""
    rows = [
        [one.about.name, str(one.takes), str(one.takes - len(one.failures)), str(len(one.failures))] for one in outcomes
    ]
    notes = []
    for one in outcomes:
        notes += [f"{error}." if audio in error else f"{audio}: {error}." for audio, error in one.failures[:SHOWN]]
        more = len(one.failures) - SHOWN
        notes += [f"... and {more} more; all are in failures.jsonl."] if more > 0 else []
        notes += [f"{note}." for note in one.notes[:SHOWN]]
        more = len(one.notes) - SHOWN
        notes += [f"... and {more} more notes; all are in scores.jsonl."] if more > 0 else []
    return Table(f"Scored into {out}", ["model", "takes", "scored", "failed"], rows, notes=tuple(dict.fromkeys(notes)))

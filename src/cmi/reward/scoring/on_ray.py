"""Score takes on a Ray cluster: Ray Data streams them through actors that each hold the model.

Scores, log and errors are the same as in one process. If an actor is lost, another one scores its takes; logged takes
are not scored again when the command is run again. The actors read the recordings by their paths, so that all machines
must see their folder.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.remote import to_path
from cmi._util.workers import ray_cluster
from cmi.reward.scoring.scorers import NOTHING_READ, NamedScorer, ReadTake, ScoredTake, load_scorer, require_scores
from cmi.take import Audio, Axis, Prompt, Score, Take

AT_ONCE = 100_000  # takes in memory at once; the actors are restarted for the next ones
BATCH = 16  # takes per call of an actor, which are scored again if it is lost


class RayScoring:
    """Scores takes with `workers` actors and keeps their order."""

    def __init__(self, options: Sequence[Any], workers: int, gpus: int) -> None:
        self._options = tuple(options)
        self._workers = workers
        self._gpus = gpus

    def read(self, take: Take) -> ReadTake:
        return NOTHING_READ

    def score(self, takes: Sequence[Take]) -> list[Score]:
        return require_scores(self.judge(takes))

    def judge(self, takes: Sequence[Take], read: ReadTake = NOTHING_READ) -> Iterator[ScoredTake | InputError]:
        import ray.data

        if not takes:
            return
        ray.data.DataContext.get_current().execution_options.preserve_order = True
        blocks = -(-len(takes) // BATCH)
        rows = ray.data.from_items([_row(take) for take in takes], override_num_blocks=blocks)
        scored = rows.map_batches(
            _Actor,
            fn_constructor_args=(str(Path.cwd()), self._options),
            batch_size=BATCH,
            concurrency=min(self._workers, blocks),
            num_cpus=1,
            num_gpus=self._gpus or None,
        )
        for row in scored.iter_rows():
            yield _result(row)


class _Actor:
    def __init__(self, folder: str, options: Sequence[Any]) -> None:
        scorer = load_there(folder, options)
        if isinstance(scorer, InputError):
            raise scorer
        self._scorer = scorer

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        columns = (batch[name] for name in ("audio", "text", "lyrics", "reference"))
        takes = [
            Take(Prompt(str(text), str(lyrics), to_path(str(like)) if like else None), to_path(str(audio)))
            for audio, text, lyrics, like in zip(*columns, strict=True)
        ]
        records = [_record(scored) for scored in self._scorer.judge(takes)]
        return {name: [record[name] for record in records] for name in records[0]}


@contextmanager
def open_scorer(workers: int, *options: Any) -> Iterator[NamedScorer]:
    """Open the scorer of `load_scorer(*options)`, in this process or as `workers` actors on Ray.

    The cluster is that of RAY_ADDRESS, or one that is started here. Each actor has its own GPU if there are any.
    """
    if not workers:
        yield load_scorer(*options)
        return
    folder = str(Path.cwd())
    with ray_cluster("scoring on Ray") as ray:
        gpus = count_gpus(ray)
        task = ray.remote(num_cpus=1, num_gpus=gpus)(lambda: describe_scorer(load_there(folder, options)))
        about = ray.get(task.remote())
        if isinstance(about, InputError):
            raise about
        name, axes, settings = about
        scoring = RayScoring(options, workers, gpus)
        yield NamedScorer(name, scoring, scoring, axes=axes, settings=settings, at_once=AT_ONCE)


def count_gpus(ray: Any) -> int:
    """Return the number of GPUs per model process: one if the cluster has any."""
    return 1 if ray.cluster_resources().get("GPU") else 0


ScorerAbout = tuple[str, tuple[Axis, ...], dict[str, str]]  # name, axes, settings


def load_there(folder: str, options: Sequence[Any]) -> NamedScorer | InputError:
    """Load a scorer in a Ray process, in the command's folder; return an InputError if that fails."""
    try:
        os.chdir(folder)
        return load_scorer(*options)
    except OSError as error:
        return InputError(
            f"{error.filename} is missing on a machine of the Ray cluster; run in a folder that all machines share"
        )
    except InputError as error:
        return InputError(str(error))


def describe_scorer(scorer: NamedScorer | InputError) -> ScorerAbout | InputError:
    if isinstance(scorer, InputError):
        return scorer
    return scorer.name, scorer.axes, {name: said for name, said in scorer.settings.items() if name != "model"}


def _row(take: Take) -> dict[str, str]:
    reference = take.prompt.reference
    return {
        "audio": _path(take.audio),
        "text": take.prompt.text,
        "lyrics": take.prompt.lyrics,
        "reference": "" if reference is None else _path(reference),
    }


def _path(audio: Audio) -> str:
    if not isinstance(audio, Path):
        raise InputError("a waveform in memory cannot be scored on Ray, expected files")
    return str(audio)


def _record(scored: ScoredTake | InputError) -> dict[str, Any]:
    if isinstance(scored, InputError):
        return {"musicality": 0.0, "alignment": 0.0, "seconds": -1.0, "notes": [], "error": str(scored)}
    seconds = -1.0 if scored.seconds is None else scored.seconds
    return {**scored.score._asdict(), "seconds": seconds, "notes": list(scored.notes), "error": ""}


def _result(row: Mapping[str, Any]) -> ScoredTake | InputError:
    if row["error"]:
        return InputError(row["error"])
    seconds = None if row["seconds"] < 0 else float(row["seconds"])
    notes = tuple(str(note) for note in row["notes"])
    return ScoredTake(Score(float(row["musicality"]), float(row["alignment"])), seconds, notes=notes)

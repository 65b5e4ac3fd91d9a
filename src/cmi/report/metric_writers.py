"""Write metrics by step to TensorBoard, Weights & Biases or trackio.

A destination is written as KIND:WHERE, such as tensorboard:curves, wandb:my-project or trackio:my-project. A writer
appends to the run of its name, so that a resumed command continues the same curves.
"""

import hashlib
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Protocol

from cmi._util.errors import InputError, reason_of
from cmi._util.files import make_folder
from cmi._util.hub import require_packages


class MetricWriter(Protocol):
    """Receives numbers by name at a step; steps never decrease."""

    def write(self, step: int, values: Mapping[str, float]) -> None: ...

    def close(self) -> None: ...


class TensorBoardWriter:
    """Event files in a folder; those of steps from `first` on, which a stopped run had written, are replaced."""

    def __init__(self, folder: Path, first: int | None = None) -> None:
        from torch.utils.tensorboard import SummaryWriter

        make_folder(folder)
        self._board = SummaryWriter(folder, purge_step=first)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._board.add_scalar(name, value, step)

    def close(self) -> None:
        self._board.close()


class WandbWriter:
    """A run of Weights & Biases; its own variables (WANDB_MODE=offline, WANDB_DIR, ...) apply."""

    def __init__(self, project: str, name: str) -> None:
        import wandb

        with _explained(f"wandb:{project}", "without an account, set WANDB_MODE=offline"):
            settings = wandb.Settings(silent=True, console="off")  # what we print stays here
            self._run = wandb.init(project=project, name=name, id=_run_id(name), resume="allow", settings=settings)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def close(self) -> None:
        self._run.finish()


class TrackioWriter:
    """A run of trackio, kept on this machine; what trackio prints goes to standard error."""

    def __init__(self, project: str, name: str) -> None:
        import trackio

        with _explained(f"trackio:{project}", "choose another project"), redirect_stdout(sys.stderr):
            trackio.init(project=project, name=name, resume="allow", embed=False, auto_log_cpu=False)
        self._trackio = trackio

    def write(self, step: int, values: Mapping[str, float]) -> None:
        with redirect_stdout(sys.stderr):
            self._trackio.log(dict(values), step=step)

    def close(self) -> None:
        with redirect_stdout(sys.stderr):
            self._trackio.finish()


class MetricWriters:
    """Several writers as one; numbers that are not finite are left out, because not all writers accept them."""

    def __init__(self, writers: Sequence[MetricWriter]) -> None:
        self._writers = writers

    def write(self, step: int, values: Mapping[str, float]) -> None:
        finite = {name: value for name, value in values.items() if math.isfinite(value)}
        for writer in self._writers:
            writer.write(step, finite)

    def close(self) -> None:
        for writer in self._writers:
            writer.close()


# What each kind is called, the extra that installs it, and its packages.
KINDS = {
    "tensorboard": ("TensorBoard", "train", ("tensorboard", "torch")),
    "wandb": ("Weights & Biases", "plugs", ("wandb",)),
    "trackio": ("trackio", "plugs", ("trackio",)),
}


def check_places(places: Sequence[str]) -> list[tuple[str, str]]:
    """Split each destination into KIND and WHERE; InputError if it has another form or its package is missing."""
    found = []
    for place in places:
        kind, _, where = place.partition(":")
        if kind not in KINDS or not where.strip():
            expected = "tensorboard:FOLDER, wandb:PROJECT or trackio:PROJECT"
            raise InputError(f"--log-to {place!r}: expected {expected}")
        called, extra, packages = KINDS[kind]
        require_packages(f"writing for {called}", extra, *packages)
        found.append((kind, where.strip()))
    return found


@contextmanager
def open_writers(places: Sequence[str], name: str) -> Iterator[MetricWriter]:
    """Open the writers of `places` for the run called `name`; all are closed at the end.

    Of the processes that a launcher started, only the first writes.
    """
    opened: list[MetricWriter] = []
    name = re.sub(r"[^\w.+@-]+", "-", name).strip("-.") or "run"
    try:
        for kind, where in check_places(places) if os.environ.get("RANK", "0") == "0" else ():
            if kind == "tensorboard":
                opened.append(TensorBoardWriter(Path(where) / name))
            else:
                opened.append((WandbWriter if kind == "wandb" else TrackioWriter)(where, name))
        yield MetricWriters(opened)
    finally:
        MetricWriters(opened).close()


def _run_id(name: str) -> str:
    """Return an id of the run that depends on its name alone, in characters that Weights & Biases takes."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@contextmanager
def _explained(place: str, advice: str) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # each service raises its own errors, and those of its HTTP client
        raise InputError(f"--log-to {place}: {reason_of(error)}; {advice}") from error

"""What the workers in generators/ and listeners/ share. They run in the environment of their model, without cmi, on
Python 3.8 or later.

A worker has `load(options)`, which imports the model's code and loads its weights. A generator has `generate(model,
request)`, which writes a take; a listener has `answer(model, question, audio)`, which returns a text. The loops that
read requests are those of `worker_skeleton.py` in `src/cmi/generate` and `src/cmi/bench/ask`.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SOURCE = Path(__file__).resolve().parents[1] / "src" / "cmi"
_ABSENT = {"text": "", "lyrics": "", "reference": None, "seed": 0, "seconds": None}


class TakeRefused(Exception):
    """The model cannot make this take; `kind` is the reason under which it is counted."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def make_parser(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--clone", required=True, type=Path, help="a clone of the model's repository")
    return parser


def run_generator(
    about: dict[str, Any],
    options: argparse.Namespace,
    commit: str,
    load: Callable[[argparse.Namespace], Any],
    generate: Callable[[Any, dict[str, Any]], None],
) -> None:
    """Make takes until the input ends. The version names the weights and the commit that is in the clone."""
    found = _check_clone(options, commit)
    _load_skeleton("generate").main(
        {**about, "version": f"{about['version']}, code {found[:12]}"},
        lambda: load(options),
        lambda model, request: generate(model, {**_ABSENT, **request}),
    )


def run_listener(
    name: str,
    rate: int,
    options: argparse.Namespace,
    commit: str,
    load: Callable[[argparse.Namespace], Any],
    answer: Callable[[Any, str, str], str],
) -> None:
    """Answer questions until the input ends. An answer depends on the trial, not on the questions before it."""
    _check_clone(options, commit)

    def answer_one(model: Any, question: str, audio: str, message: dict[str, Any]) -> str:
        set_seeds(message.get("trial", 1) - 1)
        return answer(model, question, audio)

    _load_skeleton("bench/ask").main(name, rate, lambda: load(options), answer_one)


def existing_path(text: str) -> str:
    """Check an option that names a file or a folder, and make it absolute: the current folder will be the clone."""
    if not Path(text).exists():
        raise argparse.ArgumentTypeError(f"{text} does not exist")
    return str(Path(text).resolve())


def hub_name(text: str) -> str:
    """Check an option that names a model on the hub or a folder."""
    return str(Path(text).resolve()) if Path(text).exists() else text


def enter_clone(clone: Path, *folders: str) -> None:
    """Import modules from these folders of the clone, and make it the current folder: most models open files there."""
    sys.path[:0] = [str(clone / folder) for folder in folders]
    os.chdir(clone)


def set_seeds(seed: int) -> None:
    """Seed every random generator that models use; torch seeds those of its GPUs with its own."""
    import numpy
    import torch

    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def find_device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def require_parts(request: dict[str, Any], *parts: str) -> None:
    """Refuse a prompt that lacks one of these parts: text, lyrics, reference."""
    for part in parts:
        if not request.get(part):
            raise TakeRefused(f"no {part}", f"the model needs {part}, which the prompt does not have")


def require_length(seconds: float, shortest: float, longest: float) -> None:
    if not shortest <= seconds <= longest:
        raise TakeRefused("length", f"the model makes {shortest:g} to {longest:g} s, {seconds:g} s were asked for")


def read_audio(path: str | Path) -> tuple[Any, int]:
    """Return samples of shape (channels, n) and their rate."""
    import soundfile

    samples, rate = soundfile.read(str(path), dtype="float32", always_2d=True)
    return samples.T, rate


def write_take(request: dict[str, Any], samples: Any, rate: int) -> None:
    """Write samples of shape (n,) or (channels, n), cut to the length that was asked for."""
    import numpy
    import soundfile

    samples = numpy.atleast_2d(numpy.asarray(samples, dtype="float32"))
    if request.get("seconds"):
        samples = samples[:, : round(request["seconds"] * rate)]
    soundfile.write(request["audio"], samples.T, rate, format="WAV", subtype="FLOAT")


def copy_under_own_name(path: str, folder: Path) -> Path:
    """Copy a file into a folder under a name made from its content, for code that caches by file name."""
    source = Path(path)
    copy = folder / (hashlib.sha256(source.read_bytes()).hexdigest()[:16] + source.suffix)
    if not copy.exists():
        shutil.copyfile(source, copy)
    return copy


def _check_clone(options: argparse.Namespace, commit: str) -> str:
    """Return the commit of the clone, and say so if it is another than the worker was written for."""
    options.clone = options.clone.resolve()
    if not options.clone.is_dir():
        sys.exit(f"--clone {options.clone} is not a folder: clone the model's repository there")
    found = _find_commit(options.clone)
    if found != commit:
        sys.stderr.write(f"{options.clone} is at commit {found}; this worker was written for {commit}\n")
    return found


def _load_skeleton(package: str) -> Any:
    spec = importlib.util.spec_from_file_location("worker_skeleton", _SOURCE / package / "worker_skeleton.py")
    assert spec and spec.loader
    skeleton = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(skeleton)
    return skeleton


def _find_commit(clone: Path) -> str:
    if not (clone / ".git").exists():
        return "unknown"
    command = ["git", "-C", str(clone), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8")  # noqa: S603
    except OSError:  # no git
        return "unknown"
    return done.stdout.strip() or "unknown"

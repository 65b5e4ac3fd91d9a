"""Diagnose the installation: parts of cmi, the machine, folders and weights, and how to install what is missing."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement

from cmi import __version__
from cmi._util.cache import cache_folder
from cmi._util.errors import InputError
from cmi.report import numbers
from cmi.report.tables import Table

# What each extra is for; `cmi doctor` lists them in this order.
PARTS = {
    "reward": "score, pick, explain: nano and CMI-RM",
    "serve": "the reward over HTTP",
    "distance": "FAD, KAD and MAUVE divergence",
    "rewardbench": "CMI-RewardBench, cmi-real and MIREX",
    "train": "train a reward model",
    "bench": "score answers of audio language models",
    "bench-data": "cut the clips of CMI-Bench",
    "embed": "tagging tasks of CMI-Bench",
    "bertscore": "BERTScore of captions",
    "listen": "the reference listener",
    "api": "models behind an API",
    "judge": "LLM judges",
    "studio": "music with known flaws, the probe and the demo",
    "vocals": "sung lyrics",
    "generate": "MusicGen, Stable Audio Open, ACE-Step and others",
    "arena": "ask listeners",
    "arena-postgres": "the arena on PostgreSQL",
    "plots": "pictures",
    "codec": "M4A, AAC, WMA, MP4 and WebM files",
    "plugs": "Inspect, datasets, mirdata, Weights & Biases, trackio",
    "ray": "more than one machine",
    "remote": "files in S3 and other stores",
}
MUSICNN = "musicnn-0.1.0-py3-none-any.whl"


class Part(NamedTuple):
    extra: str
    purpose: str
    missing: list[str]  # requirements that are not met, as pip takes them


class Diagnosis(NamedTuple):
    machine: dict[str, str]
    parts: list[Part]
    places: dict[str, str]
    weights: dict[str, str]


def diagnose() -> Diagnosis:
    return Diagnosis(_machine(), list(_parts()), _places(), _weights())


def _parts() -> Iterator[Part]:
    try:
        stated = [Requirement(line) for line in metadata.requires("cmi") or []]
    except metadata.PackageNotFoundError as error:
        raise InputError(
            "cmi is run from a folder and not installed: pip install -e . says what its parts need"
        ) from error
    for extra, purpose in PARTS.items():
        yield Part(extra, purpose, sorted(set(find_missing(extra, stated))))


def find_missing(extra: str, stated: list[Requirement]) -> Iterator[str]:
    """Return the unmet requirements of an extra and of the extras that it includes."""
    for requirement in stated:
        if requirement.marker is None or not requirement.marker.evaluate({"extra": extra}):
            continue
        if requirement.name == "cmi":
            for included in requirement.extras:
                yield from find_missing(included, stated)
        elif not _is_met(requirement):
            yield f"{requirement.name}{requirement.specifier}"


def _is_met(requirement: Requirement) -> bool:
    try:
        return requirement.specifier.contains(metadata.version(requirement.name), prereleases=True)
    except metadata.PackageNotFoundError:
        return False


def _machine() -> dict[str, str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found = {
        "cmi": __version__,
        "Python": f"{platform.python_version()} ({sys.executable})",
        "system": platform.platform(),
        "cores": str(cores),
    }
    return found | _device()


def _device() -> dict[str, str]:
    if find_spec("torch") is None:
        return {"torch": "not installed"}
    import torch

    if not torch.cuda.is_available():
        build = f"built for CUDA {torch.version.cuda}, no GPU is usable" if torch.version.cuda else "CPU"
        return {"torch": f"{torch.__version__} ({build})"}
    about = torch.cuda.get_device_properties(0)
    gpus = f"{torch.cuda.device_count()} x {about.name}, {numbers.file_size(about.total_memory)}"
    return {"torch": f"{torch.__version__} (CUDA {torch.version.cuda})", "GPU": gpus}


def _places() -> dict[str, str]:
    folder = cache_folder()
    data = Path(os.environ.get("CMI_DATA") or folder / "data").expanduser()
    wordnet = Path("/usr/share/wordnet/data.noun").exists()
    return {
        "cache": _place(folder, "CMI_CACHE"),
        "data sets": _place(data, "CMI_DATA"),
        "WordNet": "found" if wordnet else "not found: METEOR needs it (apt-get install wordnet-base)",
    }


def _place(folder: Path, variable: str) -> str:
    """Return a folder with its size and the free space."""
    existing = next((parent for parent in (folder, *folder.parents) if parent.exists()), None)
    if existing is None or not os.access(existing, os.W_OK):
        return f"{folder}: cannot be written; set {variable} to a folder that can"
    held = sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0
    return f"{folder}: {numbers.file_size(held)}, {numbers.file_size(shutil.disk_usage(existing).free)} free"


def _weights() -> dict[str, str]:
    nano = Path(__file__).parent / "reward" / "model" / "weights" / "nano"
    heard = cache_folder() / MUSICNN
    return {
        "nano": "in the package" if nano.is_dir() else "missing from the package: install cmi again",
        "musicnn, for nano": "downloaded"
        if heard.exists()
        else "28 MB, downloaded from the package registry on first use",
        "CMI-RM": _published(),
    }


def _published() -> str:
    try:
        from cmi.reward.model.reward_model import PUBLISHED, default_model
    except ImportError:
        return "needs the reward extra"
    if default_model() == PUBLISHED:
        return f"{PUBLISHED} is on disk, and the default of cmi score"
    return f"not on disk: cmi score --model cmi-rm downloads {PUBLISHED}"


def doctor_tables(found: Diagnosis) -> list[Table]:
    rows = [[part.extra, part.purpose, _state(part)] for part in found.parts]
    absent = [part.extra for part in found.parts if part.missing]
    how = f"pip install 'cmi[{','.join(absent)}]' installs all that is missing; install torch first (README)."
    return [
        Table("This machine", ["what", "found"], list(found.machine.items()), labels=2),
        Table("Parts of cmi", ["extra", "for", "state"], rows, labels=3, notes=[how] if absent else []),
        Table("Folders and tools", ["what", "found"], list(found.places.items()), labels=2),
        Table("Weights", ["what", "found"], list(found.weights.items()), labels=2),
    ]


def _state(part: Part) -> str:
    return f"missing: {', '.join(part.missing)}" if part.missing else "installed"


def doctor_record(found: Diagnosis) -> dict[str, Any]:
    return {**found._asdict(), "parts": [part._asdict() for part in found.parts]}

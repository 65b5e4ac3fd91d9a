"""Stand-ins for the repositories of models: the functions that workers call, with their parameters."""

import json
import os
import shutil
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RECIPES = HERE.parents[1] / "recipes"
PACKAGES = HERE / "packages"
FOLDERS = {path.parent.name: path.parents[1] for path in sorted(RECIPES.glob("*/*/worker.py"))}  # by worker
LORA = {  # where a repository has its changed libraries: its folder, and transformers in it
    "ltu": ("src/ltu", "hf-dev/transformers-main"),
    "ltu_as": ("src/ltu_as", "hf-dev/transformers-main"),
    "gama": ("", "hf-dev-train/transformers-main"),
}


def make_clone(system: str, clone: Path) -> Path:
    """Copy the stand-in for a worker's repository to a folder."""
    stand_ins = HERE / FOLDERS[system].name / "stand_ins"
    clone.mkdir(parents=True, exist_ok=True)
    if (stand_ins / system).exists():
        shutil.copytree(stand_ins / system, clone, dirs_exist_ok=True)
    if system in LORA:
        folder, transformers = LORA[system]
        places = {"transformers": f"{transformers}/src/transformers", "peft": "peft-main/src/peft"}
        for name in ("transformers", "peft", "utils", "templates"):
            shutil.copytree(stand_ins / "lora" / name, clone / folder / places.get(name, name), dirs_exist_ok=True)
    return clone


def use_packages(monkeypatch: pytest.MonkeyPatch, log: Path) -> None:
    """Let workers import the stand-ins for installed packages, and log what stand-ins are given."""
    monkeypatch.setenv("PYTHONPATH", str(PACKAGES))
    monkeypatch.setenv("STAND_IN_LOG", str(log))


def read_log(log: Path, function: str) -> list[dict]:
    """Return what a function of a stand-in was given, call by call."""
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    return [call for call in calls if call["function"] == function]


def find_clone(repository: str) -> Path:
    """Return a clone of a repository in the folder $CMI_CLONES, or skip the test."""
    clone = Path(os.environ.get("CMI_CLONES", "/nowhere")) / repository.partition("/")[2]
    if not clone.is_dir():
        pytest.skip(f"{repository} could not be fetched: name a folder with a clone of it in CMI_CLONES")
    return clone

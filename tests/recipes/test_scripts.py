"""Every script of the recipes can be imported, and those with arguments tell how they are used."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
SCRIPTS = sorted([*RECIPES.glob("*.py"), *RECIPES.glob("*/*.py")])


def test_no_two_recipes_have_a_module_of_the_same_name():
    names = [path.stem for path in SCRIPTS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_script_is_imported(script):
    importlib.import_module(script.stem)


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    ["ablations/make_labels.py", "arena/screening.py", "nano/train_nano.py", "tags/make_bank.py", "tutorial/vote.py"],
)
def test_the_documented_command_has_help(script):
    shown = subprocess.run([sys.executable, RECIPES / script, "--help"], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert "--help" in shown.stdout


def test_every_recipe_is_described():
    for folder in {path.parent for path in SCRIPTS} - {RECIPES}:
        text = (folder / "README.md").read_text(encoding="utf-8")
        assert f"python recipes/{folder.name}/" in text

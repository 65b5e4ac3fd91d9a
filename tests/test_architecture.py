"""The house rules that no linter knows: no import cycles between packages, unique class names, a light `import cmi`."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import cmi

SOURCE = Path(cmi.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


def package_of(module: str) -> str:
    """The package or module directly below cmi: 'cmi.reward.model.head' is of 'reward'."""
    return module.split(".")[1] if "." in module else ""


def imports_when_loaded(path: Path) -> set[str]:
    """Modules of cmi that a file imports at its top level, which is when cycles matter."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cmi."):
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("cmi.")}
    return found


def test_packages_do_not_import_each_other_in_a_circle():
    needs: defaultdict[str, set[str]] = defaultdict(set)
    for path in FILES:
        own = package_of(".".join(["cmi", *path.relative_to(SOURCE).with_suffix("").parts]))
        needs[own] |= {package_of(module) for module in imports_when_loaded(path)} - {own}
    TopologicalSorter(needs).prepare()  # CycleError names the circle


def test_no_part_of_the_arena_imports_one_above_it():
    layers = ["store", "statistics", "audio", "exchange", "web"]
    for place, layer in enumerate(layers):
        for path in (SOURCE / "arena" / layer).rglob("*.py"):
            parts = {module.split(".")[2] for module in imports_when_loaded(path) if module.startswith("cmi.arena.")}
            assert parts <= set(layers[: place + 1]), path


def test_every_class_name_is_defined_once():
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(SOURCE)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_importing_cmi_loads_nothing_heavy():
    code = "import sys, cmi; print(*sorted({'torch', 'numpy', 'transformers', 'rich', 'typer'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_no_file_needs_a_table_of_contents():
    longest = {str(path.relative_to(SOURCE)): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: lines for name, lines in longest.items() if lines > 430} == {}


@pytest.mark.parametrize(
    "path", re.findall(r"`([a-z_/]+(?:/|\.py|/[a-z_-]+\.toml))`", PAGE.read_text(encoding="utf-8"))
)
def test_the_page_names_files_that_exist(path: str):
    assert (SOURCE / path).exists() or (SOURCE.parents[1] / path).exists()

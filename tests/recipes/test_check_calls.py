"""The calls of the workers fit the definitions of the stand-ins, and every kind of misfit is found."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from check_calls import check_calls, compare_signatures, find_signature, read_tables, read_worker

from .stand_ins import FOLDERS, RECIPES, find_clone, make_clone

TABLES = {system: read_tables(folder)[system] for system, folder in FOLDERS.items()}
KNOWN = {"calls": {"f": "m.py:f", "a.g": "m.py:A.g"}}
MODULE = """
def f(x, y=1, *, z): pass
class A:
    def g(self, x, **more): pass
    @staticmethod
    def h(x): pass
"""


def read_source(system: str) -> str:
    return read_worker(FOLDERS[system], system)


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("clones")
    return {system: make_clone(system, folder / system) for system in FOLDERS}


@pytest.mark.parametrize("system", TABLES)
def test_the_calls_of_a_worker_fit(clones, system):
    assert check_calls(read_source(system), TABLES[system], clones[system]) == []


@pytest.mark.parametrize("system", TABLES)
def test_a_stand_in_has_the_parameters_of_the_repository(clones, system):
    repository = find_clone(TABLES[system]["repository"])
    assert check_calls(read_source(system), TABLES[system], repository) == []
    assert compare_signatures(TABLES[system], repository, clones[system]) == []


@pytest.mark.parametrize("system", TABLES)
def test_every_keyword_that_is_misspelt_is_found(clones, system):
    """Those that go into **kwargs are left out."""
    source, table, keywords = read_source(system), TABLES[system], set()
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and (places := table.get("calls", {}).get(ast.unparse(call.func))):
            place = places if isinstance(places, str) else places[0]
            signature = find_signature(clones[system], place)
            if signature and not signature.takes_keywords:
                keywords |= {keyword.arg for keyword in call.keywords if keyword.arg}
    for keyword in keywords:
        misspelt = re.sub(rf"\b{keyword}=(?!=)", f"{keyword}_x=", source)
        problems = check_calls(misspelt, table, clones[system])
        assert any(f"no parameter '{keyword}_x'" in problem for problem in problems)


@pytest.mark.parametrize(
    ("calls", "problem"),
    [
        ("f(1, z=2)", None),
        ("f(*some, **more)", None),
        ("f(1)", "'z' is missing"),
        ("f(y=1, z=2)", "'x' is missing"),
        ("f(1, 2, 3, z=4)", "3 arguments without a name, 2 are taken"),
        ("f(1, x=1, z=2)", "'x' is given twice"),
        ("f(1, z=2, w=3)", "no parameter 'w'"),
        ("a.g(1, anything=2)", None),
        ("a.g()", "'x' is missing"),
    ],
)
def test_a_call_is_compared_with_its_definition(tmp_path, calls, problem):
    (tmp_path / "m.py").write_text(MODULE)
    name = calls.partition("(")[0]
    problems = check_calls(calls, {"calls": {name: KNOWN["calls"][name]}}, tmp_path)
    assert problems == ([] if problem is None else [f"line 1: {name}: {problem}"])


def test_what_is_missing_on_either_side_is_found(tmp_path):
    (tmp_path / "m.py").write_text(MODULE)
    worker = "def load():\n    from m import f, k\n    from torch import tensor\n    k(1)\n    tensor(1)\n"
    assert check_calls(worker, {"calls": {"f": "m.py:nothing", "q": "none.py:f"}}, tmp_path) == [
        "line 4: k is not in calls.toml",
        "f is in calls.toml, and the worker does not call it",
        f"m.py:nothing is not defined in {tmp_path}",
        "q is in calls.toml, and the worker does not call it",
        f"none.py:f is not defined in {tmp_path}",
    ]


def test_static_methods_have_no_self(tmp_path):
    (tmp_path / "m.py").write_text(MODULE)
    assert find_signature(tmp_path, "m.py:A.h").positional == ("x",)


def test_a_dataclass_has_the_fields_of_the_class_that_it_extends(tmp_path):
    (tmp_path / "m.py").write_text("class A:\n    x: int\nclass B(A):\n    y: int = 1\n")
    table = {"calls": {"B": "m.py:B + m.py:A"}}
    assert check_calls("B(x=1, y=2)", table, tmp_path) == []
    assert check_calls("B(y=2)", table, tmp_path) == ["line 1: B: 'x' is missing"]
    assert find_signature(tmp_path, "m.py:B + m.py:C") is None


def test_installed_packages_are_not_of_the_model(tmp_path):
    worker = "def load():\n    from transformers import f\n    f()\n"
    assert check_calls(worker, {"packages": ["transformers"]}, tmp_path) == []
    assert check_calls(worker, {}, tmp_path) == ["line 3: f is not in calls.toml"]


def test_options_of_a_script_are_compared(clones):
    worker = read_source("yue").replace("--run_n_segments", "--segments")
    script = clones["yue"] / "inference" / "infer.py"
    assert check_calls(worker, TABLES["yue"], clones["yue"]) == [f"{script} has no option --segments"]


def test_other_parameters_in_another_folder_are_found(tmp_path):
    (tmp_path / "m.py").write_text(MODULE.replace("y=1", "y"))
    other = tmp_path / "other"
    other.mkdir()
    (other / "m.py").write_text(MODULE)
    (problem,) = compare_signatures(KNOWN, tmp_path, other)
    assert problem.startswith("m.py:f: ")


@pytest.mark.slow
def test_the_command_says_what_fits_and_what_does_not(clones, tmp_path):
    def run(clone: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(RECIPES / "check_calls.py"), "songgen", str(clone)]
        return subprocess.run(command, capture_output=True, text=True)

    assert run(clones["songgen"]).stdout == "songgen: 5 functions and the options of 0 scripts fit\n"
    assert run(tmp_path).returncode == 1


@pytest.mark.parametrize("folder", sorted(set(FOLDERS.values())), ids=lambda folder: folder.name)
def test_the_folders_and_the_table_of_systems_are_the_same(folder):
    """Each system has a worker, an environment file and a row in the README, all for the same repository and commit."""
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert {path.parent.name for path in folder.glob("*/worker.py")} == set(read_tables(folder))
    for system, table in read_tables(folder).items():
        found = re.search(r'^COMMIT = "([0-9a-f]{40})"$', read_source(system), re.MULTILINE)
        assert found
        place = f"https://github.com/{table['repository']} at {found[1]}"
        assert place in (folder / system / "requirements.txt").read_text(encoding="utf-8")
        assert f"https://github.com/{table['repository']}/tree/{found[1]}" in readme

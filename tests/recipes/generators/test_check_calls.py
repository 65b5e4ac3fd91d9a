"""The calls of the workers fit the definitions of the stand-ins, and every kind of misfit is found."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from check_calls import check_calls, compare_signatures, find_signature

HERE = Path(__file__).parent
RECIPES = HERE.parents[2] / "recipes" / "generators"
STAND_INS = HERE / "stand_ins"
TABLES = tomllib.loads((RECIPES / "calls.toml").read_text())
KNOWN = {"calls": {"f": "m.py:f", "a.g": "m.py:A.g"}}
MODULE = """
def f(x, y=1, *, z): pass
class A:
    def g(self, x, **more): pass
    @staticmethod
    def h(x): pass
"""


def read_worker(system: str) -> str:
    return (RECIPES / system / "worker.py").read_text()


@pytest.mark.parametrize("system", TABLES)
def test_the_calls_of_a_worker_fit(system):
    assert check_calls(read_worker(system), TABLES[system], STAND_INS / system) == []


def _keywords() -> list[tuple[str, str]]:
    """Every keyword that a worker gives to its model's code and that does not go into **kwargs."""
    found = []
    for system, table in TABLES.items():
        for call in ast.walk(ast.parse(read_worker(system))):
            if isinstance(call, ast.Call) and (places := table.get("calls", {}).get(ast.unparse(call.func))):
                place = places if isinstance(places, str) else places[0]
                signature = find_signature(STAND_INS / system, place)
                if signature and not signature.takes_keywords:
                    found += [(system, keyword.arg) for keyword in call.keywords if keyword.arg]
    return sorted(set(found))


@pytest.mark.parametrize(("system", "keyword"), _keywords())
def test_a_keyword_that_is_misspelt_is_found(system, keyword):
    worker = re.sub(rf"\b{keyword}=(?!=)", f"{keyword}_x=", read_worker(system))
    problems = check_calls(worker, TABLES[system], STAND_INS / system)
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


def test_options_of_a_script_are_compared():
    worker = read_worker("yue").replace("--run_n_segments", "--segments")
    script = STAND_INS / "yue" / "inference" / "infer.py"
    assert check_calls(worker, TABLES["yue"], STAND_INS / "yue") == [f"{script} has no option --segments"]


def test_other_parameters_in_another_folder_are_found(tmp_path):
    (tmp_path / "m.py").write_text(MODULE.replace("y=1", "y"))
    other = tmp_path / "other"
    other.mkdir()
    (other / "m.py").write_text(MODULE)
    (problem,) = compare_signatures(KNOWN, tmp_path, other)
    assert problem.startswith("m.py:f: ")


@pytest.mark.slow
def test_the_command_says_what_fits_and_what_does_not(tmp_path):
    def run(clone: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(RECIPES / "check_calls.py"), "songgen", str(clone)]
        return subprocess.run(command, capture_output=True, text=True)

    assert run(STAND_INS / "songgen").stdout == "songgen: 5 functions and the options of 0 scripts fit\n"
    assert run(tmp_path).returncode == 1


def test_the_folders_and_the_table_of_systems_are_the_same():
    """Each system has a worker, an environment file and a row in the README, all for the same repository and commit."""
    readme = (RECIPES / "README.md").read_text(encoding="utf-8")
    assert {path.parent.name for path in RECIPES.glob("*/worker.py")} == set(TABLES)
    for system, table in TABLES.items():
        found = re.search(r'^COMMIT = "([0-9a-f]{40})"$', read_worker(system), re.MULTILINE)
        assert found
        place = f"https://github.com/{table['repository']} at {found[1]}"
        assert place in (RECIPES / system / "requirements.txt").read_text(encoding="utf-8")
        assert f"https://github.com/{table['repository']}/tree/{found[1]}" in readme

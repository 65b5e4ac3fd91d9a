"""Classes of the user's that raise, or give what was not asked for: one sentence that names class, file and line."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import soundfile

from cmi.bench.instruction import Instruction
from cmi.cli import main

MODULE = """
import helper_of_mine
from cmi.judge.verdict import Opinion, Verdict
from cmi.take import Score

class Raises:
    def score(self, takes):
        return [1 / 0 for take in takes]
    def judge(self, pairs):
        return {}["missing"]
    def answer(self, questions):
        assert False, "not \\x1b[31myet"

class RaisesLater:
    def judge(self, pairs):
        if any(pair.prompt.text == "p2" for pair in pairs):
            raise TypeError("p2 is too hard")
        return [Verdict({"musicality": Opinion("both")}) for pair in pairs]

class Generates:
    def judge(self, pairs):
        for pair in pairs:
            yield Verdict({"musicality": Opinion("a", 1, float("nan"))})
    def score(self, takes):
        yield Score(1.0, float("nan"))
        yield Score(1.0, 1.0)
        raise KeyError("third")

class GivesNothing:
    def score(self, takes): ...
    def judge(self, pairs): ...
    def answer(self, questions): ...

class Odd:
    batch = "many"
    def score(self, takes):
        return ["good"] * len(takes)
    def judge(self, pairs):
        return [Verdict({"musicality": Opinion("first")}) for pair in pairs]
    def answer(self, questions):
        return ["a"]

class CannotStart:
    def __init__(self):
        raise OSError(2, "no weights here")

class Leaves:
    def __init__(self):
        raise SystemExit(0)

class Uses:
    def score(self, takes):
        import soundfile
        return [Score(soundfile.info(take.audio).duration, 0.0) for take in takes]
    def judge(self, pairs):
        return [Verdict({"musicality": Opinion("both")}) for pair in pairs]
    def answer(self, questions):
        return ["C minor" for question in questions]
"""

LINES = {
    name: next(number for number, line in enumerate(MODULE.splitlines(), 1) if text in line)
    for name, text in {
        "return_missing": '{}["missing"]',
        "return_zero": "1 / 0",
        "assert_false": "assert False",
        "raise_third": 'KeyError("third")',
        "raise_oserror": "OSError(2",
        "raise_exit": "SystemExit(0)",
    }.items()
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with classes, three pairs, a take, questions, and files named like packages that must not be run."""
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "helper_of_mine.py").write_text("")
    (tmp_path / "broken.py").write_text("class Mine:\n    def judge(self, pairs)\n        pass\n")
    (tmp_path / "stops.py").write_text("import sys\nsys.exit('bye')\nclass Mine: ...\n")
    for name in ("soundfile", "soxr", "rich", "numpy", "yaml", "cmi"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'was_run')!r}, 'w').close()\nraise SystemExit(7)\n")
    for name in "ab":
        soundfile.write(tmp_path / f"{name}.wav", 0.1 * np.ones(16_000), 16_000)
    rows = [{"id": f"p{i}", "text": f"p{i}", "a": "a.wav", "b": "b.wav"} for i in (1, 2, 3)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    record = Instruction("Which?", "C minor", "a.wav", 0.0, 1.0).to_record()
    (tmp_path / "CMI_GS_key.jsonl").write_text(json.dumps(record) + "\n")
    return tmp_path


def command(kind: str, name: str) -> list[str]:
    return {
        "judge": ["judge", "label", "pairs.jsonl", "--model", name, "--out", "out"],
        "score": ["score", "a.wav", "b.wav", "--model", name],
        "bench": ["bench", "run", "--listener", name, "--data", ".", "--out", "out"],
    }[kind]


def run(place: Path, kind: str, name: str, **more: str) -> subprocess.CompletedProcess[str]:
    """As the `cmi` program runs, which does not have the current folder on its path."""
    words = [sys.executable, "-P", "-m", "cmi", *command(kind, name)]
    environment = os.environ | {"CMI_CACHE": str(place / "cache")} | more
    return subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=120, env=environment, check=False)


@pytest.fixture
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same in this process: modules that are imported from the folder are forgotten again."""
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("mine", "helper_of_mine"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.delitem(sys.modules, name)
    return place


@pytest.mark.parametrize(
    ("kind", "name", "sentence"),
    [
        ("judge", "mine:Raises", "mine:Raises failed in {file} line {return_missing}: KeyError: 'missing'"),
        (
            "score",
            "mine:Raises",
            "mine:Raises failed in {file} line {return_zero}: ZeroDivisionError: division by zero",
        ),
        ("bench", "mine:Raises", r"mine:Raises failed in {file} line {assert_false}: AssertionError: not \x1b[31myet"),
        ("judge", "mine:Generates", "gave a Verdict with marks 1 and nan on musicality, expected finite numbers"),
        ("score", "mine:Generates", "mine:Generates failed in {file} line {raise_third}: KeyError: 'third'"),
        ("judge", "mine:GivesNothing", "gave NoneType, expected a list with a Verdict for each pair"),
        ("score", "mine:GivesNothing", "gave NoneType, expected a list with a score for each take"),
        ("bench", "mine:GivesNothing", "the listener gave NoneType, expected a text for each question"),
        ("judge", "mine:Odd", "Opinion(choice='first'"),
        ("score", "mine:Odd", "gave str 'good' for a take, expected a cmi.take.Score"),
        ("bench", "mine:Odd", "the listener's batch is 'many'"),
        ("judge", "mine:CannotStart", "mine:CannotStart failed in {file} line {raise_oserror}: FileNotFoundError"),
        ("bench", "mine:Leaves", "mine:Leaves failed in {file} line {raise_exit}: SystemExit: 0"),
        ("judge", "broken:Mine", "module 'broken' failed in {folder}/broken.py line 2: SyntaxError"),
        ("score", "stops:Mine", "module 'stops' failed in {folder}/stops.py line 2: SystemExit: bye"),
        ("bench", "nowhere:Mine", "no module 'nowhere' in {folder}"),
    ],
)
def test_a_class_that_fails_is_named_with_its_line(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    name: str,
    sentence: str,
):
    monkeypatch.setattr(sys, "argv", ["cmi", *command(kind, name)])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert ended.value.code == 2
    assert sentence.format(file=here / "mine.py", folder=here, **LINES) in " ".join((out + err).split())
    assert "Traceback" not in err and "\x1b" not in out + err


def test_what_was_judged_before_an_exception_is_kept(place: Path):
    done = run(place, "judge", "mine:RaisesLater")
    assert done.returncode == 0
    assert "p2 is too hard" in done.stdout and "mine:RaisesLater failed in" in done.stdout
    assert len((place / "out" / "preferences.jsonl").read_text().splitlines()) == 2


def test_the_traceback_is_there_for_those_who_ask(place: Path):
    done = run(place, "judge", "mine:Raises", CMI_TRACEBACK="1")
    assert done.returncode == 2 and 'return {}["missing"]' in done.stderr


@pytest.mark.parametrize("kind", ["score", "judge", "bench"])
def test_a_file_named_like_a_package_does_not_stand_in_for_it(place: Path, kind: str):
    done = run(place, kind, "mine:Uses")
    assert done.returncode == 0, done.stderr
    assert not (place / "was_run").exists()

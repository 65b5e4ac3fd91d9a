"""`cmi doctor`: its list of parts is the project's, and what is missing is named with the line that installs it."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from cmi.doctor import MUSICNN, PARTS, Diagnosis, Part, diagnose, doctor_tables, find_missing
from cmi.reward.model.encoders.musicnn import WHEEL

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_extra_is_listed():
    assert set(PARTS) == set(PROJECT["optional-dependencies"]) - {"test", "dev", "docs"}


def test_the_wheel_that_is_looked_for_is_the_one_that_is_downloaded():
    assert WHEEL.file_name == MUSICNN


def test_what_is_missing_too_old_or_included_is_named():
    stated = [
        'numpy>=2.0; extra == "a"',
        'no-such-package>=3; extra == "a"',
        'numpy>=999; extra == "b"',
        'cmi[a,b]; extra == "c"',
        'no-such-package-either; sys_platform == "elsewhere" and extra == "a"',
        "rich>=999",
    ]
    missing = [sorted(find_missing(extra, list(map(Requirement, stated)))) for extra in "abc"]
    assert missing == [["no-such-package>=3"], ["numpy>=999"], ["no-such-package>=3", "numpy>=999"]]


def test_the_line_installs_what_is_missing():
    found = Diagnosis({}, [Part("reward", "score", []), Part("ray", "more", ["ray>=2.40"])], {}, {})
    parts = doctor_tables(found)[1]
    assert [row[2] for row in parts.rows] == ["installed", "missing: ray>=2.40"]
    assert parts.notes[0].startswith("pip install 'cmi[ray]'")


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CMI_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "set CMI_CACHE" in diagnose().places["cache"]


def test_the_doctor_works_without_torch(tmp_path: Path):
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('torch', name='torch')")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from cmi.doctor import _weights; print(_weights())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'CMI-RM': 'needs the reward extra'" in done.stdout


def test_the_command_prints_tables_or_json():
    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "cmi", "doctor", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "Parts of cmi" in run()
    record = json.loads(run("--json"))
    assert {part["extra"] for part in record["parts"]} == set(PARTS)
    assert record["weights"]["nano"] == "in the package"

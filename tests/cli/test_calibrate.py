"""`cmi calibrate` and `cmi drift`: bad input gets one sentence and exit code 2."""

import pytest
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.cli import app


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("calibrate", "nowhere", "--out", "x.json"), "no such file or folder"),
        (("calibrate", ".", "--out", "x.json"), "no items.jsonl"),
        (("calibrate", ".", "--out", "x.yaml"), "ends in .json"),
        (("drift", "nowhere"), "no such file or folder"),
        (("drift", ".", "--until", "march"), "expected a month such as 2026-03"),
        (("drift", ".", "--until", "2026-03", "--expect", "70"), "not both"),
        (("drift", ".", "--expect", "0.7e9"), "between 0 and 100"),
        (("score", "x.wav", "--calibration", "nowhere.json"), "No such file"),
        (("train", "nowhere/"), "expected a YAML file"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=said):
        run(*arguments)

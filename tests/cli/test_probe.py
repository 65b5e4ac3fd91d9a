"""`cmi probe` as a user meets it: their own class and a folder of recordings."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import soundfile

OWN = """
import numpy as np
import soundfile
from cmi.take import Score

class Loudness:
    def score(self, takes):
        return [Score(np.abs(soundfile.read(take.audio)[0]).mean(), 0) for take in takes]

class Broken:
    def score(self, takes):
        return [Score(float("nan"), 0) for _ in takes]
"""


@pytest.fixture
def run(tmp_path):
    """`cmi probe` run to its end in a folder with own_scorers.py and three recordings in songs/."""
    (tmp_path / "own_scorers.py").write_text(OWN)
    (tmp_path / "songs").mkdir()
    for i in range(3):
        noise = np.random.default_rng(i).standard_normal((26_000, 2)) * np.sin(np.arange(26_000) / 4_000)[:, None] ** 2
        soundfile.write(tmp_path / "songs" / f"{i}.wav", noise * 0.1 / (1 + i), 22_050)

    def run(*arguments):
        command = [sys.executable, "-m", "cmi", "probe", *map(str, arguments)]
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "200"}
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=200)

    return run


def test_a_class_of_the_users_is_probed_with_their_recordings(run, tmp_path):
    shown = run("own_scorers:Loudness", "--audio", "songs", "--plot", "probe.svg", "--html", "out/probe.html")
    assert shown.returncode == 0, shown.stderr  # though probes fail
    assert "FAIL" in shown.stdout
    assert "pass" in shown.stdout
    assert "216 takes scored: 3 recordings, 20 s, seed 0." in shown.stdout
    assert "own_scorers:Loudness@" in shown.stdout
    assert "<svg" in (tmp_path / "probe.svg").read_text()[:2000]
    page = (tmp_path / "out" / "probe.html").read_text("utf-8")
    assert all(f'<th scope="row">{flaw}<small>' in page for flaw in ("noise", "clipping", "dropouts"))


def test_the_report_for_machines_goes_by_the_users_bounds(run):
    shown = run("own_scorers:Loudness", "--audio", "songs", "--change-bound", 1e9, "--json")
    assert shown.returncode == 0, shown.stderr
    report = json.loads(shown.stdout)
    assert report["model"].startswith("own_scorers:Loudness@")
    assert report["takes"] == 216
    assert [change["passed"] for change in report["changes"]] == [True] * 8
    assert {fall["n"] for fall in report["falls"]} == {3}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere:Scorer",), "no module 'nowhere'"),
        (("own_scorers:Broken", "--audio", "songs"), "expected finite numbers"),
        (("own_scorers:Loudness", "--audio", "nowhere"), "nowhere: not a folder"),
        (("own_scorers:Loudness", "--plot", "probe.pdf"), "a picture is a file named .png or .svg"),
        (("own_scorers:Loudness", "--html", "probe.pdf"), "probe.pdf: expected a name that ends in .html"),
        (("own_scorers:Loudness", "--set", "songs", "--html", "probe.html"), "leave out --set"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(run, arguments, sentence):
    refused = run(*arguments)
    assert refused.returncode == 2
    said = refused.stderr.strip()
    assert said.startswith("cmi: ")
    assert sentence in said
    assert "\n" not in said
    assert refused.stdout == ""

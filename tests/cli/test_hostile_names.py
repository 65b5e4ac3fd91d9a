"""Names that are not UTF-8, hold terminal escapes or look like markup: shown as text, wherever they are shown."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

SCORER = """
from cmi.take import Score

class Flat:
    def score(self, takes):
        return [Score(float(len(take.audio.name)), 1.0) for take in takes]
"""
NAMES = [b"bad\xff.wav", b"esc\x1b[2J\x1b]0;x\x07.wav", b"[b]bold[red].wav", b"new\nline.wav", "é♪.wav".encode()]


def cmi(folder: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "cmi", *map(os.fsencode, map(str, arguments))],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        timeout=120,
    )


def is_plain(shown: bytes) -> bool:
    """Whether a terminal may be given this."""
    return all(byte >= 32 or byte == 10 for byte in shown)


@pytest.fixture
def takes(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(SCORER)
    for name in NAMES:
        path = tmp_path / "takes" / "p" / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            soundfile.write(file, np.random.default_rng(0).uniform(-0.3, 0.3, 8000), 8000, format="WAV")
    (tmp_path / "takes" / "p" / "prompt.txt").write_text("slow")
    return tmp_path


ENCODINGS = [{"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}]


@pytest.mark.parametrize("environment", ENCODINGS)
def test_score_shows_any_name(takes: Path, environment: dict[str, str]):
    files = sorted((takes / "takes" / "p").glob("*.wav"))
    shown = cmi(takes, "score", *files, "--model", "mine:Flat", "--log", "log.jsonl", **environment)
    assert shown.returncode == 0, shown.stderr
    assert is_plain(shown.stdout) and is_plain(shown.stderr)
    assert rb"bad\udcff.wav" in shown.stdout
    assert b"[b]bold[red].wav" in shown.stdout
    assert rb"esc\x1b[2J" in shown.stdout
    again = cmi(takes, "score", *files, "--model", "mine:Flat", "--log", "log.jsonl", "--json", **environment)
    assert again.returncode == 0, again.stderr
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    found = [json.loads(line) for line in again.stdout.decode(encoding).splitlines()]
    assert [record["audio"] for record in found] == [str(file) for file in files]


@pytest.mark.parametrize("environment", ENCODINGS[1:3])
def test_pick_and_the_benchmark_take_any_name(takes: Path, environment: dict[str, str]):
    picked = cmi(
        takes, "pick", "takes", "--model", "mine:Flat", "--log", "log.jsonl", "--copy-to", "best", **environment
    )
    assert picked.returncode == 0, picked.stderr
    assert is_plain(picked.stdout) and len(list((takes / "best").iterdir())) == 1
    shown = cmi(takes, "pick", "takes", "--model", "mine:Flat", "--log", "log.jsonl", "--json", **environment)
    assert len(json.loads(shown.stdout)["picks"][0]["ranking"]) == len(NAMES)
    names = [f"takes/p/{os.fsdecode(name)}" for name in NAMES]
    rows = [
        {"a": a, "b": b, "text": "[/b]\x1b[2J", "axis": "musicality", "choice": "a"}
        for a, b in zip(names, [*names[1:], "takes/p/gone[/b]\x1b.wav"], strict=True)
    ]
    (takes / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = cmi(takes, "rewardbench", "run", "--model", "mine:Flat", "--data", "p.jsonl", "--out", "run", **environment)
    assert run.returncode == 0, run.stderr
    assert is_plain(run.stdout) and is_plain(run.stderr)
    for form in ("table", "markdown", "latex", "csv", "json"):
        table = cmi(takes, "rewardbench", "table", "run", "--format", form, "-o", f"t.{form}", **environment)
        assert table.returncode == 0, table.stderr
        assert is_plain((takes / f"t.{form}").read_bytes())


@pytest.mark.parametrize("environment", ENCODINGS[1:3])
def test_the_pages_of_a_report_and_of_picks_link_to_any_name(takes: Path, environment: dict[str, str]):
    for command in (["report", "takes", "--out", "page.html"], ["pick", "takes", "--html", "page.html"]):
        shown = cmi(takes, *command, "--model", "mine:Flat", **environment)
        assert shown.returncode == 0, shown.stderr
        assert is_plain(shown.stdout) and is_plain(shown.stderr)
        page = (takes / "page.html").read_text()
        assert 'src="takes/p/bad%FF.wav"' in page
        assert 'src="takes/p/new%0Aline.wav"' in page


def test_the_arena_refuses_what_a_database_cannot_keep(takes: Path):
    said = cmi(takes, "arena", "import", "takes", "--project", "Study")
    assert said.returncode == 2 and is_plain(said.stderr) and said.stderr.count(b"\n") == 1
    assert rb"bad\udcff" in said.stderr and b"not UTF-8" in said.stderr


def test_a_bad_name_in_a_sentence_is_one_line(takes: Path):
    said = cmi(takes, "score", os.fsdecode(b"no\xff\x1b[2J\nthing.wav"), "--model", "mine:Nothing")
    assert said.returncode == 2 and is_plain(said.stderr) and said.stderr.count(b"\n") == 1
    said = cmi(takes, "score", "--manifest", os.fsdecode(b"no\xff\x1b[2J\nthing.csv"), "--model", "mine:Flat")
    assert said.returncode == 2 and is_plain(said.stderr) and said.stderr.count(b"\n") == 1
    assert said.stderr.startswith(rb"cmi: no\udcff\x1b[2J thing.csv: No such file")

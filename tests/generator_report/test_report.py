"""`cmi report` as a user meets it: the page, its numbers, and what it does with hostile names and broken files."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.cli import app

RATE = 8000
OWN = """
import numpy as np
import soundfile
from cmi.take import Score

class Level:
    '''Musicality is the level; alignment is high if the prompt names the file's own folder.'''
    def score(self, takes):
        return [
            Score(float(np.abs(soundfile.read(t.audio)[0]).mean()), float(t.audio.parent.name in t.prompt.text))
            for t in takes
        ]
"""


def noises(*seed: int) -> np.ndarray:
    """Ten half seconds of noise, each of its own level and colour, and an end that fades."""
    rng = np.random.default_rng(seed)
    parts = [
        np.convolve(rng.normal(size=RATE // 2), rng.normal(size=8), "same") * rng.uniform(0.1, 0.4) for _ in range(10)
    ]
    return np.concatenate(parts) * np.minimum(1, np.linspace(5, 0, 5 * RATE))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`cmi report` beside loud/ and soft/, twelve prompts with two takes each, and a scorer."""
    (tmp_path / "own_level.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for generator, level in (("soft", 0.05), ("loud", 0.2)):
        for number in range(12):
            folder = tmp_path / generator / f"p{number:02}"
            folder.mkdir(parents=True)
            (folder / "prompt.txt").write_text(f"a piece called p{number:02} <script>alert(1)</script>")
            for i in range(2):
                soundfile.write(folder / f"{i}.wav", level * noises(number, i), RATE)

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["report", *arguments, "--model", "own_level:Level"])

    return run


def test_generators_are_ranked_with_intervals_and_the_page_has_every_take(run: Callable[..., Any], tmp_path: Path):
    done = run("soft", "--against", "loud", "--out", "out/page.html", "--json")
    assert done.exit_code == 0, done.output
    record = json.loads(done.stdout)
    assert record == json.loads((tmp_path / "out" / "page.json").read_text())
    assert [one["name"] for one in record["generators"]] == ["loud", "soft"]
    best = record["generators"][0]
    assert (best["prompts"], best["takes"]) == (12, 24)
    assert best["musicality"]["low"] < best["musicality"]["mean"] < best["musicality"]["high"]
    assert best["own_prompt"]["mean"] == 1.0
    page = (tmp_path / "out" / "page.html").read_text()
    assert page.count("<audio") == 48
    sources = re.findall(r'<audio[^>]* src="([^"]+)"', page)
    assert all((tmp_path / "out" / source).resolve().is_file() for source in sources)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_what_is_wrong_is_said_with_its_moment_and_copies_are_named(run: Callable[..., Any], tmp_path: Path):
    own = tmp_path / "loud" / "p00"
    sound, rate = soundfile.read(own / "0.wav")
    sound[2 * rate : 3 * rate] = 0
    soundfile.write(own / "0.wav", sound, rate)
    (own / "2.wav").write_bytes((own / "1.wav").read_bytes())
    (own / "3.wav").write_text("not a sound")
    done = run("loud", "--embed-audio")
    assert done.exit_code == 0, done.output
    generator = json.loads(Path("report.json").read_text())["generators"][0]
    gap = next(take for take in generator["each"] if (take["prompt"], take["take"]) == ("p00", "0.wav"))[
        "observations"
    ][0]
    assert gap["kind"] == "gap"
    assert gap["start"] == pytest.approx(2, abs=0.05)
    assert {(pair["a"], pair["b"]) for pair in generator["copies"]} == {("p00/1.wav", "p00/2.wav")}
    assert [row["take"] for row in generator["left_out"]] == ["p00/3.wav"]
    page = Path("report.html").read_text()
    assert "No sound from 0:02" in page
    assert page.count('src="data:audio/ogg;base64,') == 25


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "nowhere"),
        (["loud", "--out", "page.pdf"], "page.pdf: expected a name that ends in .html"),
        (["empty"], "empty"),
    ],
)
def test_bad_input_is_one_sentence(run: Callable[..., Any], arguments: list[str], sentence: str):
    Path("empty").mkdir()
    done = run(*arguments)
    assert isinstance(done.exception, InputError)
    assert sentence in str(done.exception)


def test_a_generator_without_a_take_that_can_be_heard_is_an_error(run: Callable[..., Any]):
    for path in Path("loud").rglob("*.wav"):
        path.write_text("not a sound")
    done = run("loud")
    assert isinstance(done.exception, InputError)
    assert "none of 24 takes could be heard" in str(done.exception)

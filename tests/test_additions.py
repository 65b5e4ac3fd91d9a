"""The table "To add something" of docs/architecture.md, done in a copy of the package: what a row names is enough.

The rows for a data set, a task and a metric of CMI-Bench are done in `tests/bench/data/test_registration.py`, that for
classes of one's own in `tests/cli`.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

import cmi

pytestmark = pytest.mark.slow
PACKAGE = Path(cmi.__file__).parent

BASELINE = '''
"""How loud a take is."""

from cmi.audio import load as load_audio
from cmi.reward.scoring.baselines import MUSICALITY, BaselineVariant
from cmi.reward.scoring.scorers import NamedScorer
from cmi.take import Score


class Loudness:
    def score(self, takes):
        return [Score(float(abs(load_audio(take.audio, 16_000).samples).mean()), 0.0) for take in takes]


SOURCES = ()
VARIANTS = {"loudness": BaselineVariant(MUSICALITY)}


def load(places, device):
    return NamedScorer("mean magnitude", Loudness())
'''
SYSTEM = '''
"""A tone as high as asked."""

import numpy as np

from cmi.generate import GeneratedSound


class Tone:
    version, accepts, licence = "1", ("text",), "CC0-1.0"

    def __init__(self, hertz=440):
        self.name, self.settings = f"tone-{hertz}", {"hertz": hertz}

    def generate(self, prompt, seed, seconds):
        wave = 0.3 * np.sin(2 * np.pi * self.settings["hertz"] * np.arange(16_000) / 8000)
        return GeneratedSound(wave[:, None].astype(np.float32), 8000)


SYSTEMS = {"tone": Tone}
'''
ENCODER = '''
"""Tokens of 0.1 s: functions of their level."""

import torch

from cmi.reward.model.encoders import FrozenEncoder


class Levels(FrozenEncoder):
    name, rate, chunk, shortest, longest_text, dim = "levels", 8000, 80_000, 800, 64, 32

    @classmethod
    def from_shapes(cls, shapes):
        return cls()

    def count(self, samples):
        return -(-samples // 800)

    def encode_sound(self, samples, lengths=None):
        padded = torch.nn.functional.pad(samples, (0, -samples.shape[1] % 800))
        return (padded.unfold(1, 800, 800).abs().mean(dim=2, keepdim=True) * torch.arange(32)).sin()

    def encode_text(self, ids, mask=None):
        return ids[:, :, None].expand(-1, -1, 32) / 256

    def load_tokenizer(self, folder):
        return lambda text: list(text.encode()) or [0]


ENCODER = Levels
'''
MAKE_CHECKPOINT = """
import torch
from pathlib import Path
from cmi.reward.model.encoders import make_encoder
from cmi.reward.model.head import HeadConfig, RewardHead
from cmi.reward.model.reward_model import RewardModel

torch.manual_seed(0)
head = RewardHead(HeadConfig(dim=32, heads=4, dim_head=8, ff_hidden=85, prompt_depth=1, joint_depth=1, mlp_dim=16))
RewardModel(make_encoder("levels", {}), head).save_pretrained("checkpoint")
"""
DATA_SET = '''
"""Tastings: two takes, and who won."""

from cmi._util.records import csv_records
from cmi.rewardbench.data import DataSet
from cmi.rewardbench.items import RatedItem, Vote
from cmi.take import Prompt

DATA_SET = DataSet("tastings", "Tastings", "ours", "our kitchen", split="all")


def rows(folder):
    for place, row in csv_records(folder / "votes.csv", ("a", "b", "winner")):
        takes = folder / row["a"], folder / row["b"]
        yield RatedItem(place, "tastings", Prompt("a song"), takes, votes={"musicality": Vote(row["winner"])})
'''
ROLE = """
name = "groove"
version = 1
scale = [1, 5]
[axes.musicality]
choice = "groove"
score_a = "a"
score_b = "b"
[texts]
system = "Which take grooves more?"
"""
FLAW = """

def faded(samples, rate, strength, rng):
    return samples * np.linspace(1, 1 - strength, len(samples), dtype=np.float32)[:, None]
"""
COMMAND = '''
"""`cmi greet`: a greeting."""


def greet(name: str) -> None:
    """Greet somebody.

    Example:

        cmi greet Clara
    """
    print(f"Hello, {name}.")
'''


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, in a folder of its own. Code and texts are copied; weights and the like are linked."""

    def copy_or_link(source: str, target: str) -> None:
        if Path(source).suffix in (".py", ".toml", ".json"):
            shutil.copyfile(source, target)
        else:
            Path(target).symlink_to(source)

    folder = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, folder / "cmi", copy_function=copy_or_link, ignore=ignored)
    return folder


@pytest.fixture
def takes(tmp_path: Path) -> Path:
    """Two takes, the first of which is louder, and who won."""
    rng = np.random.default_rng(0)
    for name, level in (("loud", 0.4), ("quiet", 0.1)):
        soundfile.write(tmp_path / f"{name}.wav", level * rng.uniform(-1, 1, 16_000), 16_000)
    (tmp_path / "votes.csv").write_text("a,b,winner\n" + "loud.wav,quiet.wav,a\nquiet.wav,loud.wav,b\n" * 2)
    return tmp_path


def python(copy: Path, folder: Path, *args: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy), "CMI_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-P", *args], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def add(copy: Path, path: str, text: str) -> None:
    assert not (copy / "cmi" / path).exists()
    (copy / "cmi" / path).write_text(text)


def insert(copy: Path, path: str, after: str, text: str) -> None:
    """Put `text` behind the first `after` of a file."""
    file = copy / "cmi" / path
    before, found, rest = file.read_text().partition(after)
    assert found, f"{path} has no {after!r}"
    file.write_text(before + found + text + rest)


def score(copy: Path, takes: Path, model: str) -> tuple[float, float]:
    """The musicality of the loud take and of the quiet one."""
    command = ("-m", "cmi", "score", "loud.wav", "quiet.wav", "--text", "a song", "--model", model, "--json")
    loud, quiet = (json.loads(line)["musicality"] for line in python(copy, takes, *command).splitlines())
    return loud, quiet


def test_a_baseline_scorer_is_one_file(copy, takes):
    add(copy, "reward/scoring/baselines/loudness.py", BASELINE)
    loud, quiet = score(copy, takes, "loudness")
    assert (round(loud, 2), round(quiet, 2)) == (0.2, 0.05)


def test_a_generator_is_one_file(copy, takes):
    add(copy, "generate/systems/tone.py", SYSTEM)
    (takes / "prompts.csv").write_text("text\na song\n")
    python(copy, takes, "-m", "cmi", "generate", "prompts.csv", "made", "--system", "tone:hertz=220")
    assert json.loads((takes / "made" / "takes.jsonl").read_text())["settings"] == {"hertz": 220}


def test_an_encoder_is_one_file(copy, takes):
    add(copy, "reward/model/encoders/levels.py", ENCODER)
    python(copy, takes, "-c", MAKE_CHECKPOINT)
    loud, quiet = score(copy, takes, "checkpoint")
    assert loud != quiet


def test_a_data_set_of_the_reward_benchmark_is_one_file(copy, takes):
    add(copy, "rewardbench/data/tastings.py", DATA_SET)
    python(copy, takes, "-m", "cmi", "data", "check", f"tastings={takes}")


def test_a_wording_is_one_table(copy, takes):
    insert(copy, "bench/prompts/key.toml", 'minor = "key_detection"\n', '[polite]\nwording = "Please name the key."\n')
    asked = "wordings_of(DATASETS['GS_key']).variant('polite').wording"
    show = f"from cmi.bench.catalog import DATASETS; from cmi.bench.prompts import wordings_of; print({asked})"
    assert python(copy, takes, "-c", show) == "Please name the key.\n"


def test_a_judges_role_is_one_file(copy, takes):
    add(copy, "judge/prompts/groove.toml", ROLE)
    show = "from cmi.judge.prompt_file import read_role; print(read_role('groove').texts.system)"
    assert python(copy, takes, "-c", show).strip() == "Which take grooves more?"


def test_a_flaw_is_one_function_and_its_line(copy, takes):
    insert(copy, "studio/flaws/production.py", "Sound = NDArray[np.float32]\n", FLAW)
    line = '    SoundFlaw("faded", "fades away", production.faded, production.distortion),\n'
    insert(copy, "studio/flaws/__init__.py", "SOUND_FLAWS = (\n", line)
    python(copy, takes, "-m", "cmi", "studio", "show", "shown", "--flaw", "faded")
    assert "fades away" in (takes / "shown" / "index.html").read_text()


def test_a_column_is_one_name(copy, takes):
    insert(copy, "preferences.py", "ABOUT = (\n", '    "weather",\n')
    row = {"a": "loud.wav", "b": "quiet.wav", "axis": "musicality", "choice": "a", "weather": "rain"}
    (takes / "rows.jsonl").write_text(json.dumps(row))
    read = "from cmi.preferences import read_preferences; print([row.about for row in read_preferences('rows.jsonl')])"
    assert "{'weather': 'rain'}" in python(copy, takes, "-c", read)


def test_a_command_is_one_function_and_its_place(copy, takes):
    add(copy, "cli/greet.py", COMMAND)
    insert(copy, "cli/__init__.py", '"Start here": (', '"greet", ')
    assert python(copy, takes, "-m", "cmi", "greet", "Clara") == "Hello, Clara.\n"
    assert "greet" in python(copy, takes, "-m", "cmi", "--help")

"""Every scorer by its name, in every command that takes one; and one log of scores for all of them."""

import json
import sys
from pathlib import Path

import huggingface_hub
import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.cli import app
from cmi.distance.embed import load_encoder
from cmi.reward.scoring.baselines import find_baseline, list_baselines
from cmi.reward.scoring.baselines.sources import PublishedCheckpoint
from cmi.reward.scoring.scorers import load_scorer

ONE_OF_EACH = ("muq-mulan-all", "clap", "clamp3", "audiobox-pq", "songeval", "pam")
COMMANDS = {
    "score": "score takes/p/a.wav --text piano --model {}",
    "pick": "pick takes --model {}",
    "pick by a second": "pick takes --model own_scorer:Counting --curve 1,2 --second {}",
    "rewardbench": "rewardbench run --model {} --data pairs.jsonl --out run",
    "judge": "judge pairs pairs.jsonl --model scorer:{} --out judged",
}
PROBE = "probe {} --audio takes/p --pieces 3 --seconds 5"
OWN = """
from cmi.take import Score

class Counting:
    def score(self, takes):
        with open("asked.txt", "a") as asked:
            asked.writelines(f"{take.audio}\\n" for take in takes)
        return [Score(float(take.audio.stat().st_size % 1009), 0.0) for take in takes]
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three takes of a prompt, pairs of them, and a class that writes down what it is asked."""
    folder = tmp_path / "takes" / "p"
    folder.mkdir(parents=True)
    (folder / "prompt.txt").write_text("piano")
    for i, name in enumerate("abc"):
        noise = np.random.default_rng(i).standard_normal(16_000 * 5 + 100 * i)
        soundfile.write(folder / f"{name}.wav", noise * 0.1 * (i + 1), 16_000)
    pair = {"id": "1", "text": "piano", "a": "takes/p/a.wav", "b": "takes/p/b.wav", "axis": "musicality", "choice": "b"}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(pair) + "\n")
    (tmp_path / "own_scorer.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("CMI_CACHE", str(tmp_path / "cache"))
    yield tmp_path
    sys.modules.pop("own_scorer", None)


def cmi(command: str) -> str:
    result = CliRunner().invoke(app, command.split())
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def weights_of(name: str) -> list[str]:
    """Where a scorer's weights are published, or how to get them."""
    found = find_baseline(name)
    sources = (
        [value for value in vars(found.module).values() if isinstance(value, PublishedCheckpoint)] if found else []
    )
    return [source.repo or source.how_to_get for source in sources] or ["HaiwenXia/CMI-RM"]


@pytest.mark.parametrize("command", [*COMMANDS.values(), PROBE], ids=[*COMMANDS, "probe"])
def test_every_name_is_known_to_every_command(command, place, monkeypatch):
    """Without the weights, each says which weights it needs: no name is taken for that of a checkpoint."""

    def refuse(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    for name in ("cmi-rm", *list_baselines()):
        with pytest.raises(InputError) as caught:
            cmi(command.format(name))
        assert any(said in str(caught.value) for said in weights_of(name))


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_metric_scores_in_every_command(name, place, places):
    full = f"{name}={','.join(map(str, places(name)))}"
    for command in COMMANDS.values():
        cmi(command.format(full))


def test_what_comes_with_cmi_picks_and_judges_picks(place):
    shown = cmi("pick takes --model tags --curve 1,2 --second nano")
    assert "tags@" in shown and "nano@" in shown


def test_one_log_serves_every_command(place):
    """What `score` has scored, neither `pick` nor `rewardbench run` scores again, from whichever folder."""
    asked = place / "asked.txt"
    takes = " ".join(str(place / "takes" / "p" / f"{name}.wav") for name in "abc")
    cmi(f"score {takes} --text piano --model own_scorer:Counting --log log.jsonl")
    assert len(asked.read_text().split()) == 3
    cmi("pick takes --model own_scorer:Counting --log log.jsonl")
    cmi("rewardbench run --model own_scorer:Counting --data pairs.jsonl --out run --log log.jsonl")
    assert len(asked.read_text().split()) == 3
    [kept] = (place / "run" / "models").glob("*/scores.jsonl")
    cmi(f"pick takes --model own_scorer:Counting --log {kept}")  # a run's own file is such a log too
    assert [Path(line).name for line in asked.read_text().split()[3:]] == ["c.wav"]  # which is in no pair
    records = [json.loads(line) for line in (place / "log.jsonl").read_text().splitlines()]
    assert [set(record) for record in records] == [{"key", "audio", "model", "musicality", "alignment"}] * 3


def test_scores_of_a_run_are_added_to_the_log(place):
    cmi("rewardbench run --model own_scorer:Counting --data pairs.jsonl --out run --log log.jsonl")
    cmi("score takes/p/a.wav --text piano --model own_scorer:Counting --log log.jsonl")
    assert len((place / "asked.txt").read_text().split()) == 2
    cmi("rewardbench run --model own_scorer:Counting --data pairs.jsonl --out run --log log.jsonl --without-prompt")
    assert len((place / "asked.txt").read_text().split()) == 4  # asked in another way


def test_a_probe_resumes_from_its_log(place):
    command = PROBE.format("own_scorer:Counting") + " --log log.jsonl"
    first = cmi(command)
    asked = (place / "asked.txt").read_text()
    assert cmi(command) == first
    again = len((place / "asked.txt").read_text().splitlines()) - len(asked.splitlines())
    assert again < len(asked.splitlines()) / 4  # an encoder may write the same sound in other bytes


@pytest.mark.parametrize(
    "record",
    [
        {"key": "a.wav/0123456789abcdef", "id": "a.wav", "audio": "a.wav", "model": "m"},  # by `score`
        {"key": "0123456789abcdef" * 2, "audio": "a.wav", "model": "m"},  # by `pick`
    ],
)
def test_a_log_of_an_earlier_version_is_refused_and_left_alone(record, place):
    line = json.dumps({**record, "musicality": 1.0, "alignment": 1.0}) + "\n"
    (place / "log.jsonl").write_text(line)
    for command in ("score takes/p/a.wav", "pick takes"):
        with pytest.raises(InputError, match=r"log\.jsonl: not a score log, or one of an earlier version of cmi"):
            cmi(f"{command} --model own_scorer:Counting --log log.jsonl")
    assert (place / "log.jsonl").read_text() == line


def test_a_run_of_an_earlier_version_is_shown_and_not_resumed(place):
    command = "rewardbench run --model own_scorer:Counting --data pairs.jsonl --out run"
    cmi(command)
    shown = cmi("rewardbench table run")
    [log] = (place / "run" / "models").glob("*/scores.jsonl")
    records = [json.loads(line) for line in log.read_text().splitlines()]
    old = [{"key": one["key"][:32], **{axis: one[axis] for axis in ("musicality", "alignment")}} for one in records]
    log.write_text("".join(json.dumps(record) + "\n" for record in old))
    assert cmi("rewardbench table run") == shown
    items = (place / "run" / "items.jsonl").read_bytes()
    with pytest.raises(InputError, match="a run of an earlier version"):
        cmi(command)
    assert (place / "run" / "items.jsonl").read_bytes() == items


@pytest.mark.parametrize("name", ["clap", "muq-mulan", "clamp3"])
def test_a_model_of_sound_and_text_is_an_encoder_for_distances(name, places, sounds):
    folders = ",".join(map(str, places(name)))
    encoder = load_encoder(f"{name}={folders}", "cpu")
    scorer = load_scorer(f"{name}={folders}", device="cpu")
    path = next(iter(sounds.values()))
    assert encoder.name == scorer.name
    assert encoder.embed(path).tolist() == [scorer.scorer.embed_sound(path).tolist()]

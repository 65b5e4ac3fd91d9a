"""What nano was validated on: one sentence, of the weights that are shipped, wherever nano's numbers are shown."""

import json
import logging
import re
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi._util.hub import find_model
from cmi.audio import Waveform
from cmi.reward.model import validation
from cmi.reward.model.reward_model import BUNDLED
from cmi.reward.model.validation import validated_on, validation_notes, validation_record
from cmi.reward.pick.candidates import Candidate, Group
from cmi.reward.pick.pick import Weights, pick
from cmi.reward.pick.report import PickReport, record, tables
from cmi.reward.scoring.rl import _log_once, axis_rewards, reward_function
from cmi.reward.scoring.score_log import score_records, score_takes, scores_table
from cmi.reward.scoring.scorer import RewardScorer
from cmi.reward.scoring.scorers import NamedScorer
from cmi.take import Prompt, Score, Take

ROOT = Path(__file__).resolve().parents[3]
WEIGHTS = Path(validation.__file__).with_name("weights")
MEASURED = json.loads((WEIGHTS / "validation.json").read_text())
[NANO] = MEASURED
SENTENCE = validated_on(NANO)


class Half:
    def score(self, takes):
        return [Score(0.5, 0.5) for _ in takes]


@pytest.fixture
def take(tmp_path) -> Take:
    path = tmp_path / "take.wav"
    soundfile.write(path, np.sin(np.arange(16_000) / 20), 16_000)
    return Take(Prompt("a tune"), path)


def test_the_numbers_are_of_the_weights_that_are_shipped():
    """Whoever ships other weights has to measure them."""
    assert {find_model(str(WEIGHTS / name), None, "")[1] for name in BUNDLED} == set(MEASURED)


@pytest.mark.parametrize(
    "page",
    [ROOT / "docs/nano.md", ROOT / "docs/explanation/nano-figures.md", WEIGHTS / "nano" / "README.md"],
    ids=lambda path: path.name,
)
def test_the_pages_about_nano_say_the_same_numbers(page):
    text = page.read_text(encoding="utf-8")
    measured = MEASURED[NANO]
    numbers = [*measured["flaws"]["right"], measured["texts"]["right"]]
    numbers += [f"{one['right']} ({one['interval'][0]} to {one['interval'][1]})" for one in measured["listeners"]]
    numbers.append(f"{measured['systems']['right']} of {measured['systems']['n']}")
    plain = text.replace("**", "")
    assert [str(one) for one in numbers if str(one) not in plain] == []


def test_one_line_of_ascii_says_the_numbers_and_the_model():
    assert SENTENCE.isascii() and SENTENCE.isprintable() and len(SENTENCE) < 350
    assert SENTENCE.startswith(f"{NANO} was validated on ")
    assert {"92.9/98.6/98.9", "49.1", "63.7"} <= set(re.findall(r"[\d./]+", SENTENCE))


@pytest.mark.parametrize("name", [f"{NANO} in bf16", f"{NANO}, calibrated 12ab", "copy" + NANO.removeprefix("nano")])
def test_the_same_weights_under_another_name_say_the_same(name):
    assert validated_on(name) == SENTENCE


@pytest.mark.parametrize("name", ["", "nano", "nano@c2e2eb9fd53a", "my_models:Mine", "clap-music"])
def test_other_models_claim_nothing(name):
    assert validated_on(name) == "" and validation_record(name) == {}
    assert validation_notes(name, NANO, name, NANO) == [SENTENCE]


def test_scores_say_it_in_the_table_in_each_record_and_in_the_log(take, tmp_path):
    log = tmp_path / "scores.jsonl"
    records = list(score_records([("take", take)], NamedScorer(NANO, Half()), log, lambda done: None))
    assert [one["validated_on"] for one in records] == [SENTENCE]
    assert json.loads(log.read_text())["validated_on"] == SENTENCE
    assert list(scores_table(records, NANO).notes) == [SENTENCE]
    other = list(score_records([("take", take)], NamedScorer("other", Half()), None, lambda done: None))
    assert "validated_on" not in other[0] and not scores_table(other, "other").notes


def test_a_log_from_before_it_was_said_is_resumed(take, tmp_path):
    log = tmp_path / "scores.jsonl"
    scorer = NamedScorer(NANO, Half())
    score_takes([take], scorer, [log])
    old = {name: value for name, value in json.loads(log.read_text()).items() if name != "validated_on"}
    log.write_text(json.dumps(old) + "\n")

    class Never:
        def score(self, takes):
            pytest.fail("scored again")

    score_takes([take], NamedScorer(NANO, Never()), [log])


def test_picks_say_it(take):
    candidate = Candidate("take", take)
    [scored] = score_takes([take], NamedScorer(NANO, Half()))
    report = PickReport(NANO, Weights(), [pick(Group("g", (candidate,)), {take: scored}, Weights())])
    assert tables(report)[0].notes[-1] == SENTENCE
    assert record(report)["validated_on"] == SENTENCE


def test_rewards_say_it_and_the_process_logs_it_once(tiny, monkeypatch, caplog):
    monkeypatch.setattr(tiny, "name", NANO)
    _log_once.cache_clear()
    with caplog.at_level(logging.WARNING, "cmi.reward"):
        rewards = [reward_function(RewardScorer(tiny)), *axis_rewards(RewardScorer(tiny))]
    assert {one.validated_on for one in rewards} == {SENTENCE}
    assert [one.getMessage() for one in caplog.records] == [SENTENCE]
    monkeypatch.setattr(tiny, "name", "")
    assert reward_function(RewardScorer(tiny)).validated_on == ""


def test_a_take_that_is_not_music_is_rewarded_with_a_warning(tiny, monkeypatch):
    monkeypatch.setattr(tiny.head, "least_musicality", 1000.0)
    sound = Waveform(np.sin(np.arange(24_000) / 20).astype(np.float32), 24_000)
    with pytest.warns(UserWarning, match="probably not music"):
        [reward] = reward_function(RewardScorer(tiny))(["a tune"], [sound])
    assert isinstance(reward, float)


def test_the_card_of_a_saved_model_says_it(tiny, monkeypatch):
    monkeypatch.setattr(tiny, "name", NANO)
    assert SENTENCE in tiny.generate_model_card().text
    monkeypatch.setattr(tiny, "name", "")
    assert "not stated by whoever made this model" in tiny.generate_model_card().text

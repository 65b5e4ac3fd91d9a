"""Scorers by name: checkpoints, classes of the user's own, and CMI-RewardBench's adapters."""

import math
import sys

import numpy as np
import pytest
import torch

from cmi._util.errors import InputError
from cmi.audio import Waveform
from cmi.reward.scoring.scorers import TOGETHER, AdapterScorer, NamedScorer, ScoredTake, load_scorer
from cmi.take import Prompt, Score, Take

OWN = """
from cmi.take import Score

class Length:
    def score(self, takes):
        return [Score(take.audio.seconds, len(take.prompt.text)) for take in takes]

class NeedsMore:
    def __init__(self, checkpoint):
        self.checkpoint = checkpoint

class Mute:
    pass

class Adapter:
    sr = 8000

    def score_batch(self, inputs, batch_size, max_dur, **kwargs):
        assert batch_size == len(inputs) <= 4
        return [[len(x.text), len(x.to_dict()["audio"])] for x in inputs]
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of the user's in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "own_scorers.py").write_text(OWN)
    yield "own_scorers"
    sys.modules.pop("own_scorers", None)


def takes(*seconds, text="slow"):
    sounds = [np.random.default_rng(i).standard_normal(round(s * 16_000)).astype("f4") for i, s in enumerate(seconds)]
    return [Take(Prompt(text), Waveform(sound, 16_000)) for sound in sounds]


def test_a_class_in_the_current_folder_is_found_and_named_by_its_content(module, tmp_path):
    scorer = load_scorer(f"{module}:Length")
    assert scorer.score(takes(1, 2)) == [Score(1, 4), Score(2, 4)]
    name, _, revision = scorer.name.partition("@")
    assert name == "own_scorers:Length"
    assert len(revision) == 12
    sys.modules.pop(module)
    (tmp_path / "own_scorers.py").write_text(OWN + "\n# another version\n")
    assert load_scorer(f"{module}:Length").name != scorer.name


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere:Length", "no module 'nowhere' in"),
        ("own_scorers:Width", "has no class 'Width'; its classes are: Score, Length, NeedsMore, Mute, Adapter"),
        (
            "own_scorers:NeedsMore",
            "called without arguments but needs some (missing a required argument: 'checkpoint')",
        ),
        ("own_scorers:Mute", "no method score(takes), nor CMI-RewardBench's sr and score_batch"),
        (":Length", "not the name of a module"),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(module, name, sentence):
    with pytest.raises(InputError) as raised:
        load_scorer(name)
    assert sentence in str(raised.value)


def test_a_module_that_needs_another_says_which(module, tmp_path):
    (tmp_path / "needy.py").write_text("import a_package_nobody_has\n")
    with pytest.raises(InputError, match="'needy' needs 'a_package_nobody_has', which is not installed"):
        load_scorer("needy:Scorer")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ([], "gave 0 scores for 1 takes"),
        ([Score(math.nan, 0)], "expected finite numbers"),
        ([Score(0, math.inf)], "expected finite numbers"),
        ([(1.0, 2.0)], "expected a cmi.take.Score"),  # which of the two is alignment can't be known
        ([None], "expected a cmi.take.Score"),
    ],
)
def test_answers_are_checked(answer, sentence):
    class Careless:
        def score(self, takes):
            return answer

    with pytest.raises(InputError, match=sentence):
        NamedScorer("careless", Careless()).score(takes(1))


def test_an_adapter_of_the_authors_contract_has_alignment_first(module):
    scores = load_scorer(f"{module}:Adapter").score(takes(1, 2, 1, 2, 1))
    assert [score.alignment for score in scores] == [4] * 5
    assert [score.musicality for score in scores] == [8_000, 16_000, 8_000, 16_000, 8_000]  # at its own rate


def test_an_adapter_meets_files_by_name_and_may_answer_with_a_tensor(tmp_path):
    seen = []

    class Adapter:
        sr = 24_000

        def score_batch(self, inputs, batch_size, max_dur):
            seen.extend(inputs)
            return torch.zeros(len(inputs), 2, requires_grad=True)

    scored = AdapterScorer(Adapter()).score([Take(Prompt("a", "b", tmp_path / "r.wav"), tmp_path / "t.wav")])
    assert scored == [Score(0, 0)]
    assert seen[0].to_dict() == {
        "audio": str(tmp_path / "t.wav"),
        "text": "a",
        "lyrics": "b",
        "ref_audio": str(tmp_path / "r.wav"),
    }


@pytest.mark.parametrize("shape", [(2,), (1, 3), (2, 2)])
def test_an_adapter_of_another_shape_is_refused(shape):
    class Adapter:
        sr = 24_000

        def score_batch(self, inputs, batch_size, max_dur):
            return np.zeros(shape)

    with pytest.raises(InputError, match=r"Adapter.score_batch gave shape .* for 1 takes, expected \[N, 2\]"):
        AdapterScorer(Adapter()).score(takes(1))


def test_a_checkpoint_is_scored_as_by_the_model_itself(tiny, tmp_path, monkeypatch):
    tiny.save_pretrained(tmp_path / "tiny")
    monkeypatch.setattr("cmi.reward.model.encoders.muq_mulan.load_tokenizer", lambda folder, vocabulary: tiny.tokenize)
    scorer = load_scorer(str(tmp_path / "tiny"), device="cpu")
    assert scorer.name.startswith("tiny@")
    asked = takes(2, 3)
    for score, expected in zip(scorer.score(asked), tiny.score(asked), strict=True):
        assert score == pytest.approx(expected, abs=1e-5)


def test_a_name_that_is_nothing_is_refused():
    with pytest.raises(InputError, match="neither a folder here nor a hub id"):
        load_scorer("no such/model at/all")


def test_a_scorer_that_streams_is_given_all_takes_at_once():
    given = []

    class Streaming:
        def read(self, take):
            return {take: "read"}

        def judge(self, asked, read):
            given.append((len(asked), len(read)))
            yield from (ScoredTake(Score(i, 0)) for i, _ in enumerate(asked))

    asked = takes(*[1] * (2 * TOGETHER + 1))
    scorer = NamedScorer("streaming", None, Streaming())
    scored = list(scorer.judge(asked, scorer.read(asked[0])))
    assert given == [(2 * TOGETHER + 1, 1)]
    assert [one.score for one in scored] == [Score(i, 0) for i in range(2 * TOGETHER + 1)]


def test_a_scorer_that_does_not_stream_is_given_a_few_at_a_time_and_a_broken_take_alone():
    given = []

    class Fragile:
        def score(self, asked):
            given.append(len(asked))
            if any(take.prompt.text == "broken" for take in asked):
                raise RuntimeError("no\n  sound")
            return [Score(1, 1) for _ in asked]

    asked = [*takes(*[1] * TOGETHER), *takes(1, text="broken"), *takes(1)]
    scores = list(NamedScorer("fragile", Fragile()).judge(asked))
    assert given == [TOGETHER, 2, 1, 1]
    assert str(scores[TOGETHER]) == "a waveform of 1.0 s: fragile cannot score it (no sound)"
    assert [one for one in scores if isinstance(one, ScoredTake)] == [ScoredTake(Score(1, 1))] * (TOGETHER + 1)

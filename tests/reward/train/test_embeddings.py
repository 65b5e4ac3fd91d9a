"""Tokens are made once, memory is bounded, and training hears what scoring hears."""

import dataclasses
import json
import shutil

import pytest
import torch
from typer.testing import CliRunner

from cmi import RewardModel, Take
from cmi._util.errors import InputError
from cmi.cli import app
from cmi.reward.engine.token_cache import TokenCache
from cmi.reward.model.head import Downsampling, RewardHead
from cmi.reward.train.config import LossSettings, TrainingSource, load_config
from cmi.reward.train.data import TrainingExample
from cmi.reward.train.dry_run import dry_run
from cmi.reward.train.embeddings import Embeddings, items_of, take_job, usable
from cmi.reward.train.forward import Trainee, count_labels, load, objective, score
from cmi.reward.train.reading import read_examples
from cmi.take import Prompt

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def model(checkpoint) -> RewardModel:
    return RewardModel.from_pretrained(checkpoint, device="cpu")


@pytest.fixture
def examples(music) -> list[TrainingExample]:
    (found,) = read_examples([TrainingSource(preferences=music / "pairs.jsonl", split="train")])
    return found.examples[:6]


@pytest.fixture
def embeddings(model, examples, tmp_path) -> Embeddings:
    made = Embeddings(model, CPU, "first10", TokenCache(tmp_path / "tokens"), 10**9)
    made.prepare(["", *(item for example in examples for item in items_of(example, "first10"))])
    return made


@pytest.mark.parametrize("kind", ["SA", "CA"])
@pytest.mark.parametrize("thinned", [False, True])
def test_training_scores_as_scoring_does(model, examples, embeddings, kind, thinned):
    """In one padded batch, with prompts of which nothing is left beside others."""
    mean = Downsampling("mean", 4) if thinned else Downsampling()
    torch.manual_seed(1)
    head = RewardHead(dataclasses.replace(model.head.config, attention=kind, take=mean, reference=mean, text=mean))
    examples = [*examples, dataclasses.replace(examples[0], prompt=Prompt())]
    found = score(head.eval(), load(examples, embeddings), CPU)
    other = RewardModel(model.encoder, head, "other", model.folder)
    takes = [Take(example.prompt, take) for example in examples for take in example.takes]
    scored = other.score(takes, window="first10", cache=None)
    for axis in ("musicality", "alignment"):
        assert found[axis].tolist() == pytest.approx([getattr(one, axis) for one in scored], abs=1e-5)


def test_the_parts_of_a_batch_add_up_to_its_loss(model, examples, embeddings, music):
    rated = read_examples([TrainingSource(ratings=music / "ratings.jsonl")])[0].examples[:3]
    embeddings.prepare([item for example in rated for item in items_of(example, "first10")])
    batch, settings = [*examples, *rated], LossSettings(confidence_weighting=True, rating_weight=0.5)
    trainee = Trainee(model.head, settings)

    def part(some):
        return objective(trainee, score(model.head, load(some, embeddings), CPU), some, count_labels(batch), settings)

    whole = part(batch)
    assert sum(part(batch[i::4]) for i in range(4)).item() == pytest.approx(whole.item(), abs=1e-5)


def test_nothing_is_encoded_twice(model, examples, embeddings, monkeypatch):
    calls = []
    monkeypatch.setattr(model.encoder, "encode_sound", lambda *given: calls.append(given))
    monkeypatch.setattr(model.encoder, "encode_text", lambda *given: calls.append(given))
    again = Embeddings(model, CPU, "first10", TokenCache(embeddings._cache.folder), 10**9)
    assert again.prepare(embeddings.known) == embeddings.known
    load(examples, again)
    assert not calls


def test_memory_is_bounded_and_what_the_cache_lost_is_encoded_again(model, examples, embeddings):
    whole = load(examples, embeddings)
    size = max(take.numel() * 4 for take in whole.takes)
    small = Embeddings(model, CPU, "first10", TokenCache(embeddings._cache.folder), 2 * size)
    small.prepare(embeddings.known)
    load(examples, small)
    assert 0 < sum(held.numel() * 4 for held in small._held.values()) <= 2 * size
    shutil.rmtree(embeddings._cache.folder)
    small._cache.folder.mkdir()
    for one, other in zip(load(examples, small).takes, whole.takes, strict=True):
        assert torch.equal(one, other)


def test_a_cache_that_keeps_nothing_is_one_sentence(model, music, tmp_path):
    lost = Embeddings(model, CPU, "first10", TokenCache(tmp_path / "tokens", limit=1), 0)
    job = take_job(music / "t0.wav", "first10")
    lost.prepare([job])
    with pytest.raises(InputError, match="the cache could not keep the embeddings: free disk space, or raise cache_gb"):
        lost.tokens(job)


def test_words_that_are_too_many_leave_an_example_out(model, music, tmp_path):
    embeddings = Embeddings(model, CPU, "first10", TokenCache(tmp_path / "tokens"), 0)
    good = TrainingExample(Prompt("tone"), (music / "t0.wav",), {})
    endless = dataclasses.replace(good, prompt=Prompt("tone", "la" * 200_000))
    items = [item for example in (good, endless) for item in items_of(example, "first10")]
    kept, problems = usable([good, endless], embeddings.prepare(items), "first10")
    assert kept == [good]
    assert "400,000 characters" in str(problems[0])


def test_a_dry_run_tells_what_a_run_will_take(write_config, checkpoint, tmp_path, monkeypatch):
    config = load_config(str(write_config()))
    monkeypatch.setattr("cmi.reward.train.embeddings.encode_audio", None)  # nothing is encoded
    found = dry_run(config, "cpu")
    model = RewardModel.from_pretrained(checkpoint, device="cpu")
    scales = 4  # a scale and an offset for the ratings of each axis
    assert found["parameters"]["trained"] == sum(p.numel() for p in model.head.parameters()) + scales
    assert found["parameters"]["frozen"] == sum(p.numel() for p in model.encoder.parameters())
    assert [group["examples"] for group in (*found["data"], *found["validation"])] == [28, 40]
    assert found["data"][0]["ties"] == {"musicality": 1, "alignment": 1}
    assert found["epochs"] == pytest.approx(12 * 8 / 28)
    assert found["unreadable"]["recordings"] == 0
    monkeypatch.undo()

    cache = TokenCache(tmp_path / "tokens")
    embeddings = Embeddings(model, CPU, config.window, cache, 0)
    examples = [e for group in read_examples([*config.data, *config.validation]) for e in group.examples]
    embeddings.prepare(dict.fromkeys(["", *(item for e in examples for item in items_of(e, config.window))]))
    tokens = [cache.get(key).tokens for key in embeddings.known.values()]
    assert found["recordings"] + found["texts"] == len(tokens)
    assert found["tokens"] == sum(map(len, tokens))
    assert found["gigabytes"]["tokens on disk"] == pytest.approx(sum(t.numel() * 4 for t in tokens) / 1e9)


def test_a_dry_run_is_shown_and_leaves_nothing(write_config, tmp_path):
    arguments = ["train", str(write_config()), "--dry-run", "--device", "cpu", "--out", str(tmp_path / "out")]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    assert "parameters trained" in shown.output
    assert not (tmp_path / "out").exists()
    assert json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)["parameters"]["trained"] > 0

"""nano's training, the whole of it on a few takes; and the pairs that its head learns from."""

import functools
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

pytest.importorskip("pyworld", reason="sung lyrics need the vocals extra")

import nano_pairs
import train_nano

from cmi.audio import load
from cmi.preferences import Preference, read_preferences
from cmi.reward.model.reward_model import RewardModel
from cmi.reward.train.loop import train
from cmi.studio.make import make_set
from cmi.take import Pair, Prompt


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    make_set(folder, 12, seed=5, workers=2)
    return folder


def test_the_ear_the_head_and_validation_have_pairs_of_their_own(studio):
    rows = list(read_preferences(studio / "preferences.jsonl"))
    parts = nano_pairs.shared_out(rows)
    assert sum(map(len, parts)) == len(set().union(*parts))
    assert set().union(*parts) == {row.id for row in rows if row.about["split"] in ("train", "valid")}


def test_no_recording_teaches_both_the_ear_and_the_head():
    def row(number: int, *tracks: int) -> Preference:
        pieces = [f"track {track}" for track in tracks]
        pair = Pair(Prompt(), Path("a.wav"), Path("b.wav"))
        return Preference(
            pair, "musicality", "a", id=str(number), about={"split": "train", "truth": {"pieces": pieces}}
        )

    rows = [row(10 * a + b, a, b) for a in range(10) for b in range(10)]
    ear, head, _ = nano_pairs.shared_out(rows)
    heard = [{piece for r in rows if r.id in part for piece in r.about["truth"]["pieces"]} for part in (ear, head)]
    assert heard[0] and heard[1] and not heard[0] & heard[1]


def test_tag_pairs_prefer_the_take_that_has_more_of_what_is_said(tmp_path):
    rng = torch.Generator().manual_seed(0)
    tags = torch.randn(40, 100, generator=rng)
    names = [tmp_path / f"{i}.flac" for i in range(40)]
    rows = list(nano_pairs.tag_rows(names, tags))
    assert len(rows) > 30
    for row in rows:
        better, worse = (row["a"], row["b"]) if row["choice"] == "a" else (row["b"], row["a"])
        said = [i for i, tag in enumerate(nano_pairs.TAGS) if tag.lower() in row["text"]]
        own, other = (tags[names.index(tmp_path / path.rsplit("/", 1)[-1])] for path in (better, worse))
        assert own[said].max() > other[said].min()


def test_degraded_pairs_are_of_clean_takes_some_of_the_same_piece():
    plans = nano_pairs.plan_degraded([3, 5, 8], 200)
    assert {plan.better for plan in plans} | {plan.worse for plan in plans} == {3, 5, 8}
    assert 30 < sum(plan.better == plan.worse for plan in plans) < 180
    assert all(nano_pairs.WEAKEST <= plan.strength <= 1 for plan in plans)
    assert plans == nano_pairs.plan_degraded([3, 5, 8], 200)


def test_from_a_set_to_a_model_that_scores(studio, tmp_path, monkeypatch, wheel):
    rows = list(read_preferences(studio / "preferences.jsonl"))
    names = [row.id for row in sorted(rows, key=lambda row: row.axis, reverse=True)]  # musicality first
    monkeypatch.setattr(train_nano, "shared_out", lambda rows: (set(names[:2]), set(names[2:-1]), set(names[-1:])))
    monkeypatch.setattr(train_nano, "train_ear", functools.partial(train_nano.train_ear, batch=1))
    monkeypatch.setattr(nano_pairs, "APART", 0.0)
    cpu = torch.device("cpu")
    train_nano.prepare(studio, tmp_path, 1, 2, cpu)
    config = train_nano.config_for(tmp_path)
    config = replace(config, steps=2, batch=4, validate_every=1, validation=(replace(config.data[2], split=None),))
    pairs, others, _, *more = config.data
    config = replace(config, data=(replace(pairs, split=None), others, *more))  # the third is validated on
    embeddings = train_nano.held_embeddings(config, tmp_path, cpu)
    outcome = train(config, tmp_path / "nano", "cpu", embeddings=embeddings)
    assert outcome is not None and outcome.steps == 2 and outcome.unheard == 0
    model = RewardModel.from_pretrained(tmp_path / "nano", device="cpu")
    take = next(row.pair.takes[0] for row in rows if row.id == names[2])
    heard = model.scorer().score([take])[0]
    assert all(map(torch.isfinite, torch.tensor(heard)))
    held = embeddings.tokens(train_nano.take_job(take.audio.resolve(), config.window)).float()
    samples = torch.from_numpy(load(take.audio, 32_000).samples)
    with torch.inference_mode():
        fresh = RewardModel.from_pretrained(tmp_path / "start", device="cpu").hear(samples)[0]
    assert (held - fresh).abs().mean() < 0.02  # held in half precision, and heard from 16-bit mono
    degraded = [json.loads(line) for line in (tmp_path / "degraded.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(degraded) == 2

"""The ablations as a whole: they resume, they compare like with like, and they don't say more than the data do."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import run
import soundfile
from ablation_data import make_data
from ablation_findings import FAILS, HOLDS, UNKNOWN, Claim, compare, findings, judged, verdict
from ablation_scores import examples_of, surprise
from run import plan_variants, run_ablations, wanted
from simulated_labels import Experts

from cmi._util.errors import InputError
from cmi.reward.model.encoders.muq_mulan import RATE
from cmi.reward.train.config import TrainConfig, load_config
from cmi.reward.train.reading import read_examples
from cmi.stats.comparison import Comparison
from cmi.testing.simulated_judge import Hearing, NoisyJudge

from ...reward.train.conftest import burst, tone, write_rows

SPLITS = {"train": 80, "valid": 12, "test": 40, "heldout": 40}
RIGHT = Hearing(1.0, 1.0, 0.0)
CONTRARY = Hearing(0.0, 0.0, 0.0)
CLEAR = NoisyJudge(0, RIGHT, RIGHT, first=0.0, deaf=0.0)
EXPERTS = Experts(0, wrong=0.0, noise=0.1)


@pytest.fixture(scope="session")
def studio(tmp_path_factory) -> Path:
    """As `cmi studio make` leaves it: tones, spoilt by noise; prompts that ask for a tone or for noise."""
    folder = tmp_path_factory.mktemp("studio")
    (folder / "audio").mkdir()
    rng = np.random.default_rng(11)
    rows = []
    for split, count in SPLITS.items():
        for kind, make in (("tone", tone), ("noise", burst)):
            for i in range(10):
                path = folder / "audio" / f"{split}-{kind}{i}.flac"
                soundfile.write(path, make(rng, rng.uniform(0.3, 0.5)), RATE, subtype="PCM_16")
        for i, takes in enumerate(rng.permutation(100)[:count]):
            t, n = f"audio/{split}-tone{takes // 10}.flac", f"audio/{split}-noise{takes % 10}.flac"
            axis = ("musicality", "alignment")[i % 2]
            asked = ("tone", "noise")[int(rng.integers(2))]
            better, worse = (n, t) if axis == "alignment" and asked == "noise" else (t, n)
            a_better = bool(rng.integers(2))
            a, b = (better, worse) if a_better else (worse, better)
            strength = float(rng.choice([0.4, 0.7, 1.0])) if axis == "musicality" else 0.0
            truth = {
                "kind": "across" if strength else "style",
                "flaw": "noise" if strength else "",
                "strength": strength,
            }
            row = {"id": f"{split}-{i}", "text": asked, "lyrics": "", "reference": "", "a": a, "b": b, "axis": axis}
            label = {"choice": "a" if a_better else "b", "confidence": 1 + round(4 * (strength or 0.75))}
            rows.append({**row, **label, "rater": "studio", "split": split, "truth": truth})
    write_rows(folder / "preferences.jsonl", rows)
    return folder


@pytest.fixture
def base(write_config) -> TrainConfig:
    return load_config(str(write_config(steps=2, batch=8)))


def fake_items(right: list[bool]) -> dict:
    items = {"place": list(range(len(right))), "margin": [1.0 if hit else -1.0 for hit in right]}
    return {"pairs": {"musicality": items}, "ratings": {}}


def test_each_label_is_somebodys(studio, tmp_path):
    data = make_data(studio, tmp_path, CLEAR, EXPERTS)
    files = {
        name: [json.loads(line) for line in data.file(name).read_text().splitlines()] for name in ("pseudo", "experts")
    }
    ids = {name: {row["id"] for row in rows if row["split"] == "train"} for name, rows in files.items()}
    ratings = [json.loads(line) for line in data.file("ratings").read_text().splitlines()]
    ids["ratings"] = {row["id"][:-2] for row in ratings if row["split"] == "train"}
    assert {name: len(some) for name, some in ids.items()} == {"pseudo": 68, "experts": 8, "ratings": 4}
    assert len(set.union(*ids.values())) == 80
    assert {row["split"] for row in ratings} == {"train", "test", "heldout"}
    assert (data.pseudo, data.sizes) == (68, (17, 34))
    quarter, half = (set(data.file(f"pseudo-{n}").read_text().splitlines()) for n in data.sizes)
    assert quarter < half
    assert data.counts["judge"]["musicality"]["right"] == data.counts["judge"]["musicality"]["asked"]
    before = data.file("pseudo").read_bytes()
    make_data(studio, tmp_path, CLEAR, EXPERTS)
    assert data.file("pseudo").read_bytes() == before
    for name in ("pseudo", "experts", "ratings"):
        rows = [json.loads(line) for line in data.file(name, prompted=False).read_text().splitlines()]
        assert not any(row["text"] for row in rows)
    assert len(examples_of(data, "test")) == 40 + 80


def test_variants_differ_in_what_they_are_named_for(studio, base, tmp_path):
    data = make_data(studio, tmp_path, CLEAR, EXPERTS)
    base = replace(base, steps=400)
    plan = {variant.name: variant for variant in plan_variants(base, data, tmp_path / "runs")}
    assert list(plan) == [
        *("distil", "distil-experts", "distil-pairs", "distil-ratings", "scratch", "unsmoothed", "unsmoothed-experts"),
        *("size-17", "size-34", "size-17-experts", "size-34-experts"),
        *("mapping-none", "mapping-linear", "mapping-ordinal", "no-prompt-distil", "no-prompt"),
    ]
    assert plan["distil"].config.loss.label_smoothing == 0.2
    assert plan["unsmoothed"].config == replace(
        plan["distil"].config, loss=replace(plan["distil"].config.loss, label_smoothing=0.0)
    )
    assert (plan["size-17"].config.steps, plan["distil"].config.steps) == (100, 400)
    assert plan["mapping-none"].config == replace(
        plan["distil-experts"].config, loss=replace(plan["distil-experts"].config.loss, mapping="none")
    )
    assert plan["scratch"].config.model.head == "fresh"
    assert (plan["scratch"].config.steps, plan["distil-experts"].config.steps) == (400, 200)
    assert plan["scratch"].config.optimizer == plan["distil"].config.optimizer
    assert plan["scratch"].config.data == plan["distil-experts"].config.data
    for variant in plan.values():
        assert not variant.after or variant.config.model.checkpoint == str(tmp_path / "runs" / variant.after)
        read_examples([*variant.config.data, *variant.config.validation])
    assert [v.name for v in wanted(list(plan.values()), ["no-prompt"])] == [
        *("distil", "distil-experts", "no-prompt-distil", "no-prompt")
    ]
    with pytest.raises(InputError, match="no variant is called 'scrtch'; there are distil, "):
        wanted(list(plan.values()), ["scrtch"])


def test_a_stopped_run_goes_on_and_repeats_nothing(studio, base, tmp_path, monkeypatch):
    trained = []
    train = run.train

    def watched(config, out, *given):
        trained.append(out.name)
        if len(trained) == 2:
            raise KeyboardInterrupt
        return train(config, out, *given)

    monkeypatch.setattr(run, "train", watched)
    with pytest.raises(KeyboardInterrupt):
        run_ablations(base, studio, tmp_path / "out", ["scratch"], device="cpu")
    once = run_ablations(base, studio, tmp_path / "out", ["scratch"], device="cpu")
    assert trained == ["distil", "distil-experts", "distil-experts", "scratch"]
    again = run_ablations(base, studio, tmp_path / "out", ["scratch"], device="cpu")
    assert again == once
    assert len(trained) == 4
    run_ablations(base, studio, tmp_path / "out", ["no-prompt"], device="cpu")
    assert trained[4:] == ["no-prompt-distil", "no-prompt"]
    records = [json.loads(line) for line in (tmp_path / "out" / "ablations.jsonl").read_text().splitlines()]
    assert [record["id"] for record in records] == [
        "distil",
        "distil-experts",
        "scratch",
        "no-prompt-distil",
        "no-prompt",
    ]
    for record in records:
        for split in ("test", "heldout"):
            assert {axis: one["n"] for axis, one in record["splits"][split]["pairs"].items()} == {
                "musicality": 20,
                "alignment": 20,
            }
            assert record["splits"][split]["ratings"]["musicality"]["n"] == 80
    with pytest.raises(InputError, match="holds ablations with another 'steps'"):
        run_ablations(replace(base, steps=5), studio, tmp_path / "out", device="cpu")


def test_a_planted_effect_is_found(studio, base, tmp_path):
    """A judge that is always wrong, and experts that are always right."""
    contrary = replace(CLEAR, musicality=CONTRARY, alignment=CONTRARY)
    learning = replace(base, steps=60, batch=16, validate_every=30)
    found = run_ablations(
        learning, studio, tmp_path, ["distil", "scratch"], device="cpu", judge=contrary, experts=EXPERTS
    )
    accuracy = {record["id"]: record["splits"]["test"]["pairs"]["musicality"]["accuracy"] for record in found.records}
    assert accuracy["distil"] < 0.2
    assert accuracy["scratch"] > 0.8
    verdicts = {f.claim.text: f.verdict for f in findings(found.records, ()) if f.split == "test"}
    assert verdicts["distillation is a better start than none"] == FAILS
    written = (tmp_path / "ablations.md").read_text()
    assert (
        "| distillation is a better start than none | 4.2 | distil-experts v scratch | accuracy | test | 40 |"
        in written
    )
    assert "| judge | musicality | 34 | 34 | 0 | 0.0 |" in written


def test_differences_are_paired():
    rng = np.random.default_rng(0)
    worse = rng.random(200) < 0.5
    better = worse | (rng.random(200) < 0.2)
    n, difference = compare(fake_items(list(better)), fake_items(list(worse)), "accuracy")
    assert n == 200
    assert difference.difference == pytest.approx(better.mean() - worse.mean())
    assert 0 < difference.low < difference.difference < difference.high < 0.25
    claim = Claim("", "", "", "")
    assert judged(claim, "test", fake_items(list(better)), fake_items(list(worse))).verdict == HOLDS
    assert judged(claim, "test", fake_items(list(worse)), fake_items(list(better))).verdict == FAILS
    some = {"pairs": {"musicality": {"place": [5, 3], "margin": [1.0, -1.0]}}, "ratings": {}}
    n, difference = compare(
        some, {"pairs": {"musicality": {"place": [3, 5], "margin": [-1.0, 1.0]}}, "ratings": {}}, "accuracy"
    )
    assert (n, difference.difference) == (2, 0.0)


def test_too_few_can_not_be_told():
    claim = Claim("", "", "", "")
    assert judged(claim, "test", fake_items([True] * 20), fake_items([False] * 20)).verdict == UNKNOWN
    assert judged(claim, "test", fake_items([True] * 40), fake_items([False] * 40)).verdict == HOLDS
    nothing = {"pairs": {}, "ratings": {}}
    finding = judged(claim, "test", nothing, nothing)
    assert (finding.n, finding.verdict) == (0, UNKNOWN)
    rng = np.random.default_rng(1)
    even = [fake_items(list(rng.random(100) < 0.7)) for _ in range(2)]
    assert judged(claim, "test", *even).verdict == UNKNOWN


@pytest.mark.parametrize(
    ("low", "high", "better", "same"),
    [
        (0.01, 0.05, HOLDS, FAILS),
        (-0.05, -0.01, FAILS, FAILS),
        (-0.01, 0.05, UNKNOWN, UNKNOWN),
        (-0.01, 0.02, UNKNOWN, HOLDS),
        (0.005, 0.015, HOLDS, HOLDS),
        (math.nan, math.nan, UNKNOWN, UNKNOWN),
    ],
)
def test_verdicts(low, high, better, same):
    difference = Comparison((low + high) / 2, low, high, 0.5)
    assert verdict(difference, 100, same=False) == better
    assert verdict(difference, 100, same=True) == same


def test_rank_correlations_and_likelihoods_are_compared_too():
    rng = np.random.default_rng(2)
    rating = rng.uniform(1, 5, 120)

    def heard(noise: float) -> dict:
        score = rating + rng.normal(0, noise, 120)
        rated = {"place": list(range(120)), "score": score.tolist(), "rating": rating.tolist()}
        return {"pairs": {}, "ratings": {"musicality": rated}}

    _, difference = compare(heard(0.5), heard(4.0), "spearman")
    assert difference.low > 0
    sure, modest = ({"pairs": {"alignment": {"place": [0, 1], "margin": [m, -m]}}, "ratings": {}} for m in (5.0, 0.5))
    _, difference = compare(modest, sure, "likelihood")
    assert difference.difference == pytest.approx(sum(surprise(m) - surprise(m / 10) for m in (5.0, -5.0)) / 2)
    assert surprise(0.0) == pytest.approx(math.log(2))
    assert surprise(-1000.0) == pytest.approx(1000.0)


def test_the_command(studio, write_config, tmp_path, capsys):
    arguments = [str(write_config(validate_every=50)), str(studio), "--out", str(tmp_path / "out"), "--device", "cpu"]
    run.main([*arguments, "--only", "distil-pairs", "--steps", "2", "--size", "20"])
    shown = capsys.readouterr().out
    for line in ("Simulated labels", "Ablations on test", "Ablations on heldout", "Findings", "experts' labels add"):
        assert line in shown
    run.main([*arguments, "--only", "distil", "--steps", "2", "--size", "20", "--json"])
    machine = capsys.readouterr().out
    assert [json.loads(line)["id"] for line in machine.splitlines()] == ["distil", "distil-experts", "distil-pairs"]


def test_a_folder_that_is_no_studios_is_one_sentence(base, tmp_path):
    with pytest.raises(InputError, match=r"preferences.jsonl: No such file"):
        run_ablations(base, tmp_path, tmp_path / "out")
    write_rows(tmp_path / "preferences.jsonl", [{"a": "x", "b": "y", "axis": "alignment", "choice": "a"}])
    with pytest.raises(InputError, match="no pair of split 'train'"):
        run_ablations(base, tmp_path, tmp_path / "out")

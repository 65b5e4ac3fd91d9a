"""Wordings and trials: which is which, and what their spread is compared with."""

import json
import statistics

import pytest

from cmi._util.errors import InputError
from cmi.bench.analysis.prompts import (
    LARGER,
    NO_INTERVAL,
    NOT_LARGER,
    ONE_VARIANT,
    VariantRun,
    Variants,
    draw_prompts,
    prompt_tables,
    read_runs,
    sensitivities,
    split_source,
    split_trial,
)
from cmi.bench.ask.nulls import NullListener
from cmi.bench.ask.run import RunPlan, read_data, run
from cmi.bench.catalog import DATASETS
from cmi.bench.instruction import Instruction
from cmi.bench.prompts import wordings_of
from cmi.bench.scoring.one_file import BenchCell
from cmi.bench.scoring.responses import find_responses


def one(variant, model, value, low=None, high=None, metric="Acc."):
    about = {"model": model, "row": "GTZ.", "metric": metric, "protocol": "strict", "n": 290, "unparsed": 3}
    return VariantRun(variant, BenchCell(**about, value=value, low=low, high=high, null_value=11.0))


def asked(tmp_path, variant, count=4):
    """A folder of instructions in one of our wordings, with its sounds, and a deaf listener's answers to it."""
    data = tmp_path / f"data-{variant}"
    data.mkdir()
    wording = wordings_of(DATASETS["GTZAN"]).variant(variant).wording
    lines = []
    for i in range(count):
        (data / f"{i}.wav").write_bytes(b"not heard")
        task_type = {"major": ["x"], "minor": ["y"], "prompt": [variant]}
        record = Instruction(wording, "blues", f"{i}.wav", 0.0, 30.0, task_type=task_type, uuid=f"id{i}").to_record()
        lines.append(json.dumps(record) + "\n")
    (data / "CMI_GTZAN.jsonl").write_text("".join(lines))
    return data


def answered(tmp_path, variant, data, limit=None, trials=1):
    out = tmp_path / f"answers-{variant}"
    plan = RunPlan(out, "deaf", "null:constant", read_data([data], limit=limit), trials=trials)
    run(NullListener("null:constant"), plan)
    return out


def test_a_name_before_an_equals_sign_is_a_variant_unless_it_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [str(part) for part in split_source("few-shot=a/b=c")] == ["few-shot", "a/b=c"]
    assert [str(part) for part in split_source("a/b=c")] == ["", "a/b=c"]
    (tmp_path / "x=y").mkdir()
    assert [str(part) for part in split_source("x=y")] == ["", "x=y"]


def test_a_trial_needs_its_first_so_that_flan_t5_is_a_model():
    assert split_trial("qwen2-t3", {"qwen2", "qwen2-t3"}) == ("qwen2", 3)
    assert split_trial("flan-t5", {"flan-t5"}) == ("flan-t5", 1)
    assert split_trial("qwen2-t1", {"qwen2"}) == ("qwen2-t1", 1)


def test_mean_and_deviation_are_over_trials_and_over_all():
    runs = [one("plain", "m", 60), one("plain", "m-t2", 64), one("brief", "m", 40), one("brief", "m-t2", 42)]
    (found,) = sensitivities(runs)
    plain, brief = found.variants
    assert (plain.mean, plain.trials, plain.least, plain.greatest) == (62, 2, 60, 64)
    assert plain.deviation == pytest.approx(statistics.stdev([60, 64]))
    assert (found.overall.trials, found.overall.mean) == (4, 51.5)
    assert (found.prompt_range, found.trial_range, found.null_value) == (21, 4, 11)
    assert brief.unparsed == 3


@pytest.mark.parametrize(
    ("runs", "verdict"),
    [
        ([one("plain", "m", 60, 55, 65), one("brief", "m", 40, 35, 45)], LARGER),
        ([one("plain", "m", 60, 55, 65), one("brief", "m", 51, 46, 56)], NOT_LARGER),
        ([one("plain", "m", 60, 55, 65)], ONE_VARIANT),
        ([one("plain", "m", 60), one("brief", "m", 51)], NO_INTERVAL),
    ],
)
def test_the_verdict_weighs_prompts_against_clips(runs, verdict):
    (found,) = sensitivities(runs)
    assert found.verdict == verdict
    assert verdict in prompt_tables([found], "strict")[1].rows[0]


def test_one_trial_has_no_deviation_and_the_same_trial_twice_is_refused():
    (found,) = sensitivities([one("plain", "m", 60)])
    assert found.variants[0].deviation is None
    with pytest.raises(InputError, match="occurs twice"):
        sensitivities([one("plain", "m", 60), one("plain", "m", 61)])
    with pytest.raises(InputError, match="no scores"):
        sensitivities([])


@pytest.mark.parametrize("limit", [None, 2])
def test_a_run_s_own_log_tells_which_wording_it_was_asked_in(tmp_path, tools, limit):
    data = {name: asked(tmp_path, name) for name in ("plain", "brief")}
    folders = [str(answered(tmp_path, name, data[name], limit, trials=2)) for name in data]
    runs = read_runs(folders, Variants(list(data.values())), "strict", tools, 100)
    assert {(run.variant, run.cell.model) for run in runs if not run.cell.is_null} == {
        (variant, model) for variant in data for model in ("deaf", "deaf-t2")
    }
    (found,) = sensitivities(runs)
    assert [spread.trials for spread in found.variants] == [2, 2]


def test_answers_to_questions_that_are_not_named_are_not_guessed(tmp_path):
    data = {name: asked(tmp_path, name) for name in ("plain", "brief")}
    out = answered(tmp_path, "brief", data["brief"])
    (file,) = find_responses([out])
    with pytest.raises(InputError, match="name it as VARIANT="):
        Variants([data["plain"]]).of(file)
    (out / "deaf_GTZAN.log").unlink()
    with pytest.raises(InputError, match="name it as VARIANT="):
        Variants([data["brief"]]).of(file)


def test_the_authors_layout_tells_its_wording_by_its_text(tmp_path):
    variants = Variants([])
    names = []
    for i, text in enumerate([wordings_of(DATASETS["GTZAN"]).variant("brief").wording, "Genre?", "Style?", "Genre?"]):
        path = tmp_path / f"m{i}_GTZAN.jsonl"
        record = {"question": text, "response": "blues", "correct_answer": "blues", "audioid": "x"}
        path.write_text(json.dumps(record))
        names.append(variants.of(find_responses([path])[0]))
    assert names == ["brief", "wording 1", "wording 2", "wording 1"]
    assert variants.notes() == ["GTZAN, wording 1: Genre?", "GTZAN, wording 2: Style?"]


def test_scores_must_be_named_and_are_read(tmp_path, tools):
    path = tmp_path / "plain.json"
    path.write_text(json.dumps({"cells": [one("", "m", 60.0, 55.0, 65.0).cell.to_json()]}))
    (found,) = read_runs([f"plain={path}"], Variants([]), "strict", tools)
    assert (found.variant, found.cell.value) == ("plain", 60)
    with pytest.raises(InputError, match="VARIANT="):
        read_runs([str(path)], Variants([]), "strict", tools)


def test_the_picture_is_drawn(tmp_path):
    runs = [one("plain", "m", 60, metric=m) for m in ("Acc.", "a", "b", "c")] + [one("brief", "n", 40)]
    draw_prompts(sensitivities(runs), tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 5_000

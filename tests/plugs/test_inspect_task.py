"""CMI-Bench in Inspect: the task runs there, its log can be read there, and its scores are ours to the digit."""

import json
import tomllib
from pathlib import Path

import pytest

import cmi.bench
from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS
from cmi.bench.scoring.one_file import BenchCell
from cmi.plugs.asked import read_asked
from cmi.testing import fake_endpoint, sounds_of

pytest.importorskip("inspect_ai")
from inspect_ai import eval as inspect_eval
from inspect_ai import score as inspect_score
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import get_model

from cmi.plugs.inspect_task import cmi_bench, write_logs

SAMPLES = Path(cmi.bench.__file__).parent / "samples"


def numbers(log: EvalLog) -> dict[str, float]:
    assert log.results is not None
    return {name: one.value for name, one in log.results.scores[0].metrics.items()}


def expected(cells: list[BenchCell]) -> dict[str, float]:
    found: dict[str, float] = {}
    for cell in (one for one in cells if not one.is_null):
        parts = {"": cell.value, " low": cell.low, " high": cell.high, " best null": cell.null_value}
        found |= {cell.metric + part: value for part, value in parts.items() if value is not None}
        found |= {"n": cell.n, "unparsed": cell.unparsed, "missing": cell.missing}
    return found


@pytest.mark.parametrize("protocol", ["strict", "paper"])
def test_a_log_of_answers_on_disk_has_our_scores(bench, tmp_path, protocol):
    [path] = write_logs(bench / "answers", bench / "annotations", tmp_path / "logs", protocol)
    log = read_eval_log(str(path))
    cells = cmi.bench.score(bench / "answers", bench / "annotations", protocol)
    assert log.status == "success" and log.eval.model == "listener" and log.eval.task == "cmi_bench_GS_key"
    assert numbers(log) == expected(cells)
    assert numbers(log)["missing"] == 6
    assert log.samples is not None and len(log.samples) == 24
    assert (log.samples[1].output.completion, log.samples[1].target) != ("", "")


@pytest.mark.parametrize("name", ["MusicCaps", "gtzan_beat", "EMO_valence"])
def test_metrics_of_whole_sets_are_ours_too(name, tmp_path):
    """Corpus BLEU, F1 over all frames and correlations are no means over samples."""
    file = SAMPLES / "responses" / f"listener_{name}.jsonl"
    [path] = write_logs(file, SAMPLES / "annotations", tmp_path / "logs")
    assert numbers(read_eval_log(str(path))) == expected(cmi.bench.score(file, SAMPLES / "annotations"))


def test_a_model_of_inspect_is_asked_with_the_clip(bench, tmp_path, cache, monkeypatch):
    """Inspect's client asks an endpoint, which hears the clip; the score is ours of the same answers."""
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    annotations, heard = bench / "annotations", []

    def answer(body):
        heard.extend(sounds_of(body))
        return "C major"

    task = cmi_bench("GS_key", str(annotations))
    with fake_endpoint(answer) as server:
        model = get_model("openai-api/local/fake", base_url=server.url)
        [log] = inspect_eval(task, model=model, log_dir=str(tmp_path / "logs"), display="none")
    assert log.status == "success", log.error
    assert len(heard) == 24 == len(list((cache / "clips").iterdir())) and heard[0].seconds == pytest.approx(1.0)

    answers = tmp_path / "fake_GS_key.jsonl"
    ids = [asked.id for asked in read_asked(annotations, DATASETS["GS_key"])]
    answers.write_text("".join(json.dumps({"id": one, "response": "C major"}) + "\n" for one in ids))
    assert numbers(log) == expected(cmi.bench.score(answers, annotations))
    read = read_eval_log(log.location)
    assert {sample.scores["cmi_score"].answer for sample in read.samples or []} == {"C major"}
    again = inspect_score(read, task.scorer, metrics=task.metrics, action="overwrite", display="none")
    assert numbers(again) == numbers(log)


def test_inspect_finds_the_task_by_the_name_of_the_package():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["inspect_ai"] == {"cmi": cmi_bench.__module__}


def test_what_is_wrong_is_said_before_anything_is_asked(bench):
    with pytest.raises(InputError, match="'GS' is not a data set"):
        cmi_bench("GS", str(bench / "annotations"))
    with pytest.raises(InputError, match="no CMI_GTZAN"):
        cmi_bench("GTZAN", str(bench / "annotations"))
    with pytest.raises(InputError, match="expected strict or paper"):
        cmi_bench("GS_key", str(bench / "annotations"), protocol="lax")
    with pytest.raises(InputError, match="answers of listener to GS_key"):
        cmi_bench("GS_key", str(bench / "annotations"), answers=str(bench / "answers"), model="other")

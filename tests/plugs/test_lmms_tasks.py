"""CMI-Bench in lmms-eval: its own loader takes our task files, and its own evaluator gives our score."""

import json

import pytest

import cmi.bench
from cmi._util.errors import InputError
from cmi.plugs.lmms_tasks import write_tasks

pytest.importorskip("lmms_eval")
pytest.importorskip("datasets")


@pytest.fixture
def tasks(bench, tmp_path, monkeypatch):
    from lmms_eval.tasks import TaskManager

    monkeypatch.setenv("LMMS_EVAL_DATASETS_CACHE", str(tmp_path / "cache"))
    write_tasks([bench / "annotations"], tmp_path / "lmms")
    return TaskManager(include_defaults=False, include_path=str(tmp_path / "lmms"))


def test_its_evaluator_gives_our_score_of_the_same_answers(bench, tasks):
    from lmms_eval.api.model import lmms
    from lmms_eval.evaluator import evaluate
    from lmms_eval.tasks import get_task_dict

    assert tasks.all_tasks == ["cmi_bench", "cmi_bench_GS_key"]
    [task] = get_task_dict(["cmi_bench_GS_key"], tasks).values()
    lines = (bench / "answers" / "listener_GS_key.jsonl").read_text().splitlines()
    answers = {record["id"]: record["response"] for record in map(json.loads, lines)}
    asked = []

    class Replay(lmms):
        """A model of lmms-eval whose answers are on disk; questions without one get an empty answer."""

        def generate_until(self, requests):
            for request in requests:
                text, _, doc_to_audio, place, _, split = request.args
                doc = task.dataset[split][place]
                asked.append((text, doc_to_audio(doc)[0]))
                yield answers.get(doc["id"], "")

        def loglikelihood(self, requests): ...

        def generate_until_multi_round(self, requests): ...

    Replay.__abstractmethods__ = frozenset()
    found = evaluate(Replay(), {"cmi_bench_GS_key": task}, bootstrap_iters=0)
    cell, *_ = cmi.bench.score(bench / "answers", bench / "annotations")
    assert found["results"]["cmi_bench_GS_key"]["GES,none"] == pytest.approx(cell.value, abs=1e-12)
    sample = found["samples"]["cmi_bench_GS_key"][0]
    assert "clip" not in sample["doc"] and sample["doc"]["truth"] == sample["target"]
    assert len(asked) == 24 and "key of this clip" in asked[0][0]
    assert asked[0][1]["sampling_rate"] == 16_000 and len(asked[0][1]["array"]) == 16_000


def test_files_can_point_to_a_data_set_on_the_hub(bench, tmp_path):
    write_tasks([bench / "annotations"], tmp_path / "lmms", data_at="me/cmi-bench")
    text = (tmp_path / "lmms" / "cmi_bench_GS_key.yaml").read_text()
    assert "dataset_path: me/cmi-bench\ndataset_name: GS_key" in text
    assert str(tmp_path) not in text


def test_a_data_set_that_is_not_there_is_one_sentence(bench, tmp_path):
    with pytest.raises(InputError, match="no data set of genre"):
        write_tasks([bench / "annotations"], tmp_path / "lmms", ["genre"])

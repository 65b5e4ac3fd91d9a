"""The truth given as the answer scores perfectly under strict, on every task. The published scorer can't do that."""

from pathlib import Path

import numpy as np
import pytest

import cmi.bench
from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Evaluation, Item, Setting
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.responses import audio_key, find_annotations, read_instructions
from cmi.bench.tasks import load_task

SAMPLES = Path(cmi.bench.__file__).parent / "samples" / "annotations"
TAGGING = {"MTT", "MTG_genre", "MTG_emotion", "MTG_instrument", "MTG_top50tags"}
PUBLISHED = [name for name, dataset in DATASETS.items() if dataset.size]  # those of the paper
NOT_IN_SHARED = {"GS_key", "Nsynth_pitch", "MedleyDB"} | TAGGING


def evaluate_truth(annotations: Path, name: str, protocol: str, tools: Tools) -> Evaluation:
    dataset = DATASETS[name]
    items = [
        Item(
            asked.instruction,
            asked.output,
            asked.output,
            dataset.recording(audio_key(asked.audio_path)),
            asked.audio_start,
            asked.audio_end,
        )
        for _, asked in read_instructions(annotations, dataset)
    ]
    return load_task(dataset).evaluate(items, Setting(name, protocol, "oracle", tools))


def assert_perfect(evaluation: Evaluation) -> None:
    assert evaluation.n > 0
    assert evaluation.unparsed == 0
    for metric, value in zip(evaluation.metrics, evaluation.values()[0], strict=True):
        if metric.not_computed:
            continue
        best = 0 if metric.better == "lower" else 1 if metric.name[1:] in ("r", "r^2") else 100
        assert value == pytest.approx(best, abs=1e-4), metric.name


@pytest.mark.parametrize("name", PUBLISHED)
def test_our_samples(name, tools):
    evaluation = evaluate_truth(find_annotations(SAMPLES)[name], name, "strict", tools)
    assert_perfect(evaluation)


@pytest.mark.parametrize("name", [name for name in PUBLISHED if name not in NOT_IN_SHARED])
def test_the_released_annotations(name, shared, tools):
    annotations = find_annotations(shared / "cmi-bench" / "annotations")
    evaluation = evaluate_truth(annotations[name], name, "strict", tools)
    assert evaluation.n == DATASETS[name].size
    assert_perfect(evaluation)


@pytest.mark.parametrize(
    ("name", "metric", "ceiling"), [("VocalSet_tech", "Acc.", 86.84), ("Guzheng_Tech", "miF1", 85.71)]
)
def test_the_published_scorer_can_not_give_full_marks(name, metric, ceiling, shared, tools):
    annotations = find_annotations(shared / "cmi-bench" / "annotations")
    evaluation = evaluate_truth(annotations[name], name, "paper", tools)
    place = [m.name for m in evaluation.metrics].index(metric)
    assert np.round(evaluation.values()[0, place], 2) == ceiling

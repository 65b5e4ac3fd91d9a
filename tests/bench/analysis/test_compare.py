"""Models, wordings and protocols on the same questions: pairing, differences, tests, and the whole."""

import json
import random
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi.bench.analysis.compare import (
    Difference,
    OverallDifference,
    compare_all,
    compare_tables,
    find_contenders,
    pair_contenders,
)
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.responses import find_annotations
from cmi.cli import app
from cmi.stats.comparison import holm

SAMPLES = Path(str(files("cmi.bench"))) / "samples"
GENRES = ["blues", "classical", "country", "disco", "hiphop", "jazz", "metal", "pop", "reggae", "rock"]


def write_answers(folder: Path, model: str, answers: list[str], truths: list[str]) -> Path:
    """Answers in the authors' layout on GTZAN, a clip each."""
    folder.mkdir(parents=True, exist_ok=True)
    records = [
        {"question": "genre?", "response": answer, "correct_answer": truth, "audioid": f"data/GTZAN/{i}.wav"}
        for i, (answer, truth) in enumerate(zip(answers, truths, strict=True))
    ]
    path = folder / f"{model}_GTZAN.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture
def two(tmp_path: Path) -> tuple[list[Path], np.ndarray]:
    """Two models on 200 clips, and which answers of each are right."""
    rng = random.Random(1)
    truths = [rng.choice(GENRES) for _ in range(200)]
    right = np.array([[rng.random() < share for _ in truths] for share in (0.7, 0.5)])
    paths = []
    for name, row in zip(("one", "two"), right, strict=True):
        answers = [truth if is_right else "none" for truth, is_right in zip(truths, row, strict=True)]
        paths.append(write_answers(tmp_path / name, name, answers, truths))
    return paths, right


def compare(
    sources: list[str], tmp_path: Path, protocol="strict", annotations: Path | None = None, **options
) -> tuple[list[Difference], list[OverallDifference]]:
    contenders = find_contenders(sources, ("paper", "strict") if protocol == "both" else (protocol,))
    truths = find_annotations(annotations) if annotations else {}
    pairs = pair_contenders(contenders, options.pop("model", ""))
    return compare_all(contenders, pairs, truths, Tools("minilm", "", tmp_path), **options)


def test_right_and_wrong_answers_are_tested_as_statsmodels_does(two, tmp_path):
    paths, right = two
    [found], [overall] = compare([str(path) for path in paths], tmp_path)
    only_first, only_second = int(np.sum(right[0] & ~right[1])), int(np.sum(right[1] & ~right[0]))
    table = [[int(np.sum(right.all(axis=0))), only_first], [only_second, int(np.sum(~right.any(axis=0)))]]
    assert found.test == "McNemar" and found.p == pytest.approx(mcnemar(table, exact=True).pvalue, abs=1e-6)
    assert (found.a, found.b, found.n, found.left_out) == ("one", "two", 200, 0)
    assert found.difference == pytest.approx(100 * (right[0].mean() - right[1].mean()))
    assert found.verdict == "better" and (overall.better, overall.gains, overall.p) == (1, 1, 1.0)


def test_the_interval_is_that_of_a_plain_paired_bootstrap(two, tmp_path):
    paths, right = two
    [found], _ = compare([str(path) for path in paths], tmp_path, resamples=10_000)
    rng = np.random.default_rng(7)
    differences = right[0].astype(float) - right[1]
    draws = [100 * differences[rng.integers(200, size=200)].mean() for _ in range(10_000)]
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.6)


def test_questions_that_one_has_not_answered_are_left_out_under_paper_and_wrong_under_strict(tmp_path):
    annotations = tmp_path / "annotations"
    annotations.mkdir()
    truth = (SAMPLES / "annotations" / "CMI_GTZAN.jsonl").read_text()
    (annotations / "CMI_GTZAN.jsonl").write_text(truth)
    lines = (SAMPLES / "responses" / "listener_GTZAN.jsonl").read_text().splitlines()
    for name, kept in (("all", lines), ("some", lines[:-4])):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}_GTZAN.jsonl").write_text("\n".join(kept) + "\n")
    sources = [str(tmp_path / name) for name in ("all", "some")]
    [paper], _ = compare(sources, tmp_path, "paper", annotations)
    [strict], _ = compare(sources, tmp_path, "strict", annotations)
    assert (paper.n, paper.left_out, paper.difference) == (len(lines) - 4, 4, 0.0)
    assert (strict.n, strict.left_out) == (len(lines), 0) and strict.difference > 0
    assert "Left out because not all have answers: GTZ. 4." in compare_tables([paper], [])[0].notes[0]


def test_answers_are_paired_by_question_whatever_their_order(tmp_path):
    lines = (SAMPLES / "responses" / "listener_GTZAN.jsonl").read_text().splitlines()
    for name, order in (("straight", lines), ("shuffled", random.Random(0).sample(lines, len(lines)))):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}_GTZAN.jsonl").write_text("\n".join(order) + "\n")
    sources = [str(tmp_path / name) for name in ("straight", "shuffled")]
    [found], _ = compare(sources, tmp_path, annotations=SAMPLES / "annotations")
    assert (found.difference, found.low, found.high, found.p, found.left_out) == (0.0, 0.0, 0.0, 1.0, 0)


def test_every_task_is_compared_and_the_whole_is_a_sign_test(tmp_path):
    differences, [overall] = compare([str(SAMPLES / "responses")], tmp_path, annotations=SAMPLES / "annotations")
    assert {(one.a, one.b) for one in differences} == {("listener", "parrot")}
    assert len({one.dataset for one in differences}) == overall.datasets == 21
    assert (overall.gains, overall.losses) == (21, 0)
    assert overall.p == pytest.approx(binomtest(21, 21).pvalue, abs=1e-12)
    assert overall.averaged == 18 and overall.low < overall.mean_difference < overall.high
    firsts = {one.dataset: one for one in reversed(differences) if one.difference is not None}
    percents = [one.difference for one in firsts.values() if one.row not in ("EMO", "DS")]
    assert overall.mean_difference == pytest.approx(np.mean(percents))
    errors = next(one for one in differences if one.metric == "WE.")
    assert errors.difference < 0 and errors.is_gain
    assert all(one.p is None or one.p <= 1 for one in differences)


def test_p_values_are_adjusted_over_the_differences_of_a_pair(two, tmp_path):
    paths, _ = two
    third = write_answers(tmp_path / "three", "three", ["pop"] * 200, ["pop", "rock"] * 100)
    with pytest.raises(InputError, match="no two models have answers on the same"):
        contenders = find_contenders([str(paths[0]), str(third)], ("strict",))
        compare_all([contenders[0]], [("one", "three")], {}, Tools("minilm", "", tmp_path))
    differences, _ = compare([str(path) for path in paths], tmp_path, "both")
    assert [(one.a, one.b) for one in differences] == [("one (paper)", "one (strict)"), ("two (paper)", "two (strict)")]
    assert [one.p for one in differences] == [holm([one.p])[0] for one in differences]


def test_a_name_before_an_equals_sign_tells_two_runs_of_a_model_apart(two, tmp_path):
    paths, _ = two
    again = tmp_path / "again" / paths[0].name
    again.parent.mkdir()
    again.write_text(paths[0].read_text())
    with pytest.raises(InputError, match="both answer GTZAN for one: give them different names, as NAME=PATH"):
        find_contenders([str(paths[0]), str(again)], ("strict",))
    [found], _ = compare([f"plain={paths[0]}", f"brief={again}"], tmp_path)
    assert (found.a, found.b, found.difference) == ("plain", "brief", 0.0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{one}"], "only one was given: name a second model, or use --protocol both"),
        (["{one}", "{two}", "--model", "three"], "--model: none is named 'three'; there are one, two"),
        (["{one}", "{two}", "--model", "one", "--protocol", "both"], "--model is for one protocol"),
        (["x={folder}"], "has answers of one, two, but 'x' can name only one of them"),
        (["{one}", "nowhere"], "nowhere: no such file or folder"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_sentence(two, tmp_path, arguments, sentence):
    (one, second), _ = two
    places = {"one": str(one), "two": str(second), "folder": str(tmp_path)}
    result = CliRunner().invoke(app, ["bench", "compare", *(word.format(**places) for word in arguments)])
    assert isinstance(result.exception, InputError) and sentence in str(result.exception)


def test_the_command_prints_differences_and_the_whole(two):
    paths, _ = two
    command = ["bench", "compare", str(paths[1]), str(paths[0])]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0 and "a: two, b: one" in result.output and "▼" in result.output
    found = json.loads(CliRunner().invoke(app, [*command, "--json"]).output)
    assert found["differences"][0]["verdict"] == "worse" and found["overall"][0]["losses"] == 1

"""`cmi ablate` as a whole: every variant is trained and tested once, whatever happens, on any data that train takes."""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi._util.runlog import read_records
from cmi.ablate.run import plan_ablation, rated_items
from cmi.cli import app
from cmi.reward.train.config import TrainingSource
from cmi.reward.train.reading import read_examples

from ..reward.train.conftest import write_rows
from ..reward.train.test_published_sets import data, published_model  # noqa: F401
from ..rewardbench.data.conftest import battle, pam

pytestmark = pytest.mark.slow

STAGES = """
reference = "all"
test = [{preferences = "VOTES", split = "test"}, {ratings = "RATINGS", split = "test"}]

[variants.all]

[variants.half]
train.0.fraction = 0.5
steps = "0.5x"

[variants.second]
after = "all"
loss.label_smoothing = 0.0

[variants.musicality]
axes = ["musicality"]
prompts = false
"""


@pytest.fixture
def matrix(tmp_path, votes):
    def write(text: str = STAGES) -> Path:
        path = tmp_path / "matrix.toml"
        named = text.replace("VOTES", str(votes / "votes.jsonl")).replace("RATINGS", str(votes / "ratings.jsonl"))
        path.write_text(named)
        return path

    return write


def ablate(*arguments: object):
    words = ["ablate", *map(str, arguments), "--device", "cpu"]
    return CliRunner().invoke(app, words, env={"COLUMNS": "300"})


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def stamps(out: Path) -> dict[str, int]:
    return {path.parent.name: path.stat().st_mtime_ns for path in out.glob("runs/*/model.safetensors")}


def steps_of(curve: Path) -> int:
    with suppress(FileNotFoundError):
        return curve.read_text().count("\n")
    return 0


def test_a_matrix_is_run_once_and_extended(base, matrix, tmp_path):
    out, path = tmp_path / "out", matrix()
    shown = ablate(base, "--matrix", path, "--out", out, "--only", "half")
    assert shown.exit_code == 0, shown.output
    first = stamps(out)
    assert set(first) == {"all", "half"}
    shown = ablate(base, "--matrix", path, "--out", out)
    assert shown.exit_code == 0, shown.output
    assert {name: stamp for name, stamp in stamps(out).items() if name in first} == first
    assert "Ablations: accuracy on votes.jsonl (test), 28 prompts" in shown.stdout
    assert "Ablations: rank correlation with ratings on ratings.jsonl (test), 28 prompts" in shown.stdout
    assert "null: louder" in shown.stdout and "null: generator prior" in shown.stdout
    records = {record["id"]: record for record in read(out / "ablations.jsonl")}
    assert [name for name in records if not name.startswith("null: ")] == ["all", "half", "second", "musicality"]
    assert [records[name]["steps"] for name in ("all", "half", "second")] == [8, 4, 8]
    assert records["half"]["counts"]["data"][0]["examples"] == 14
    assert records["musicality"]["counts"]["data"][0]["labels"] == {"musicality": 28}
    assert records["second"]["after"] == "all"
    cell = records["second"]["cells"][0]
    assert (cell["reference"], cell["n"], cell["prompts"], cell["measure"]) == ("all", 28, 28, "musicality")
    assert "| null: longer |" in (out / "ablations.md").read_text()
    # the scores are a run of the benchmark's, with the prompt kept from the variant that never had one
    table = CliRunner().invoke(app, ["rewardbench", "table", str(out / "evaluation")], env={"COLUMNS": "300"})
    assert "musicality, first10, no prompt" in table.output
    again = ablate(base, "--matrix", path, "--out", out, "--json")
    assert [json.loads(line) for line in again.stdout.splitlines()] == list(records.values())
    other = ablate(base, "--matrix", path, "--out", out, "--steps", 4)
    assert "contains variant 'all' with other settings: use another --out" in str(other.exception)


def test_a_killed_run_goes_on_and_trains_nothing_twice(base, matrix, tmp_path):
    out, path = tmp_path / "killed", matrix(STAGES.partition("[variants.musicality]")[0])
    arguments = [str(base), "--matrix", str(path), "--steps", "24", "--device", "cpu"]
    partial = out / "runs" / "half" / "training" / "curve.jsonl.partial"
    process = subprocess.Popen(
        [sys.executable, "-m", "cmi", "ablate", *arguments, "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        while process.poll() is None and steps_of(partial) < 3:
            time.sleep(0.002)
    finally:
        process.kill()
        process.wait()
    finished = stamps(out)
    assert "all" in finished and len(finished) < 3  # killed in the middle
    assert {record["id"] for record in read_records(out / "variants.jsonl")} <= set(finished)
    shown = ablate(*arguments, "--out", out, "--json")
    assert shown.exit_code == 0, shown.output
    assert stamps(out).items() >= finished.items()
    whole = ablate(*arguments, "--out", tmp_path / "whole", "--json")
    both = [[json.loads(line) for line in one.stdout.splitlines()] for one in (shown, whole)]
    assert [[record["id"], record["cells"]] for record in both[0]] == [
        [record["id"], record["cells"]] for record in both[1]
    ]
    steps = [record["id"] for record in read(out / "runs" / "half" / "training" / "curve.jsonl")]
    assert len(steps) == len(set(steps))


def test_a_variant_that_fails_leaves_the_others_to_go_on(base, matrix, tmp_path, votes, music):
    broken = [
        {**row, "a": str(tmp_path / "broken.wav")} for row in read(votes / "votes.jsonl") if row["split"] == "train"
    ]
    write_rows(tmp_path / "broken.jsonl", broken)
    (tmp_path / "broken.wav").write_bytes(b"RIFF, but no more than that")
    path = matrix(
        STAGES
        + '\n[variants.broken]\ntrain = [{preferences = "broken.jsonl"}]\n\n[variants.onwards]\nafter = "broken"\n'
    )
    out = tmp_path / "out"
    chosen = ["--only", "broken", "--only", "onwards", "--only", "half"]
    shown = ablate(base, "--matrix", path, "--out", out, *chosen)
    said = str(shown.exception)
    assert "2 of 4 variants failed, the first broken: " in said and "none of its examples can be read" in said
    assert "the same command tries them again" in said
    assert "onwards failed: broken, which it starts from, failed." in shown.stdout
    assert {record["id"] for record in read(out / "ablations.jsonl")} >= {"all", "half"}
    finished = stamps(out)
    (tmp_path / "broken.wav").write_bytes((music / "t0.wav").read_bytes())
    shown = ablate(base, "--matrix", path, "--out", out, *chosen)
    assert shown.exit_code == 0, shown.output
    assert set(stamps(out)) == {"all", "half", "broken", "onwards"}
    assert stamps(out).items() >= finished.items()


def test_a_dry_run_counts_and_trains_nothing(base, matrix, tmp_path):
    shown = ablate(base, "--matrix", matrix(), "--out", tmp_path / "out", "--dry-run", "--steps", 80)
    assert shown.exit_code == 0, shown.output
    rows = [line.split() for line in shown.stdout.splitlines()]
    assert ["half", "40", "22.86", "training", "votes.jsonl", "(train)", "pairs", "14"] in rows
    assert ["second", "all", "80", "22.86", "training", "votes.jsonl", "(train)", "pairs", "28"] in rows
    assert rows[-4][:7] == ["test", "votes.jsonl", "(test)", "pairs", "28", "28", "28"]
    assert not (tmp_path / "out").exists()
    machine = ablate(base, "--matrix", matrix(), "--out", tmp_path / "out", "--dry-run", "--json")
    counts = {record["id"]: record["counts"] for record in map(json.loads, machine.stdout.splitlines())}
    assert counts["half"]["data"][0]["examples"] == 14
    assert counts["half"]["validation"][0]["examples"] == 12


def test_rows_that_a_variant_trains_on_are_not_tested_on(base, matrix, tmp_path, votes):
    text = STAGES + '\n[variants.cheating]\ntrain = [{preferences = "VOTES", split = "test"}]\n'
    with pytest.raises(
        InputError, match=r"variant 'cheating': votes.jsonl \(test\): 28 of its 28 rows for testing are"
    ):
        plan_ablation(str(base), str(matrix(text)), tmp_path / "out")


def test_without_a_test_the_base_says_what_is_tested_on(base, matrix, tmp_path, write_config, votes):
    text = 'reference = "all"\n[variants.all]\n'
    assert [group.name for group in plan_ablation(str(base), str(matrix(text)), tmp_path).test] == [
        "votes.jsonl (valid)"
    ]
    shared = write_config(data=[str(votes / "votes.jsonl")], validation={"share": 0.4})
    (group,) = plan_ablation(str(shared), str(matrix(text)), tmp_path).test
    assert 4 < len(group.examples) < 20
    nothing = write_config(data=[str(votes / "votes.jsonl")], validation=[])
    with pytest.raises(InputError, match="nothing to test on: name a 'test' in it, or a 'validation' in "):
        plan_ablation(str(nothing), str(matrix(text)), tmp_path)


def test_a_setting_that_is_not_known_is_one_sentence(base, matrix, tmp_path):
    process = subprocess.run(
        [
            *(sys.executable, "-m", "cmi", "ablate", str(base), "--out", str(tmp_path / "out"), "--matrix"),
            str(matrix('reference = "all"\n[variants.all]\nloss.smoothing = 0.1\n')),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 2
    assert process.stderr.count("\n") == 1
    assert "variant 'all': 'loss.smoothing' is not known; did you mean 'label_smoothing'? Known" in process.stderr


def test_test_rows_keep_what_nulls_and_intervals_need(votes):
    sources = [TrainingSource(preferences=votes / "votes.jsonl", split="test")]
    sources += [TrainingSource(ratings=votes / "ratings.jsonl", split="test")]
    items = rated_items(read_examples(sources))
    assert {item.dataset for item in items} == {"votes.jsonl (test)", "ratings.jsonl (test)"}
    assert {item.about["generator_a"] for item in items if item.is_pair} == {"tones", "noises"}
    assert len({item.cluster for item in items if item.is_pair}) == 28
    assert items[0].votes.keys() == {"musicality", "alignment"}


def test_the_papers_matrix_runs_on_the_published_layouts(data, published_model, music, tmp_path):  # noqa: F811
    """As it is but for its length: tables have their rows, with the paper's numbers beside them."""
    pam(data / "pam", *(f"musicgen,{i},pam prompt {i},{1 + i % 5},{5 - i % 5}" for i in range(12)))
    for i in range(12):
        battle(data / "music-arena", f"b{i}", prompt=f"arena prompt {i}", preference="AB"[i % 2])
        for side, kind in zip("ab", "tn", strict=True):
            sound = data / "music-arena" / "audio_files" / "01-2025JULAUG" / f"b{i}-{side}.mp3"
            sound.parent.mkdir(parents=True, exist_ok=True)
            sound.write_bytes((music / f"{kind}{i}.wav").read_bytes())
    base = tmp_path / "short.yaml"
    base.write_text(
        "model: {checkpoint: HaiwenXia/CMI-RM, head: fresh}\ntrain: [cmi-pref-pseudo]\n"
        "steps: 2000\nbatch: 4\nwindow: first10\nvalidate_every: 1000\n"
    )
    chosen = ("musicality-no-prompt", "size-4k-ft", "mapping-ordinal")
    only = [word for name in chosen for word in ("--only", name)]
    shown = ablate(base, "--matrix", "paper-ablations", "--out", tmp_path / "out", "--steps", 8, *only)
    assert shown.exit_code == 0, (shown.output, shown.exception)
    for title in (
        *(
            "Table 4, training sets: accuracy on cmi-pref (test)",
            "Table 4, training sets: accuracy on music-arena (test)",
        ),
        "Table 16, mapping of ratings: rank correlation with ratings on pam (test)",
        "Table 14, prompts and musicality: accuracy on cmi-pref (test)",
    ):
        assert title in shown.stdout
    rows = [line.split() for line in shown.stdout.splitlines()]
    assert ["mapping-ordinal", "75.80"] in [[row[0], row[-1]] for row in rows if row]
    assert ["musicality-no-prompt", "text+audio", "68.80"] in [[*row[:2], row[-1]] for row in rows if row]

"""The lessons under docs/tutorials run as they are printed, at a smaller size, and come out as they say."""

import json

import pytest

from .commands import ROOT, read_blocks
from .conftest import Shell

LESSONS = ROOT / "docs/tutorials"
SLOW = pytest.mark.slow
pytestmark = pytest.mark.timeout(1200)


def script_of(lesson: str, smaller: dict[str, str]) -> str:
    text = "\n".join(block.text for block in read_blocks(LESSONS / lesson) if block.language == "bash")
    for usual, less in smaller.items():
        assert usual in text, f"{usual!r} is no longer in {lesson}"
        text = text.replace(usual, less)
    return text


def test_every_lesson_is_tested_and_listed():
    lessons = {path.name for path in LESSONS.glob("*.md")} - {"index.md"}
    assert lessons == {"audio-llm.md", "folder-to-report.md", "reward-in-trl.md", "votes-to-model.md"}
    assert all(f"]({name})" in (LESSONS / "index.md").read_text("utf-8") for name in lessons)


@SLOW
def test_from_a_folder_to_a_report(shell: Shell):
    smaller = {"--prompts 12 --candidates 2": "--prompts 2 --candidates 1"}
    said = shell.run(script_of("folder-to-report.md", smaller), timeout=1100)
    assert any("clipping" in line and "2 of 2" in line for line in said.splitlines())
    assert "theirs" in (shell.folder / "report.html").read_text("utf-8")
    assert json.loads((shell.folder / "report.json").read_text("utf-8"))


@SLOW
def test_from_votes_to_a_trained_model(shell: Shell):
    smaller = {
        "--prompts 60 --candidates 3": "--prompts 6 --candidates 2",
        "\ncmi train votes.csv --out runs/ann\n": "\ncmi train short.yaml --out runs/ann\n",
    }
    (shell.folder / "short.yaml").write_text(  # instead of nano's settings for votes, with a hundred steps
        "model: {checkpoint: nano}\ntrain: [votes.csv]\nvalidation: {share: 0.25}\noptimizer: {lr: 1.0e-4}\n"
        "steps: 2\nbatch: 2\nvalidate_every: 2\nwindow: first10\nseed: 0\n"
    )
    said = shell.run(script_of("votes-to-model.md", smaller), timeout=1100)
    assert "Validation of the head" in said and "null: brighter" in said
    assert (shell.folder / "runs/ann/model.safetensors").exists()


@SLOW
def test_an_audio_llm(shell: Shell):
    said = shell.run(script_of("audio-llm.md", {"--clips 20": "--clips 4"}), timeout=1100)
    rows = [line.split() for line in said.splitlines() if line.startswith((" GS-K", " NP"))]
    assert rows[0][:2] == ["GS-K", "GES"] and float(rows[0][2]) == 0  # mine says no key
    assert rows[1][:2] == ["NP", "Acc."]


@SLOW
def test_a_reward_in_trl(shell: Shell):
    pytest.importorskip("trl")
    smaller = {"STEPS = 40": "STEPS = 2", "batch_size=16, num_generations=8": "batch_size=4, num_generations=4"}
    said = shell.run(script_of("reward-in-trl.md", smaller), timeout=1100)
    assert "steps  1 to  2 musicality" in said

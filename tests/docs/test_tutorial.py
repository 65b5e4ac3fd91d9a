"""The tutorial's commands run in the page's order, at a smaller size, and each step uses what the one before wrote."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cmi import read_preferences
from cmi.pairs import find_leaks
from cmi.preferences import Preference

from .commands import ROOT, read_blocks
from .conftest import Shell

PAGE = ROOT / "docs" / "tutorial.md"
SMALLER = {
    "music/ --prompts 12": "music/ --prompts 2",
    "text=28,text+lyrics=8,text+audio=8,text+lyrics+audio=4": "text=8,text+lyrics=2,text+audio=1,text+lyrics+audio=1",
    "--takes 2 --seconds 10": "--takes 1 --seconds 5",
    "--pairs 400": "--pairs 36",
    "--count 30": "--count 6",
    "steps: 50": "steps: 4",
    "validate_every: 10": "validate_every: 2",
    "steps: 20": "steps: 4",
    "validate_every: 5": "validate_every: 2",
    "more/ --prompts 10 --candidates 3": "more/ --prompts 2 --candidates 2",
    "--curve 1,2,3": "--curve 1,2",
}
PORTS = ("8124", "8008")
LARGEST = 70_000  # bytes of a picture
QUALITY = {"studio": 3, "studio-flaws-0.4-follows-0.6": 2, "studio-flaws-0.8-follows-0.2": 1}


def test_every_picture_of_the_page_is_there_small_and_made_by_the_script():
    shown = set(re.findall(r"\(pictures/([\w.-]+)\)", PAGE.read_text("utf-8")))
    script = (ROOT / "recipes/tutorial/pictures.py").read_text("utf-8")
    assert shown == set(re.findall(r'"(tutorial-[\w-]+\.svg)"', script)) and len(shown) == 9
    for name in shown:
        assert (PAGE.parent / "pictures" / name).stat().st_size < LARGEST


def smaller_script() -> str:
    text = "\n".join(block.text for block in read_blocks(PAGE) if block.language == "bash")
    text = text.replace(". .venv/bin/activate\n", "")  # this environment is used instead
    for usual, less in SMALLER.items():
        assert usual in text, f"{usual!r} is no longer in {PAGE.name}"
        text = text.replace(usual, less)
    for port in PORTS:
        with socket.create_server(("127.0.0.1", 0)) as free:
            text = text.replace(port, str(free.getsockname()[1]))
    return text


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_the_whole_way(shell: Shell):
    shell.run(smaller_script(), timeout=2300)
    run = shell.folder / "build" / "tutorial"

    prompts = read_lines(run / "prompts.jsonl")
    takes = read_lines(run / "takes/takes.jsonl")
    assert len(prompts) == 12 and len(takes) == 3 * 12
    assert {take["group"] for take in takes} == {prompt["id"] for prompt in prompts}

    pairs = read_lines(run / "pairs/preferences.jsonl")
    assert {pair["split"] for pair in pairs} == {"train", "valid", "test"}
    split_of = {pair["id"]: pair["split"] for pair in pairs}
    assert find_leaks(run / "pairs") == []

    labels, votes = (list(read_preferences(run / name)) for name in ("labels", "votes"))
    for found in (labels, votes):
        assert all(one.about["split"] == split_of[one.about.get("pair", "") or pair_of(one)] for one in found)
        right = list(is_right(found))
        assert len(right) > 20 and sum(right) / len(right) > 0.6  # they are right in 7 to 8 cases of 10
    assert len({one.rater for one in votes}) > 1

    first, second = (json.loads((run / f"runs/stage{n}/training/settings.json").read_text()) for n in (1, 2))
    assert first["settings"]["model"]["checkpoint"] == "nano"
    assert "stage1" in second["settings"]["model"]["checkpoint"]
    cells = json.loads((run / "bench.json").read_text())["cells"]
    models = {cell["model"].partition("@")[0] for cell in cells if not cell["is_null"]}
    assert models == {"nano", "stage1", "stage2"}
    assert "generator prior" in {cell["model"] for cell in cells if cell["is_null"]}
    tested = sum(one.about["split"] == "test" and one.axis == "musicality" for one in votes)
    assert tested in {cell["n"] for cell in cells if cell["task"] == "musicality preference"}
    assert all(0 <= cell["value"] <= 1 and cell["n"] > 0 for cell in cells if cell["metric"] == "ACC")

    drawn = {path.name: path.stat().st_size for path in (run / "pictures").iterdir()}
    assert len(drawn) == 9 and all(1000 < size < 2 * LARGEST for size in drawn.values())


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def pair_of(label: Preference) -> str:
    return label.id.removesuffix(f" {label.axis}")


def is_right(found: list[Preference]) -> Iterator[bool]:
    """Whether each choice other than a tie is the take of the better system."""
    for one in found:
        if one.choice in ("a", "b"):
            a, b = (QUALITY[one.about[f"generator_{side}"]] for side in "ab")
            yield (a > b) == (one.choice == "a")

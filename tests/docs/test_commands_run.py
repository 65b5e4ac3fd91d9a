"""The commands of each page run in the page's order, in a folder of their own; those that cannot run here say why."""

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from .commands import COMMANDS, ROOT, Command, read_blocks

LESSONS = {page.relative_to(ROOT).as_posix() for page in (ROOT / "docs/tutorials").glob("*.md")}
OTHERS = {"docs/tutorial.md", *LESSONS}  # pages with tests of their own
CANNOT_RUN = {  # the reason: a pattern of commands
    "downloads data sets, packages or weights": r"^data (get|check)|^studio fetch|clap-music|audiobox|songeval|-real"
    r"|--system (musicgen|stable-audio-open)",
    "nano downloads musicnn's weights": r"--model nano|scorer:nano|^score take1\.wav|^pick takes/ "
    r"|^pick takes(40)? --curve|^(score|pick) takes --html|takes/takes\.jsonl|^distance |^report |^probe nano ",
    "goes on from a run of nano": r"runs/(nano|real)|best-of-n",
    "needs the votes of people": r"^arena (matrix|export votes/)|^(calibrate|drift) runs/|--calibration ",
    "asks a model behind an endpoint": r"--url |--endpoint |--lyrics-from |--caption-with ",
    "serves until it is stopped": r"^arena serve|^judge endpoint",
    "uploads to the hub": r"--push ",
    "needs a PostgreSQL server": r"postgresql://",
    "starts a Ray cluster": r"--ray ",
    "needs a checkpoint of CMI-RM": r"CMI-RM/|^(train|ablate) |runs/(mine|paper)",
    "needs a published data set": r"^data export",
    "needs the released answers": r"released/|qwen2",
    "needs a model in an environment of its own": r"worker:",
    "needs data, answers or scores of your own": r"^bench data make|bench-data|\$variant|answers-plain|mine\.json"
    r"|musiccaps-public"
    r"|^bench (check|score) answers/? --annotations annotations",
    "takes minutes, and needs the listen extra": r"--listener reference",
    "scores what the reference listener answered": r"mir3?/annotations --protocol strict",
    "goes on from predictions or folds that were made before": r"^mirex (disclose|folds|cost)",
    "is a demonstration that has tests of its own": r"^demo",
    "makes thousands of pairs": r"--pairs (7000|12000)",
}  # fmt: skip
SMALLER = {
    r"--pairs \d+": "--pairs 12",
    "--clips 20": "--clips 2",
    "--pieces 5": "--pieces 3",
    "--prompts [24]0": "--prompts 2",
}
EXIT_CODES = {  # the page shows an error
    "docs/data.md cmi score --manifest takes.csv": 2,
    "docs/publish.md cmi data publish set/ published/ --contact data@example.org": 2,
}
MAKES_FILES = {"docs/arena-ratings.md"}  # pages whose Python blocks write files for the commands below them
NEEDS = {"docs/plugs.md": ("inspect_ai", "datasets", "trackio")}  # beyond what `make setup` installs
PROMPTS = '{"text": "A slow waltz"}\n{"text": "A folk tune", "lyrics": "We hear"}\n'
FILES = {
    "docs/arena-crowds.md": {"ids.txt": "ann\nbob\n"},
    "docs/data.md": {"takes.csv": "audio,prompt\ntake.wav,slow piano\n"},
    "docs/generate.md": {"prompts.jsonl": PROMPTS},
    "docs/mirex.md": {
        "input.jsonl": '{"sample_id": "1", "prompt": "slow piano", "audio_A": "1a.wav", "audio_B": "1b.wav"}\n',
        "predictions.jsonl": '{"sample_id": "1", "preference_score": 0.7, "preferred_candidate": "A"}\n',
    },
    "docs/pairs.md": {
        "prompts.jsonl": PROMPTS,
        "votes.csv": "a,b,axis,choice,generator_a,generator_b\n1.wav,2.wav,overall,a,studio,studio-flaws-0.2\n",
    },
    "docs/services.md": {"prompts.jsonl": PROMPTS},
    "docs/prompts.md": {
        "ideas.txt": "slow sad piano\nfast techno\na waltz for two violins\n",
        "lyrics/rain.txt": "rain on the roof\nrain on the road\n",
    },
}


def reason_of(command: Command) -> str | None:
    text = " ".join(command.words)
    return next((reason for reason, pattern in CANNOT_RUN.items() if re.search(pattern, text)), None)


def runnable() -> dict[str, list[Command]]:
    found = defaultdict(list)
    for command in COMMANDS:
        if reason_of(command) is None and command.page not in OTHERS:
            found[command.page].append(command)
    return found


def make_smaller(words: tuple[str, ...]) -> list[str]:
    text = "\0".join(words)
    for pattern, less in SMALLER.items():
        text = re.sub(pattern.replace(" ", "\0"), less.replace(" ", "\0"), text)
    return text.split("\0")


def set_up(page: str, folder: Path) -> None:
    """The files that a page takes for granted, and the classes that it shows."""
    for name, content in FILES.get(page, {}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    classes = [
        block.text for block in read_blocks(ROOT / page) if block.language == "python" and "\nclass " in block.text
    ]
    (folder / "my_models.py").write_text("\n\n".join(classes))


def test_most_pages_have_a_command_that_runs():
    assert len(runnable()) >= 8
    assert sum(map(len, runnable().values())) >= 20


@pytest.mark.parametrize("reason", CANNOT_RUN)
def test_no_reason_is_left_over(reason):
    assert any(reason_of(command) == reason for command in COMMANDS) or reason.startswith("is a demonstration")


def steps_of(page: str) -> list[tuple[int, list[str], Command | None]]:
    """The line, Python's arguments and, unless it is a block of Python, the command: in the page's order."""
    steps: list[tuple[int, list[str], Command | None]] = [
        (command.line, ["-m", "cmi", *make_smaller(command.words)], command) for command in runnable()[page]
    ]
    if page in MAKES_FILES:
        blocks = [block for block in read_blocks(ROOT / page) if block.language == "python"]
        steps += [(block.line, ["-c", block.text], None) for block in blocks]
    return sorted(steps, key=lambda step: step[0])


@pytest.mark.parametrize("page", runnable())
def test_the_commands_of_a_page_run(page, tmp_path):
    for package in NEEDS.get(page, ()):
        pytest.importorskip(package)
    set_up(page, tmp_path)
    own = {"HF_HUB_OFFLINE": "1", "TRACKIO_DIR": str(tmp_path / "trackio")}
    for line, arguments, command in steps_of(page):
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True, text=True, cwd=tmp_path, timeout=280, env={**os.environ, **own},
        )  # fmt: skip
        expected = EXIT_CODES.get(f"{page} cmi {' '.join(command.words)}", 0) if command else 0
        assert done.returncode == expected, f"{page}:{line} {command or ''}\n{done.stdout}\n{done.stderr}"

"""Prompts in a file, and the odd systems where `module:Class` finds them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cmi.generate.run import GenerationPlan, SystemSummary, run_generation
from cmi.take import read_prompts


@pytest.fixture(autouse=True)
def _odd_systems(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)


@pytest.fixture
def write_prompts(tmp_path: Path) -> Callable[..., Path]:
    def write(*rows: dict[str, object] | str) -> Path:
        path = tmp_path / "prompts.jsonl"
        path.write_text("".join(json.dumps({"text": row} if isinstance(row, str) else row) + "\n" for row in rows))
        return path

    return write


@pytest.fixture
def generate(tmp_path: Path) -> Callable[..., list[SystemSummary]]:
    """Run a plan in `tmp_path/takes`."""

    def run(prompts: Path, *systems: str, takes: int = 1, **options) -> list[SystemSummary]:
        names = systems or ("odd_systems:Odd",)
        asked = list(read_prompts(prompts))
        return run_generation(GenerationPlan(asked, tmp_path / "takes", names, range(takes), **options))

    return run


@pytest.fixture
def rows(tmp_path: Path) -> Callable[[str], list[dict]]:
    def read(name: str) -> list[dict]:
        return [json.loads(line) for line in (tmp_path / "takes" / name).read_text().splitlines()]

    return read

"""docs/security.md names tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "docs/security.md").read_text("utf-8"))))


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_the_test_exists(file, test):
    assert f"def {test}(" in (ROOT / file).read_text("utf-8")


def test_there_are_promises():
    assert len(NAMED) > 40

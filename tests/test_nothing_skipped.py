"""In CI a test that is skipped fails; and the lists of slow files and tests name those that exist."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import HERE, SLOW_FILES, SLOW_TESTS

CONFTEST = Path(__file__).with_name("conftest.py")
SKIPS = """
import pytest

def test_published_number():
    pytest.skip("no shared folder with the released CMI-Bench answers (set CMI_SHARED)")

def test_network():
    pytest.skip("no connection to Debian's archive")

@pytest.mark.xfail
def test_expected():
    assert False
"""


@pytest.mark.parametrize("name", SLOW_FILES)
def test_a_slow_file_exists(name):
    assert (HERE / name).exists(), f"tests/conftest.py, SLOW_FILES: {name} has moved"


def test_a_slow_test_exists():
    listed = [name.split("::") for name in SLOW_TESTS]
    moved = [name for file, name in listed if f"def {name}(" not in (HERE / file).read_text("utf-8")]
    assert not moved, "tests/slow_tests.txt names tests that have moved"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("nothing_skipped", "expected"), [("1", "1 failed, 1 skipped, 1 xfailed, 1 error"), ("", "3 skipped, 1 xfailed")]
)
def test_only_what_ci_cannot_help_is_skipped(tmp_path, nothing_skipped, expected):
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text("utf-8"), "utf-8")
    (tmp_path / "slow_tests.txt").touch()
    (tmp_path / "test_skips.py").write_text(SKIPS)
    (tmp_path / "test_module.py").write_text("import pytest\npytest.importorskip('no_such_package_at_all')\n")
    environment = {**os.environ, "CMI_NOTHING_SKIPPED": nothing_skipped, "CMI_CACHE": str(tmp_path)}
    shown = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", tmp_path],
        capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=250,
    )  # fmt: skip
    assert f"{expected} in " in shown.stdout, shown.stdout

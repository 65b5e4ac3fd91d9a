"""The public names: found where users look, listed by dir(), loaded when they are used, each with its documentation."""

import importlib
import subprocess
import sys

import pytest

PACKAGES = [
    "cmi",
    "cmi.bench",
    "cmi.judge",
    "cmi.llm",
    "cmi.pairs",
    "cmi.rewardbench",
    "cmi.stats",
    "cmi.studio",
    "cmi.testing",
]


@pytest.mark.parametrize("package", PACKAGES)
def test_dir_lists_the_public_names_and_each_is_documented(package: str):
    module = importlib.import_module(package)
    assert sorted(module.__all__) == [name for name in dir(module) if not name.startswith("_")]
    for name in module.__all__:
        assert getattr(module, name).__doc__, f"{package}.{name} has no documentation"


def test_a_name_that_is_not_public_is_an_attribute_error():
    import cmi

    with pytest.raises(AttributeError, match="module 'cmi' has no attribute 'Nothing'"):
        _ = cmi.Nothing


def test_packages_are_there_after_importing_cmi_alone():
    code = "import cmi; print(cmi.stats.wilson(45, 60), cmi.bench.score.__name__, cmi.rewardbench.evaluate.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "score evaluate" in done.stdout

"""The examples in the docstrings of `cmi.stats` and `cmi.report` give what they say."""

import doctest
import importlib
import pkgutil

import pytest

import cmi.report
import cmi.stats

MODULES = [
    f"{package.__name__}.{module.name}"
    for package in (cmi.stats, cmi.report)
    for module in pkgutil.iter_modules(package.__path__)
]


@pytest.mark.parametrize("name", ["cmi.stats", *MODULES])
def test_the_examples_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_what_is_exported_is_there():
    assert [name for name in cmi.stats.__all__ if not hasattr(cmi.stats, name)] == []

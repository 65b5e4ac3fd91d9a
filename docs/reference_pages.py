"""The parts of the reference that are written by the program: commands from their help, Python from docstrings."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import typer
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import cmi
from cmi.cli import PANELS, app

SOURCES = Path(str(cmi.__file__)).parents[1]


class CommandReference(SphinxDirective):
    """Every command of `cmi`, as its --help describes it."""

    def run(self) -> list[nodes.Node]:
        root: Any = typer.main.get_command(app)
        lines: list[str] = []
        for panel, names in PANELS.items():
            lines += [f"## {panel}", ""]
            for name in names:
                lines += describe_command(["cmi", name], root.commands[name])
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def describe_command(words: list[str], command: Any) -> Iterator[str]:
    yield from (f"{'#' * (len(words) + 1)} {' '.join(words)}", "", join_examples(command.help or ""), "")
    if hasattr(command, "commands"):
        for name, own in command.commands.items():
            yield from describe_command([*words, name], own)
        return
    context = command.make_context(" ".join(words), [], resilient_parsing=True)
    yield from ("```text", command.get_usage(context).removeprefix("Usage: "), "```", "")
    for option in command.params:
        record = option.get_help_record(context)
        if record is not None:
            yield from (f"- `{record[0]}`: {record[1]}", "")


def join_examples(text: str) -> str:
    """Put the examples of a help text into one block; in the terminal, blank lines keep them apart.

    >>> join_examples("Examples:\\n\\n    cmi score a.wav\\n\\n    cmi score b.wav")
    'Examples:\\n\\n    cmi score a.wav\\n    cmi score b.wav'
    """
    return re.sub(r"(?m)(^    .*)\n\n(?=    )", r"\1\n", text)


class PythonReference(SphinxDirective):
    """Every public name: those that the stubs of packages export (`cmi._util.lazy`)."""

    def run(self) -> list[nodes.Node]:
        stubs = sorted(SOURCES.rglob("__init__.pyi"))
        packages = [".".join(stub.parent.relative_to(SOURCES).parts) for stub in stubs]
        lines = [line for package in sorted(packages) for line in describe_package(package)]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def describe_package(name: str) -> Iterator[str]:
    package = import_module(name)
    yield from (f"## {name}", "", "```{eval-rst}", f".. currentmodule:: {name}", "")
    for own in package.__all__:
        value = getattr(package, own)
        if isinstance(value, type):
            yield from (f".. autoclass:: {own}", "   :members:", "")
        elif not isinstance(value, ModuleType):
            yield from (f".. auto{'function' if callable(value) else 'data'}:: {own}", "")
    yield from ("```", "")

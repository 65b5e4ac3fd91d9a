"""Every command that README, docs and `--help` print is one that `cmi` accepts."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from cmi.cli import app
from cmi.demo.page import next_commands

from .commands import COMMANDS, PAGES, Command

ROOT_COMMAND = typer.main.get_command(app)
UsageError = typer.BadParameter.__mro__[1]  # typer's own or click's, by its version


def find_command(words: list[str]) -> tuple[Any, list[str]]:
    """The command that words begin with, and the other words."""
    command: Any = ROOT_COMMAND
    rest, context = list(words), None
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        try:
            context = command.make_context("cmi", rest, parent=context)
            _, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        except UsageError as error:
            pytest.fail(f"cmi {shlex.join(words)}: {error}")
    return command, rest


def parse(words: tuple[str, ...]) -> None:
    """Resolve command, options and arguments, and run nothing."""
    command, rest = find_command(list(words))
    assert not hasattr(command, "commands"), f"cmi {shlex.join(words)}: a group of commands"
    try:
        command.make_context("cmi", rest)
    except UsageError as error:
        pytest.fail(f"cmi {shlex.join(words)}: {error}")


def all_commands(command: Any) -> Iterator[Any]:
    if hasattr(command, "commands"):
        for own in command.commands.values():
            yield from all_commands(own)
    else:
        yield command


def examples_in_help() -> list[tuple[str, ...]]:
    found = []
    for command in all_commands(ROOT_COMMAND):
        for line in re.findall(r"^(?:Examples?:)? *(?:\$ )?(cmi [a-z].*)$", command.help or "", re.MULTILINE):
            texts = (re.split(r" [|&>]", text)[0] for text in line.split(", then ") if text.startswith("cmi "))
            found += [tuple(shlex.split(text, comments=True)[1:]) for text in texts]
    return found


def inline_commands() -> list[tuple[str, str]]:
    """(page, command) of what stands between backticks in running text, as `cmi bench run`."""
    found = set()
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        found |= {(page.name, own) for own in re.findall(r"`cmi ((?:[a-z-]+)(?: [^`]*)?)`", text)}
    return sorted(found)


def test_there_are_commands_to_check():
    assert len(COMMANDS) > 60
    assert len({command.page for command in COMMANDS}) > 12
    assert len(examples_in_help()) > 15


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_printed_command_is_accepted(command: Command):
    parse(command.words)


@pytest.mark.parametrize("words", examples_in_help(), ids=shlex.join)
def test_an_example_in_help_is_accepted(words):
    parse(words)


@pytest.mark.parametrize("text", next_commands(Path("demo-out")))
def test_a_command_on_the_demo_s_page_is_accepted(text):
    parse(tuple(shlex.split(text)[1:]))


@pytest.mark.parametrize(("page", "text"), inline_commands())
def test_a_command_in_running_text_exists_and_has_these_options(page, text):
    command, rest = find_command(shlex.split(text))
    known = {"--help", *(name for option in command.params for name in (*option.opts, *option.secondary_opts))}
    unknown = [word for word in rest if word.startswith("--") and word.partition("=")[0] not in known]
    assert not unknown, f"{page}: `cmi {text}`"

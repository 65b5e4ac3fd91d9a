"""What the help of a command says is what its text says: nothing in it is taken for markup and swallowed."""

import re
from collections.abc import Iterator

import pytest
import typer
from typer.testing import CliRunner

from cmi.cli import app

# words in angle or square brackets, as in <data set>, [bench] and NAME=[FOLDER]
BRACKETED = re.compile(r"<[^<>\n]+>|\[[^\[\]\n]+\]")


def commands(command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    yield path, command
    for name, each in getattr(command, "commands", {}).items():
        yield from commands(each, (*path, name))


ALL = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_words_in_brackets_are_shown(path: tuple[str, ...]):
    command = ALL[path]
    texts = [command.help or "", *(getattr(param, "help", None) or "" for param in command.params)]
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert shown.exit_code == 0
    flat = re.sub(r"[\s│]+", "", shown.output)
    for text in texts:
        for bracketed in BRACKETED.findall(text):
            assert re.sub(r"\s+", "", bracketed) in flat, f"{bracketed} is missing from the help of {path}"


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_word_of_a_text_is_shown(path: tuple[str, ...]):
    command = ALL[path]
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
    words = set(re.findall(r"\w+", shown))
    own = re.findall(r"\w+", command.help or "")
    assert [word for word in own if word not in words] == []

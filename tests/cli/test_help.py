"""What the help of a command says is what its text says: nothing in it is taken for markup and swallowed."""

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
import typer
from typer.testing import CliRunner

from cmi.cli import PANELS, app

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


@pytest.mark.parametrize("path", [path for path in ALL if not hasattr(ALL[path], "commands")], ids=" ".join)
def test_every_command_can_be_quiet_or_verbose(path: tuple[str, ...]):
    options = {option for param in ALL[path].params for option in param.opts}
    assert {"-q", "--quiet", "-v", "--verbose"} <= options


def test_commands_are_listed_in_the_order_of_use():
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120", "TERM": "dumb"}).output
    names = [name for names in PANELS.values() for name in names]
    assert sorted(names) == sorted(ALL[()].commands)
    places = [re.search(rf"^│ {name}\s", shown, re.MULTILINE).start() for name in names]
    assert places == sorted(places)


def test_verbose_errors_name_their_cause(tmp_path):
    (tmp_path / "pairs.jsonl").write_bytes(b'{"text": "\xff"}')
    command = ["judge", "pairs", str(tmp_path / "pairs.jsonl"), "--model", "scorer:nano", "--out", str(tmp_path)]
    plain, verbose = (run_plainly_to_its_end([*command, *more]) for more in ([], ["-v"]))
    assert plain.count("\n") == 1 and "because of UnicodeDecodeError" not in plain
    assert "because of UnicodeDecodeError" in verbose


def run_plainly_to_its_end(arguments: list[str]) -> str:
    done = subprocess.run([sys.executable, "-m", "cmi", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    return done.stderr

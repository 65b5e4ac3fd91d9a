"""The commands that README, docs, recipes' pages and `--help` print."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "recipes").rglob("*.md"))]
# A line that begins with `cmi`, also after a prompt or as the body of a loop.
LINE = re.compile(r"^ *(?:\$ )?cmi (?=[a-z-])(.*)$")
FENCE = re.compile(r"^```(\w*)$")
HEADINGS_OF_OUTPUT = {"studio make"}  # tables that are titled by a command


class Command(NamedTuple):
    page: str
    line: int
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page}:{self.line} cmi {shlex.join(self.words)}"


class Block(NamedTuple):
    page: str
    line: int
    language: str
    text: str


def read_blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page and, with the language '', its indented ones."""
    name = page.relative_to(ROOT).as_posix()
    found: list[Block] = []
    language: str | None = None
    start, kept = 0, list[str]()
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if language is None and fence:
            language, start, kept = fence[1], number + 1, []
        elif language is not None and line == "```":
            found.append(Block(name, start, language, "\n".join(kept)))
            language = None
        elif language is not None:
            kept.append(line)
        elif line.startswith("    "):
            found.append(Block(name, number, "", line[4:]))
    return found


def commands_of(block: Block) -> list[Command]:
    """Every `cmi` command of a block: continued lines joined, comments, pipes and redirections left out."""
    if block.language not in ("", "console", "bash", "sh"):
        return []
    found, lines = [], block.text.splitlines()
    for place, line in enumerate(lines):
        match = LINE.match(line)
        if not match:
            continue
        text, following = match[1], place
        while text.endswith("\\"):
            following += 1
            text = text[:-1] + " " + lines[following].strip()
        text = re.split(r" [|&>]|;", text, maxsplit=1)[0]
        words = tuple(word for word in shlex.split(text, comments=True) if word != "...")
        if " ".join(words) not in HEADINGS_OF_OUTPUT:
            found.append(Command(block.page, block.line + place, words))
    return found


COMMANDS = [command for page in PAGES for block in read_blocks(page) for command in commands_of(block)]

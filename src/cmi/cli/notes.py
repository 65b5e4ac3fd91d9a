"""Sentences beside the results: one line each on standard error."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from cmi._util.printable import printable

if TYPE_CHECKING:
    from cmi.take import Prompt


def note(sentence: str) -> None:
    """Say something on one line, whatever names and messages are in it."""
    print(f"cmi: {printable(' '.join(sentence.split()))}", file=sys.stderr, flush=True)


def note_if_nothing_asked(file: Path | str, prompts: Iterable["Prompt"]) -> None:
    """Say so if no row of a file has a prompt, which is right now and then, and a mistake at other times."""
    if not any(prompt.text or prompt.lyrics or prompt.reference for prompt in prompts):
        note(f"{file}: no row has a text, lyrics or a reference; scores are of takes that answer an empty prompt")

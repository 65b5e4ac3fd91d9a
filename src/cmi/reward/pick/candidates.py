"""Candidates: takes that answer the same prompt, of which one is to be picked.

A folder    one subfolder for each prompt: prompt.json ({"text": ..., "lyrics": ..., "reference": ...}, any may be
            absent) or prompt.txt (the text), and audio files. A reference that lies there is no candidate.
A manifest  JSON-lines of takes (cmi.take). Rows with an equal `group` are candidates for one another, and rows without
            one if all of their prompts is equal. A row that says the same file again counts once.

Prompts and files come by name, so that the order of rows and of a file system's listing tells nothing.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cmi._util.columns import Columns
from cmi._util.errors import InputError
from cmi.audio import AUDIO_SUFFIXES
from cmi.take import TAKES, Prompt, Take, prompt_of, take_rows, text_field

CANDIDATES = Columns((*TAKES.main, "group"), TAKES.others)
_PROMPT = Columns(("text", "lyrics", "reference"))
_WORDS = 5  # of a prompt that name it


@dataclass(frozen=True)
class Candidate:
    """A take by the name of its file: in its folder, or as the manifest has it."""

    name: str
    take: Take


@dataclass(frozen=True)
class Group:
    """The candidates for one prompt, by name."""

    name: str
    candidates: tuple[Candidate, ...]


def read_folder(folder: Path) -> list[Group]:
    """A group for each subfolder, by name; one without audio files has no candidates."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    groups = [_read_prompt(path) for path in _visible(folder) if path.is_dir()]
    if not groups:
        raise InputError(f"{folder}: no subfolders, expected one for each prompt, with its takes in it")
    return groups


def read_manifest(path: Path) -> list[Group]:
    """A group for each `group`, or for each prompt, by name."""
    found: defaultdict[str, dict[str, Take]] = defaultdict(dict)
    for _, take, where, row in take_rows(path, CANDIDATES):
        name = text_field(row, "group", where) or prompt_name(take.prompt)
        found[name][row["audio"]] = take
    if not found:
        raise InputError(f"{path}: no takes in it")
    return [_group(name, takes.items()) for name, takes in sorted(found.items())]


def prompt_name(prompt: Prompt) -> str:
    """Its first words and six hex digits of the hash of all of it: 'slow-sad-piano-1f3a9c'."""
    parts = [prompt.text, prompt.lyrics, str(prompt.reference or "")]
    digits = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:6]
    words = re.findall(r"\w+", f"{prompt.text} {prompt.lyrics}".lower())[:_WORDS]
    return "-".join([*words, digits])


def _read_prompt(folder: Path) -> Group:
    prompt = _prompt(folder)
    files = [path for path in _visible(folder) if path.suffix.lower() in AUDIO_SUFFIXES and path != prompt.reference]
    return _group(folder.name, [(path.name, Take(prompt, path)) for path in files])


def _group(name: str, takes: Iterable[tuple[str, Take]]) -> Group:
    return Group(name, tuple(Candidate(file, take) for file, take in sorted(takes, key=lambda item: item[0])))


def _visible(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}") from error


def _prompt(folder: Path) -> Prompt:
    record, text = folder / "prompt.json", folder / "prompt.txt"
    if record.exists() and text.exists():
        raise InputError(f"{folder}: both prompt.json and prompt.txt, expected one of them")
    if record.exists():
        return _from_record(record)
    if text.exists():
        return Prompt(_read(text).strip())
    raise InputError(f"{folder}: no prompt.json and no prompt.txt, expected one that says what was asked for")


def _from_record(path: Path) -> Prompt:
    try:
        record: Any = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error})") from error
    if not isinstance(record, dict):
        raise InputError(f'{path}: {type(record).__name__}, expected an object such as {{"text": "slow sad piano"}}')
    _PROMPT.require_known(record, str(path), "field")
    return prompt_of(record, str(path), path.parent)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text; save it as UTF-8") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error

"""Candidates: takes of the same prompt, of which one will be picked.

A folder    one subfolder for each prompt: prompt.json ({"text": ..., "lyrics": ..., "reference": ...}, any may be
            absent) or prompt.txt (the text) with lyrics.txt and a file called reference if there are such, and audio
            files (`cmi.take.read_take_folders`). A reference is not a candidate, nor is a recording called
            ground-truth: the real one that the prompt describes, for listening studies.
A manifest  JSON lines of takes (cmi.take). Rows with the same `group` or, without one, with the same prompt are
            candidates of one prompt. A file that occurs twice counts once. `ground_truth` is the path of the real
            recording; it is enough if one row of a group has it.

Prompts and files are sorted by name, so that the order of rows and of folder listings does not matter.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cmi._util.errors import InputError
from cmi._util.fields import path_field, text_field
from cmi._util.records import Columns
from cmi.take import TAKES, Prompt, Take, read_take_folders, take_rows

CANDIDATES = Columns((*TAKES.main, "group", "ground_truth"), TAKES.others)
REAL = "ground-truth"  # the name of a real recording in a folder
_WORDS = 5  # of a prompt that name it


@dataclass(frozen=True)
class Candidate:
    """A take with its name: its file name in a folder, or its path in the manifest."""

    name: str
    take: Take
    generator: str = ""  # '' if it is not known


@dataclass(frozen=True)
class Group:
    """The candidates of one prompt, sorted by name, and the real recording that the prompt describes, if known."""

    name: str
    candidates: tuple[Candidate, ...]
    real: Path | None = None


def read_folder(folder: Path) -> list[Group]:
    """Return a group for each subfolder, sorted by name; one without audio files has no candidates."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    groups = []
    for name, prompt, sounds in read_take_folders(folder):
        real = next((path for path in sounds if path.stem == REAL), None)
        candidates = [Candidate(path.name, Take(prompt, path)) for path in sounds if path != real]
        groups.append(_group(name, candidates, real))
    return groups


def read_manifest(path: Path) -> list[Group]:
    """Return a group for each `group` or prompt, sorted by name."""
    found: defaultdict[str, dict[str, Candidate]] = defaultdict(dict)
    reals: dict[str, Path] = {}
    for _, take, where, row in take_rows(path, CANDIDATES):
        name = text_field(row, "group", where) or prompt_name(take.prompt)
        found[name][row["audio"]] = Candidate(row["audio"], take, text_field(row, "generator", where))
        real = path_field(row, "ground_truth", where)
        if real and reals.setdefault(name, path.parent / real) != path.parent / real:
            raise InputError(f"{where}: 'ground_truth' is {real!r}, but an earlier take of this prompt names another")
    if not found:
        raise InputError(f"{path}: no takes in it")
    return [_group(name, takes.values(), reals.get(name)) for name, takes in sorted(found.items())]


def prompt_name(prompt: Prompt) -> str:
    """Return a prompt's first words and six hex digits of its hash: 'slow-sad-piano-1f3a9c'."""
    parts = [prompt.text, prompt.lyrics, str(prompt.reference or "")]
    digits = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:6]
    words = re.findall(r"\w+", f"{prompt.text} {prompt.lyrics}".lower())[:_WORDS]
    return "-".join([*words, digits])


def _group(name: str, candidates: Iterable[Candidate], real: Path | None) -> Group:
    return Group(name, tuple(sorted(candidates, key=lambda one: one.name)), real)

"""Pairs as they come: a file of pairs or preferences, a studio set, or a folder of takes.

A file          JSON lines or CSV in the common format (`cmi.preferences`); an axis and a choice may be absent. Rows
                about the same pair, one for each axis, are one pair. `system_a`, `system_b` (or `generator_a`,
                `generator_b`) name what made the takes. `gold` makes a pair one whose answer is known:
                {"musicality": "a", "alignment": "b"}, either alone, or true where the rows' own choices are the answer.
                Other fields that `cmi.preferences` knows, and those that begin with x_, are kept and exported.
A studio set    the folder that `cmi studio make` wrote. Its winners are known; the flaw names the worse take's system.
A folder        a subfolder for each prompt, as `cmi pick` reads it (prompt.json, or prompt.txt); lyrics.txt and a file
                called reference may lie beside prompt.txt. All pairs of its takes; a file's name is its system's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi.judge.pairs import PREFERENCES
from cmi.preferences import COLUMNS, FIELDS, pair_of
from cmi.reward.pick.candidates import Candidate, read_folder
from cmi.take import Pair, Prompt, rows_of, text_field, with_ids

SYSTEMS = (("system_a", "generator_a"), ("system_b", "generator_b"))  # as data sets call them
OURS = {*FIELDS, "gold", *SYSTEMS[0], *SYSTEMS[1]}
CLEAR = 4  # the confidence from which a studio pair's winner is plain to everyone


@dataclass
class SourcePair:
    """A pair before its sounds were heard."""

    id: str
    where: str  # for messages
    pair: Pair
    system_a: str
    system_b: str
    gold: dict[str, str] | None = None
    known: dict[str, str] = field(default_factory=dict)  # winners that the source vouches for, by axis
    clear: bool = True  # whether everyone should hear who won
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def sounds(self) -> dict[str, Path]:
        parts = {"a": self.pair.a, "b": self.pair.b, "reference": self.pair.prompt.reference}
        return {name: path for name, path in parts.items() if isinstance(path, Path)}


def read_source(path: Path) -> list[SourcePair]:
    """The pairs of a file, a studio set or a folder of takes, in their order; InputError if there are none."""
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if path.is_dir() and not (path / PREFERENCES).exists():
        found = list(_of_folder(path))
    else:
        found = _of_file(path / PREFERENCES if path.is_dir() else path)
    if not found:
        raise InputError(f"{path}: no pair in it")
    return found


def _of_file(path: Path) -> list[SourcePair]:
    found: dict[Pair, SourcePair] = {}
    for name, where, row in with_ids(path, rows_of(path, COLUMNS, ["a", "b"])):
        pair = pair_of(row, where, path.parent)
        if pair not in found:
            system_a, system_b = (_first_of(row, names, where) for names in SYSTEMS)
            about = {key: value for key, value in row.items() if key not in OURS and value not in (None, "")}
            found[pair] = SourcePair(name, where, pair, system_a, system_b, about=about)
        _add_row(found[pair], row, where)
    return list(found.values())


def _add_row(pair: SourcePair, row: Mapping[str, Any], where: str) -> None:
    """What one row knows of the winner on its axis."""
    axis, choice = row.get("axis"), row.get("choice")
    by_itself = {axis: choice} if axis in ("musicality", "alignment") and choice in ("a", "b") else {}
    gold = row.get("gold") or None
    if gold is True and not by_itself:
        raise InputError(f"{where}: 'gold' is true, but no axis and choice of the row say what is known")
    if gold is not None:
        known = by_itself if gold is True else gold
        if not isinstance(known, dict):
            raise InputError(f'{where}: \'gold\' is {gold!r}, expected true or winners such as {{"musicality": "a"}}')
        pair.gold = {**(pair.gold or {}), **known}
    if row.get("rater") == "studio" and by_itself:
        pair.known |= by_itself
        pair.clear = row.get("confidence") in (None, *range(CLEAR, 6))
        pair.system_a, pair.system_b = _studio_systems(row, pair)


def _studio_systems(row: Mapping[str, Any], pair: SourcePair) -> tuple[str, str]:
    truth = row.get("truth")
    if pair.system_a or pair.system_b or not isinstance(truth, dict):
        return pair.system_a, pair.system_b
    winner = "clean" if row["axis"] == "musicality" else "as asked"
    loser = truth.get("flaw") if row["axis"] == "musicality" else f"other {truth.get('kind')}"
    systems = winner, str(loser or "flawed")
    return systems if row["choice"] == "a" else (systems[1], systems[0])


def _first_of(row: Mapping[str, Any], names: tuple[str, ...], where: str) -> str:
    return next((value for name in names if (value := text_field(dict(row), name, where))), "")


def _of_folder(folder: Path) -> Iterator[SourcePair]:
    for group in read_folder(folder):
        prompt, takes = _completed(folder / group.name, group.candidates)
        stems = [take.stem for take in takes]
        if len(set(stems)) < len(stems):
            twice = next(stem for stem in stems if stems.count(stem) > 1)
            raise InputError(f"{folder / group.name}: two takes are called {twice!r}, expected a system's name each")
        for a, b in combinations(takes, 2):
            name = f"{group.name}/{a.stem}-{b.stem}"
            yield SourcePair(name, str(folder / group.name), Pair(prompt, a, b), a.stem, b.stem)


def _completed(folder: Path, candidates: tuple[Candidate, ...]) -> tuple[Prompt, list[Path]]:
    """The prompt with lyrics.txt and the file called reference, and the takes without it."""
    takes = [one.take.audio for one in candidates if isinstance(one.take.audio, Path)]
    prompt = candidates[0].take.prompt if candidates else Prompt()
    lyrics = folder / "lyrics.txt"
    if lyrics.exists() and not prompt.lyrics:
        try:
            prompt = replace(prompt, lyrics=lyrics.read_text(encoding="utf-8-sig").strip())
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{lyrics}: not readable as UTF-8 text") from error
    named = [take for take in takes if take.stem == "reference"]
    if named and prompt.reference is None:
        prompt = replace(prompt, reference=named[0])
    return prompt, [take for take in takes if take not in named[:1]]

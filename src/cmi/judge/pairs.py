"""Pairs to be judged: files of pairs or of preferences, one JSON object a line, or the folder of a studio set.

    {"id", "text", "lyrics", "reference", "a", "b", ...}

as in `cmi.preferences`, but an axis and a choice may be absent: they are not shown to a judge. Rows about the same
pair, one for each axis, are one pair: it is asked once.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.records import read_records
from cmi.preferences import COLUMNS, FIELDS, pair_of, preference_of
from cmi.take import Axis, Choice, Pair, text_field, with_ids

PREFERENCES = "preferences.jsonl"  # in the folder of a studio set


class NamedPair(NamedTuple):
    """A pair with its id, the winners that the file knows, by axis, and whatever else its first line says."""

    id: str
    pair: Pair
    known: dict[Axis, Choice]
    about: dict[str, Any]


def pairs_file(path: Path) -> Path:
    """The file itself, or the file of preferences in a studio set's folder."""
    return path / PREFERENCES if path.is_dir() else path


def read_pairs(path: Path) -> list[NamedPair]:
    """The distinct pairs of a file, in its order."""
    file = pairs_file(path)
    found: dict[Pair, NamedPair] = {}
    for name, where, row in with_ids(file, read_records(file, COLUMNS)):
        pair = pair_of(row, where, file.parent)
        first = found.setdefault(pair, NamedPair(name, pair, {}, {k: v for k, v in row.items() if k not in FIELDS}))
        if text_field(row, "axis", where) and text_field(row, "choice", where):
            known = preference_of(row, where, pair)
            first.known[known.axis] = known.choice
    if not found:
        raise InputError(f"{file}: no pair in it")
    return list(found.values())


def shard_of(pairs: Sequence[NamedPair], shard: str) -> list[NamedPair]:
    """The pairs of shard 'i/n', i from 1 to n: every n-th one."""
    index, _, count = shard.partition("/")
    if not index.isdecimal() or not count.isdecimal() or not 1 <= int(index) <= int(count):
        raise InputError(f"shard {shard!r}, expected i/n with i from 1 to n, such as 2/8")
    return list(pairs[int(index) - 1 :: int(count)])

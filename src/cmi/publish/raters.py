"""Pseudonyms of raters, which stay the same in every version of a data set.

They are kept in a file beside the published folder, FOLDER.raters.json, which only its owner can read. It names people,
so it is not published.
"""

import json
import secrets
from collections.abc import Iterable
from pathlib import Path

from cmi._util.errors import InputError
from cmi._util.files import whole_file
from cmi._util.records import read_json

PREFIX = "rater-"


def pseudonyms(names: Iterable[str], file: Path) -> dict[str, str]:
    """Return a pseudonym for each name: the one in `file`, or a new one, which is added to it.

    They are random, so that they reveal neither names nor the order in which people joined.
    """
    known = _read(file)
    taken = set(known.values())
    new = sorted(set(names) - known.keys())
    for name in new:
        pseudonym = _draw()
        while pseudonym in taken:
            pseudonym = _draw()
        taken.add(pseudonym)
        known[name] = pseudonym
    if new:
        with whole_file(file) as unfinished:
            unfinished.touch(0o600)
            unfinished.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    return known


def _draw() -> str:
    return PREFIX + secrets.token_hex(3)


def _read(file: Path) -> dict[str, str]:
    if not file.exists():
        return {}
    found = read_json(file)
    if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
        raise InputError(f"{file}: expected an object of names and pseudonyms, as `cmi data publish` writes it")
    return found

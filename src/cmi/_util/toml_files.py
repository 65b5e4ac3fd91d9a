"""TOML that people write: one sentence for what cannot be read, with the line, and with the key that is there twice."""

import re
import tomllib
from typing import Any

from cmi._util.errors import InputError
from cmi._util.printable import printable

MOST_CHARACTERS = 1_000_000
_TWICE = re.compile(r"(overwrite a value|twice|mutate|[Dd]uplicate).*\(at (line (?P<line>\d+)|end of document)")


def parse_toml(content: bytes, name: str) -> dict[str, Any]:
    """The tables of a file called `name`."""
    if len(content) > MOST_CHARACTERS:
        raise InputError(f"{name}: larger than {MOST_CHARACTERS:,} bytes")
    try:
        text = content.decode("utf-8-sig")
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if twice := _TWICE.search(str(error)):
            lines = text.rstrip().split("\n")
            line = min(int(twice["line"] or len(lines)), len(lines))
            key = lines[line - 1].partition("=")[0].strip()
            raise InputError(f"{name} line {line}: the key {printable(key)!r} is there twice") from error
        raise InputError(f"{name}: not TOML ({printable(str(error))})") from error
    except (ValueError, RecursionError) as error:  # not UTF-8, a number of thousands of digits, deep nesting
        raise InputError(f"{name}: not TOML ({printable(str(error))})") from error

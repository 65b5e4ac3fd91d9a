"""What an imported file says of a pair besides what the arena knows: kept as it is, and exported as JSON.

Python reads and writes more than JSON has: NaN, infinity and half a surrogate pair. Other programs can't read these,
and PostgreSQL does not take them.
"""

import math
from collections.abc import Mapping
from typing import Any

from cmi._util.errors import InputError
from cmi.arena.store.database import storable

DEEPEST = 50  # levels of lists and objects


def require_json(fields: Mapping[str, Any]) -> None:
    """InputError for a field that is not JSON."""
    for name, value in fields.items():
        wrong = _what_is_wrong({name: value}, DEEPEST)
        if wrong:
            raise InputError(f"the field {storable(name)!r} {wrong}; mend it or leave it out")


def as_json(value: Any) -> Any:
    """The value with null for numbers and U+FFFD for characters that JSON does not have.

    Of a study whose pairs were imported before there was `require_json`.
    """
    if isinstance(value, dict):
        return {storable(key): as_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [as_json(one) for one in value]
    if isinstance(value, str):
        return storable(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _what_is_wrong(value: Any, levels: int) -> str | None:
    if isinstance(value, dict | list):
        if not levels:
            return f"is nested more than {DEEPEST} levels deep"
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        return next((wrong for part in parts if (wrong := _what_is_wrong(part, levels - 1))), None)
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        return "has half of a character (a lone surrogate), which is not text"
    if isinstance(value, float) and not math.isfinite(value):
        return f"has {value!r}, which is not a number in JSON"
    return None

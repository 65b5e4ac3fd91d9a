"""Extra fields of imported pairs, which are stored and exported as JSON.

Python's JSON allows NaN, infinity and lone surrogates, which other programs cannot read and PostgreSQL refuses.
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
        wrong = _find_fault({name: value}, DEEPEST)
        if wrong:
            raise InputError(f"the field {storable(name)!r} {wrong}; fix it or leave it out")


def as_json(value: Any) -> Any:
    """Replace non-JSON numbers by null and characters by U+FFFD, in pairs imported before `require_json` existed."""
    if isinstance(value, dict):
        return {storable(key): as_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [as_json(one) for one in value]
    if isinstance(value, str):
        return storable(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _find_fault(value: Any, levels: int) -> str | None:
    if isinstance(value, dict | list):
        if not levels:
            return f"is nested more than {DEEPEST} levels deep"
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        return next((wrong for part in parts if (wrong := _find_fault(part, levels - 1))), None)
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        return "has half of a character (a lone surrogate), which is not text"
    if isinstance(value, float) and not math.isfinite(value):
        return f"has {value!r}, which is not a number in JSON"
    return None

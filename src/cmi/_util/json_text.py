"""JSON from strangers: values nested too deeply are refused before they are parsed.

Python's parser recurses. Near the limit of recursion every finaliser that runs meanwhile fails too, which prints
errors about objects that have nothing to do with the text.
"""

import json
import re
from typing import Any

DEEPEST = 200
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def parse_json(text: str | bytes, **options: Any) -> Any:
    """`json.loads`, with a ValueError for values nested more than DEEPEST deep."""
    decoded = text.decode(json.detect_encoding(text), "surrogatepass") if isinstance(text, bytes) else text
    if is_deep(decoded):
        raise ValueError(f"it is nested more than {DEEPEST} deep")
    return json.loads(decoded, **options)


def is_deep(text: str, start: int = 0) -> bool:
    """Whether the array or object that begins at `start` or later nests more than DEEPEST deep.

    >>> is_deep("[" * 200), is_deep("[" * 201), is_deep('["' + "[" * 201 + '"]')
    (False, True, False)
    """
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text, start):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > DEEPEST:
            return True
        if depth <= 0 and found[0] in "]}":
            return False
    return False

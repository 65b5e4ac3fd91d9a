"""YAML files that people write, read strictly: a key twice is an error, and no file can fill the memory.

An alias (`*name`) stands for all that its anchor holds, so that a short file may stand for billions of values: what is
counted here are values as they stand in the end.
"""

from pathlib import Path
from typing import Any

import yaml

from cmi._util.errors import InputError
from cmi._util.printable import printable

MOST_BYTES = 1_000_000
MOST_DEPTH = 50
MOST_VALUES = 100_000
MERGE = "tag:yaml.org,2002:merge"
SHOWN = 60  # characters of a key in a sentence


class _StrictLoader(yaml.SafeLoader):
    """A safe loader with limits that notices a key that is there twice."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise _problem(mark, f"nested deeper than {MOST_DEPTH} levels")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_document(self, node: Any) -> Any:
        if _values(node, {}) > MOST_VALUES:
            raise _problem(node.start_mark, f"more than {MOST_VALUES:,} values, with its aliases")
        return super().construct_document(node)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        first_line: dict[Any, int] = {}
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == MERGE:
                continue  # keys of other kinds are refused below; '<<' takes over what another mapping says
            key = self.construct_object(key_node, deep=True)
            if (first := first_line.get((type(key), key))) is not None:
                raise _problem(key_node.start_mark, f"the key {_shown(key)} is there twice, first in line {first}")
            first_line[type(key), key] = key_node.start_mark.line + 1
        return super().construct_mapping(node, deep)


def read_yaml(path: Path, name: str = "") -> Any:
    """The content of a file; InputError for what cannot be read, with the file's `name` and the line."""
    name = name or str(path)
    try:
        content = path.read_bytes()[: MOST_BYTES + 1]
    except OSError as error:
        raise InputError(f"{name}: {error.strerror or error}") from error
    if len(content) > MOST_BYTES:
        raise InputError(f"{name}: larger than {MOST_BYTES:,} bytes")
    try:
        return yaml.load(content.decode("utf-8-sig"), _StrictLoader)  # noqa: S506  a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" line {mark.line + 1}" if mark else ""
        reason = error.problem if isinstance(error, _StrictError) else f"not YAML ({error.problem or error.context})"
        raise InputError(f"{name}{place}: {printable(str(reason))}") from error
    # Beside its own errors PyYAML lets those through that Python raises for dates, numbers and encodings.
    except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{name}: not YAML ({printable(' '.join(str(error).split())[:200])})") from error


class _StrictError(yaml.MarkedYAMLError):
    """What is YAML, and still not taken."""


def _problem(mark: Any, problem: str) -> _StrictError:
    return _StrictError(problem=problem, problem_mark=mark)


def _values(node: Any, known: dict[int, int]) -> int:
    """How many values a node stands for, aliases and all; a node that holds itself stands for too many."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = MOST_VALUES + 1
    parts = [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]
    total = 1 if isinstance(node, yaml.ScalarNode) else 1 + sum(_values(part, known) for part in parts)
    known[id(node)] = min(total, MOST_VALUES + 1)
    return known[id(node)]


def _shown(key: object) -> str:
    text = repr(key)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."

"""Configuration files that people write: YAML, TOML or JSON, read strictly into a dataclass.

Duplicate keys, unknown fields and values of the wrong type or range are InputErrors of one sentence that names the
file, the line or field, and what was expected. Size limits protect the memory: a YAML alias (`*name`), which may
expand to billions of values, counts as its expansion.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import is_dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from cmi._util.errors import InputError
from cmi._util.printable import printable, shorten

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

T = TypeVar("T")

MOST_BYTES = 1_000_000
MOST_DEPTH = 50
MOST_VALUES = 100_000
SHOWN = 60  # characters of a key or value in a sentence

_TOML_TWICE = re.compile(r"(overwrite a value|twice|mutate|[Dd]uplicate).*\(at (line (?P<line>\d+)|end of document)")
_YAML_MERGE = "tag:yaml.org,2002:merge"
_YAML_FLOAT = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$")  # YAML 1.1 reads 1e-4 as text
_EXPECTED = {
    "bool_type": "true or false",
    "dataclass_type": "a table of named fields",
    "dict_type": "a table of named fields",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "path_type": "a path",
    "string_too_short": "some text",
    "string_type": "text",
    "tuple_type": "a list",
}


def read_config(path: Path | Traversable, model: type[T], name: str = "", folder: Path | None = None) -> T:
    """Read a file into `model`: a dataclass, or a dict of them. A file without content is an empty table.

    Messages call the file `name`; paths in it (see `config_path`) are relative to `folder`.
    """
    name = name or str(path)
    return check_config(read_table(path, name), model, name, folder)


def check_config(
    table: Mapping[str, Any],
    model: type[T],
    name: str,
    folder: Path | None = None,
    extra: Literal["forbid", "ignore"] = "forbid",
) -> T:
    """Validate the content of the file called `name` as `model`; InputError if it does not fit.

    `extra` says what happens to fields that `model` does not have.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        content = json.dumps(table, default=str)  # strict mode takes tuples and paths from JSON only
        return TypeAdapter(model).validate_json(content, strict=True, extra=extra, context=folder)
    except TypeError as error:
        raise InputError(f"{name}: {error}") from error  # a key that is not text
    except ValidationError as error:
        raise InputError(f"{name}: {_explain(error.errors(include_url=False), model)}") from error
    except InputError as error:  # from the dataclass's own check
        raise InputError(f"{name}: {error}") from error


def read_table(path: Path | Traversable, name: str = "") -> dict[str, Any]:
    """Return the content of a file, which has no duplicate keys."""
    name = name or str(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{name}: {error.strerror or error}") from error
    if len(content) > MOST_BYTES:
        raise InputError(f"{name}: larger than {MOST_BYTES:,} bytes")
    kind, parse = {".toml": ("TOML", _parse_toml), ".json": ("JSON", _parse_json)}.get(
        Path(path.name).suffix.lower(), ("YAML", parse_yaml)
    )
    try:
        table = parse(content.decode("utf-8-sig"), name)
    # Parsers also raise Python's own errors, for encodings, dates, numbers of many digits and deep nesting.
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{name}: not {kind} ({shorten(' '.join(str(error).split()), 200)})") from error
    if table is not None and not isinstance(table, dict):
        raise InputError(f"{name}: {_described(table)}, expected {_EXPECTED['dict_type']}")
    return table or {}


def config_path(path: Path, info: Any) -> Path:
    """Resolve a path in a configuration file against the file's folder (a pydantic `AfterValidator`)."""
    return Path(info.context or "") / path.expanduser()


def _explain(errors: "list[ErrorDetails]", model: Any) -> str:
    """Explain the errors in one sentence; an unknown field comes first because it may be a misspelt required one."""
    error = next((one for one in errors if one["type"] == "unexpected_keyword_argument"), errors[0])
    kind, context = error["type"], error.get("ctx", {})
    where, value = f"{shorten(_place(error['loc']), SHOWN)!r}", _described(error["input"])
    if kind == "unexpected_keyword_argument":
        known = _known_fields(model, error["loc"][:-1])
        nearest = get_close_matches(str(error["loc"][-1]), known, n=1, cutoff=0.7)
        question = f"; did you mean {nearest[0]!r}? Known" if nearest else "; known"
        return f"{where} is not known{question} fields: {', '.join(known)}"
    if kind in ("missing", "missing_argument"):
        return f"{where} is missing"
    if kind == "value_error":
        return f"{where} {context['error']}" if error["loc"] else str(context["error"])
    if kind == "literal_error":
        expected = "one of " + ", ".join(re.findall(r"'([^']*)'", context["expected"]))
    elif kind == "too_short":
        expected = f"{context['min_length']} or more entries"
    elif kind in ("greater_than_equal", "less_than_equal"):
        expected = f"at least {context['ge']:g}" if "ge" in context else f"at most {context['le']:g}"
    else:
        expected = _EXPECTED.get(kind) or error["msg"].removeprefix("Input should be ")
    return f"{where} is {value}, expected {expected}" if error["loc"] else f"{value}, expected {expected}"


def _place(location: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).removeprefix(".")


def _known_fields(model: Any, location: tuple[int | str, ...]) -> list[str]:
    """Return the field names of the dataclass at `location` inside `model`."""
    for part in location:
        kind = _dataclass_or_container(model)
        model = _hints(kind)[str(part)] if is_dataclass(kind) else get_args(kind)[get_origin(kind) is dict]
    hints = get_type_hints(_dataclass_or_container(model), include_extras=True)
    return [_names_in_file(name, hint)[0] for name, hint in hints.items()]


def _hints(kind: Any) -> dict[str, Any]:
    """Return the hints of a dataclass by the names that a file may use for its fields."""
    hints = get_type_hints(kind, include_extras=True)
    return {called: hint for name, hint in hints.items() for called in _names_in_file(name, hint)}


def _names_in_file(name: str, hint: Any) -> list[str]:
    """Return the aliases of a field, `pydantic.AliasChoices`, or its name."""
    aliases = [getattr(one, "validation_alias", None) for one in getattr(hint, "__metadata__", ())]
    return next(([*alias.choices] for alias in aliases if alias is not None), [name])


def _dataclass_or_container(hint: Any) -> Any:
    """Return X from a hint such as `Annotated[X | None, ...]`."""
    if is_dataclass(hint) or get_origin(hint) in (tuple, list, dict):
        return hint
    found = (_dataclass_or_container(one) for one in get_args(hint))
    return next((one for one in found if one is not None), None)


def _described(value: object) -> str:
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else f"a list of {len(value)}"
    return "empty" if value is None else shorten(repr(value), SHOWN)


def _parse_json(text: str, name: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            key = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
            raise InputError(f"{name}: the key {shorten(repr(key), SHOWN)} occurs twice")
        return table

    return json.loads(text, object_pairs_hook=once)


def _parse_toml(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if (twice := _TOML_TWICE.search(str(error))) is None:
            raise
        lines = text.rstrip().split("\n")
        line = min(int(twice["line"] or len(lines)), len(lines))
        key = lines[line - 1].partition("=")[0].strip()
        raise InputError(f"{name} line {line}: the key {shorten(key, SHOWN)!r} occurs twice") from error


def parse_yaml(text: str, name: str) -> Any:
    """Return the content of YAML, within our limits; messages call its file `name`."""
    import yaml

    try:
        return yaml.load(text, _strict_loader())  # noqa: S506  a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" line {mark.line + 1}" if mark else ""
        reason = str(error.problem) if error.context == _OURS else f"not YAML ({error.problem or error.context})"
        raise InputError(f"{name}{place}: {printable(reason)}") from error
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


_OURS = "valid YAML that we refuse"


@cache
def _strict_loader() -> type[Any]:
    import yaml

    def problem(mark: Any, sentence: str) -> yaml.MarkedYAMLError:
        return yaml.MarkedYAMLError(context=_OURS, problem=sentence, problem_mark=mark)

    class StrictLoader(yaml.SafeLoader):
        """A safe loader with limits that refuses duplicate keys."""

        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.depth += 1
            if self.depth > MOST_DEPTH:
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise problem(mark, f"nested deeper than {MOST_DEPTH} levels")
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def construct_document(self, node: Any) -> Any:
            if _count_values(node, {}) > MOST_VALUES:
                raise problem(node.start_mark, f"more than {MOST_VALUES:,} values, with its aliases")
            return super().construct_document(node)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            first_line: dict[Any, int] = {}
            for key_node, _ in node.value:
                if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == _YAML_MERGE:
                    continue  # other keys are refused below; '<<' merges another mapping
                key = self.construct_object(key_node, deep=True)
                if (first := first_line.get((type(key), key))) is not None:
                    shown = shorten(repr(key), SHOWN)
                    raise problem(key_node.start_mark, f"the key {shown} occurs twice, first in line {first}")
                first_line[type(key), key] = key_node.start_mark.line + 1
            return super().construct_mapping(node, deep)

    StrictLoader.add_implicit_resolver("tag:yaml.org,2002:float", _YAML_FLOAT, list("-+0123456789"))
    return StrictLoader


def _count_values(node: Any, known: dict[int, int]) -> int:
    """Count the values of a YAML node with its aliases expanded; a node that contains itself has too many."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = MOST_VALUES + 1
    items = node.value if isinstance(node.value, list) else ()
    parts = (part for item in items for part in (item if isinstance(item, tuple) else (item,)))
    total = 1 + sum(_count_values(part, known) for part in parts)
    known[id(node)] = min(total, MOST_VALUES + 1)
    return known[id(node)]

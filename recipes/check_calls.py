"""Check by their source that a worker's calls fit its model's code: names, keywords, and required arguments.

    python recipes/check_calls.py songgen SongGen

The first argument is a folder of generators/ or listeners/, the second a clone of the model's repository. Nothing is
imported or run. `calls.toml` there says where the functions that a worker calls are defined. --same-as FOLDER compares
the parameters of these definitions with those in another folder, such as the stand-ins of the tests.
"""

import argparse
import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
INSTALLED = {"huggingface_hub", "muq", "numpy", "omegaconf", "skimage", "soundfile", "torch", "torchaudio"}
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Signature(NamedTuple):
    """Parameters of a function without `self`: names in order, those that may be left out, and what else it takes."""

    positional: tuple[str, ...]
    keyword_only: tuple[str, ...]
    optional: frozenset[str]
    takes_more: bool = False  # *args
    takes_keywords: bool = False  # **kwargs


def check_calls(worker: str, known: dict[str, Any], clone: Path) -> list[str]:
    """Return what does not fit, a sentence each. `worker` is a worker's source, `known` its table in calls.toml."""
    tree = ast.parse(worker)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    table = known.get("calls", {})
    own = _names_of_the_model(tree, {*INSTALLED, *known.get("packages", ())})
    problems = [
        f"line {call.lineno}: {ast.unparse(call.func)} is not in calls.toml"
        for call in calls
        if ast.unparse(call.func).split(".")[0] in own and ast.unparse(call.func) not in table
    ]
    for name, places in table.items():
        named = [call for call in calls if ast.unparse(call.func) == name]
        if not named:
            problems.append(f"{name} is in calls.toml, and the worker does not call it")
        for place in _as_list(places):
            signature = find_signature(clone, place)
            if signature is None:
                problems.append(f"{place} is not defined in {clone}")
                continue
            for call in named:
                problems += [f"line {call.lineno}: {name}: {fault}" for fault in _fit(call, signature)]
    for function, script in known.get("options", {}).items():
        problems += _check_options(tree, function, clone / script)
    return problems


def compare_signatures(known: dict[str, Any], clone: Path, other: Path) -> list[str]:
    """Return where a definition has other parameters in `other` than in the clone."""
    problems = []
    for place in [place for places in known.get("calls", {}).values() for place in _as_list(places)]:
        here, there = find_signature(clone, place), find_signature(other, place)
        if here != there:
            problems.append(f"{place}: {here} in {clone}, {there} in {other}")
    for script in known.get("options", {}).values():
        here_too, there_too = _read_options(clone / script), _read_options(other / script)
        if here_too != there_too:
            problems.append(f"{script}: other options: {sorted(here_too ^ there_too)}")
    return problems


def find_signature(folder: Path, place: str) -> Signature | None:
    """Return the parameters of FILE:NAME or FILE:CLASS.METHOD in a folder; None if there is no such definition.

    Two dataclasses with ' + ' between them are one, with the fields of both: a class and the one that it extends.
    """
    if " + " in place:
        return _join_fields([find_signature(folder, part) for part in place.split(" + ")])
    file, _, name = place.partition(":")
    if not (folder / file).is_file():
        return None
    scope: list[ast.stmt] = ast.parse((folder / file).read_text(encoding="utf-8")).body
    node: Definition | None = None
    for part in name.split("."):
        node = next((item for item in scope if isinstance(item, Definition) and item.name == part), None)
        if node is None:
            return None
        scope = node.body
    assert node is not None
    if isinstance(node, ast.ClassDef):
        fields = [item for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]
        optional = frozenset(ast.unparse(item.target) for item in fields if item.value)
        return Signature(tuple(ast.unparse(item.target) for item in fields), (), optional)
    return _read_signature(node, is_bound="." in name and not _is_static(node))


def _names_of_the_model(tree: ast.Module, installed: set[str]) -> set[str]:
    """Names that functions import from the model's code; what stands at the top is Python's or ours."""
    imports = [
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] not in installed
    ]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def _read_signature(node: ast.FunctionDef | ast.AsyncFunctionDef, is_bound: bool) -> Signature:
    arguments = node.args
    positional = [argument.arg for argument in [*arguments.posonlyargs, *arguments.args]]
    named = [argument.arg for argument in arguments.kwonlyargs]
    optional = positional[len(positional) - len(arguments.defaults) :]
    optional += [name for name, value in zip(named, arguments.kw_defaults, strict=True) if value is not None]
    return Signature(
        tuple(positional[1:] if is_bound else positional),
        tuple(named),
        frozenset(optional),
        arguments.vararg is not None,
        arguments.kwarg is not None,
    )


def _join_fields(classes: list[Signature | None]) -> Signature | None:
    found = [one for one in classes if one is not None]
    fields = tuple(name for one in found for name in one.positional)
    optional = frozenset(name for one in found for name in one.optional)
    return Signature(fields, (), optional) if len(found) == len(classes) else None


def _is_static(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(decorator) == "staticmethod" for decorator in node.decorator_list)


def _fit(call: ast.Call, signature: Signature) -> Iterator[str]:
    """Yield what is wrong with a call of a function with this signature."""
    is_open = any(isinstance(argument, ast.Starred) for argument in call.args)
    given = len(call.args)
    if given > len(signature.positional) and not signature.takes_more:
        yield f"{given} arguments without a name, {len(signature.positional)} are taken"
    keywords = [keyword.arg for keyword in call.keywords]
    for keyword in keywords:
        if keyword is not None and not signature.takes_keywords:
            if keyword not in (*signature.positional, *signature.keyword_only):
                yield f"no parameter {keyword!r}"
            elif keyword in signature.positional[:given]:
                yield f"{keyword!r} is given twice"
    if None in keywords or is_open:
        return
    for name in (*signature.positional[given:], *signature.keyword_only):
        if name not in keywords and name not in signature.optional:
            yield f"{name!r} is missing"


def _check_options(tree: ast.Module, function: str, script: Path) -> list[str]:
    known = _read_options(script)
    node = next((item for item in tree.body if isinstance(item, ast.FunctionDef) and item.name == function), None)
    if node is None:
        return [f"the worker has no function {function}"]
    used = {text for text in _texts(node) if text.startswith("--")}
    return [f"{script} has no option {option}" for option in sorted(used - known)]


def _read_options(script: Path) -> set[str]:
    """Return the options of a script that uses argparse."""
    if not script.is_file():
        return set()
    calls = [node for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    options = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"]
    return {text for call in options for argument in call.args for text in _texts(argument) if text.startswith("--")}


def _texts(node: ast.AST) -> list[str]:
    return [item.value for item in ast.walk(node) if isinstance(item, ast.Constant) and isinstance(item.value, str)]


def _as_list(places: str | list[str]) -> list[str]:
    return [places] if isinstance(places, str) else places


def read_tables(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the tables of a folder's calls.toml, by worker."""
    return tomllib.loads((folder / "calls.toml").read_text(encoding="utf-8"))


def read_worker(folder: Path, system: str) -> str:
    """Return the source of a worker, with that of the modules beside calls.toml that its table names in `with`.

    Problems are reported with their line in what is returned here.
    """
    others = [folder / name for name in read_tables(folder)[system].get("with", [])]
    return "\n".join(path.read_text(encoding="utf-8") for path in [folder / system / "worker.py", *others])


def main() -> None:
    folders = {system: path.parent for path in sorted(HERE.glob("*/calls.toml")) for system in read_tables(path.parent)}
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("system", choices=list(folders))
    parser.add_argument("clone", type=Path, help="a clone of the model's repository")
    parser.add_argument(
        "--same-as", type=Path, metavar="FOLDER", help="definitions that should have the same parameters"
    )
    options = parser.parse_args()
    folder = folders[options.system]
    known = read_tables(folder)[options.system]
    problems = check_calls(read_worker(folder, options.system), known, options.clone)
    if options.same_as:
        problems += compare_signatures(known, options.clone, options.same_as)
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(1)
    count = len(known.get("calls", {}))
    print(f"{options.system}: {count} functions and the options of {len(known.get('options', {}))} scripts fit")


if __name__ == "__main__":
    main()

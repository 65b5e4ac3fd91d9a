"""Load a user's class, named on the command line as module:Class.

Its module is imported from the current folder or else from the Python path, and the class is called without arguments.
What the module itself imports comes from the Python path first, which keeps a file in the current folder from
shadowing an installed package.

Exceptions of the class become InputErrors that name the class, the file, the line and the exception. With
CMI_TRACEBACK=1 in the environment the whole traceback is printed too.
"""

import functools
import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from cmi._util.errors import LONGEST_REASON, InputError

TRACEBACK = "CMI_TRACEBACK"


class Own(NamedTuple):
    """An instance of the user's class, and the class's name with the hash of the module's file."""

    made: Any
    name: str


class OwnClassError(InputError):
    """A user's class raised an exception."""


def find_class(name: str) -> tuple[Any, ModuleType]:
    """Return the user's class, which is not called, and its module."""
    module_name, _, class_name = name.partition(":")
    module = _load_module(module_name)
    wanted = getattr(module, class_name, None)
    if not callable(wanted):
        known = ", ".join(key for key, value in vars(module).items() if inspect.isclass(value))
        raise InputError(f"module {module_name!r} has no class {class_name!r}; its classes are: {known or 'none'}")
    return wanted, module


def load_own(name: str) -> Own:
    wanted, module = find_class(name)
    try:
        inspect.signature(wanted).bind()
    except TypeError as error:
        raise InputError(f"{name} is called without arguments but needs some ({error})") from error
    except ValueError:  # written in C, without a signature
        pass
    with own_code(name, module):
        made = wanted()
    return Own(_Guarded(made, name, module), f"{name}@{_fingerprint(module)}")


@contextmanager
def own_code(name: str, module: ModuleType | None = None) -> Iterator[None]:
    """Run the user's code; exceptions other than InputErrors become OwnClassErrors."""
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        if os.environ.get(TRACEBACK):
            traceback.print_exception(error)
        reason = " ".join(str(error).split())
        reason = reason if len(reason) <= LONGEST_REASON else reason[:LONGEST_REASON] + "..."
        said = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
        raise OwnClassError(f"{name} failed in {_place(error, module)}: {said}") from error


class _Guarded:
    """The user's object, with methods that raise OwnClassErrors."""

    def __init__(self, made: Any, name: str, module: ModuleType) -> None:
        self._made, self._name, self._module = made, name, module

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(self._made, attribute)
        if not inspect.isroutine(value):
            return value

        @functools.wraps(value)
        def guarded(*arguments: Any, **named: Any) -> Any:
            with own_code(self._name, self._module):
                said = value(*arguments, **named)
                return list(said) if isinstance(said, Iterator) else said  # a generator runs only when it is read

        return guarded


def _place(error: BaseException, module: ModuleType | None) -> str:
    """Return the file and line of an error, in the user's module if possible."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename} line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if module and frame.filename == getattr(module, "__file__", None)]
    ours = str(Path(__file__).parent.parent)
    others = [frame for frame in frames if not frame.filename.startswith((ours, "<frozen"))]
    frame = next((found[-1] for found in (own, others, frames) if found), None)
    return f"{frame.filename} line {frame.lineno}" if frame else "unknown code"


def _load_module(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        with own_code(f"module {name!r}"):
            return _import(name, here)
    except OwnClassError as error:
        cause = error.__cause__
        if not isinstance(cause, ModuleNotFoundError):
            raise
        if cause.name is not None and (cause.name == name or name.startswith(f"{cause.name}.")):
            raise InputError(f"no module {name!r} in {here} or on the Python path") from cause
        raise InputError(f"module {name!r} needs {cause.name!r}, which is not installed") from cause


def _import(name: str, here: str) -> ModuleType:
    """Import a module, from the folder `here` if it is there."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise InputError(f"{name!r} is not the name of a module: expected module:Class")
    top = name.partition(".")[0]
    spec = None if top in sys.modules else PathFinder.find_spec(top, [here])
    if spec is not None and spec.loader is not None and spec.origin is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules[top] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(top, None)
            raise
    return importlib.import_module(name)


def _fingerprint(module: ModuleType) -> str:
    """Return twelve hex digits of the hash of the module's file; 'unknown' if it has no file."""
    path = getattr(module, "__file__", None)
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12] if path else "unknown"

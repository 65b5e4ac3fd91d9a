"""A class of the user's, named on the command line as module:Class.

Its module is looked for in the current folder, then on the Python path; naming it runs its code. The class is called
without arguments.
"""

import hashlib
import importlib
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from cmi.errors import InputError


class Own(NamedTuple):
    """What the class made, and its name with the hash of the module's file: another file is another model."""

    made: Any
    name: str


def load_own(name: str) -> Own:
    module_name, _, class_name = name.partition(":")
    module = _load_module(module_name)
    wanted = getattr(module, class_name, None)
    if not callable(wanted):
        known = ", ".join(key for key, value in vars(module).items() if inspect.isclass(value))
        raise InputError(f"module {module_name!r} has no class {class_name!r}; its classes are: {known or 'none'}")
    try:
        inspect.signature(wanted).bind()
    except TypeError as error:
        raise InputError(f"{name} is called without arguments, and needs some ({error})") from error
    return Own(wanted(), f"{name}@{_fingerprint(module)}")


def _load_module(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (error.name == name or name.startswith(f"{error.name}.")):
            raise InputError(f"no module {name!r} in {here} or on the Python path") from error
        raise InputError(f"module {name!r} needs {error.name!r}, which is not installed") from error
    except (TypeError, ValueError) as error:  # '' and names that begin with a dot
        raise InputError(f"{name!r} is not the name of a module: expected module:Class") from error


def _fingerprint(module: ModuleType) -> str:
    """Twelve hex digits of the hash of the module's own file; 'unknown' where it has none."""
    path = getattr(module, "__file__", None)
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12] if path else "unknown"

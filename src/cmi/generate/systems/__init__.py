"""Systems in this process, by name; to add one, add its module to this folder.

A module named `my_model` holds the systems `my-model` and `my-model-...`, and has

    SYSTEMS    for each name a function that makes the `Generator`; its parameters are the system's settings

`--system my-model:steps=50,guidance=3.5` calls it as `SYSTEMS["my-model"](steps=50, guidance=3.5)`.
"""

import importlib
import inspect
from collections.abc import Callable
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from cmi._util.errors import InputError

if TYPE_CHECKING:
    from cmi.generate import Generator


def find_system(name: str) -> "Callable[..., Generator] | None":
    """The function that makes the system called `name`. Only modules that could hold it are imported."""
    for family in _families():
        if f"{name}-".startswith(f"{family.replace('_', '-')}-"):
            systems = _systems(family)
            if name in systems:
                return systems[name]
    return None


def list_systems() -> list[str]:
    """The names of all systems; imports their modules."""
    return [name for family in _families() for name in _systems(family)]


def read_settings(text: str, make: "Callable[..., Generator]", name: str) -> dict[str, Any]:
    """Read 'key=value,key=value' as arguments of `make`; InputError if it has no such parameter."""
    known = [one.name for one in inspect.signature(make).parameters.values()]
    settings: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, is_set, value = (word.strip() for word in part.partition("="))
        if not is_set or key not in known or key in settings:
            raise InputError(
                f"{name}: {part.strip()!r} is not a setting; write key=value, separated by commas. "
                f"Its settings: {', '.join(known) or 'none'}"
            )
        settings[key] = _value(value)
    return settings


def _value(text: str) -> Any:
    """A number or true or false if it is written so, else the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


def _families() -> list[str]:
    return [found.name for found in iter_modules(__path__)]


def _systems(family: str) -> "dict[str, Callable[..., Generator]]":
    return dict(getattr(importlib.import_module(f"{__name__}.{family}"), "SYSTEMS", {}))

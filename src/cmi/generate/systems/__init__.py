"""Systems in this process, by name; to add one, add its module to this folder.

A module named `my_model` holds the systems `my-model` and `my-model-...`, and has

    SYSTEMS    for each name a function that makes the `Generator`; its parameters are the system's settings

`--system my-model:steps=50,guidance=3.5` calls it as `SYSTEMS["my-model"](steps=50, guidance=3.5)`. A class with a
dataclass `Settings` (`cmi.generate.checkpoint`) is called with an instance of it, and its checkpoint may be written
first: `--system my-model:FOLDER,steps=50`.
"""

import importlib
import inspect
from collections.abc import Callable
from functools import partial
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from cmi._util.config import check_config
from cmi._util.errors import InputError

if TYPE_CHECKING:
    from cmi.generate import Generator

CHECKPOINT = "checkpoint"  # the setting that may be written first and without its name


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


def bind_settings(text: str, make: "Callable[..., Generator]", name: str) -> "Callable[[], Generator]":
    """Return `make` with the settings in 'key=value,key=value' bound to it; InputError if it has no such setting."""
    model = getattr(make, "Settings", None)
    known = inspect.signature(model or make).parameters
    settings: dict[str, Any] = {}
    for number, part in enumerate(filter(None, text.split(","))):
        key, is_set, value = (word.strip() for word in part.partition("="))
        if number == 0 and not is_set and CHECKPOINT in known:
            key, is_set, value = CHECKPOINT, "=", key
        if not is_set or key not in known or key in settings:
            raise InputError(
                f"{name}: {part.strip()!r} is not a setting; write key=value, separated by commas. "
                f"Its settings: {', '.join(known) or 'none'}"
            )
        settings[key] = value if known[key].annotation in (str, str | None) else _value(value)
    return partial(make, **settings) if model is None else partial(make, check_config(settings, model, name))


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

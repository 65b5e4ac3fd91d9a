"""Public names that are imported when they are first used, so that importing a package costs nothing."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, public: Sequence[str], homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package with the names `public`.

    `homes` says which module below the package has which names; a public name without a home is a module itself.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def get_attribute(name: str) -> Any:
        if name not in public:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{home_of.get(name, name)}")
        value = getattr(module, name) if name in home_of else module
        setattr(sys.modules[package], name, value)  # the next use does not come here
        return value

    return get_attribute, lambda: sorted(public)

"""Public names that are imported when they are first used, so that importing a package costs nothing.

A package lists them once, as the imports of its stub `__init__.pyi`, which type checkers and editors read as well.
"""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package with a stub."""
    stub = ast.parse(Path(str(sys.modules[package].__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: str(node.module) for node in imports for alias in node.names}

    def get_attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        is_module = homes[name] == package
        value = import_module(f"{package}.{name}") if is_module else getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)  # the next use does not come here
        return value

    return get_attribute, lambda: sorted(homes), sorted(homes)

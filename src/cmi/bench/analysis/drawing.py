"""What the pictures of all analyses share: found possible before the work, drawn without a screen."""

import importlib.util
from pathlib import Path
from typing import Any

from cmi._util.errors import MissingExtra
from cmi.report.pictures import require_picture

QUIET = "#8a8578"


def require_drawing(path: Path | None) -> None:
    """InputError if a picture is wanted that could not be drawn or written in the end."""
    if path is None:
        return
    require_picture(path)
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("drawing results", "plots")


def new_figure(width: float, height: float) -> Any:
    """One of matplotlib's figures, in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def colours(names: list[str]) -> dict[str, str]:
    """A colour for each name, the same for the same list: Okabe and Ito's, which the colour-blind can tell apart."""
    wheel = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b5b95", "#4d4d4d")
    return {name: wheel[i % len(wheel)] for i, name in enumerate(dict.fromkeys(names))}

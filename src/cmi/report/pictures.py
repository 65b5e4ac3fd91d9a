"""Pictures in files: checked before the work, drawn without a screen, written after the work."""

import importlib.util
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError, MissingExtra
from cmi._util.files import whole_file
from cmi.report.palette import SERIES

FORMATS = (".png", ".svg")


def require_picture(path: Path | None) -> None:
    """InputError if a picture is wanted (`path` is not None) that could not be drawn or written in the end."""
    if path is None:
        return
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: a picture is a file named {' or '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: no such folder")
    require_matplotlib()


def require_matplotlib() -> None:
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("drawing pictures", "plots")


def new_figure(width: float, height: float, **how: Any) -> Any:
    """One of matplotlib's figures, in inches."""
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", **how)


def new_panels(figure: Any, rows: int = 1, columns: int = 1, **how: Any) -> list[Any]:
    """Axes in reading order, with the palette's colours and without a box around them."""
    panels = list(figure.subplots(rows, columns, squeeze=False, **how).flat)
    for panel in panels:
        panel.set_prop_cycle(color=SERIES)
        panel.spines[["top", "right"]].set_visible(False)
    return panels


def save_picture(figure: Any, path: Path) -> None:
    """Write one of matplotlib's figures."""
    with whole_file(path) as unfinished:
        figure.savefig(unfinished, dpi=150, format=path.suffix.lower().removeprefix("."))

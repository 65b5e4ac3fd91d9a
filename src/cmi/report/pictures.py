"""Draw pictures with matplotlib and write them to files."""

import importlib.util
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError, MissingExtra
from cmi._util.files import whole_file
from cmi.report.palette import SERIES

FORMATS = (".png", ".svg")


def require_picture(path: Path | None) -> None:
    """Check before a long run that the picture `path` (None for no picture) can be drawn and written after it."""
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
    """Return a new matplotlib figure; sizes are in inches."""
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", **how)


def new_panels(figure: Any, rows: int = 1, columns: int = 1, **how: Any) -> list[Any]:
    """Add axes with the palette's colours and without a box; return them in reading order."""
    panels = list(figure.subplots(rows, columns, squeeze=False, **how).flat)
    for panel in panels:
        panel.set_prop_cycle(color=SERIES)
        panel.spines[["top", "right"]].set_visible(False)
    return panels


def save_picture(figure: Any, path: Path) -> None:
    with whole_file(path) as unfinished:
        figure.savefig(unfinished, dpi=150, format=path.suffix.lower().removeprefix("."))

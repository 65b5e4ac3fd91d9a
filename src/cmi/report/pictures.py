"""The colours of all pages and plots, checks that they can be written, and helpers for matplotlib."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError, MissingExtra
from cmi._util.files import make_folder, whole_file

FORMATS = (".png", ".svg")

# The arena's style sheet repeats these values.
PALETTE = {  # name: (on light paper, on dark paper)
    "paper": ("#f8f6f2", "#14161a"),
    "surface": ("#ffffff", "#1c1f25"),
    "line": ("#e2ddd3", "#31363f"),
    "line-strong": ("#8b8578", "#767d8a"),
    "ink": ("#20242b", "#ebe8e2"),
    "quiet": ("#5a606b", "#a9aeb9"),
    "accent": ("#0c675f", "#74d3c5"),
    "accent-soft": ("#e1f0ee", "#1c3734"),
    "take-a": ("#4149b0", "#a4adff"),
    "take-b": ("#a8431b", "#ffb08c"),
}
# Okabe and Ito's palette, which is safe for colour-blind readers.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b5b95", "#4d4d4d")
# Scores from 0 to 100 by tenths: equal steps of lightness in Oklab, so the order shows without seeing hues.
SCORES = (
    *("#4f024d", "#521f76", "#493c98", "#2f5ab1", "#0879b1", "#0492ae"),
    *("#07abab", "#0cc5a0", "#71d68a", "#b6e278", "#f2ea74"),
)
DARK_SCORES = 5  # the first so many need white text, the others black
QUIET = PALETTE["line-strong"][0]  # axes and reference lines of pictures


def css_variables() -> str:
    """Return the palette as CSS variables that follow the reader's light or dark theme."""
    lines = (f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in PALETTE.items())
    return ":root { color-scheme: light dark; " + " ".join(lines) + " }\n"


def score_styles() -> str:
    """Return CSS classes score-0 to score-10 for what shows a score of 0 to 100."""
    texts = ["#ffffff"] * DARK_SCORES + ["#000000"] * (len(SCORES) - DARK_SCORES)
    colours = zip(SCORES, texts, strict=True)
    return "".join(f".score-{i} {{ background: {back}; color: {text} }}\n" for i, (back, text) in enumerate(colours))


def colours(names: list[str]) -> dict[str, str]:
    """Assign each distinct name a colour, in order."""
    return {name: SERIES[i % len(SERIES)] for i, name in enumerate(dict.fromkeys(names))}


def require_picture(path: Path | None) -> None:
    """Check before a long run that a plot can be drawn and written to `path` (None for no plot) after it."""
    if path is None:
        return
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: a picture is a file named {' or '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: no such folder")
    require_matplotlib()


def require_page(path: Path | None) -> None:
    """Check before a long run that a page can be written to `path` (None for no page) after it, and make its folder."""
    if path is None:
        return
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: expected a name that ends in .html")
    if path.is_dir():
        raise InputError(f"{path}: a folder, expected the name of a file")
    make_folder(path.parent)


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


def spread_labels(figure: Any, labels: Sequence[Any]) -> None:
    """Move annotations of points up until none covers another one or a point."""
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()  # computes the positions of the labels
    points = figure.dpi / 72
    centres = [label.axes.transData.transform(label.xy) for label in labels]
    placed = [Bbox.from_extents(*(centre - 3 * points), *(centre + 3 * points)) for centre in centres]
    for label in sorted(labels, key=lambda one: one.get_window_extent().y0):
        box = label.get_window_extent()
        while any(box.overlaps(other) for other in placed):
            label.xyann = (label.xyann[0], label.xyann[1] + 1)
            box = box.translated(0, points)
        placed.append(box)


def save_picture(figure: Any, path: Path) -> None:
    with whole_file(path) as unfinished:
        figure.savefig(unfinished, dpi=150, format=path.suffix.lower().removeprefix("."))

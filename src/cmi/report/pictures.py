"""Pictures in files: found fit to be written before the work, written after it."""

from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.files import whole_file

FORMATS = (".png", ".svg")


def require_picture(path: Path) -> None:
    """InputError if no picture could be written there in the end."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: a picture is a file named {' or '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: no such folder")


def save_picture(figure: Any, path: Path) -> None:
    """Write one of matplotlib's figures."""
    with whole_file(path) as unfinished:
        figure.savefig(unfinished, dpi=150, format=path.suffix.lower().removeprefix("."))

"""Folders that a command fills: it may be stopped and resumed there, and no other command's files are mixed in."""

import json
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.files import UNFINISHED, cannot_write, write_whole

SETTINGS = "settings.json"


def claim(folder: Path, settings: dict[str, Any], command: str) -> None:
    """The folder is ours if it is new, empty, or was begun with the same settings; else InputError.

    `command` is what a user would have begun it by.
    """
    make_folder(folder)
    begun = folder / SETTINGS
    try:
        if not begun.exists():
            if any(path.suffix != UNFINISHED for path in folder.iterdir()):
                raise InputError(f"{folder}: not empty, and not begun by `{command}`; choose another folder")
            write_whole(begun, json.dumps(settings) + "\n")
        elif json.loads(begun.read_text(encoding="utf-8")) != settings:
            raise InputError(f"{folder}: begun with other settings ({SETTINGS}); choose another folder")
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}: {getattr(error, 'strerror', None) or error}") from error


def make_folder(folder: Path) -> None:
    """A folder, and those it lies in, where they are not there yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise InputError(f"{folder}: Not a directory; choose another folder") from error
    except OSError as error:
        raise cannot_write(folder, error) from error

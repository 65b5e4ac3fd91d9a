"""Where the page finds a clip: a link to its file, relative to the page, or the clip itself inside the page."""

import base64
import io
import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from cmi._util.errors import InputError, MissingExtra
from cmi.bench.browser.items import Clip
from cmi.bench.scoring.responses import audio_key

RATE = 22_050
LONGEST = 15.0  # seconds of an embedded clip
MOST_EMBEDDED = 64 * 2**20  # characters in one page

Source = Callable[[Clip], str | None]  # what the player is given; None where there is no sound


def no_sound(_clip: Clip) -> None:
    return None


def sound_source(folder: Path | None, embed: bool, page: Path) -> Source:
    """How the page finds its sounds. InputError if page or sounds cannot be made or found, before any work is done."""
    if page.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{page}: a page is a file named .html")
    if not page.parent.is_dir():
        raise InputError(f"{page.parent}: no such folder")
    if folder is None:
        if embed:
            raise InputError("--embed needs --audio, the folder that audio paths begin in")
        return no_sound
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    return embedded(folder) if embed else linked(folder, page)


def find_sound(clip: Clip, folder: Path) -> Path | None:
    """The clip's file under `folder`, by its path or by what follows `data` or `testdata` in it."""
    key = audio_key(clip.path)
    for name in dict.fromkeys((clip.path, key)):
        path = folder / name
        if not Path(name).is_absolute() and path.is_file() and path.resolve().is_relative_to(folder.resolve()):
            return path
    return None


def linked(folder: Path, page: Path) -> Source:
    """Links relative to the page; a player stays within the clip."""

    def source(clip: Clip) -> str | None:
        path = find_sound(clip, folder)
        if path is None:
            return None
        address = quote(Path(os.path.relpath(path.resolve(), page.parent.resolve())).as_posix())
        ends = f"#t={clip.start:g}" + (f",{clip.end:g}" if clip.end is not None else "")
        return address + (ends if clip.start > 0 or clip.end is not None else "")

    return source


def embedded(folder: Path) -> Source:
    """The first seconds of each clip as MP3 in the page itself. InputError when the page would be too large."""
    try:
        import soundfile

        from cmi.audio import load
    except ModuleNotFoundError as error:
        raise MissingExtra("clips inside the page", "bench-data") from error
    known: dict[Clip, str] = {}
    size = 0

    def source(clip: Clip) -> str | None:
        nonlocal size
        path = find_sound(clip, folder)
        if path is None:
            return None
        if clip not in known:
            length = LONGEST if clip.end is None else min(LONGEST, clip.end - clip.start)
            waveform = load(path, RATE, length, clip.start)
            buffer = io.BytesIO()
            soundfile.write(buffer, waveform.samples, waveform.rate, format="MP3")
            known[clip] = f"data:audio/mpeg;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"
            size += len(known[clip])
            if size > MOST_EMBEDDED:
                raise InputError(
                    f"more than {MOST_EMBEDDED >> 20} MB of sound in one page: show fewer answers with --worst, or link"
                    " the files by leaving --embed away"
                )
        return known[clip]

    return source

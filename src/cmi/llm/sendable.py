"""Which recordings may be sent to an endpoint: those of the data that the user named, and of folders allowed by name.

A file of pairs or questions may come from anybody. It cannot make us read a recording elsewhere on the machine and send
it away, neither by an absolute path, nor by '..', nor by a link.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from cmi._util.errors import InputError
from cmi.take import Audio


def require_sendable(recordings: Iterable[tuple[str, Audio | None]], folders: Sequence[Path]) -> None:
    """InputError for the first recording, each named by its place, that is there and in none of the folders."""
    allowed = [folder.resolve() for folder in folders]
    for where, audio in recordings:
        if not isinstance(audio, Path):
            continue
        try:
            place = audio.resolve()
            is_there = place.exists()
        except (OSError, RuntimeError, ValueError) as error:  # a circle of links, a name with a zero byte
            raise InputError(f"{where}: {str(audio)!r} is not a usable path ({error})") from error
        if is_there and not any(place.is_relative_to(folder) for folder in allowed):
            inside = " or ".join(map(str, allowed)) or "any folder of the data"
            raise InputError(
                f"{where}: {place} is not in {inside}; recordings from elsewhere are sent to an endpoint only if you "
                f"allow their folder: --audio-from {place.parent}"
            )

"""Make the copies of sounds that annotators hear.

Original files can reveal who made them by tags, pictures, encoder or format. So each is decoded once and served as FLAC
without tags or name. A copy is only made from the imported bytes; it may be deleted at any time. Half a minute of
stereo takes 0.1 to 0.2 s of processor time and 4 MB.
"""

import logging
import threading
from pathlib import Path

import soundfile

from cmi._util.errors import InputError
from cmi._util.files import make_folder, whole_file
from cmi._util.printable import printable
from cmi.arena.audio.decode import BLOCK, SIXTEEN_BITS
from cmi.arena.audio.sounds import is_unchanged, look
from cmi.arena.store.database import Database
from cmi.arena.store.errors import Refused
from cmi.arena.store.views import Original

MEDIA_TYPE = "audio/flac"
FOLDER = "played"

log = logging.getLogger("cmi.arena")


class Unplayable(Refused):
    """The sound's file is missing or changed, and there is no copy."""

    def __init__(self) -> None:
        super().__init__(
            "sound", "this recording cannot be played, because its file is missing. You can skip the pair", 404
        )


class Copies:
    """A server's copies, by the digests of the originals."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder / FOLDER
        self._guard = threading.Lock()
        self._making: dict[str, threading.Lock] = {}

    def is_ready(self, original: Original) -> bool:
        """Whether the original is as it was when last checked, and its copy exists."""
        return is_unchanged(original) and self._path(original).exists()

    def find(self, original: Original) -> Path:
        """Return a sound's copy, making it if necessary; also check the original, to report changes to the owner."""
        problem = look(self._database, original)
        path = self._path(original)
        if path.exists():
            return path
        if problem is not None:
            raise Unplayable
        with self._guard:
            lock = self._making.setdefault(original.digest, threading.Lock())
        with lock:
            if not path.exists():
                self._make(original, path)
        return path

    def _path(self, original: Original) -> Path:
        return self._folder / f"{original.digest}.flac"

    def _make(self, original: Original, path: Path) -> None:
        if look(self._database, original, thoroughly=True) is not None:
            raise Unplayable
        try:
            make_folder(self._folder)
            with whole_file(path) as unfinished:
                write_copy(Path(original.path), unfinished)
        except (InputError, soundfile.SoundFileError) as error:
            log.error("%s cannot be prepared for playback: %s", printable(original.path), printable(str(error)))
            message = "this recording cannot be played at the moment; try again, and tell whoever runs the study"
            raise Refused("unavailable", message, 503) from error


def write_copy(source: Path, target: Path) -> None:
    """Decode a file and write only its samples, as FLAC."""
    with source.open("rb") as file, soundfile.SoundFile(file.fileno(), closefd=False) as sound:
        depth = "PCM_16" if sound.subtype in SIXTEEN_BITS else "PCM_24"
        with soundfile.SoundFile(target, "w", sound.samplerate, sound.channels, depth, format="FLAC") as written:
            while len(block := sound.read(BLOCK, dtype="float32", always_2d=True)):
                written.write(block)

"""Which score of a log is a take's: that of the same settings and prompt, and of files that were not written to since.

Hashing the files would be surer, and slower than a GPU scores them.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from cmi.audio import Waveform, content_hash
from cmi.take import Audio, Take


def score_key(take: Take, settings: Sequence[str]) -> str:
    """64 hex digits; `settings` are the model's name and whatever else its scores depend on."""
    sounds = [_stamp(sound) for sound in (take.audio, take.prompt.reference) if sound]
    parts = [*settings, take.prompt.text, take.prompt.lyrics, *sounds]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _stamp(sound: Audio) -> str:
    if isinstance(sound, Waveform):
        return content_hash(sound)
    return _file_stamp(sound)


def _file_stamp(path: Path) -> str:
    try:
        about = path.stat()
    except (OSError, ValueError):
        return f"{path} can't be read"
    return f"{path} {about.st_size} {about.st_mtime_ns}"

"""Read the files that systems write, with all their channels, and write takes as FLAC."""

import hashlib
import io
from pathlib import Path

import numpy as np
import soundfile

from cmi._util.files import make_folder, write_whole
from cmi.generate import GeneratedSound, GenerationError


def read_sound(file: Path | bytes) -> GeneratedSound:
    """Decode a file, or the bytes of one; GenerationError ('missing' or 'not audio') if there is no sound in it.

    A page of HTML in place of audio, a cut-off download and an empty file are 'not audio'.
    """
    if isinstance(file, Path) and not file.is_file():
        raise GenerationError("missing", "no audio file was written")
    try:
        samples, rate = soundfile.read(
            io.BytesIO(file) if isinstance(file, bytes) else file, dtype="float32", always_2d=True
        )
    except (soundfile.SoundFileError, OSError, TypeError) as error:
        size = len(file) if isinstance(file, bytes) else file.stat().st_size
        raise GenerationError("not audio", f"{size:,} bytes that cannot be decoded as audio ({error})") from error
    return GeneratedSound(samples, int(rate))


def write_take(sound: GeneratedSound, path: Path) -> str:
    """Write 16-bit FLAC atomically and return the file's SHA-256; a sound beyond full scale is scaled down."""
    peak = max(1.0, float(np.abs(sound.samples).max()))
    encoded = io.BytesIO()
    whole = (sound.samples / peak * 32767).round().astype(np.int16)
    soundfile.write(encoded, whole, sound.rate, format="FLAC", subtype="PCM_16")
    make_folder(path.parent)
    write_whole(path, encoded.getvalue())
    return hashlib.sha256(encoded.getbuffer()).hexdigest()

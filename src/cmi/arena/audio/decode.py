"""A process with limited rights that decodes one upload and writes it as FLAC.

    python -m cmi.arena.audio.decode UPLOAD RESULT MOST_SECONDS

Before it reads the upload it limits its own processor time, memory, file size and open files, because the file may be
hostile. Annotators are played the decoded sound, never the uploaded bytes. It prints one JSON object: the measurements
of the result, why the upload is refused, or that the disk is full. It starts for each upload, so it imports little.
"""

import errno
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from cmi._util.errors import InputError

CPU_SECONDS = 60
MEMORY_BYTES = 2 * 1024**3
FILE_BYTES = 512 * 1024**2
OPEN_FILES = 64

SHORTEST = 0.05  # seconds
MOST_CHANNELS = 2
LOWEST_RATE, HIGHEST_RATE = 8_000, 192_000
BLOCK = 65_536  # frames that are decoded at once
FORMATS = {"WAV", "WAVEX", "RF64", "W64", "AIFF", "AU", "CAF", "FLAC", "OGG", "MP3"}
TOO_LARGE = "the decoded sound is larger than an upload may be"
UNREADABLE = "the file is not audio that can be read, or it is damaged: send WAV, FLAC, OGG or MP3"
SIXTEEN_BITS = {"PCM_16", "PCM_S8", "PCM_U8", "ULAW", "ALAW", "VORBIS", "OPUS", "MPEG_LAYER_III"}


def limit_this_process() -> None:
    for limit, most in (
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(limit)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))


def decode(upload: Path, result: Path, most_seconds: float) -> None:
    """Write the upload's sound to `result`; InputError if it cannot be decoded, LibsndfileError if not written."""
    with upload.open("rb") as file, _opened(file.fileno()) as sound:
        _check_header(sound, most_seconds)
        depth = "PCM_16" if sound.subtype in SIXTEEN_BITS else "PCM_24"
        most_frames = int(most_seconds * sound.samplerate)
        frames = 0
        with soundfile.SoundFile(result, "w", sound.samplerate, sound.channels, depth, format="FLAC") as written:
            while len(block := _read(sound)):
                frames += len(block)
                if frames > most_frames:
                    raise _too_long(most_seconds)
                if not np.isfinite(block).all():
                    raise InputError("the sound has samples that are NaN or infinite")
                written.write(block)
        if frames < max(sound.frames, SHORTEST * sound.samplerate):
            raise InputError("the file is cut off, or holds less than 0.05 s of sound")


def _opened(descriptor: int) -> Any:
    """Open by descriptor: by name, libsndfile would read any file called .vox or .gsm as headerless audio."""
    try:
        return soundfile.SoundFile(descriptor, closefd=False)
    except soundfile.LibsndfileError as error:
        raise InputError(UNREADABLE) from error


def _read(sound: Any) -> Any:
    try:
        return sound.read(BLOCK, dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise InputError(UNREADABLE) from error


def _check_header(sound: Any, most_seconds: float) -> None:
    if sound.format not in FORMATS:
        raise InputError(f"{sound.format} files are not accepted: send WAV, FLAC, OGG or MP3")
    if not 1 <= sound.channels <= MOST_CHANNELS:
        raise InputError(f"the sound has {sound.channels} channels: send mono or stereo")
    if not LOWEST_RATE <= sound.samplerate <= HIGHEST_RATE:
        raise InputError(f"a rate of {sound.samplerate} Hz: send {LOWEST_RATE:,} to {HIGHEST_RATE:,} Hz")
    if sound.frames > most_seconds * sound.samplerate:
        raise _too_long(most_seconds)


def _too_long(most_seconds: float) -> InputError:
    return InputError(f"the sound is longer than the maximum of {most_seconds:g} s")


def _is_disk_full(result: Path) -> bool:
    """Try another write, because libsndfile does not say why its own failed."""
    try:
        with result.open("ab") as file:
            file.write(bytes(BLOCK))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return False


def main(upload: str, result: str, most_seconds: str) -> None:
    limit_this_process()
    try:
        decode(Path(upload), Path(result), float(most_seconds))
        from cmi.arena.audio.measure import measure  # slow to import, so only after the file is accepted

        answer: dict[str, Any] = {"measured": measure(Path(result))._asdict()}
    except InputError as error:
        answer = {"refused": str(error)}
    except soundfile.LibsndfileError:
        answer = {"disk_full": True} if _is_disk_full(Path(result)) else {"refused": TOO_LARGE}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])

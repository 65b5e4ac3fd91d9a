"""Anchors of a MUSHRA page: the reference after a low-pass filter (ITU-R BS.1534-3).

The standard asks for a pass band flat to 0.1 dB up to the cut-off (3.5 kHz for the low anchor, 7 kHz for the mid-range
one) and for the low anchor for 25 dB at 4 kHz and 50 dB at 4.5 kHz. A linear-phase filter with a Kaiser window meets it
with a transition of 500 Hz. Its delay is taken out, so anchor and reference can be switched at the same position.

Anchors are written as FLAC and named by the reference's content: the same import again finds the same files.
"""

from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi._util.files import make_folder, whole_file
from cmi.audio import content_hash
from cmi.stats.listening import ANCHORS

TRANSITION = 500.0  # Hz
ATTENUATION = 60.0  # dB in the stop band; the pass band is then flat to 0.01 dB
BLOCK = 2**16  # frames filtered at once


def make_anchor(reference: Path, name: str, folder: Path) -> Path:
    """Write the anchor `name` of a reference into a folder unless it is there, and return its path."""
    path = folder / f"{name}-{content_hash(reference)[:24]}.flac"
    if path.exists():
        return path
    try:
        with soundfile.SoundFile(reference) as sound:
            if sound.samplerate / 2 < ANCHORS[name] + 2 * TRANSITION:
                raise InputError(
                    f"{reference}: a rate of {sound.samplerate} Hz, at which a low-pass at "
                    f"{ANCHORS[name]:g} Hz would change nothing; use recordings with a higher rate"
                )
            make_folder(folder)
            with whole_file(path) as unfinished:
                _write(sound, ANCHORS[name], unfinished)
    except soundfile.SoundFileError as error:
        raise InputError(f"{reference}: cannot be decoded to its end; create the file again") from error
    return path


def low_pass(cutoff: float, rate: int) -> NDArray[np.float64]:
    """The filter's odd number of taps: a windowed sinc, -6 dB in the middle of the transition above `cutoff`."""
    beta = 0.1102 * (ATTENUATION - 8.7)  # Kaiser's formulas, for attenuations above 50 dB
    half = int(np.ceil((ATTENUATION - 7.95) / (14.36 * TRANSITION / rate) / 2))
    middle = (cutoff + TRANSITION / 2) / rate
    taps = 2 * middle * np.sinc(2 * middle * np.arange(-half, half + 1)) * np.kaiser(2 * half + 1, beta)
    return np.asarray(taps / taps.sum())


def _write(sound: soundfile.SoundFile, cutoff: float, path: Path) -> None:
    taps = low_pass(cutoff, sound.samplerate)
    half = len(taps) // 2
    size = 2 ** int(np.ceil(np.log2(BLOCK + len(taps) - 1)))
    response = np.fft.rfft(taps, size)[:, np.newaxis]
    known = np.zeros((len(taps) - 1, sound.channels))  # the input before this block
    delay, left = half, sound.frames
    with soundfile.SoundFile(path, "w", sound.samplerate, sound.channels, "PCM_24", format="FLAC") as written:
        while left > 0:
            block = sound.read(BLOCK, dtype="float64", always_2d=True, fill_value=0.0)
            block = np.concatenate([block, np.zeros((BLOCK - len(block), sound.channels))])  # the tail is silence
            both = np.concatenate([known, block])
            filtered = np.fft.irfft(np.fft.rfft(both, size, axis=0) * response, size, axis=0)
            filtered = filtered[len(taps) - 1 : len(both)]
            known = both[BLOCK:]
            kept = filtered[delay : delay + left]
            delay, left = 0, left - len(kept)
            written.write(np.clip(kept, -1.0, 1.0))

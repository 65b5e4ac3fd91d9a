"""Measure a decoded audio file.

Loudness    integrated, ITU-R BS.1770-4; a mono file counts twice, as both loudspeakers play it
Gain        to LEVEL, limited to keep the peak below full scale; used by level-matched playback
Peaks       the largest sample of each of PEAKS equal parts; the page draws them as the waveform

Accepted are formats that browsers play, by content: WAV, FLAC, MP3 and OGG (Vorbis, Opus). The decoder of uploads
imports this in a new process for each of them, so it needs neither the database nor scipy.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.audio import LONGEST, SHORTEST, content_hash, duration
from cmi.features.loudness import LoudnessMeter

PEAKS = 400
BLOCK = 2**17  # frames decoded at once, approximately
LEVEL = -23.0  # LUFS, as in EBU R 128
HIGHEST_PEAK = -1.0  # dBFS
MOST_CHANNELS = 8  # FLAC's limit; sounds are played as FLAC
MEDIA_TYPES = {
    "WAV": "audio/wav",
    "WAVEX": "audio/wav",
    "FLAC": "audio/flac",
    "MP3": "audio/mpeg",
    "OGG": "audio/ogg",
}


class SoundMeasurement(NamedTuple):
    digest: str
    seconds: float
    rate: int
    channels: int
    lufs: float | None  # None: silent, or shorter than 0.4 s
    gain_db: float
    peaks: list[float]
    media_type: str


def measure(path: Path) -> SoundMeasurement:
    """Decode a file block by block; InputError if it is damaged, too short, too long, or browsers cannot play it."""
    claimed = duration(path)
    if not SHORTEST <= claimed <= LONGEST:
        raise InputError(f"{path}: {claimed:g} s of sound, expected {SHORTEST:g} s to {LONGEST / 3600:g} h")
    try:
        with soundfile.SoundFile(path) as file:
            return _measure(path, file)
    except soundfile.SoundFileError as error:
        raise InputError(f"{path}: cannot be decoded to its end; create the file again") from error


def _measure(path: Path, file: soundfile.SoundFile) -> SoundMeasurement:
    if file.format not in MEDIA_TYPES:
        raise InputError(f"{path}: {file.format}, which browsers cannot play; convert it to WAV, FLAC, MP3 or OGG")
    if file.channels > MOST_CHANNELS:
        raise InputError(f"{path}: {file.channels} channels, expected at most {MOST_CHANNELS}; mix it down")
    meter = LoudnessMeter(file.samplerate, file.channels)
    peaks: list[float] = []
    edges = np.arange(PEAKS + 1) * file.frames // PEAKS
    step = max(1, BLOCK * PEAKS // file.frames)  # parts read at once
    for i in range(0, PEAKS, step):
        here = edges[i : i + step + 1]
        samples: NDArray[np.float32] = file.read(int(here[-1] - here[0]), dtype="float32", always_2d=True)
        if len(samples) < here[-1] - here[0]:
            raise InputError(
                f"{path}: cut off after {(here[0] + len(samples)) / file.samplerate:.1f} s; create the file again"
            )
        if not np.isfinite(samples).all():
            raise InputError(f"{path}: samples that are NaN or infinite; create the file again")
        meter.add(samples)
        peaks.extend(_peaks(samples, here[:-1] - here[0]))
    lufs = meter.integrated()
    return SoundMeasurement(
        digest=content_hash(path),
        seconds=file.frames / file.samplerate,
        rate=file.samplerate,
        channels=file.channels,
        lufs=None if lufs is None else round(lufs, 2),
        gain_db=_gain(lufs, max(peaks)),
        peaks=[round(min(peak, 1.0), 3) for peak in peaks],
        media_type=MEDIA_TYPES[file.format],
    )


def _peaks(samples: NDArray[np.float32], starts: NDArray[np.int64]) -> list[float]:
    """The largest sample of each part; a very short file has fewer samples than parts."""
    if not len(samples):
        return [0.0] * len(starts)
    loudest = np.abs(samples).max(axis=1)
    found: list[float] = np.maximum.reduceat(loudest, np.minimum(starts, len(samples) - 1)).tolist()
    return found


def _gain(lufs: float | None, peak: float) -> float:
    if lufs is None or not peak:
        return 0.0
    return round(min(LEVEL - lufs, HIGHEST_PEAK - 20 * float(np.log10(peak))), 2)

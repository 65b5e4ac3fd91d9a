"""Load audio files: decode, average to mono, resample and crop, in that order.

Decoding
    libsndfile reads WAV, FLAC, OGG (Vorbis, Opus), MP3, AIFF, AU and CAF; torchcodec, an extra, reads other formats.
    The format is detected from the file's bytes, not from its name.

Crops
    A crop decodes only what it needs and equals the same crop of the whole file to 1e-6 at common rates. From unusual
    rates such as 44,101 Hz soxr's clock drifts, by 1e-3 in half an hour.

Truncated files
    What can be decoded of a truncated file is used, and the waveform says how long the file claims to be.
"""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from cmi._util.decode import HIGHEST_RATE, LOWEST_RATE, DecodedFile, decoding, open_sound_file
from cmi._util.errors import InputError

# Files in the second row need torchcodec.
AUDIO_SUFFIXES = {
    *(".wav", ".flac", ".mp3", ".ogg", ".oga", ".opus", ".aif", ".aiff", ".au", ".caf"),
    *(".m4a", ".aac", ".wma", ".mp4", ".webm"),
}
QUALITY = "HQ"  # of soxr; part of every embedding's key
SHORTEST = 0.05  # seconds
LONGEST = 2 * 3600.0  # seconds
MOST_SAMPLES = 2**27  # over all channels, in memory at once: 25 min of stereo at 44.1 kHz
FULL_SCALE = 0.999  # of 1.0, from which a sample counts as clipped
NOT_FINITE = "samples that are NaN or infinite"
SILENT = "silent: all samples are equal, so there is nothing to judge"
SILENCE = 2.0**-24  # half a step of 24-bit audio; Opus decodes digital silence to 1e-34, not to 0

_STEP = 1e-6  # of a constant offset; resampling it gives steps of up to 5e-7
_RINGING = 1024  # samples at either end of a resampled constant that are not constant
_PART = 2**15  # samples that are looked at together
_EDGE = 256  # samples at the lower rate; soxr's HQ filter reaches about 100 to either side
_FARTHEST = 1e9  # seconds; a frame beyond it may not fit libsndfile's 64 bits
_SLACK = 0.1  # seconds that may be missing from a complete file: MP3 is padded to frames of up to 72 ms


@dataclass(frozen=True, eq=False)
class Waveform:
    """Mono sound in memory: float32 `samples` of shape (n,), full scale 1.0, at `rate` hertz.

    Two waveforms are equal only if they are the same object; compare samples by `content_hash`.
    """

    samples: NDArray[np.float32]
    rate: int
    stated: float | None = None  # seconds according to the header of a truncated file

    def __post_init__(self) -> None:
        if not isinstance(self.samples, np.ndarray) or self.samples.dtype != np.float32 or self.samples.ndim != 1:
            raise InputError(f"a waveform is a one-dimensional float32 array, not {_describe(self.samples)}")
        if not LOWEST_RATE <= self.rate <= HIGHEST_RATE:
            raise InputError(f"a rate of {self.rate} Hz, expected {LOWEST_RATE:,} to {HIGHEST_RATE:,} Hz")
        if not self.samples.size:
            raise InputError("a waveform without samples")
        if not np.isfinite(self.samples).all():
            raise InputError(NOT_FINITE)

    @property
    def seconds(self) -> float:
        return self.samples.size / self.rate


def load(path: Path, rate: int, seconds: float | None = None, offset: float = 0.0) -> Waveform:
    """Load a file at `rate` hertz from `offset` on: `seconds` of it, or fewer if it ends earlier, or all the rest.

    Short clips are not padded; those below SHORTEST are an InputError.
    """
    _require_request(path, rate, seconds, offset)
    with decoding(path) as source:
        if seconds is None and source.frames is not None and source.frames / source.rate - offset > LONGEST:
            _fail_too_long(path)
        start = round(offset * rate)
        stop = start + (math.floor(LONGEST * rate) + 1 if seconds is None else round(seconds * rate))
        samples = _resampled(source, rate, start, stop)
        stated = None if source.stated is None else source.stated / source.rate
    if not samples.size:
        raise InputError(f"{path}: no sound that can be decoded" + (f" from {offset:g} s on" if offset else ""))
    if seconds is None and samples.size > LONGEST * rate:
        _fail_too_long(path)
    if samples.size < math.floor(SHORTEST * rate):
        raise InputError(f"{path}: {samples.size / rate:.3f} s of sound, the shortest accepted is {SHORTEST} s")
    end = math.inf if seconds is None else offset + seconds
    is_whole = stated is None or min(stated, end) - (offset + samples.size / rate) <= _SLACK
    try:
        return Waveform(samples, rate, None if is_whole else stated)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def load_channels(path: Path, seconds: float) -> tuple[NDArray[np.float32], int]:
    """Load the first seconds of a file as they are, (n, channels) at the file's own rate, which is returned too.

    InputError if that is more than MOST_SAMPLES: a small FLAC file can hold more sound than memory does.
    """
    with decoding(path) as source:
        rate, most = source.rate, MOST_SAMPLES // source.channels
        blocks = list(source.blocks(0, min(math.floor(seconds * rate), most + 1)))
    if sum(map(len, blocks)) > most:
        raise InputError(f"{path}: too long to measure as a whole: at {rate} Hz at most {most / rate / 60:.0f} min")
    if not sum(map(len, blocks)):
        raise InputError(f"{path}: no sound that can be decoded")
    if not all(np.isfinite(block).all() for block in blocks):
        raise InputError(f"{path}: {NOT_FINITE}")
    return np.concatenate(blocks), rate


def find_recordings(folder: Path) -> list[Path]:
    """Return the audio files under a folder by their suffixes, sorted; hidden ones are left out."""
    if not folder.is_dir():
        raise InputError(f"{folder}: not a folder, expected one with audio files")
    files = (path for path in folder.rglob("*") if path.suffix.lower() in AUDIO_SUFFIXES)
    return sorted(path for path in files if not path.name.startswith(".") and path.is_file())


def cut_off_note(heard: float, stated: float) -> str:
    """Return the note about a truncated recording; both lengths in seconds."""
    return f"cut off: {heard:.1f} of {stated:.1f} s"


def resample(waveform: Waveform, rate: int) -> Waveform:
    """Return the same sound at `rate` hertz."""
    if waveform.rate == rate:
        return waveform
    return Waveform(soxr.resample(waveform.samples, waveform.rate, rate, quality=QUALITY), rate)


def write_wav(waveform: Waveform, path: Path) -> None:
    """Write 16-bit PCM; samples beyond full scale are scaled down, not clipped."""
    peak = max(1.0, float(np.abs(waveform.samples).max()))
    soundfile.write(path, (waveform.samples / peak * 32767).astype(np.int16), waveform.rate, "PCM_16", format="WAV")


def duration(path: Path) -> float:
    """Return the length in seconds according to the file's header."""
    with decoding(path) as source:
        if source.frames is None:
            raise InputError(f"{path}: the header does not say how long it is")
        return source.frames / source.rate


class Peaks(NamedTuple):
    """How long a file's sound is, and how much of it is at full scale."""

    seconds: float
    is_whole: bool  # False if the file is shorter than its header says
    peak: float
    clipped: float  # the share of frames in which a channel is at full scale


def measure_peaks(path: Path) -> Peaks:
    """Decode a file, at most LONGEST of it, block by block."""
    frames, clipped, peak = 0, 0, 0.0
    with decoding(path) as source:
        for level in _levels(source):
            frames += len(level)
            clipped += int(np.count_nonzero(level >= FULL_SCALE))
            peak = max(peak, float(level.max(initial=0.0)))
        stated, rate = source.stated or 0.0, source.rate
    if not frames:
        raise InputError(f"{path}: no sound that can be decoded")
    is_whole = min(stated / rate, LONGEST) - frames / rate <= _SLACK
    return Peaks(frames / rate, is_whole, peak, clipped / frames)


def load_peaks(path: Path, frames: int) -> tuple[NDArray[np.float32], float]:
    """Return the peak of each block of `frames` frames, and the duration in seconds, of at most LONGEST.

    It is decoded block by block, because two hours of stereo do not fit in memory.
    """
    found, count, rest = [np.empty(0, np.float32)], 0, np.empty(0, np.float32)
    with decoding(path) as source:
        rate = source.rate
        for level in _levels(source):
            count += len(level)
            rest = np.concatenate([rest, level])
            whole = len(rest) // frames * frames
            found.append(rest[:whole].reshape(-1, frames).max(axis=1))
            rest = rest[whole:]
    if not count:
        raise InputError(f"{path}: no sound that can be decoded")
    peaks = np.concatenate([*found, [rest.max()]] if rest.size else found)
    if not np.isfinite(peaks).all():
        raise InputError(f"{path}: {NOT_FINITE}")
    return peaks, count / rate


def is_silent(samples: NDArray[np.float32]) -> bool:
    """Whether nothing can be heard: no samples, digital silence throughout, or a constant.

    Samples are looked at part by part: of music the first part is enough.
    """
    if not samples.size:
        return True
    offset = float(samples[samples.size // 2])
    is_constant = abs(offset) >= SILENCE
    if is_constant and samples.size > 4 * _RINGING:
        samples = samples[_RINGING:-_RINGING]
    least = max(SILENCE, _STEP * abs(offset))
    parts = np.array_split(samples, 1 + samples.size // _PART)
    return all(np.abs(part - offset if is_constant else part).max() < least for part in parts)


def require_sound(waveform: Waveform, name: str | Path = "audio") -> None:
    """InputError that mentions `name` if nothing can be heard in the waveform."""
    if is_silent(waveform.samples):
        raise InputError(f"{name}: {SILENT}")


def windows(samples_count: int, window: int, hop: int | None = None) -> list[slice]:
    """Return windows that cover the samples, one every `hop` (by default `window`); the last may be short."""
    hop = window if hop is None else hop
    if samples_count < 0 or window < 1 or hop < 1:
        raise ValueError(f"no windows of {window} samples every {hop} in {samples_count}")
    starts = (start for start in range(0, samples_count, hop) if start == 0 or start - hop + window < samples_count)
    return [slice(start, min(start + window, samples_count)) for start in starts]


def content_hash(audio: Path | Waveform) -> str:
    """Return the SHA-256 of a file's bytes, or of a waveform's rate and samples."""
    if isinstance(audio, Waveform):
        digest = hashlib.sha256(f"waveform {audio.rate} ".encode())
        digest.update(audio.samples.astype("<f4").tobytes())
        return digest.hexdigest()
    with open_sound_file(audio) as file:
        try:
            return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise InputError(f"{audio}: {error.strerror or error}") from error


def _describe(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"a {value.dtype} array of shape {value.shape}"
    return type(value).__name__


def _fail_too_long(path: Path) -> NoReturn:
    raise InputError(f"{path}: longer than {LONGEST / 3600:g} h, ask for fewer seconds of it")


def _require_request(path: Path, rate: int, seconds: float | None, offset: float) -> None:
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise InputError(f"a rate of {rate} Hz was asked for, expected {LOWEST_RATE:,} to {HIGHEST_RATE:,} Hz")
    if not 0 <= offset <= _FARTHEST:
        raise InputError(f"{path}: an offset of {offset} s, expected 0 to {_FARTHEST:g} s")
    if seconds is not None and not SHORTEST <= seconds <= LONGEST:
        raise InputError(f"{path}: {seconds} s were asked for, expected {SHORTEST} to {LONGEST:g} s")


def _levels(source: DecodedFile) -> Iterator[NDArray[np.float32]]:
    """Yield the largest magnitude of all channels at each frame, at most LONGEST, block by block."""
    for block in source.blocks(0, math.floor(LONGEST * source.rate)):
        level = np.abs(block[:, 0])
        for channel in block.T[1:]:
            np.maximum(level, np.abs(channel), out=level)
        yield level


def _resampled(source: DecodedFile, rate: int, start: int, stop: int) -> NDArray[np.float32]:
    """Return samples `start` to `stop` of the source at `rate`, or as many of them as there are.

    Decoding begins at a frame that coincides with a sample of the result, far enough ahead for the filter to settle.
    """
    common = math.gcd(source.rate, rate)
    edge = 0 if source.rate == rate else math.ceil(_EDGE * rate / min(source.rate, rate))
    steps = max(0, start - edge) // (rate // common)
    begin = steps * (source.rate // common)
    end = -(-(stop + edge) * source.rate // rate)  # rounded up

    position = steps * (rate // common)
    kept = [np.empty(0, np.float32)]
    for chunk in _resampled_chunks(map(_mono, source.blocks(begin, end)), source.rate, rate):
        kept.append(chunk[max(0, start - position) : max(0, stop - position)])
        position += chunk.size
    return np.concatenate(kept)


def _resampled_chunks(
    blocks: Iterator[NDArray[np.float32]], source_rate: int, rate: int
) -> Iterator[NDArray[np.float32]]:
    if source_rate == rate:
        yield from blocks
        return
    resampler = soxr.ResampleStream(source_rate, rate, 1, dtype="float32", quality=QUALITY)
    for block in blocks:
        yield resampler.resample_chunk(block)
    yield resampler.resample_chunk(np.empty(0, np.float32), last=True)


def _mono(block: NDArray[np.float32]) -> NDArray[np.float32]:
    with np.errstate(over="ignore", invalid="ignore"):  # samples that are not finite are reported later
        share = np.float32(1 / block.shape[1])
        total = block[:, 0] * share
        for channel in block.T[1:]:  # several times faster than numpy's mean over a short axis
            total += channel * share
        return total

"""Load audio files: decode, average to mono, resample and crop, in that order.

Decoding
    libsndfile reads WAV, FLAC, OGG (Vorbis, Opus), MP3, AIFF, AU and CAF; torchcodec, an extra, reads other formats.
    The file's bytes tell the format, never its name.

Crops
    A crop decodes only what it needs and equals the same crop of the whole file to 1e-6 at common rates. From unusual
    rates such as 44,101 Hz soxr's clock drifts, by 1e-3 in half an hour.

Truncated files
    What can be decoded of a truncated file is used, and the waveform says how long the file claims to be.
"""

import hashlib
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn, Protocol

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from cmi._util.errors import InputError, MissingExtra
from cmi._util.quiet_stderr import quiet_stderr
from cmi._util.remote import OpenFile, RemotePath, open_remote

# Files in the second row need torchcodec.
AUDIO_SUFFIXES = {
    *(".wav", ".flac", ".mp3", ".ogg", ".oga", ".opus", ".aif", ".aiff", ".au", ".caf"),
    *(".m4a", ".aac", ".wma", ".mp4", ".webm"),
}
QUALITY = "HQ"  # of soxr; part of every embedding's key
SHORTEST = 0.05  # seconds
LONGEST = 2 * 3600.0  # seconds
MOST_CHANNELS = 64
LOWEST_RATE, HIGHEST_RATE = 4_000, 768_000  # hertz
FULL_SCALE = 0.999  # of 1.0, from which a sample counts as clipped
SILENCE = 2.0**-24  # half a step of 24-bit audio; Opus decodes digital silence to 1e-34, not to 0

_BLOCK = 2**18  # samples decoded at once, over all channels
_EDGE = 256  # samples at the lower rate; soxr's HQ filter reaches about 100 to either side
_FARTHEST = 1e9  # seconds; a frame beyond it may not fit libsndfile's 64 bits
_SLACK = 0.1  # seconds that may be missing from a complete file: MP3 is padded to frames of up to 72 ms
_NO_CLAIM = 0x7FFF0000  # bytes; encoders that write to a pipe state a size that no file reaches
_UNKNOWN_LENGTH = 2**63 - 1  # libsndfile's value for a FLAC stream whose header states no length
_SIZES = re.compile(r"(?:data|SSND|Data Size|riff|Riff size) *: (\d+) \(should be (\d+)\)")
# libsndfile reads exotic formats too, some endlessly: a damaged MIDI sample dump keeps giving zeros.
_FORMATS = {"WAV", "WAVEX", "RF64", "W64", "AIFF", "AU", "CAF", "FLAC", "OGG", "MP3"}
# First bytes of formats that libsndfile decodes silently; for MP3, libmpg123 prints warnings.
_QUIET = {b"RIFF", b"RF64", b"riff", b"FORM", b".snd", b"caff", b"fLaC", b"OggS"}
_NOT_OURS = {1, 4, 18}  # libsndfile's codes for an unrecognised format, an unsupported and an unimplemented encoding
_MISLEADING = {7}  # "not a regular file": what libsndfile says when an MP3 holds no whole frame


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
            raise InputError("samples that are NaN or infinite")

    @property
    def seconds(self) -> float:
        return self.samples.size / self.rate


def load(path: Path, rate: int, seconds: float | None = None, offset: float = 0.0) -> Waveform:
    """Load a file at `rate` hertz from `offset` on: `seconds` of it, or fewer if it ends earlier, or all the rest.

    Short clips are not padded; those below SHORTEST are an InputError.
    """
    _require_request(path, rate, seconds, offset)
    with _opened(path) as source:
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
    """Load the first seconds of a file as they are, (n, channels) at the file's own rate, which is returned too."""
    with _opened(path) as source:
        blocks = list(source.blocks(0, math.floor(seconds * source.rate)))
        rate = source.rate
    if not sum(map(len, blocks)):
        raise InputError(f"{path}: no sound that can be decoded")
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
    with _opened(path) as source:
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
    with _opened(path) as source:
        for block in source.blocks(0, math.floor(LONGEST * source.rate)):
            level = np.abs(block[:, 0])
            for channel in block.T[1:]:
                np.maximum(level, np.abs(channel), out=level)
            frames += len(level)
            clipped += int(np.count_nonzero(level >= FULL_SCALE))
            peak = max(peak, float(level.max(initial=0.0)))
        stated, rate = source.stated or 0.0, source.rate
    if not frames:
        raise InputError(f"{path}: no sound that can be decoded")
    is_whole = min(stated / rate, LONGEST) - frames / rate <= _SLACK
    return Peaks(frames / rate, is_whole, peak, clipped / frames)


def require_sound(waveform: Waveform, name: str | Path = "audio") -> None:
    """InputError that mentions `name` if the waveform is digital silence throughout."""
    if np.abs(waveform.samples).max() < SILENCE:
        raise InputError(f"{name}: silent: nothing to judge")


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
    with _open_file(audio) as file:
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


class _Source(Protocol):
    """A file being decoded."""

    rate: int
    channels: int
    frames: int | None  # to expect; None if unknown
    stated: float | None  # frames according to the header, more than `frames` in a truncated file; None if unstated

    def blocks(self, begin: int, end: int) -> Iterator[NDArray[np.float32]]:
        """Yield frames `begin` to `end`, or to the end of the sound, in arrays of shape (n, channels)."""


def _resampled(source: _Source, rate: int, start: int, stop: int) -> NDArray[np.float32]:
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


def _open_file(path: Path) -> OpenFile:
    if isinstance(path, RemotePath):
        return open_remote(path)
    try:
        if path.is_dir():
            raise InputError(f"{path}: a folder, expected an audio file")
        if path.exists() and not path.is_file():  # opening a pipe would wait forever
            raise InputError(f"{path}: not a regular file")
        return path.open("rb")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


@contextmanager
def _opened(path: Path) -> Iterator[_Source]:
    """Open a file for decoding and check its header against our limits."""
    with _open_file(path) as file:
        if not os.fstat(file.fileno()).st_size:
            raise InputError(f"{path}: an empty file")
        with nullcontext() if os.pread(file.fileno(), 4, 0) in _QUIET else quiet_stderr():
            sound = _open_sound(path, file)
            if sound is None:
                yield _within_limits(path, _CodecSource(path, file))
            else:
                with sound:
                    yield _within_limits(path, _SoundFileSource(sound, file))


def _open_sound(path: Path, file: OpenFile) -> soundfile.SoundFile | None:
    """Open the file with libsndfile; None if it does not read this format."""
    try:
        # By descriptor: given a name, libsndfile would read any .vox or .gsm file as headerless audio.
        sound = soundfile.SoundFile(file.fileno(), closefd=False)
    except soundfile.LibsndfileError as error:
        if error.code in _NOT_OURS:
            return None
        reason = "" if error.code in _MISLEADING else f" ({error.error_string.rstrip('.')})"
        raise InputError(f"{path}: damaged, cut off, or with a false header{reason}") from error
    if sound.format not in _FORMATS:
        sound.close()
        return None
    return sound


def _within_limits(path: Path, source: _Source) -> _Source:
    if not 1 <= source.channels <= MOST_CHANNELS:
        raise InputError(f"{path}: {source.channels} channels, expected 1 to {MOST_CHANNELS}")
    if not LOWEST_RATE <= source.rate <= HIGHEST_RATE:
        raise InputError(f"{path}: a rate of {source.rate} Hz, expected {LOWEST_RATE:,} to {HIGHEST_RATE:,} Hz")
    if source.frames is not None and source.frames < 1:
        raise InputError(f"{path}: no sound in it (0 s)")
    return source


def _stated_frames(sound: soundfile.SoundFile, file: OpenFile) -> float | None:
    """Return the number of frames according to the header; None if it does not say."""
    if sound.format == "MP3" and not _states_frames(file):
        return None  # libsndfile guesses
    # For uncompressed sound libsndfile trusts the file's size, and logs the size that the header states.
    sizes = _SIZES.findall(sound.extra_info)
    if not sizes or sound.format in ("FLAC", "OGG", "MP3"):
        return float(sound.frames)
    claimed, found = map(int, sizes[-1])
    return sound.frames * claimed / found if found < claimed < _NO_CLAIM else float(sound.frames)


def _states_frames(file: OpenFile) -> bool:
    """Tell whether an MP3 begins with a tag that states its number of frames."""
    head = os.pread(file.fileno(), 10, 0)
    begin = 0
    if head[:3] == b"ID3" and len(head) == 10:  # the tag's size has four times seven bits
        begin = 10 + sum((byte & 127) << shift for byte, shift in zip(head[6:], (21, 14, 7, 0), strict=True))
    frame = os.pread(file.fileno(), 4096, begin)
    tag = max(frame.find(b"Xing"), frame.find(b"Info"))
    return b"VBRI" in frame or (tag >= 0 and len(frame) > tag + 7 and bool(frame[tag + 7] & 1))


class _SoundFileSource:
    def __init__(self, sound: soundfile.SoundFile, file: OpenFile) -> None:
        self.rate: int = sound.samplerate
        self.channels: int = sound.channels
        self.frames: int | None = None if sound.frames == _UNKNOWN_LENGTH else sound.frames
        self.stated = _stated_frames(sound, file) if self.frames is not None else None
        self._sound = sound

    def blocks(self, begin: int, end: int) -> Iterator[NDArray[np.float32]]:
        end = end if self.frames is None else min(end, self.frames)
        if begin >= end:
            return
        try:
            self._sound.seek(begin)
        except soundfile.LibsndfileError:  # beyond the end of a truncated file
            return
        while begin < end:
            block = self._read(min(end - begin, max(1, _BLOCK // self.channels)))
            if not len(block):
                return
            yield block
            begin += len(block)

    def _read(self, frames: int) -> NDArray[np.float32]:
        """Read the next frames, none at the end.

        At the end of a FLAC file that is truncated or states no length, soundfile fills the buffer and then raises
        without saying how many frames it read; we count those that are no longer NaN.
        """
        buffer = np.full((frames, self.channels), np.nan, np.float32)
        try:
            count = len(self._sound.read(out=buffer))
        except soundfile.LibsndfileError:
            written = np.flatnonzero(~np.isnan(buffer[:, -1]))
            count = written[-1] + 1 if written.size else 0
        return buffer[:count]


class _CodecSource:
    """Any format that FFmpeg reads, through torchcodec; in one block, because torchcodec seeks by starting over."""

    def __init__(self, path: Path, file: OpenFile) -> None:
        try:
            from torchcodec.decoders import AudioDecoder
        except ImportError as error:
            what = f"{path}: not readable as WAV, FLAC, OGG or MP3; any other format is read by torchcodec, which"
            raise MissingExtra(what, "codec") from error
        except (OSError, RuntimeError) as error:
            raise InputError(f"{path}: torchcodec cannot be loaded to read it; install FFmpeg") from error
        file.seek(0)
        try:
            self._decoder = AudioDecoder(file)  # not by name: FFmpeg would open 'http:b' as an address
        except (RuntimeError, ValueError) as error:
            raise InputError(f"{path}: not audio, damaged, or cut off") from error
        about = self._decoder.metadata
        self.rate: int = about.sample_rate or 0
        self.channels: int = about.num_channels or 0
        seconds = about.duration_seconds_from_header
        self.frames: int | None = None if seconds is None else round(seconds * self.rate)
        self.stated: float | None = self.frames
        self._begin = about.begin_stream_seconds_from_header or 0.0

    def blocks(self, begin: int, end: int) -> Iterator[NDArray[np.float32]]:
        start, stop = (self._begin + frame / self.rate for frame in (begin, end))
        try:
            samples = self._decoder.get_samples_played_in_range(start, stop).data
        except (RuntimeError, ValueError):  # beyond the end
            return
        yield samples.numpy().T

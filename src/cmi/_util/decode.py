"""Decode audio files block by block: by libsndfile, or by torchcodec if libsndfile does not read the format."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Protocol

import numpy as np
import soundfile
from numpy.typing import NDArray

from cmi._util.errors import InputError, MissingExtra
from cmi._util.quiet_stderr import quiet_stderr
from cmi._util.remote import OpenFile, RemotePath, open_remote

MOST_CHANNELS = 64
LOWEST_RATE, HIGHEST_RATE = 4_000, 768_000  # hertz

_BLOCK = 2**18  # samples decoded at once, over all channels
_NO_CLAIM = 0x7FFF0000  # bytes; encoders that write to a pipe state a size that no file reaches
_UNKNOWN_LENGTH = 2**63 - 1  # libsndfile's value for a FLAC stream whose header states no length
_SIZES = re.compile(r"(?:data|SSND|Data Size|riff|Riff size) *: (\d+) \(should be (\d+)\)")
# libsndfile reads exotic formats too, some endlessly: a damaged MIDI sample dump keeps giving zeros.
_FORMATS = {"WAV", "WAVEX", "RF64", "W64", "AIFF", "AU", "CAF", "FLAC", "OGG", "MP3"}
# First bytes of formats that libsndfile decodes silently; for MP3, libmpg123 prints warnings.
_QUIET = {b"RIFF", b"RF64", b"riff", b"FORM", b".snd", b"caff", b"fLaC", b"OggS"}
_NOT_OURS = {1, 4, 18}  # libsndfile's codes for an unrecognised format, an unsupported and an unimplemented encoding
_MISLEADING = {7}  # "not a regular file": what libsndfile says when an MP3 holds no whole frame


class DecodedFile(Protocol):
    """A file being decoded."""

    rate: int
    channels: int
    frames: int | None  # to expect; None if unknown
    stated: float | None  # frames according to the header, more than `frames` in a truncated file; None if unstated

    def blocks(self, begin: int, end: int) -> Iterator[NDArray[np.float32]]:
        """Yield frames `begin` to `end`, or to the end of the sound, in arrays of shape (n, channels)."""


def open_sound_file(path: Path) -> OpenFile:
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
def decoding(path: Path) -> Iterator[DecodedFile]:
    """Open a file for decoding and check its header against our limits."""
    with open_sound_file(path) as file:
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
        raise InputError(f"{path}: damaged, truncated, or with a wrong header{reason}") from error
    if sound.format not in _FORMATS:
        sound.close()
        return None
    return sound


def _within_limits(path: Path, source: DecodedFile) -> DecodedFile:
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
            raise InputError(f"{path}: not audio, damaged, or truncated") from error
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

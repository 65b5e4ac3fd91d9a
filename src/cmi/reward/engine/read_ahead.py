"""Load recordings ahead of the model: as tokens if they are cached, else as samples.

Threads hash the next recordings and look them up in the cache, at most a few groups of takes ahead, which bounds the
memory. Recordings that are not cached are decoded and resampled by the same threads if the model runs on a CPU, and by
processes if it runs on a GPU, which needs many at once.
"""

import hashlib
import mmap
import multiprocessing
import time
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cmi import audio
from cmi._util.cores import map_ahead, single_threads, usable_cores
from cmi._util.errors import InputError
from cmi._util.workers import die_with_parent
from cmi.audio import content_hash
from cmi.reward.engine.token_cache import CachedTokens, TokenCache, TokenMemory
from cmi.reward.engine.windows import SPAN, AudioSpan, Job
from cmi.take import Audio

SETTLED_AFTER = 2_000_000_000  # nanoseconds since the last change, after which a file's hash may be cached
LOOKUP_THREADS = 4  # if the model runs on a GPU: more threads would slow down the one that drives it


class DecodedAudio(NamedTuple):
    """A loaded span of a recording: its samples if it was decoded, or its tokens if they were cached."""

    samples: Tensor | None  # (n,)
    entry: CachedTokens | None
    key: str  # key of its tokens in the cache; '' if they are not cached
    length: int  # samples
    silent: bool
    stated: float | None  # seconds according to the header, if the file is truncated


class MissingAudio(NamedTuple):
    """A span of a recording that is not cached."""

    job: Job
    key: str  # key that its tokens will have in the cache; '' if they are not cached


@dataclass
class Loader:
    """Loads jobs. `encoder` names the encoder with its revision and precision.

    Files are looked up in `cache`, waveforms in `memory`. If `pinned`, cached tokens are loaded into pinned memory.
    """

    rate: int
    shortest: int
    encoder: str
    cache: TokenCache | None
    pinned: bool = False
    memory: TokenMemory | None = None

    def __getitem__(self, job: Job) -> DecodedAudio | InputError:
        found = self.look_up(job)
        return self.decode(found) if isinstance(found, MissingAudio) else found

    def look_up(self, job: Job) -> "DecodedAudio | MissingAudio | InputError":
        """Return the tokens of a span if they are cached."""
        if (self.memory if job.is_waveform else self.cache) is None:
            return MissingAudio(job, "")
        try:
            key = self._key(job.sound, job.span)
        except InputError as error:
            return error
        if job.is_waveform:
            entry = self.memory.get(key) if self.memory else None
        else:
            entry = self.cache.get(key, self.pinned) if self.cache else None
        if entry is None:
            return MissingAudio(job, key)
        return DecodedAudio(None, entry, key, entry.samples, entry.silent, entry.stated)

    def decode(self, missing: "MissingAudio") -> DecodedAudio | InputError:
        job = missing.job
        try:
            samples, stated = self._samples(job.sound, job.span)
        except InputError as error:
            return error
        if samples.size < self.shortest:
            return InputError(f"{job.name}: {samples.size} samples, expected {self.shortest} or more")
        return DecodedAudio(
            torch.from_numpy(samples), None, missing.key, samples.size, audio.is_silent(samples), stated
        )

    def _samples(self, sound: Audio, span: AudioSpan) -> tuple[NDArray[np.float32], float | None]:
        """Return the samples, and the duration according to the header if the file is truncated."""
        if isinstance(sound, Path):
            loaded = audio.load(sound, self.rate, span.seconds, span.offset)
            return loaded.samples, loaded.stated
        waveform = audio.resample(sound, self.rate)
        start = span.offset * self.rate
        return waveform.samples[start : start + span.seconds * self.rate], None

    def _key(self, sound: Audio, span: AudioSpan) -> str:
        parts = (self.encoder, _cached_hash(sound), str(self.rate), audio.QUALITY, *map(str, span))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _cached_hash(path: Audio) -> str:
    """Return a recording's hash; a file that has not changed since this process hashed it is not read again.

    Any change updates the inode's ctime, which cannot be set back. A file that changed within SETTLED_AFTER may change
    again within the resolution of that time, so it is read.
    """
    if not isinstance(path, Path):
        return content_hash(path)
    try:
        about = path.stat()
    except (OSError, ValueError):
        return content_hash(path)  # raises an error that says what is wrong
    if time.time_ns() - max(about.st_mtime_ns, about.st_ctime_ns) < SETTLED_AFTER:
        return content_hash(path)
    return _hash(path, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)


@lru_cache(2**16)
def _hash(path: Path, *_: int) -> str:
    return content_hash(path)


def read_ahead(
    jobs: Iterable[Job], loader: Loader, workers: int, ahead: int, held: int, processes: bool = False
) -> Generator[DecodedAudio | InputError, None, None]:
    """Yield the audio of each job, in order; about `ahead` jobs are drawn from `jobs` in advance.

    With `processes`, audio that is not cached is decoded by `workers` processes into shared memory, which is reused:
    the samples of a job stay valid until `held` more jobs have been yielded.
    """
    if not workers:
        yield from (loader[job] for job in jobs)
        return
    ahead = max(ahead, workers)
    with ExitStack() as opened:
        if not processes or "fork" not in multiprocessing.get_all_start_methods():
            threads = opened.enter_context(single_threads(workers, "cmi-read"))
            yield from map_ahead(lambda job: threads.submit(loader.__getitem__, job), jobs, ahead)
            return
        threads = opened.enter_context(single_threads(min(workers, LOOKUP_THREADS), "cmi-read"))
        found = map_ahead(lambda job: threads.submit(loader.look_up, job), jobs, ahead)
        decoders = Decoders(loader, workers, ahead + held + 1, opened)
        yield from map(decoders.fetch, map_ahead(decoders.submit, found, ahead))


class Decoders:
    """Decoder processes, started when the first recording has to be decoded.

    They return samples through shared anonymous memory, which costs one copy. Pages that are never written take no
    memory, and a killed process leaves nothing behind.
    """

    def __init__(self, loader: Loader, workers: int, slots: int, opened: ExitStack) -> None:
        self._loader = loader
        self._workers = workers
        self._count = slots
        self._opened = opened
        self._pool: ProcessPoolExecutor | None = None
        self._next = 0

    def submit(self, found: "MissingAudio | DecodedAudio | InputError") -> "Future[Any]":
        if not isinstance(found, MissingAudio):
            done: Future[Any] = Future()
            done.set_result(found)
            return done
        if self._pool is None:
            self._slots = _Slots(self._count, SPAN * self._loader.rate * 4)
            context = multiprocessing.get_context("fork")
            pool = ProcessPoolExecutor(self._workers, context, _init_decoder, (self._loader, self._slots))
            self._pool = self._opened.enter_context(pool)
        self._next += 1
        return self._pool.submit(_decode, found, self._next % self._count)

    def fetch(self, result: Any) -> DecodedAudio | InputError:
        if not isinstance(result, tuple) or isinstance(result, DecodedAudio):
            return result
        slot, decoded = result
        return decoded._replace(samples=torch.from_numpy(self._slots[slot][: decoded.length]))


class _Slots:
    def __init__(self, count: int, size: int) -> None:
        self._size = size
        self._memory = mmap.mmap(-1, count * size)

    def __getitem__(self, slot: int) -> NDArray[np.float32]:
        return np.frombuffer(self._memory, np.float32, self._size // 4, slot * self._size)


_worker: tuple[Loader, _Slots]  # set in decoder processes only


def _init_decoder(loader: Loader, slots: _Slots) -> None:
    global _worker
    _worker = loader, slots
    die_with_parent()


def _decode(missing: MissingAudio, slot: int) -> tuple[int, DecodedAudio] | InputError:
    """Write the samples to a slot and return everything else."""
    loader, slots = _worker
    decoded = loader.decode(missing)
    if isinstance(decoded, InputError):
        return InputError(str(decoded))  # without its cause, because it is sent to another process
    assert decoded.samples is not None
    slots[slot][: decoded.length] = decoded.samples.numpy()
    return slot, decoded._replace(samples=None)


def default_workers(device: torch.device, one_core_each: bool = False) -> int:
    """Return the number of readers: 1 if the model uses all CPU cores, else one per core, at most 16 on a GPU."""
    if device.type == "cpu":
        return usable_cores() if one_core_each else 1
    return min(16, usable_cores())

"""From recordings to samples or, where the cache has them, to tokens: read ahead while the model computes.

Threads hash and look up what comes next, at most a few groups of takes ahead, so that memory is bounded for any number
of recordings. What is not cached they decode and resample themselves beside a model on a CPU; beside a GPU, which needs
many at once, processes do.
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

SETTLED = 2_000_000_000  # nanoseconds
LOOKING_UP = 4  # threads beside a GPU: more keep the one that drives it from running


class DecodedAudio(NamedTuple):
    """A stretch of a recording: its samples if it was decoded, and its tokens if they are known."""

    samples: Tensor | None  # (n,)
    entry: CachedTokens | None
    key: str  # of its tokens in the cache; '' if they are not kept
    length: int  # samples
    silent: bool
    stated: float | None  # seconds that the file states, if it ended before them


class MissingAudio(NamedTuple):
    """A stretch of a recording that is not cached."""

    job: Job
    key: str  # that its tokens will have in the cache; '' if they are not kept


@dataclass
class Loader:
    """Stretches of recordings by job. `encoder` names the encoder with its revision and precision.

    The cache is for files. Waveforms are looked up in the memory, if there is one: hashing them costs milliseconds.
    If `pinned`, cached tokens lie in memory that a GPU can copy from while it computes.
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
        """The tokens of a recording if they are cached."""
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
            return InputError(f"{job.name}: {samples.size} samples, the fewest that are heard are {self.shortest}")
        return DecodedAudio(
            torch.from_numpy(samples), None, missing.key, samples.size, audio.is_silent(samples), stated
        )

    def _samples(self, sound: Audio, span: AudioSpan) -> tuple[NDArray[np.float32], float | None]:
        """The samples, and the seconds that the file states if it ended before them."""
        if isinstance(sound, Path):
            heard = audio.load(sound, self.rate, span.seconds, span.offset)
            return heard.samples, heard.stated
        waveform = audio.resample(sound, self.rate)
        start = span.offset * self.rate
        return waveform.samples[start : start + span.seconds * self.rate], None

    def _key(self, sound: Audio, span: AudioSpan) -> str:
        parts = (self.encoder, _hash_unless_known(sound), str(self.rate), audio.QUALITY, *map(str, span))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _hash_unless_known(path: Audio) -> str:
    """A recording's hash; a file that did not change since this process hashed it is not read again.

    Any change moves the time of the inode's last change, which nobody can set back. What changed a moment ago may
    change again before that clock ticks, and is read.
    """
    if not isinstance(path, Path):
        return content_hash(path)
    try:
        about = path.stat()
    except (OSError, ValueError):
        return content_hash(path)  # which says what is wrong
    if time.time_ns() - max(about.st_mtime_ns, about.st_ctime_ns) < SETTLED:
        return content_hash(path)
    return _hash(path, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)


@lru_cache(2**16)
def _hash(path: Path, *_: int) -> str:
    return content_hash(path)


def read_ahead(
    jobs: Iterable[Job], loader: Loader, workers: int, ahead: int, held: int, processes: bool = False
) -> Generator[DecodedAudio | InputError, None, None]:
    """What each job gives, in their order; `jobs` is drawn from about `ahead` jobs before they are asked for.

    With `processes`, what is not cached is decoded by as many of them. What is handed out may then be used until `held`
    more were asked for.
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
        threads = opened.enter_context(single_threads(min(workers, LOOKING_UP), "cmi-read"))
        found = map_ahead(lambda job: threads.submit(loader.look_up, job), jobs, ahead)
        decoders = Decoders(loader, workers, ahead + held + 1, opened)
        yield from map(decoders.fetch, map_ahead(decoders.submit, found, ahead))


class Decoders:
    """Processes that decode, started when there is something to decode.

    They hand on samples through memory that they share with this process, which costs a copy and nothing else. Pages
    that are never written to take no room, and nothing is left behind by a process that is killed.
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
            pool = ProcessPoolExecutor(self._workers, context, _begin_decoding, (self._loader, self._slots))
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


_worker: tuple[Loader, _Slots]  # of a process that decodes


def _begin_decoding(loader: Loader, slots: _Slots) -> None:
    global _worker
    _worker = loader, slots
    die_with_parent()


def _decode(missing: MissingAudio, slot: int) -> tuple[int, DecodedAudio] | InputError:
    """Leave the samples in a slot, and hand on the rest."""
    loader, slots = _worker
    decoded = loader.decode(missing)
    if isinstance(decoded, InputError):
        return InputError(str(decoded))  # plain, since it goes to another process
    assert decoded.samples is not None
    slots[slot][: decoded.length] = decoded.samples.numpy()
    return slot, decoded._replace(samples=None)


def default_workers(device: torch.device, one_core_each: bool = False) -> int:
    """One beside a model that computes on all cores of a CPU, else one for each core; up to 16 beside a GPU."""
    if device.type == "cpu":
        return usable_cores() if one_core_each else 1
    return min(16, usable_cores())

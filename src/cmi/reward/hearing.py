"""From recordings to samples or, where the cache has them, to tokens: read ahead by worker processes.

While the model computes, workers hash, look up, decode and resample what comes next. They hand on samples through
shared memory, at most a group of takes ahead, so that memory is bounded for any number of recordings.
"""

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from cmi import audio
from cmi.audio import SILENCE, content_hash
from cmi.errors import InputError
from cmi.reward.token_cache import Entry, TokenCache
from cmi.reward.windows import Span
from cmi.take import Audio

SHARED_MEMORY = 2**30  # bytes; with less, as in some containers, workers could not hand on their samples


class Job(NamedTuple):
    sound: Audio
    span: Span

    @property
    def name(self) -> str:
        return str(self.sound) if isinstance(self.sound, Path) else "a waveform in memory"


class Loaded(NamedTuple):
    """A stretch of a recording: its samples, or its tokens if they were known."""

    samples: Tensor | None  # (n,)
    entry: Entry | None
    key: str  # of its tokens in the cache; '' if they are not kept
    length: int  # samples
    silent: bool


class Loader(Dataset[Any]):
    """Stretches of recordings by job. `encoder` names the encoder with its revision and precision."""

    def __init__(self, rate: int, shortest: int, encoder: str, cache: TokenCache | None) -> None:
        self.rate = rate
        self.shortest = shortest
        self.encoder = encoder
        self.cache = cache

    def __getitem__(self, job: Job) -> Loaded | InputError:
        try:
            return self._load(job)
        except InputError as error:
            return InputError(str(error))  # plain, since it may come from another process

    def _load(self, job: Job) -> Loaded:
        key = ""
        if self.cache is not None and isinstance(job.sound, Path):  # hashing what is in memory costs more than it saves
            key = self._key(job.sound, job.span)
            entry = self.cache.get(key)
            if entry is not None:
                return Loaded(None, entry, key, entry.samples, entry.silent)
        samples = self._samples(job.sound, job.span)
        if samples.size < self.shortest:
            raise InputError(f"{job.name}: {samples.size} samples, the fewest that are heard are {self.shortest}")
        return Loaded(torch.from_numpy(samples), None, key, samples.size, _is_silent(samples))

    def _samples(self, sound: Audio, span: Span) -> NDArray[np.float32]:
        if isinstance(sound, Path):
            return audio.load(sound, self.rate, span.seconds, span.offset).samples
        waveform = audio.resample(sound, self.rate)
        start = span.offset * self.rate
        return waveform.samples[start : start + span.seconds * self.rate]

    def _key(self, path: Path, span: Span) -> str:
        parts = (self.encoder, content_hash(path), str(self.rate), audio.QUALITY, *map(str, span))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _is_silent(samples: NDArray[np.float32]) -> bool:
    """Whether all is silent; music is known by its first second or two."""
    return all(np.abs(part).max() < SILENCE for part in np.array_split(samples, 1 + samples.size // 2**15))


def read_ahead(jobs: Iterable[Job], loader: Loader, workers: int, ahead: int) -> Iterator[Loaded | InputError]:
    """What each job gives, in their order; `jobs` is drawn from about `ahead` jobs before they are asked for."""
    if not workers or not _can_share_memory():
        yield from (loader[job] for job in jobs)
        return
    yield from DataLoader(
        loader,
        sampler=jobs,  # what a sampler yields need not be a number
        batch_size=None,
        num_workers=workers,
        prefetch_factor=max(2, -(-ahead // workers)),
    )


def _can_share_memory() -> bool:
    try:
        return shutil.disk_usage("/dev/shm").free > SHARED_MEMORY  # noqa: S108
    except FileNotFoundError:  # not Linux
        return True


def default_workers(device: torch.device) -> int:
    """One beside a model that computes on the CPU, else one for each core, up to 16."""
    return 1 if device.type == "cpu" else min(16, os.cpu_count() or 1)

"""From recordings to samples or, where the cache has them, to tokens: read ahead by worker processes.

While the model computes, workers hash, look up, decode and resample what comes next. They hand on samples through
shared memory, at most a group of takes ahead, so that memory is bounded for any number of recordings.
"""

import hashlib
import mmap
import multiprocessing
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from cmi import audio
from cmi._util.errors import InputError
from cmi.audio import SILENCE, content_hash
from cmi.reward.engine.token_cache import CachedTokens, TokenCache, TokenMemory
from cmi.reward.engine.windows import SPAN, AudioSpan, Job
from cmi.take import Audio


class DecodedAudio(NamedTuple):
    """A stretch of a recording: its samples, or its tokens if they were known."""

    samples: Tensor | None  # (n,)
    entry: CachedTokens | None
    key: str  # of its tokens in the cache; '' if they are not kept
    length: int  # samples
    silent: bool
    stated: float | None  # seconds that the file states, if it ended before them


@dataclass
class Loader(Dataset[Any]):
    """Stretches of recordings by job. `encoder` names the encoder with its revision and precision.

    The cache is for files. Waveforms are looked up in the memory, if there is one: hashing them costs milliseconds.
    """

    rate: int
    shortest: int
    encoder: str
    cache: TokenCache | None
    memory: TokenMemory | None = None

    def __getitem__(self, job: Job) -> DecodedAudio | InputError:
        try:
            return self._load(job)
        except InputError as error:
            return InputError(str(error))  # plain, since it may come from another process

    def _load(self, job: Job) -> DecodedAudio:
        key = ""
        kept = self.cache if isinstance(job.sound, Path) else self.memory
        if kept is not None:
            key = self._key(job.sound, job.span)
            entry = kept.get(key)
            if entry is not None:
                return DecodedAudio(None, entry, key, entry.samples, entry.silent, entry.stated)
        samples, stated = self._samples(job.sound, job.span)
        if samples.size < self.shortest:
            raise InputError(f"{job.name}: {samples.size} samples, the fewest that are heard are {self.shortest}")
        return DecodedAudio(torch.from_numpy(samples), None, key, samples.size, _is_silent(samples), stated)

    def _samples(self, sound: Audio, span: AudioSpan) -> tuple[NDArray[np.float32], float | None]:
        """The samples, and the seconds that the file states if it ended before them."""
        if isinstance(sound, Path):
            heard = audio.load(sound, self.rate, span.seconds, span.offset)
            return heard.samples, heard.stated
        waveform = audio.resample(sound, self.rate)
        start = span.offset * self.rate
        return waveform.samples[start : start + span.seconds * self.rate], None

    def _key(self, sound: Audio, span: AudioSpan) -> str:
        parts = (self.encoder, content_hash(sound), str(self.rate), audio.QUALITY, *map(str, span))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _is_silent(samples: NDArray[np.float32]) -> bool:
    """Whether all is silent; music is known by its first second or two."""
    return all(np.abs(part).max() < SILENCE for part in np.array_split(samples, 1 + samples.size // 2**15))


def read_ahead(
    jobs: Iterable[Job], loader: Loader, workers: int, ahead: int, held: int
) -> Iterator[DecodedAudio | InputError]:
    """What each job gives, in their order; `jobs` is drawn from about `ahead` jobs before they are asked for.

    What is handed out may be used until `held` more were asked for.
    """
    if not workers or "fork" not in multiprocessing.get_all_start_methods():
        yield from (loader[job] for job in jobs)
        return
    prefetch = max(2, -(-ahead // workers))
    slots = Slots(workers * prefetch + held + 1, SPAN * loader.rate * 4)
    for slot, result in DataLoader(
        _SlotLoader(loader, slots),
        sampler=((i % slots.count, job) for i, job in enumerate(jobs)),  # what a sampler yields need not be a number
        batch_size=None,
        collate_fn=lambda item: item,
        num_workers=workers,
        prefetch_factor=prefetch,
        multiprocessing_context="fork",
    ):
        yield result if isinstance(result, InputError) else slots.fetch(slot, result)


class Slots:
    """Memory that this process shares with those it forks: handing on a tensor costs a copy and nothing else.

    Pages that are never written to take no room. Nothing is left behind by a process that is killed.
    """

    def __init__(self, count: int, size: int) -> None:
        self.count = count
        self._bytes = torch.frombuffer(mmap.mmap(-1, count * size), dtype=torch.uint8).view(count, size)

    def put(self, slot: int, loaded: DecodedAudio) -> DecodedAudio:
        """In a worker: leave the samples or tokens in a slot, and a description of them in their place."""
        tensor = loaded.samples if loaded.entry is None else loaded.entry.tokens
        assert tensor is not None
        content = tensor.contiguous().view(-1).view(torch.uint8)
        if len(content) > self._bytes.shape[1]:
            return loaded  # through a file in shared memory, as torch does it
        self._bytes[slot, : len(content)] = content
        return _with_tensor(loaded, torch.empty(tensor.shape, dtype=tensor.dtype, device="meta"))

    def fetch(self, slot: int, loaded: DecodedAudio) -> DecodedAudio:
        shape = loaded.samples if loaded.entry is None else loaded.entry.tokens
        assert shape is not None
        if not shape.is_meta:
            return loaded
        content = self._bytes[slot, : shape.numel() * shape.element_size()]
        return _with_tensor(loaded, content.view(shape.dtype).view(shape.shape))


@dataclass
class _SlotLoader(Dataset[Any]):
    loader: Loader
    slots: Slots

    def __getitem__(self, job: tuple[int, Job]) -> tuple[int, DecodedAudio | InputError]:
        slot, wanted = job
        result = self.loader[wanted]
        return slot, result if isinstance(result, InputError) else self.slots.put(slot, result)


def _with_tensor(loaded: DecodedAudio, tensor: Tensor) -> DecodedAudio:
    if loaded.entry is None:
        return loaded._replace(samples=tensor)
    return loaded._replace(entry=loaded.entry._replace(tokens=tensor))


def default_workers(device: torch.device) -> int:
    """One beside a model that computes on the CPU, else one for each core, up to 16."""
    return 1 if device.type == "cpu" else min(16, os.cpu_count() or 1)

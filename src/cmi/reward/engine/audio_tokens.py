"""Stretches of recordings as tokens: chunks of all recordings share batches, and sections are cut out again."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from cmi.audio import windows as slices
from cmi.reward.engine.batching import Batching, to_device
from cmi.reward.engine.read_ahead import DecodedAudio, Job
from cmi.reward.engine.token_cache import CachedTokens
from cmi.reward.model.encoders import FrozenEncoder

STEP = 10  # seconds that the length of a chunk is rounded up to on a GPU


class Stretch(NamedTuple):
    """A section of a recording."""

    start: float  # seconds
    seconds: float
    tokens: Tensor  # (T, D)


def encode(loaded: Mapping[Job, DecodedAudio], encoder: FrozenEncoder, batching: Batching) -> dict[Job, CachedTokens]:
    """Tokens of each stretch that was loaded."""
    chunks: list[tuple[Tensor]] = []
    owners: list[Job] = []
    for job, stretch in loaded.items():
        if stretch.samples is not None:
            parts = [part for section in _sections(job, stretch.length, encoder) for part in section]
            chunks += [(stretch.samples[part],) for part in parts]
            owners += [job] * len(parts)
    rows = batching.apply(encoder.encode_sound, chunks, min(STEP * encoder.rate, encoder.chunk))
    tokens: dict[Job, list[Tensor]] = {job: [] for job in loaded}
    for job, (chunk,), row in zip(owners, chunks, rows, strict=True):
        tokens[job].append(row[: encoder.count(len(chunk))])
    entries = {}
    for job, stretch in loaded.items():
        known = stretch.entry
        heard = torch.cat(tokens[job]) if known is None else to_device(known.tokens, batching.device)
        entries[job] = CachedTokens(heard, stretch.length, stretch.silent, stretch.stated)
    return entries


def stretches(job: Job, entry: CachedTokens, encoder: FrozenEncoder) -> Iterator[Stretch]:
    """The sections of what was encoded, in time."""
    begin = 0
    for section in _sections(job, entry.samples, encoder):
        end = begin + sum(encoder.count(part.stop - part.start) for part in section)
        start, stop = section[0].start / encoder.rate, section[-1].stop / encoder.rate
        yield Stretch(job.span.offset + start, stop - start, entry.tokens[begin:end])
        begin = end


def _sections(job: Job, samples: int, encoder: FrozenEncoder) -> list[list[slice]]:
    """Each section's chunks. What is too short to be heard is left out."""
    section, chunk = (seconds * encoder.rate for seconds in (job.span.section, job.span.chunk))
    found = []
    for whole in slices(samples, section):
        parts = slices(whole.stop - whole.start, min(chunk, encoder.chunk))
        moved = (slice(whole.start + part.start, whole.start + part.stop) for part in parts)
        audible = [part for part in moved if part.stop - part.start >= encoder.shortest]
        found += [audible] if audible else []
    return found

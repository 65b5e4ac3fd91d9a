"""Encode recordings and prompts as tokens.

Chunks of all recordings share batches and are then reassembled into sections. The latest texts and fused prompts are
kept, so that a text or a prompt that occurs again soon is not computed again.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from cmi._util.errors import InputError
from cmi.audio import windows as slices
from cmi.reward.engine.batching import Batching, to_device
from cmi.reward.engine.read_ahead import DecodedAudio
from cmi.reward.engine.token_cache import CachedTokens
from cmi.reward.engine.windows import Job
from cmi.reward.model.encoders import FrozenEncoder
from cmi.reward.model.head import PromptTokens, RewardHead, mask_of
from cmi.reward.model.tokenizer import Tokenize
from cmi.take import Prompt

KEPT_BYTES = 64 * 10**6  # of the latest texts, and of the latest fused prompts
MOST_CHARACTERS = 200_000  # of a text
STEP = 32  # on a GPU, lengths of texts, prompts and takes are padded to a multiple of so many tokens
SECONDS = 10  # on a GPU, lengths of chunks are padded to a multiple of so many seconds

Ids = tuple[int, ...]
Key = TypeVar("Key", bound=Hashable)


class EncodedSection(NamedTuple):
    """The tokens of a section of a recording."""

    start: float  # seconds
    seconds: float
    tokens: Tensor  # (T, D)


def encode_audio(
    loaded: Mapping[Job, DecodedAudio], encoder: FrozenEncoder, batching: Batching
) -> dict[Job, CachedTokens]:
    """Return the tokens of each job."""
    chunks: list[tuple[Tensor]] = []
    owners: list[Job] = []
    for job, stretch in loaded.items():
        if stretch.entry is None and stretch.samples is not None:
            parts = [part for section in section_chunks(job, stretch.length, encoder) for part in section]
            chunks += [(stretch.samples[part],) for part in parts]
            owners += [job] * len(parts)
    step = min(SECONDS * encoder.rate, encoder.chunk)
    rows = batching.apply(encoder.encode_sound, chunks, step, alone=True)
    tokens: dict[Job, list[Tensor]] = {job: [] for job in loaded}
    for job, (chunk,), row in zip(owners, chunks, rows, strict=True):
        tokens[job].append(row[: encoder.count(len(chunk))])
    entries = {}
    for job, stretch in loaded.items():
        known = stretch.entry
        encoded = torch.cat(tokens[job]) if known is None else to_device(known.tokens, batching.device)
        entries[job] = CachedTokens(encoded, stretch.length, stretch.silent, stretch.stated)
    return entries


def encoded_sections(job: Job, entry: CachedTokens, encoder: FrozenEncoder) -> Iterator[EncodedSection]:
    """Yield the encoded sections of a job, in order of time."""
    begin = 0
    for section in section_chunks(job, entry.samples, encoder):
        end = begin + sum(encoder.count(part.stop - part.start) for part in section)
        start, stop = section[0].start / encoder.rate, section[-1].stop / encoder.rate
        yield EncodedSection(job.span.offset + start, stop - start, entry.tokens[begin:end])
        begin = end


def section_chunks(job: Job, samples: int, encoder: FrozenEncoder) -> list[list[slice]]:
    """Return the chunks of each section; those that are too short for the encoder are left out."""
    section, chunk = (seconds * encoder.rate for seconds in (job.span.section, job.span.chunk))
    found = []
    for whole in slices(samples, section):
        parts = slices(whole.stop - whole.start, min(chunk, encoder.chunk))
        moved = (slice(whole.start + part.start, whole.start + part.stop) for part in parts)
        audible = [part for part in moved if part.stop - part.start >= encoder.shortest]
        found += [audible] if audible else []
    return found


class PromptIds(NamedTuple):
    """A prompt's token ids, in one or more windows, and its reference recording."""

    text: tuple[Ids, ...]
    lyrics: tuple[Ids, ...]
    reference: Job | None


class PromptReader:
    """Tokenizes, encodes and fuses prompts.

    Texts beyond the encoder's limit are encoded in several windows if `all_words` is true, and truncated otherwise.
    """

    def __init__(
        self, tokenize: Tokenize, encoder: FrozenEncoder, head: RewardHead, batching: Batching, all_words: bool
    ) -> None:
        self.tokenize = tokenize
        self.encoder = encoder
        self.head = head
        self.batching = batching
        self.all_words = all_words
        self._texts: _RecentTensors[Ids] = _RecentTensors(KEPT_BYTES)
        self._prompts: _RecentTensors[PromptIds] = _RecentTensors(KEPT_BYTES)

    def ids(self, prompt: Prompt, reference: Job | None) -> tuple[PromptIds, tuple[str, ...]]:
        """Return a prompt's token ids, and notes on texts that are too long."""
        text, about_text = self._ids("text", prompt.text)
        lyrics, about_lyrics = self._ids("lyrics", prompt.lyrics)
        return PromptIds(text, lyrics, reference), tuple(note for note in (about_text, about_lyrics) if note)

    def _ids(self, name: str, text: str) -> tuple[tuple[Ids, ...], str]:
        if len(text) > MOST_CHARACTERS:
            raise InputError(f"{name} of {len(text):,} characters, expected at most {MOST_CHARACTERS:,}")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"{name} contains an incomplete character (a lone surrogate)") from error
        ids = tuple(self.tokenize(text))
        longest = self.encoder.longest_text
        if len(ids) <= longest:
            return (ids,), ""
        words = ids[1:-1]
        parts = tuple(ids[:1] + words[part] + ids[-1:] for part in slices(len(words), longest - 2))
        if self.all_words:
            return parts, f"{name} of {len(ids)} tokens read in {len(parts)} windows"
        return parts[:1], f"{longest} of {len(ids)} tokens of {name} read"

    def fuse(
        self, prompts: Iterable[PromptIds], encoded: Mapping[Job, CachedTokens | InputError]
    ) -> dict[PromptIds, Tensor]:
        """Return the fused tokens (P, D) of each distinct prompt."""

        def fuse(new: list[PromptIds]) -> list[Tensor]:
            texts = self._read(ids for prompt in new for ids in prompt.text + prompt.lyrics)
            joined = [self._join(prompt, texts, encoded) for prompt in new]
            return self.apply(self.head.fuse, joined)

        return self._prompts.get_many(prompts, fuse)

    def _read(self, texts: Iterable[Ids]) -> dict[Ids, Tensor]:
        """Return the encoding (n, D) of each distinct text."""
        return self._texts.get_many(
            texts, lambda new: self.apply(self.encoder.encode_text, [torch.tensor(ids) for ids in new])
        )

    def _join(
        self, prompt: PromptIds, texts: Mapping[Ids, Tensor], encoded: Mapping[Job, CachedTokens | InputError]
    ) -> Tensor:
        text, lyrics = (torch.cat([texts[ids] for ids in part])[None] for part in (prompt.text, prompt.lyrics))
        reference = encoded[prompt.reference] if prompt.reference else None
        assert not isinstance(reference, InputError)
        return self.head.join(PromptTokens(text, lyrics, None if reference is None else reference.tokens[None]))[0]

    def apply(self, call: Callable[..., Tensor], items: Sequence[Tensor]) -> list[Tensor]:
        """Apply a function that returns one token per token, in batches."""
        recorded = self.batching.recorded(call)
        rows = self.batching.apply(
            lambda x, lengths: recorded(x, mask_of(lengths, x.shape[1])), [(item,) for item in items], STEP
        )
        return [
            row[: len(item)].clone() for row, item in zip(rows, items, strict=True)
        ]  # a view would keep the whole batch in memory


class _RecentTensors(Generic[Key]):
    """The tensors that were used last, by key, up to so many bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._room = most_bytes
        self._known: OrderedDict[Key, Tensor] = OrderedDict()

    def get_many(self, keys: Iterable[Key], compute: Callable[[list[Key]], list[Tensor]]) -> dict[Key, Tensor]:
        """Return the tensor of each key; missing ones are computed in one call."""
        wanted = list(dict.fromkeys(keys))
        new = [key for key in wanted if key not in self._known]
        computed = dict(zip(new, compute(new), strict=True)) if new else {}
        found = {key: computed[key] if key in computed else self._known[key] for key in wanted}
        self._known |= computed
        self._room -= sum(tensor.nbytes for tensor in computed.values())
        for key in wanted:
            self._known.move_to_end(key)
        while self._room < 0:
            self._room += self._known.popitem(last=False)[1].nbytes
        return found

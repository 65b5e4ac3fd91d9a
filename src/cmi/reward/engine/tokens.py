"""Recordings and prompts as tokens.

Chunks of all recordings share batches, and sections are cut out again. Each text is read once and each prompt fused
once, and both are remembered for a while.
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

TEXTS, PROMPTS = 256, 16  # remembered
MOST_CHARACTERS = 200_000  # of a text
STEP = 32  # tokens that the length of a text, a prompt or a take is rounded up to on a GPU
SECONDS = 10  # that the length of a chunk is rounded up to on a GPU

Ids = tuple[int, ...]
Key = TypeVar("Key", bound=Hashable)


class Stretch(NamedTuple):
    """A section of a recording."""

    start: float  # seconds
    seconds: float
    tokens: Tensor  # (T, D)


def encode_audio(
    loaded: Mapping[Job, DecodedAudio], encoder: FrozenEncoder, batching: Batching
) -> dict[Job, CachedTokens]:
    """Tokens of each stretch that was loaded."""
    chunks: list[tuple[Tensor]] = []
    owners: list[Job] = []
    for job, stretch in loaded.items():
        if stretch.entry is None and stretch.samples is not None:
            parts = [part for section in sections(job, stretch.length, encoder) for part in section]
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
        heard = torch.cat(tokens[job]) if known is None else to_device(known.tokens, batching.device)
        entries[job] = CachedTokens(heard, stretch.length, stretch.silent, stretch.stated)
    return entries


def stretches(job: Job, entry: CachedTokens, encoder: FrozenEncoder) -> Iterator[Stretch]:
    """The sections of what was encoded, in time."""
    begin = 0
    for section in sections(job, entry.samples, encoder):
        end = begin + sum(encoder.count(part.stop - part.start) for part in section)
        start, stop = section[0].start / encoder.rate, section[-1].stop / encoder.rate
        yield Stretch(job.span.offset + start, stop - start, entry.tokens[begin:end])
        begin = end


def sections(job: Job, samples: int, encoder: FrozenEncoder) -> list[list[slice]]:
    """Each section's chunks. What is too short to be heard is left out."""
    section, chunk = (seconds * encoder.rate for seconds in (job.span.section, job.span.chunk))
    found = []
    for whole in slices(samples, section):
        parts = slices(whole.stop - whole.start, min(chunk, encoder.chunk))
        moved = (slice(whole.start + part.start, whole.start + part.stop) for part in parts)
        audible = [part for part in moved if part.stop - part.start >= encoder.shortest]
        found += [audible] if audible else []
    return found


class PromptIds(NamedTuple):
    """A prompt as token ids, in as many windows as it takes, and the recording it names."""

    text: tuple[Ids, ...]
    lyrics: tuple[Ids, ...]
    reference: Job | None


class PromptReader:
    """With `all_words`, what the encoder can't take at once is read on in further windows; else it is cut."""

    def __init__(
        self, tokenize: Tokenize, encoder: FrozenEncoder, head: RewardHead, batching: Batching, all_words: bool
    ) -> None:
        self.tokenize = tokenize
        self.encoder = encoder
        self.head = head
        self.batching = batching
        self.all_words = all_words
        self._texts: _Memory[Ids] = _Memory(TEXTS)
        self._prompts: _Memory[PromptIds] = _Memory(PROMPTS)

    def ids(self, prompt: Prompt, reference: Job | None) -> tuple[PromptIds, tuple[str, ...]]:
        """A prompt's ids, and what is to be said of texts that are too long."""
        text, about_text = self._ids("text", prompt.text)
        lyrics, about_lyrics = self._ids("lyrics", prompt.lyrics)
        return PromptIds(text, lyrics, reference), tuple(note for note in (about_text, about_lyrics) if note)

    def _ids(self, name: str, text: str) -> tuple[tuple[Ids, ...], str]:
        if len(text) > MOST_CHARACTERS:
            raise InputError(f"{name} of {len(text):,} characters, at most {MOST_CHARACTERS:,} are read")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"{name} holds half of a surrogate pair, which is no text") from error
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
        self, prompts: Iterable[PromptIds], heard: Mapping[Job, CachedTokens | InputError]
    ) -> dict[PromptIds, Tensor]:
        """Each distinct prompt as takes meet it: (P, D)."""

        def fuse(new: list[PromptIds]) -> list[Tensor]:
            texts = self._read(ids for prompt in new for ids in prompt.text + prompt.lyrics)
            joined = [self._join(prompt, texts, heard) for prompt in new]
            return self.apply(self.head.fuse, joined)

        return self._prompts.recall(prompts, fuse)

    def _read(self, texts: Iterable[Ids]) -> dict[Ids, Tensor]:
        """Each distinct text: (n, D)."""
        return self._texts.recall(
            texts, lambda new: self.apply(self.encoder.encode_text, [torch.tensor(ids) for ids in new])
        )

    def _join(
        self, prompt: PromptIds, texts: Mapping[Ids, Tensor], heard: Mapping[Job, CachedTokens | InputError]
    ) -> Tensor:
        text, lyrics = (torch.cat([texts[ids] for ids in part])[None] for part in (prompt.text, prompt.lyrics))
        reference = heard[prompt.reference] if prompt.reference else None
        assert not isinstance(reference, InputError)
        return self.head.join(PromptTokens(text, lyrics, None if reference is None else reference.tokens[None]))[0]

    def apply(self, call: Callable[..., Tensor], items: Sequence[Tensor]) -> list[Tensor]:
        """A call that gives a token for each token, on batches."""
        recorded = self.batching.recorded(call)
        rows = self.batching.apply(
            lambda x, lengths: recorded(x, mask_of(lengths, x.shape[1])), [(item,) for item in items], STEP
        )
        return [row[: len(item)].clone() for row, item in zip(rows, items, strict=True)]  # and not its whole batch


class _Memory(Generic[Key]):
    """What was computed last."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._known: OrderedDict[Key, Tensor] = OrderedDict()

    def recall(self, keys: Iterable[Key], compute: Callable[[list[Key]], list[Tensor]]) -> dict[Key, Tensor]:
        """The tensor of each key; those that are not remembered are computed together."""
        wanted = list(dict.fromkeys(keys))
        new = [key for key in wanted if key not in self._known]
        computed = dict(zip(new, compute(new), strict=True)) if new else {}
        found = {key: computed[key] if key in computed else self._known[key] for key in wanted}
        for key, tensor in found.items():
            self._known[key] = tensor
            self._known.move_to_end(key)
        while len(self._known) > self.size:
            self._known.popitem(last=False)
        return found

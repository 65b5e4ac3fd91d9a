"""Prompts as tokens: each text is read once and each prompt fused once, and both are remembered for a while."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from cmi._util.errors import InputError
from cmi.audio import windows as slices
from cmi.reward.engine.batching import Batching
from cmi.reward.engine.read_ahead import Job
from cmi.reward.engine.token_cache import CachedTokens
from cmi.reward.model.encoders import FrozenEncoder
from cmi.reward.model.head import PromptTokens, RewardHead, mask_of
from cmi.reward.model.tokenizer import Tokenize
from cmi.take import Prompt

TEXTS, PROMPTS = 256, 16  # remembered
MOST_CHARACTERS = 200_000  # of a text
STEP = 32  # tokens that the length of a text or a prompt is rounded up to on a GPU

Ids = tuple[int, ...]
Key = TypeVar("Key", bound=Hashable)


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
            return self._apply(self.head.fuse, joined)

        return self._prompts.recall(prompts, fuse)

    def _read(self, texts: Iterable[Ids]) -> dict[Ids, Tensor]:
        """Each distinct text: (n, D)."""
        return self._texts.recall(
            texts, lambda new: self._apply(self.encoder.encode_text, [torch.tensor(ids) for ids in new])
        )

    def _join(
        self, prompt: PromptIds, texts: Mapping[Ids, Tensor], heard: Mapping[Job, CachedTokens | InputError]
    ) -> Tensor:
        text, lyrics = (torch.cat([texts[ids] for ids in part])[None] for part in (prompt.text, prompt.lyrics))
        reference = heard[prompt.reference] if prompt.reference else None
        assert not isinstance(reference, InputError)
        return self.head.join(PromptTokens(text, lyrics, None if reference is None else reference.tokens[None]))[0]

    def _apply(self, call: Callable[[Tensor, Tensor | None], Tensor], items: Sequence[Tensor]) -> list[Tensor]:
        """A call that gives a token for each token, on batches."""
        rows = self.batching.apply(
            lambda x, lengths: call(x, mask_of(lengths, x.shape[1])), [(item,) for item in items], STEP
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

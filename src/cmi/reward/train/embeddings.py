"""Tokens of recordings and texts under the frozen encoder: encoded once, cached on disk, read in batches.

`prepare` encodes what is not in the cache, so that a stopped run resumes. Afterwards tokens are kept on the device up
to a memory limit; the others are read from the cache when needed, and encoded again if the cache has dropped them.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import torch
from torch import Tensor

from cmi._util.errors import InputError
from cmi.reward.engine.batching import Batching
from cmi.reward.engine.read_ahead import DecodedAudio, Loader, default_workers, read_ahead
from cmi.reward.engine.token_cache import CachedTokens, TokenCache
from cmi.reward.engine.tokens import PromptReader, encode_audio
from cmi.reward.engine.windows import Job, find_window, jobs
from cmi.reward.model.reward_model import RewardModel
from cmi.reward.train.data import TrainingExample
from cmi.take import Audio, Prompt

Item = Job | str  # a span of a recording, or a text
TEXTS = 256  # encoded together
Known = dict[Item, str | InputError]  # its key in the cache, or why it cannot be used


def take_job(sound: Audio, window: str) -> Job:
    return jobs(sound, find_window(window))[0]


def reference_job(sound: Audio, window: str) -> Job:
    return jobs(sound, find_window(window).of_reference)[0]


def items_of(example: TrainingExample, window: str) -> list[Item]:
    """Return everything that has to be encoded for an example."""
    reference = example.prompt.reference
    references = [reference_job(reference, window)] if reference is not None else []
    takes = [take_job(take, window) for take in example.takes]
    return [example.prompt.text, example.prompt.lyrics, *takes, *references]


class Embeddings:
    """Tokens of recordings and texts under a frozen encoder; `memory` is in bytes."""

    def __init__(self, model: RewardModel, device: torch.device, window: str, cache: TokenCache, memory: int) -> None:
        self.window = window
        self.known: Known = {}
        self._model = model
        self._cache = cache
        self._room = memory
        self._held: dict[str, Tensor] = {}
        self._device = device
        on_gpu = device.type != "cpu"
        self._batching = Batching(32 if on_gpu else 1, fixed=on_gpu, device=device)
        self._workers = default_workers(device)
        encoder = model.encoder
        self._loader = Loader(encoder.rate, encoder.shortest, model.encoder_name, cache)
        self._reader = PromptReader(model.tokenize, encoder, model.head, self._batching, all_words=False)

    def prepare(self, items: Iterable[Item], on_done: Callable[[int], None] = lambda count: None) -> Known:
        """Encode what is not in the cache yet; `on_done` is called with the number of items done."""
        items = list(items)
        sounds = [item for item in items if isinstance(item, Job)]
        texts = [item for item in items if isinstance(item, str)]
        for part in (self._encode_texts(texts), self._encode_recordings(sounds)):
            for seen in part:
                self.known |= seen
                on_done(len(seen))
        return self.known

    def hold(self, item: Item, tokens: Tensor) -> None:
        """Add tokens (n, D) that were computed elsewhere; their recording or text is not read."""
        key = f"held {len(self.known)}"
        self.known[item] = key
        self._held[key] = tokens.to(self._device)

    @torch.no_grad()
    def hold_texts(self, texts: Sequence[str]) -> None:
        """Encode texts and keep them in memory only; raise InputError for the first that cannot be encoded."""
        for start in range(0, len(texts), TEXTS):
            ids = {text: self._ids(text) for text in texts[start : start + TEXTS]}
            for problem in filter(None, map(_problem, ids.values())):
                raise problem
            for text, tokens in self._encoded({text: own for text, own in ids.items() if isinstance(own, Tensor)}):
                self.hold(text, tokens)

    def tokens(self, item: Item) -> Tensor:
        """Return the tokens (n, D) of an item; texts beyond the encoder's limit are truncated."""
        key = self.known[item]
        if isinstance(key, InputError):
            raise key
        if key in self._held:
            return self._held[key]
        entry = self._cache.get(key)
        if entry is None:
            list(self._encode_recordings([item]) if isinstance(item, Job) else self._encode_texts([item]))
            entry = self._cache.get(key)
        if entry is None:
            raise InputError(
                f"{self._cache.folder}: the cache could not keep the embeddings: free disk space, or raise cache_gb"
            )
        tokens = entry.tokens.to(self._device)
        size = tokens.numel() * tokens.element_size()
        if size <= self._room:
            self._room -= size
            self._held[key] = tokens
        return tokens

    @torch.no_grad()
    def _encode_recordings(self, jobs: Sequence[Job]) -> Iterator[Known]:
        group = self._batching.size
        workers = self._workers if len(jobs) > group else 0
        loaded = zip(
            jobs, read_ahead(jobs, self._loader, workers, 2 * group, group + 1, self._batching.fixed), strict=True
        )
        while chunk := dict(islice(loaded, group)):
            fresh = {
                job: found for job, found in chunk.items() if isinstance(found, DecodedAudio) and found.entry is None
            }
            for job, entry in encode_audio(fresh, self._model.encoder, self._batching).items():
                self._cache.put(fresh[job].key, entry._replace(tokens=entry.tokens.cpu()))
            yield {job: _usable(job, found) for job, found in chunk.items()}

    @torch.no_grad()
    def _encode_texts(self, texts: Sequence[str]) -> Iterator[Known]:
        rest = iter(texts)
        while chunk := list(islice(rest, self._batching.size)):
            known = {text: self._text_key(text) for text in chunk}
            ids = {text: self._ids(text) for text in chunk if self._cache.get(known[text]) is None}
            fresh = {text: tokens for text, tokens in ids.items() if isinstance(tokens, Tensor)}
            for text, tokens in self._encoded(fresh):
                self._cache.put(known[text], CachedTokens(tokens.cpu(), len(tokens), silent=False))
            yield {text: _problem(ids.get(text)) or known[text] for text in chunk}

    def _encoded(self, ids: dict[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
        return zip(ids, self._reader.apply(self._model.encoder.encode_text, list(ids.values())), strict=True)

    def _ids(self, text: str) -> Tensor | InputError:
        try:
            return torch.tensor(self._reader.ids(Prompt(text), None)[0].text[0])
        except InputError as error:
            return error

    def _text_key(self, text: str) -> str:
        parts = f"text\n{self._model.encoder_name}\n{text}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(parts).hexdigest()


def _problem(value: object) -> InputError | None:
    return value if isinstance(value, InputError) else None


def _usable(job: Job, found: DecodedAudio | InputError) -> str | InputError:
    if isinstance(found, InputError):
        return found
    return InputError(f"{job.name}: silent: nothing to learn from") if found.silent else found.key


def usable(
    examples: Iterable[TrainingExample], known: Known, window: str
) -> tuple[list[TrainingExample], list[InputError]]:
    """Return the examples whose items were all encoded, and for each other example the first reason why not."""
    kept, problems = [], []
    for example in examples:
        found = [problem for item in items_of(example, window) if isinstance(problem := known[item], InputError)]
        if found:
            problems.append(found[0])
        else:
            kept.append(example)
    return kept, problems

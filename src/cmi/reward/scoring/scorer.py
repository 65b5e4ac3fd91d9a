"""Scores for takes: the same file gets the same score, alone, in any batch and in any order.

    files -> threads: hash, cache, decode, resample -> encoder, in batches -> prompts, fused once each -> scores

Takes are worked through in groups, so that memory does not grow with them; while one is computed the next is read. A
recording, a text or a prompt that comes again soon is not encoded again. On a CPU a small encoder hears several
recordings at once, each on one core: cores that have to wait for each other would be slower.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import tee
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from cmi._util.cores import map_ahead, single_threads
from cmi._util.errors import InputError
from cmi.audio import SILENT, cut_off_note, duration
from cmi.reward.engine.batching import Batching, to_host
from cmi.reward.engine.read_ahead import DecodedAudio, Loader, default_workers, read_ahead
from cmi.reward.engine.token_cache import CachedTokens, TokenCache, TokenMemory
from cmi.reward.engine.tokens import STEP, PromptIds, PromptReader, Stretch, encode_audio, stretches
from cmi.reward.engine.windows import (
    DEFAULT_WINDOW,
    SPAN,
    Job,
    TakeGroup,
    TakePlan,
    Window,
    find_window,
    jobs,
    plan_groups,
)
from cmi.reward.model.head import mask_of
from cmi.reward.scoring.scorers import ScoredTake, TakeSection, require_scores
from cmi.take import Prompt, Score, Take

if TYPE_CHECKING:
    from cmi.reward.model.reward_model import RewardModel

REMEMBERED = 512 * 10**6  # bytes of tokens of waveforms that came by `read`: 400 of 30 s in bf16
NO_MUSIC = "musicality is lower than of any music the model knows: this is no music, or badly damaged"

EncodedAudio = dict[Job, CachedTokens | InputError]
ReadAudio = Mapping[Job, DecodedAudio | InputError]
Start = Callable[[TakeGroup, ReadAudio, EncodedAudio], Callable[[], list["ScoredTake | InputError"]]]


class _Ready(NamedTuple):
    """A take that can be judged."""

    name: str
    prompt: PromptIds
    stretches: list[Stretch]
    notes: tuple[str, ...]


class RewardScorer:
    """A reward model behind `Scorer.score`.

    `batch` is the number of chunks, texts or takes in one call; `workers` that of the threads that read ahead. With
    `all_words`, what the encoder can't take at once of text and lyrics is read on in further windows; else it is cut,
    and the notes say so.
    """

    def __init__(
        self,
        model: "RewardModel",
        window: str = DEFAULT_WINDOW,
        batch: int | None = None,
        workers: int | None = None,
        cache: TokenCache | None = None,
        all_words: bool = False,
    ) -> None:
        self.model = model
        self.window: Window = find_window(window)
        self.all_words = all_words
        device = next(model.head.parameters()).device
        on_gpu = device.type != "cpu"
        self.batching = Batching(batch or (32 if on_gpu else 1), fixed=on_gpu, device=device)
        self.group = self.batching.size * (2 if on_gpu else 1)  # takes
        self._one_core_each = not on_gpu and getattr(model.encoder, "one_core_each", False)
        self.workers = default_workers(device, self._one_core_each) if workers is None else workers
        self.cache = cache if model.encoder_name else None
        self._writer = ThreadPoolExecutor(1)
        self._kept: Future[Any] = self._writer.submit(lambda: None)
        encoder = model.encoder
        self._loader = Loader(encoder.rate, encoder.shortest, model.encoder_name, self.cache, device.type == "cuda")
        self._memory = TokenMemory(REMEMBERED)
        self._remembering = replace(self._loader, memory=self._memory)
        self._reader = PromptReader(model.tokenize, encoder, model.head, self.batching, all_words)

    def score(self, takes: Sequence[Take]) -> list[Score]:
        """Scores in the takes' order. InputError for the first take that can't be heard."""
        return require_scores(self.judge(takes))

    def fuse_prompt(self, prompt: Prompt) -> Tensor:
        """A prompt as takes meet it: (P, D)."""
        reference = jobs(prompt.reference, self.window.of_reference)[0] if prompt.reference is not None else None
        heard: EncodedAudio = {}
        if reference is not None:
            loaded = self._loader[reference]
            if isinstance(loaded, InputError):
                raise loaded
            heard = dict(encode_audio({reference: loaded}, self.model.encoder, self.batching))
        ids, _ = self._reader.ids(prompt, reference)
        return self._reader.fuse([ids], heard)[ids]

    def read(self, take: Take) -> ReadAudio:
        """What has to be heard of a take: looked up in the cache, or decoded and resampled. Any thread may do that.

        Waveforms are remembered by their samples: one that comes again, under another prompt, is not encoded again.
        """
        return {job: self._remembering[job] for group in plan_groups([take], self.window, 1) for job in group.fresh}

    def judge(self, takes: Iterable[Take], read: ReadAudio = MappingProxyType({})) -> Iterator[ScoredTake | InputError]:
        """Each take's score in turn, or why it can't be heard: one broken file spoils no other.

        What `read` has is not read again.
        """
        groups, ahead = tee(plan_groups(takes, self.window, self.group))
        loaded = self._load((job for group in ahead for job in group.fresh), read)
        with ExitStack() as stack:
            start = self._start
            if self._one_core_each:
                pool = stack.enter_context(single_threads(1, "cmi-judge"))
                start = lambda *given: pool.submit(self._start, *given).result()  # noqa: E731
            yield from self._judge_groups(groups, loaded, start)
        self._kept.result()

    def _judge_groups(
        self, groups: Iterable[TakeGroup], loaded: Iterator[DecodedAudio | InputError], start: Start
    ) -> Iterator[ScoredTake | InputError]:
        heard: EncodedAudio = {}
        waiting: Callable[[], list[ScoredTake | InputError]] | None = None
        for group in groups:
            started = start(group, dict(zip(group.fresh, loaded, strict=False)), heard)
            if waiting is not None:
                yield from waiting()  # while the GPU is at the group just started
            waiting = started
            if not self.batching.fixed:  # computed already: nothing is gained by waiting
                yield from waiting()
                waiting = None
        if waiting is not None:
            yield from waiting()

    def _load(self, jobs: Iterable[Job], read: ReadAudio) -> Iterator[DecodedAudio | InputError]:
        """What each job gives, read ahead."""
        if self._one_core_each:
            with single_threads(max(1, self.workers), "cmi-encode") as pool:
                yield from map_ahead(lambda job: pool.submit(self._hear, job, read), jobs, self.workers)
            return
        now, later = tee(jobs)
        files = (job for job in later if not job.is_waveform and job not in read)
        held = self.group + self.window.limit // SPAN + 1  # stretches of a group, and of its last take
        loading = read_ahead(files, self._loader, self.workers, 2 * self.group, held, self.batching.fixed)
        with closing(loading) as loaded:
            for job in now:
                yield self._load_now(job, read) if job in read or job.is_waveform else next(loaded)

    def _load_now(self, job: Job, read: ReadAudio) -> DecodedAudio | InputError:
        """What was read of a job already, with its tokens if they became known since then; else what is read now."""
        loaded = read[job] if job in read else self._loader[job]
        if isinstance(loaded, DecodedAudio) and (entry := self._memory.get(loaded.key)):
            return loaded._replace(samples=None, entry=entry)
        return loaded

    @torch.inference_mode()
    def _hear(self, job: Job, read: ReadAudio) -> DecodedAudio | InputError:
        """Read and encode in this thread, while others do the same with other recordings."""
        loaded = self._load_now(job, read)
        if isinstance(loaded, InputError) or loaded.entry is not None:
            return loaded
        return loaded._replace(entry=encode_audio({job: loaded}, self.model.encoder, self.batching)[job])

    @torch.inference_mode()
    def _start(
        self, group: TakeGroup, fresh: Mapping[Job, DecodedAudio | InputError], heard: EncodedAudio
    ) -> Callable[[], list[ScoredTake | InputError]]:
        """Hand a group to the device; the result waits for its scores."""
        heard |= {job: error for job, error in fresh.items() if isinstance(error, InputError)}
        new = {job: loaded for job, loaded in fresh.items() if isinstance(loaded, DecodedAudio)}
        encoded = self._encode(new)
        heard |= encoded
        ready = [self._ready(plan, heard) for plan in group.plans]
        takes = [take for take in ready if isinstance(take, _Ready)]
        prompts = self._reader.fuse((take.prompt for take in takes), heard)
        items = [(prompts[take.prompt], stretch.tokens) for take in takes for stretch in take.stretches]
        scores = self.batching.apply(self._judge, items, STEP, STEP)
        keys = {loaded.key: job for job, loaded in new.items() if loaded.key and loaded.samples is not None}
        wait = to_host([*([torch.stack(scores)] if scores else []), *(encoded[job].tokens for job in keys.values())])
        for job in group.forgotten:
            heard.pop(job)

        def finish() -> list[ScoredTake | InputError]:
            host = iter(wait())
            rows = iter(next(host).tolist() if scores else [])
            entries = {key: encoded[job]._replace(tokens=next(host)) for key, job in keys.items()}
            self._memory.put_many({key: entry for key, entry in entries.items() if keys[key].is_waveform})
            self._keep({key: entry for key, entry in entries.items() if not keys[key].is_waveform})
            least = self.model.head.least_musicality
            return [_judged(take, rows, least) if isinstance(take, _Ready) else take for take in ready]

        return finish

    def _encode(self, new: Mapping[Job, DecodedAudio]) -> dict[Job, CachedTokens]:
        """Tokens of each stretch; those that are known to hold the same sound are encoded once."""
        first: dict[str | Job, Job] = {}
        for job, loaded in new.items():
            first.setdefault(loaded.key or job, job)
        encoded = encode_audio({job: new[job] for job in first.values()}, self.model.encoder, self.batching)
        return {job: encoded[first[loaded.key or job]] for job, loaded in new.items()}

    def _keep(self, entries: dict[str, CachedTokens]) -> None:
        """Write to the cache while the next group is computed; at most one group waits to be written."""
        self._kept.result()
        if self.cache is not None:
            self._kept = self._writer.submit(self.cache.put_many, entries)

    def _ready(self, plan: TakePlan, heard: EncodedAudio) -> _Ready | InputError:
        """A take with all it needs, or why it can't be judged."""
        try:
            if plan.error is not None:
                raise plan.error
            references = [plan.reference] if plan.reference is not None else []
            about_reference = self._cut_off(references, _audible(references, heard)) if references else ()
            ids, notes = self._reader.ids(plan.take.prompt, plan.reference)
            entries = _audible(plan.audio, heard)
            notes += tuple(f"reference {note}" for note in about_reference) + self._cut_off(plan.audio, entries)
        except InputError as error:
            return error
        parts = [s for job, entry in entries.items() for s in stretches(job, entry, self.model.encoder)]
        thin = [part._replace(tokens=self.model.head.thin(part.tokens[None])[0]) for part in parts]
        return _Ready(plan.audio[0].name, ids, thin, notes + self._too_short(sum(part.seconds for part in parts)))

    def _too_short(self, seconds: float) -> tuple[str, ...]:
        least: float = getattr(self.model.encoder, "least_seconds", 0.0)  # an encoder of the user's may not say
        return (f"{seconds:.1f} s are few: the model knows takes of {least:.0f} s and more",) if seconds < least else ()

    def _cut_off(self, jobs: Sequence[Job], entries: Mapping[Job, CachedTokens]) -> tuple[str, ...]:
        """What is to be said of a recording that ended before its file states."""
        last, entry = list(entries.items())[-1]
        stated = entry.stated
        if len(entries) < len(jobs) and isinstance(last.sound, Path):  # nothing was there to decode after it
            stated = duration(last.sound)
        return () if stated is None else (cut_off_note(last.span.offset + entry.samples / self._loader.rate, stated),)

    def _judge(self, prompt: Tensor, take: Tensor, prompts: Tensor | None, takes: Tensor | None) -> Tensor:
        masks = mask_of(prompts, prompt.shape[1]), mask_of(takes, take.shape[1])
        return self.model.head.judge(prompt, take, *masks)  # (B, 2)


def _audible(jobs: Sequence[Job], heard: EncodedAudio) -> dict[Job, CachedTokens]:
    """What could be heard of a recording. Only its beginning must be there: a file may end before its header says."""
    first = heard[jobs[0]]
    if isinstance(first, InputError):
        raise first
    entries = {job: entry for job in jobs if isinstance(entry := heard[job], CachedTokens)}
    if all(entry.silent for entry in entries.values()):
        raise InputError(f"{jobs[0].name}: {SILENT}")
    return entries


def _judged(take: _Ready, rows: Iterator[list[float]], least: float) -> ScoredTake | InputError:
    """A take's score from its sections' [alignment, musicality]: the mean, weighted by their seconds.

    Below the musicality `least` a note doubts that it is music.
    """
    sections = tuple(
        TakeSection(part.start, part.start + part.seconds, Score(musicality=row[1], alignment=row[0]))
        for part, row in zip(take.stretches, rows, strict=False)
    )
    seconds = sum(part.seconds for part in take.stretches)
    weighted = [(part.seconds / seconds, section.score) for part, section in zip(take.stretches, sections, strict=True)]
    score = Score(*(sum(weight * score[axis] for weight, score in weighted) for axis in range(2)))
    if not all(map(math.isfinite, score)):
        given = " and ".join(f"{value:.3g} for {axis}" for axis, value in score._asdict().items())
        return InputError(f"{take.name}: the model gave {given}, not finite numbers")
    doubts = (NO_MUSIC,) if score.musicality < least else ()
    return ScoredTake(score, seconds, sections, take.notes + doubts)

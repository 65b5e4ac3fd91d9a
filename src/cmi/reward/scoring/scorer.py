"""Score takes with a reward model: a file gets the same score alone, in any batch and in any order.

    files -> threads: hash, cache, decode, resample -> encoder, in batches -> prompts, fused once each -> scores

Takes are processed in groups, which bounds the memory; while one group is computed, the next is read. A recording,
text or prompt that occurs again soon is not encoded again. On a CPU, a small encoder processes several recordings at
once, each on one core, because sharing one recording among cores would be slower.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from copy import copy
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
from cmi.reward.engine.tokens import STEP, EncodedSection, PromptIds, PromptReader, encode_audio, encoded_sections
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

MEMORY_BYTES = 512 * 10**6  # for tokens of waveforms that `read` got: 400 of 30 s in bf16
NOT_MUSIC = "musicality is lower than for any music the model was tested on: probably not music, or badly damaged"

EncodedAudio = dict[Job, CachedTokens | InputError]
ReadAudio = Mapping[Job, DecodedAudio | InputError]
Start = Callable[[TakeGroup, ReadAudio, EncodedAudio], Callable[[], list["ScoredTake | InputError"]]]


class _PreparedTake(NamedTuple):
    """A take with everything that the head needs."""

    name: str
    prompt: PromptIds
    sections: list[EncodedSection]
    notes: tuple[str, ...]


class RewardScorer:
    """A reward model behind `Scorer.score`.

    `batch` is the number of chunks, texts or takes in one call, `workers` the number of threads that read ahead. Texts
    and lyrics beyond the encoder's limit are encoded in several windows if `all_words` is true; otherwise they are
    truncated, and the notes say so.
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
        self._cache_written: Future[Any] = self._writer.submit(lambda: None)
        encoder = model.encoder
        self._loader = Loader(encoder.rate, encoder.shortest, model.encoder_name, self.cache, device.type == "cuda")
        self._memory = TokenMemory(MEMORY_BYTES)
        self._memory_loader = replace(self._loader, memory=self._memory)
        self._reader = PromptReader(model.tokenize, encoder, model.head, self.batching, all_words)

    def with_window(self, window: str) -> "RewardScorer":
        """Return a scorer of the same model with another window; a prompt that either has fused is fused for both."""
        other = copy(self)
        other.window = find_window(window)
        return other

    def score(self, takes: Sequence[Take]) -> list[Score]:
        """Return the scores in the order of the takes; raise InputError for the first take that cannot be scored."""
        return require_scores(self.judge(takes))

    def fuse_prompt(self, prompt: Prompt) -> Tensor:
        """Return the fused tokens of a prompt: (P, D)."""
        reference = jobs(prompt.reference, self.window.of_reference)[0] if prompt.reference is not None else None
        encoded_audio: EncodedAudio = {}
        if reference is not None:
            loaded = self._loader[reference]
            if isinstance(loaded, InputError):
                raise loaded
            encoded_audio = dict(encode_audio({reference: loaded}, self.model.encoder, self.batching))
        ids, _ = self._reader.ids(prompt, reference)
        return self._reader.fuse([ids], encoded_audio)[ids]

    def read(self, take: Take) -> ReadAudio:
        """Load the audio of a take, from the cache or by decoding; any thread may call this.

        Tokens of waveforms are cached by their samples, so that the same one under another prompt is not encoded again.
        """
        return {job: self._memory_loader[job] for group in plan_groups([take], self.window, 1) for job in group.to_load}

    def judge(self, takes: Iterable[Take], read: ReadAudio = MappingProxyType({})) -> Iterator[ScoredTake | InputError]:
        """Yield each take's score, or the error if it cannot be scored; audio in `read` is not loaded again."""
        groups, ahead = tee(plan_groups(takes, self.window, self.group))
        loaded = self._load((job for group in ahead for job in group.to_load), read)
        with ExitStack() as stack:
            start = self._start_group
            if self._one_core_each:
                pool = stack.enter_context(single_threads(1, "cmi-judge"))
                start = lambda *given: pool.submit(self._start_group, *given).result()  # noqa: E731
            yield from self._judge_groups(groups, loaded, start)
        self._cache_written.result()

    def _judge_groups(
        self, groups: Iterable[TakeGroup], loaded: Iterator[DecodedAudio | InputError], start: Start
    ) -> Iterator[ScoredTake | InputError]:
        encoded_audio: EncodedAudio = {}
        waiting: Callable[[], list[ScoredTake | InputError]] | None = None
        for group in groups:
            started = start(group, dict(zip(group.to_load, loaded, strict=False)), encoded_audio)
            if waiting is not None:
                yield from waiting()  # while the GPU computes the group that was just started
            waiting = started
            if not self.batching.fixed:  # on a CPU it is computed already
                yield from waiting()
                waiting = None
        if waiting is not None:
            yield from waiting()

    def _load(self, jobs: Iterable[Job], read: ReadAudio) -> Iterator[DecodedAudio | InputError]:
        """Yield the audio of each job, read ahead."""
        if self._one_core_each:
            with single_threads(max(1, self.workers), "cmi-encode") as pool:
                yield from map_ahead(lambda job: pool.submit(self._load_and_encode, job, read), jobs, self.workers)
            return
        now, later = tee(jobs)
        files = (job for job in later if not job.is_waveform and job not in read)
        held = self.group + self.window.limit // SPAN + 1  # spans of a group, and of its last take
        loading = read_ahead(files, self._loader, self.workers, 2 * self.group, held, self.batching.fixed)
        with closing(loading) as loaded:
            for job in now:
                yield self._load_now(job, read) if job in read or job.is_waveform else next(loaded)

    def _load_now(self, job: Job, read: ReadAudio) -> DecodedAudio | InputError:
        """Return the audio of a job from `read`, with its tokens if they were computed meanwhile, or load it now."""
        loaded = read[job] if job in read else self._loader[job]
        if isinstance(loaded, DecodedAudio) and (entry := self._memory.get(loaded.key)):
            return loaded._replace(samples=None, entry=entry)
        return loaded

    @torch.inference_mode()
    def _load_and_encode(self, job: Job, read: ReadAudio) -> DecodedAudio | InputError:
        """Load and encode a job in this thread, while other threads do the same with other recordings."""
        loaded = self._load_now(job, read)
        if isinstance(loaded, InputError) or loaded.entry is not None:
            return loaded
        return loaded._replace(entry=encode_audio({job: loaded}, self.model.encoder, self.batching)[job])

    @torch.inference_mode()
    def _start_group(
        self, group: TakeGroup, loaded_audio: Mapping[Job, DecodedAudio | InputError], encoded_audio: EncodedAudio
    ) -> Callable[[], list[ScoredTake | InputError]]:
        """Start the computation of a group; the returned function waits for its scores."""
        encoded_audio |= {job: error for job, error in loaded_audio.items() if isinstance(error, InputError)}
        new = {job: loaded for job, loaded in loaded_audio.items() if isinstance(loaded, DecodedAudio)}
        encoded = self._encode(new)
        encoded_audio |= encoded
        prepared = [self._prepare(plan, encoded_audio) for plan in group.plans]
        takes = [take for take in prepared if isinstance(take, _PreparedTake)]
        prompts = self._reader.fuse((take.prompt for take in takes), encoded_audio)
        items = [(prompts[take.prompt], stretch.tokens) for take in takes for stretch in take.sections]
        scores = self.batching.apply(self._judge, items, STEP, STEP)
        keys = {loaded.key: job for job, loaded in new.items() if loaded.key and loaded.samples is not None}
        wait = to_host([*([torch.stack(scores)] if scores else []), *(encoded[job].tokens for job in keys.values())])
        for job in group.to_release:
            encoded_audio.pop(job)

        def finish() -> list[ScoredTake | InputError]:
            host = iter(wait())
            rows = iter(next(host).tolist() if scores else [])
            entries = {key: encoded[job]._replace(tokens=next(host)) for key, job in keys.items()}
            self._memory.put_many({key: entry for key, entry in entries.items() if keys[key].is_waveform})
            self._write_cache({key: entry for key, entry in entries.items() if not keys[key].is_waveform})
            least = self.model.head.least_musicality
            return [_scored_take(take, rows, least) if isinstance(take, _PreparedTake) else take for take in prepared]

        return finish

    def _encode(self, new: Mapping[Job, DecodedAudio]) -> dict[Job, CachedTokens]:
        """Return the tokens of each job; jobs with the same content are encoded once."""
        first: dict[str | Job, Job] = {}
        for job, loaded in new.items():
            first.setdefault(loaded.key or job, job)
        encoded = encode_audio({job: new[job] for job in first.values()}, self.model.encoder, self.batching)
        return {job: encoded[first[loaded.key or job]] for job, loaded in new.items()}

    def _write_cache(self, entries: dict[str, CachedTokens]) -> None:
        """Write to the cache while the next group is computed, after the previous group has been written."""
        self._cache_written.result()
        if self.cache is not None:
            self._cache_written = self._writer.submit(self.cache.put_many, entries)

    def _prepare(self, plan: TakePlan, encoded_audio: EncodedAudio) -> _PreparedTake | InputError:
        """Return the take with everything that the head needs, or the error if it cannot be scored."""
        try:
            if plan.error is not None:
                raise plan.error
            references = [plan.reference] if plan.reference is not None else []
            about_reference = (
                self._truncation_notes(references, _usable_entries(references, encoded_audio)) if references else ()
            )
            ids, notes = self._reader.ids(plan.take.prompt, plan.reference)
            entries = _usable_entries(plan.audio, encoded_audio)
            notes += tuple(f"reference {note}" for note in about_reference) + self._truncation_notes(
                plan.audio, entries
            )
        except InputError as error:
            return error
        parts = [s for job, entry in entries.items() for s in encoded_sections(job, entry, self.model.encoder)]
        thin = [part._replace(tokens=self.model.head.thin(part.tokens[None])[0]) for part in parts]
        return _PreparedTake(
            plan.audio[0].name, ids, thin, notes + self._length_notes(sum(part.seconds for part in parts))
        )

    def _length_notes(self, seconds: float) -> tuple[str, ...]:
        least: float = getattr(self.model.encoder, "least_seconds", 0.0)  # a user's encoder may not have it
        return (
            (f"only {seconds:.1f} s long; the model was trained on takes of {least:.0f} s or more",)
            if seconds < least
            else ()
        )

    def _truncation_notes(self, jobs: Sequence[Job], entries: Mapping[Job, CachedTokens]) -> tuple[str, ...]:
        """Return a note if a recording is shorter than its header says."""
        last, entry = list(entries.items())[-1]
        stated = entry.stated
        if len(entries) < len(jobs) and isinstance(last.sound, Path):  # nothing could be decoded after it
            stated = duration(last.sound)
        return () if stated is None else (cut_off_note(last.span.offset + entry.samples / self._loader.rate, stated),)

    def _judge(self, prompt: Tensor, take: Tensor, prompts: Tensor | None, takes: Tensor | None) -> Tensor:
        masks = mask_of(prompts, prompt.shape[1]), mask_of(takes, take.shape[1])
        return self.model.head.judge(prompt, take, *masks)  # (B, 2)


def _usable_entries(jobs: Sequence[Job], encoded_audio: EncodedAudio) -> dict[Job, CachedTokens]:
    """Return the tokens of the jobs that could be loaded; the first is required, because files may be truncated."""
    first = encoded_audio[jobs[0]]
    if isinstance(first, InputError):
        raise first
    entries = {job: entry for job in jobs if isinstance(entry := encoded_audio[job], CachedTokens)}
    if all(entry.silent for entry in entries.values()):
        raise InputError(f"{jobs[0].name}: {SILENT}")
    return entries


def _scored_take(take: _PreparedTake, rows: Iterator[list[float]], least: float) -> ScoredTake | InputError:
    """Return a take's score: the mean over its sections' rows [alignment, musicality], weighted by duration.

    A musicality below `least` adds the note NOT_MUSIC.
    """
    sections = tuple(
        TakeSection(part.start, part.start + part.seconds, Score(musicality=row[1], alignment=row[0]))
        for part, row in zip(take.sections, rows, strict=False)
    )
    seconds = sum(part.seconds for part in take.sections)
    weighted = [(part.seconds / seconds, section.score) for part, section in zip(take.sections, sections, strict=True)]
    score = Score(*(sum(weight * score[axis] for weight, score in weighted) for axis in range(2)))
    if not all(map(math.isfinite, score)):
        given = " and ".join(f"{value:.3g} for {axis}" for axis, value in score._asdict().items())
        return InputError(f"{take.name}: the model gave {given}, not finite numbers")
    doubts = (NOT_MUSIC,) if score.musicality < least else ()
    return ScoredTake(score, seconds, sections, take.notes + doubts)

"""Music generators behind HTTP services: submit, poll, download. `cmi.generate.service_file` describes a service.

What is submitted is on disk before it is sent (`cmi.generate.service_jobs`): after `kill -9` the same job is asked
after again. If the answer to a submission is lost, it is sent again only if the service recognises repeated requests;
otherwise the take fails as 'lost' and counts as paid.
"""

import asyncio
import base64
import hashlib
import io
import json
import threading
import time
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import soundfile

from cmi._util.errors import InputError, require_extra
from cmi._util.redaction import Redact
from cmi.audio import Waveform, content_hash, cut_off_note, load, resample
from cmi.generate import GeneratedSound, GenerationError, GeneratorStopped, JobGoesOn, Part
from cmi.generate.service_file import (
    PollStep,
    ReferenceSending,
    ServiceFile,
    fill_template,
    find_field,
    read_service,
)
from cmi.generate.service_jobs import JobState, JobStore
from cmi.generate.sound_file import read_sound
from cmi.take import Prompt

with require_extra("a music service", "api"):
    from cmi._util.http import Fault, short
    from cmi.generate.service_calls import LostAnswer, ServiceAnswer, ServiceCalls, media_type

REFERENCE_RATE = 44_100  # Hz
GONE = {404, 410}  # the service does not know the job, or deleted the take
T = TypeVar("T")


def load_service(name: str | Path, max_cost: float | None = None) -> "ServiceGenerator":
    """Load a generator by the name of a description that comes with cmi, or the path of a TOML file.

    With `max_cost` it stops before the takes that were submitted, now or earlier, would cost more.
    """
    return ServiceGenerator(read_service(name), max_cost)


class ServiceGenerator:
    """Makes takes by a service; `generate` may be called from several threads."""

    def __init__(self, service: ServiceFile, max_cost: float | None = None) -> None:
        self.name: str = service.name
        self.version: str = service.version
        self.accepts: tuple[Part, ...] = service.accepts
        self.licence: str = service.licence
        self.settings: Mapping[str, Any] = dict(service.submit.body)
        self.concurrency: int = max(2, service.limits.concurrency)  # threads: one process knows what was submitted
        self.price: float = service.price
        self._service = service
        self._max_cost = max_cost
        self._jobs: JobStore | None = None
        self._calls: ServiceCalls | None = None
        self._slots = asyncio.Semaphore(service.limits.concurrency)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._loop: asyncio.AbstractEventLoop | None = None  # of the thread that makes all calls
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._is_stopping = asyncio.Event()

    def keep_in(self, folder: Path) -> None:
        """Keep submitted jobs in `folder`; InputError if the key is not set."""
        with self._starting:
            self._start(folder)

    def generate(self, prompt: Prompt, seed: int, seconds: float | None) -> GeneratedSound:
        seconds = self._service.limits.seconds if seconds is None else seconds
        self._check_limits(prompt, seconds)
        with self._starting:
            calls, jobs = self._start(None)
        values = self._values(prompt, seed, seconds)
        key = self._key(prompt, seed, seconds)
        body = fill_template(self._service.submit.body, {**calls.environment, **values})
        path = self._run(self._fetch(calls, jobs, key, body))
        try:
            return _read_take(path, self.price, calls.redact)
        except GenerationError:
            self._run(self._reject(jobs, key))
            raise

    def stop_waiting(self) -> None:
        """Make `generate` raise JobGoesOn in all threads instead of waiting for jobs, and submit no more."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._is_stopping.set)

    def close(self) -> None:
        if self._loop is not None and self._thread is not None:
            self._run(self._stop())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = self._thread = None
        if self._jobs is not None:
            self._jobs.close()
            self._jobs = None

    async def _stop(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._calls is not None:
            await self._calls.close()
            self._calls = None

    def _start(self, folder: Path | None) -> tuple[ServiceCalls, JobStore]:
        if self._calls is None:
            self._calls = ServiceCalls(self._service)
        if self._jobs is None:
            self._jobs = JobStore(folder, self.concurrency)
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
            self._thread.start()
        return self._calls, self._jobs

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _check_limits(self, prompt: Prompt, seconds: float | None) -> None:
        limits = self._service.limits
        for part in self._service.requires:
            if not getattr(prompt, part):
                raise GenerationError("refused", f"{self.name} needs {part}")
        for part, most in (("text", limits.text), ("lyrics", limits.lyrics)):
            length = len(getattr(prompt, part))
            if most is not None and length > most:
                raise GenerationError("refused", f"{part} of {length:,} characters, {self.name} takes {most:,}")
        if seconds is not None and not limits.shortest <= seconds <= (limits.longest or seconds):
            most_seconds = f" to {limits.longest:g}" if limits.longest else " or more"
            raise GenerationError("refused", f"{seconds:g} s, {self.name} makes {limits.shortest:g}{most_seconds} s")

    def _values(self, prompt: Prompt, seed: int, seconds: float | None) -> dict[str, Any]:
        return {
            "text": prompt.text or None,
            "lyrics": prompt.lyrics or None,
            "instrumental": not prompt.lyrics,
            "reference": self._reference(prompt.reference) if "reference" in self.accepts else None,
            "seed": seed,
            "seconds": int(seconds) if seconds is not None and seconds.is_integer() else seconds,
            "milliseconds": None if seconds is None else round(seconds * 1000),
        }

    def _reference(self, reference: Path | Waveform | None) -> Any:
        sending = self._service.reference
        if reference is None or sending is None:
            return None
        if sending.send_as == "url":
            if isinstance(reference, Waveform):
                raise GenerationError("refused", "a reference without a file, which cannot be served as an address")
            return sending.url.replace("{name}", reference.name)
        name, content = _encode_reference(reference, sending)
        if len(content) > sending.megabytes * 1e6:
            size = f"{len(content) / 1e6:.1f} MB, {self.name} takes {sending.megabytes:g}"
            raise GenerationError("refused", f"a reference of {size}")
        if sending.send_as == "file":
            return name, content
        digits = base64.b64encode(content).decode("ascii")
        return digits if sending.send_as == "base64" else f"data:{media_type(name)};base64,{digits}"

    def _key(self, prompt: Prompt, seed: int, seconds: float | None) -> str:
        heard = None if prompt.reference is None else content_hash(prompt.reference)
        parts = [self.name, self.version, self.settings, prompt.text, prompt.lyrics, heard, seed, seconds]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]

    async def _fetch(self, calls: ServiceCalls, jobs: JobStore, key: str, body: dict[str, Any]) -> Path:
        """Return the file of a take: from disk, from a job that was submitted before, or from a new one."""
        async with self._locks.setdefault(key, asyncio.Lock()):  # the same take is not submitted twice at once
            if (path := jobs.audio(key)) is None:
                async with self._slots:
                    if self._is_stopping.is_set():
                        raise GeneratorStopped(f"{self.name}: stopped")
                    path = jobs.keep_audio(key, await self._content(calls, jobs, key, body))
            state = jobs.state(key)
            if state and state.stage == "sent":  # without a job, it cannot be asked for again
                jobs.note(key, JobState(state.attempt, "ended"))
            jobs.returned(key)
            return path

    async def _content(self, calls: ServiceCalls, jobs: JobStore, key: str, body: dict[str, Any]) -> bytes:
        submit, poll, state = self._service.submit, self._service.poll, jobs.state(key)
        if state is not None and state.stage == "sent" and not submit.idempotency_header:
            raise self._lose(jobs, key, state, "stopped before the answer arrived")
        if state is None or state.stage != "job":
            answer, state = await self._submit(calls, jobs, key, body)
            pause = poll.interval if poll else 0.0
        else:
            answer, pause = None, 0.0
        try:
            if poll is not None:
                await self._pause(pause)
                answer = await self._wait_for(calls, jobs, key, state, poll)
            assert answer is not None
            return await calls.audio_of(answer)
        except GenerationError as error:
            if error.kind in ("missing", "not audio", "expired"):
                jobs.note(key, JobState(state.attempt, "ended"))
                raise GenerationError(error.kind, str(error), self.price) from None
            raise
        except Fault as fault:
            raise self._give_up(jobs, key, state, fault) from None

    async def _submit(
        self, calls: ServiceCalls, jobs: JobStore, key: str, body: dict[str, Any]
    ) -> tuple[ServiceAnswer, JobState]:
        submit, before = self._service.submit, jobs.state(key)
        if before is not None and before.stage == "sent":
            state = before  # with the same name, so that the service recognises it
        else:
            if self._max_cost is not None and (jobs.billed + 1) * self.price > self._max_cost:
                raise GeneratorStopped(f"{self.name}: another take would cost more than {self._max_cost:g}")
            state = JobState(before.attempt + 1 if before else 1, "sent")
            jobs.note(key, state)
        try:
            answer = await calls.submit(body, f"{key}-{state.attempt}")
        except LostAnswer as error:
            raise self._lose(jobs, key, state, str(error)) from None
        except Fault as fault:
            is_refusal = fault.kind in ("rejected", "oversized") or fault.status in submit.refused
            if is_refusal or fault.kind == "hopeless" or not submit.idempotency_header:
                jobs.note(key, JobState(state.attempt, "ended"), billed=False)
            if fault.kind == "hopeless" and not is_refusal:
                raise GeneratorStopped(f"{self.name}: {fault.reason}; see {self._service.documentation}") from None
            raise GenerationError("refused" if is_refusal else "unavailable", fault.reason) from None
        if submit.job:
            try:
                job = find_field(answer.fields, submit.job)
            except Fault as fault:
                raise self._lose(jobs, key, state, fault.reason) from None
            if not isinstance(job, str | int) or job == "":
                raise self._lose(jobs, key, state, f"the answer has no job in its field {submit.job!r}")
            state = JobState(state.attempt, "job", str(job))
            jobs.note(key, state)
        return answer, state

    async def _wait_for(
        self, calls: ServiceCalls, jobs: JobStore, key: str, state: JobState, poll: PollStep
    ) -> ServiceAnswer:
        """Ask after a job until it is done; return the answer that has its take."""
        deadline = time.monotonic() + poll.timeout
        while True:
            answer = await calls.get_state(state.job)
            found = find_field(answer.fields, poll.state)
            if found in poll.failed:
                jobs.note(key, JobState(state.attempt, "ended"), billed=False)
                why = short(calls.redact(str(find_field(answer.fields, poll.message) or "no reason given")))
                raise GenerationError("failed", f"the service says that the job is {found!r} ({why})")
            if found in poll.done:
                return await calls.get_result(state.job) if poll.result else answer
            if found is None:
                raise Fault("rejected", f"the answer has no field {poll.state!r}")
            if time.monotonic() > deadline:
                raise GenerationError("time-out", f"the job is {found!r} after {poll.timeout:g} s; it is kept")
            await self._pause(poll.interval)

    async def _pause(self, seconds: float) -> None:
        """Wait; JobGoesOn as soon as nobody waits for takes any more."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_stopping.wait(), seconds)
        if self._is_stopping.is_set():
            raise JobGoesOn(f"{self.name}: stopped while a job is running")

    async def _reject(self, jobs: JobStore, key: str) -> None:
        """Drop a take that is not audio; another attempt needs another job."""
        jobs.drop_audio(key)
        state = jobs.state(key)
        if state is not None and state.stage != "ended":
            jobs.note(key, JobState(state.attempt, "ended"))

    def _lose(self, jobs: JobStore, key: str, state: JobState, why: str) -> GenerationError:
        jobs.note(key, JobState(state.attempt, "ended"))
        return GenerationError("lost", f"submitted, but {why}; it may have been billed", self.price)

    def _give_up(self, jobs: JobStore, key: str, state: JobState, fault: Fault) -> InputError:
        """The error for a job that cannot be asked after, or whose take cannot be downloaded."""
        if fault.status in GONE or fault.kind in ("rejected", "oversized"):
            jobs.note(key, JobState(state.attempt, "ended"))
            return GenerationError("expired" if fault.status in GONE else "failed", fault.reason, self.price)
        if not self._service.submit.job:  # the answer is gone
            return self._lose(jobs, key, state, fault.reason)
        if fault.kind == "hopeless":
            return GeneratorStopped(f"{self.name}: {fault.reason}; its jobs are kept")
        return GenerationError("unavailable", f"{fault.reason}; the job is kept")


def _encode_reference(reference: Path | Waveform, sending: ReferenceSending) -> tuple[str, bytes]:
    """The name and content of a file with the sound of a reference."""
    try:
        if isinstance(reference, Path):
            sound = load(reference, REFERENCE_RATE, sending.seconds)
        else:
            sound = resample(reference, REFERENCE_RATE)
    except InputError as error:
        raise GenerationError("refused", f"its reference cannot be sent: {error}") from error
    most = None if sending.seconds is None else round(sending.seconds * REFERENCE_RATE)
    encoded = io.BytesIO()
    soundfile.write(encoded, sound.samples[:most], REFERENCE_RATE, format=sending.format.upper())
    return f"reference.{sending.format}", encoded.getvalue()


def _read_take(path: Path, cost: float, redact: Redact) -> GeneratedSound:
    """Decode what a service returned; GenerationError if it is empty, something else than audio, or cut off."""
    content = path.read_bytes()
    if not content:
        raise GenerationError("empty", "the service returned an empty file", cost)
    try:
        sound = read_sound(content)
    except GenerationError as error:
        text = redact(content[:500].decode("utf-8", "replace")).strip()
        what = f"text in place of audio: {text[:60]!r}" if text[:1] in ("<", "{") else str(error)
        raise GenerationError("not audio", what, cost) from None
    if not sound.samples.size:
        raise GenerationError("empty", "the service returned audio without samples", cost)
    try:
        whole = load(path, sound.rate)
    except InputError:  # too short, or not finite: the caller's checks say so
        return GeneratedSound(sound.samples, sound.rate, cost)
    if whole.stated is not None:
        raise GenerationError("cut off", cut_off_note(whole.seconds, whole.stated), cost)
    return GeneratedSound(sound.samples, sound.rate, cost)

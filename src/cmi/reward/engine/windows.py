"""Windows: which seconds of a recording are scored, in which sections; and the audio that a group of takes needs.

A recording is divided into sections that are scored independently; its score is their mean, weighted by duration. A
section is divided into chunks that are encoded independently. The last section and the last chunk may be short; a
remainder that is too short for the encoder (43 ms for MuQ-MuLan) is left out.

    first10     the first 10 s
    mean10      sections of 10 s, of the first 120 s
    first120    the first 120 s in chunks of 30 s: one section, as the published model was trained
    full        sections of 120 s in chunks of 30 s, up to two hours

A reference is one section: of 10 s under `first10`, else of 120 s in chunks of 30 s.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cmi import audio
from cmi._util.errors import InputError
from cmi.audio import LONGEST
from cmi.take import Audio, Take

SPAN = 120  # seconds decoded at a time, which bounds the memory for long recordings
MOST_RECENT = 8  # spans kept between groups, because all takes of a prompt share its reference


@dataclass(frozen=True)
class Window:
    name: str
    section: int  # seconds scored together
    chunk: int  # seconds encoded together
    limit: int  # most seconds that are scored

    @property
    def of_reference(self) -> "Window":
        seconds = min(self.limit, SPAN)
        return Window("reference", seconds, min(seconds, 30), seconds)


WINDOWS = {
    window.name: window
    for window in (
        Window("first10", 10, 10, 10),
        Window("mean10", 10, 10, 120),
        Window("first120", 120, 30, 120),
        Window("full", 120, 30, int(LONGEST)),
    )
}
DEFAULT_WINDOW = "first120"


def find_window(name: str) -> Window:
    if name not in WINDOWS:
        raise InputError(f"window {name!r}, expected one of {', '.join(WINDOWS)}")
    return WINDOWS[name]


class AudioSpan(NamedTuple):
    """A span of a recording that is decoded at once; in seconds."""

    offset: int
    seconds: int
    section: int  # scored together
    chunk: int  # encoded together


def spans(sound: Audio, window: Window) -> Iterator[AudioSpan]:
    """Yield the spans to decode; InputError if they depend on a length that the file does not state."""
    if window.limit <= SPAN:
        yield AudioSpan(0, window.limit, window.section, window.chunk)
        return
    seconds = audio.duration(sound) if isinstance(sound, Path) else sound.seconds
    if seconds > window.limit:
        raise InputError(f"{sound}: {seconds / 3600:.1f} hours, expected at most {window.limit // 3600}")
    for offset in range(0, max(1, int(seconds)), SPAN):
        yield AudioSpan(offset, SPAN, window.section, window.chunk)


class Job(NamedTuple):
    """A span of a recording to load."""

    sound: Audio
    span: AudioSpan

    @property
    def name(self) -> str:
        return "a waveform in memory" if self.is_waveform else str(self.sound)

    @property
    def is_waveform(self) -> bool:
        return not isinstance(self.sound, Path)


class TakePlan(NamedTuple):
    """The audio that a take needs, or why it cannot be scored."""

    take: Take
    audio: tuple[Job, ...]
    reference: Job | None
    error: InputError | None


class TakeGroup(NamedTuple):
    """Takes that are scored together, the jobs to load for them, and the jobs to release afterwards."""

    plans: list[TakePlan]
    to_load: list[Job]
    to_release: list[Job]


def plan_groups(takes: Iterable[Take], window: Window, size: int) -> Iterator[TakeGroup]:
    """Yield groups of at most `size` takes that need about `size` jobs to be loaded (more only for the last take)."""
    recent: OrderedDict[Job, None] = OrderedDict()
    plans: list[TakePlan] = []
    needed: dict[Job, bool] = {}  # True if the job has to be loaded
    for take in takes:
        plan = _plan(take, window)
        plans.append(plan)
        for job in (*plan.audio, *([plan.reference] if plan.reference else [])):
            needed.setdefault(job, job not in recent)
        if len(plans) == size or sum(needed.values()) >= size:
            yield _group(plans, needed, recent)
            plans, needed = [], {}
    if plans:
        yield _group(plans, needed, recent)


def _group(plans: list[TakePlan], jobs: dict[Job, bool], recent: OrderedDict[Job, None]) -> TakeGroup:
    for job in jobs:
        recent[job] = None
        recent.move_to_end(job)
    excess = max(0, len(recent) - len(jobs) - MOST_RECENT)
    to_release = [recent.popitem(last=False)[0] for _ in range(excess)]
    return TakeGroup(plans, [job for job, to_load in jobs.items() if to_load], to_release)


def _plan(take: Take, window: Window) -> TakePlan:
    try:
        audio = jobs(take.audio, window)
        reference = take.prompt.reference
        return TakePlan(take, audio, jobs(reference, window.of_reference)[0] if reference else None, None)
    except InputError as error:
        return TakePlan(take, (), None, error)


def jobs(sound: Audio, window: Window) -> tuple[Job, ...]:
    return tuple(Job(sound, span) for span in spans(sound, window))

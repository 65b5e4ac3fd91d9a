"""Playing technique detection: when does a Guzheng player use which technique? Data set: Guzheng_Tech99 (Guzheng_Tech).

Conventions
    An event is (start, end, technique) in seconds. The truth is on the recording's clock; the clip is 10 s of it. An
    event belongs to the clip in which it starts. Frames are 10 ms.

Metrics, times 100, over the frames of all clips
    miF1    F1 of all techniques taken together.
    maF1    The mean of the techniques' own F1.

Protocols
    strict  Every event of truth and answer, moved to the clip's clock (`cmi.bench.tasks._clips`) and cut at its ends.
            Techniques that occur on neither side are left out.
    paper   Only the first event of truth and of answer; times folded by 10 s, so that an event across the fold is lost;
            techniques that never occur count as 0; and the two names are swapped: 'maF1' holds the micro average.
            Table 3 scored Qwen2 alone with a reader of all events; so do we, for a model of that name.
"""

import math
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi.bench.evaluation import Array, Evaluation, Item, Measured, Setting, evaluate_each, of_sums
from cmi.bench.metrics.text import squash
from cmi.bench.tasks import Null, Reader, in_words, parse_truth
from cmi.bench.tasks._clips import LENGTH, ClipClock, clip_of

TECHNIQUES = (
    "Vibrato", "Point Note", "Upward Portamento", "Downward Portamento", "Plucks", "Glissando", "Tremolo",
)  # fmt: skip
NO_TECHNIQUE = "No Tech"
FRAMES_PER_SECOND = 100
READ_WHOLE_BY_TABLE_3 = {"qwen2"}

_COLUMN = {squash(name): i for i, name in enumerate(TECHNIQUES)}
_TIME = r"""\s*["']?(\d{1,6}(?:\.\d{0,20})?)\s?s?["']?\s*"""
_EVENT = re.compile(rf"""[(\[]{_TIME},{_TIME},\s*["']?([A-Za-z _-]{{1,40}})["']?\s*,?\s*[)\]]""")

# The published scorer asks for the start's first character, so that a start without quotes voids the answer.
_QUOTED = r"""'([^'()]*)'|"([^"()]*)\""""
_NUMBER = r"[\d.eE+-]{1,40}"
_PAPER_EVENT = re.compile(
    rf"\(\s*(?:{_QUOTED})\s*,\s*(?:{_QUOTED}|({_NUMBER}))\s*,\s*(?:{_QUOTED}|{_NUMBER})\s*,?\s*\)"
)
_GROUPS = (slice(0, 2), slice(2, 5), slice(5, 7))  # of start, end and technique in that expression


class Event(NamedTuple):
    start: float
    end: float
    technique: int  # its place in TECHNIQUES


def parse(text: str) -> list[Event] | None:
    """Return the events that `text` lists, [] for 'No Tech'; None if nothing can be parsed.

    >>> parse("[('0.5', '1.2', 'Vibrato')]")
    [Event(start=0.5, end=1.2, technique=0)]
    >>> parse("No Tech")
    []
    """
    found = [(float(start), float(end), squash(name.strip())) for start, end, name in _EVENT.findall(text)]
    events = [Event(start, end, _COLUMN[name]) for start, end, name in found if name in _COLUMN and start < end]
    silent = squash(NO_TECHNIQUE) in squash(text) or text.strip() == "[]"
    return events if events or silent else None


def parse_paper(text: str, whole: bool) -> list[Event] | None:
    """Parse like the published scorer: from the first bracket to the text's first closing parenthesis, or its last.

    A parenthesis before the bracket, as in 'The guzheng (a zither) plays [...', leaves nothing to read.
    """
    begin, end = text.find("["), text.rfind(")") if whole else text.find(")")
    if begin < 0 or end < begin:
        return None
    body = text[begin : end + 1]
    body = body.removeprefix('["' if body.startswith('["[') else "").removeprefix("[").strip()
    matches = list(_PAPER_EVENT.finditer(body)) if whole else [_PAPER_EVENT.fullmatch(body)]
    events = []
    for match in matches:
        if match is None:
            return None
        start, stop, name = (next((group for group in match.groups()[i] if group), "") for i in _GROUPS)
        if start[:1].isdigit() and squash(name) in _COLUMN and (span := _span(start, stop)):
            events.append(Event(span[0], span[1], _COLUMN[squash(name)]))
    return events


def _span(start: str, end: str) -> tuple[float, float] | None:
    try:
        span = float(start), float(end)
    except ValueError:
        return None
    return span if all(math.isfinite(time) for time in span) else None


def frames(events: Iterable[Event], length: float = LENGTH) -> NDArray[np.bool_]:
    """Which technique sounds in which frame of the clip: (frames, techniques). Events are cut at the clip's ends."""
    count = round(length * FRAMES_PER_SECOND)
    sounding = np.zeros((count, len(TECHNIQUES)), dtype=bool)
    for start, end, technique in events:
        first, behind = (int(FRAMES_PER_SECOND * min(max(time, 0.0), length)) for time in (start, end))
        sounding[first:behind, technique] = True
    return sounding


def folded(events: Iterable[Event]) -> list[Event]:
    """The published scorer's clip clock: times modulo 10 s, an end at a multiple of 10 s staying at the clip's end."""
    return [Event(start % LENGTH, (end - 0.0001) % LENGTH + 0.0001, technique) for start, end, technique in events]


def on_clip_clock(events: list[Event], clip: ClipClock) -> list[Event]:
    offset = clip.offset([event.start for event in events])
    return [Event(start - offset, end - offset, technique) for start, end, technique in events]


def _counts(reference: NDArray[np.bool_], estimated: NDArray[np.bool_]) -> list[float]:
    """Frames by technique: true positives, then false positives, then false negatives."""
    both = (reference & estimated).sum(axis=0)
    return [*both, *(estimated.sum(axis=0) - both), *(reference.sum(axis=0) - both)]


def _f1(hits: Array, false_alarms: Array, misses: Array) -> Array:
    """NaN where there is nothing to find and nothing was found."""
    with np.errstate(invalid="ignore"):
        return 2 * hits / (2 * hits + false_alarms + misses)


def micro_f1(sums: Array) -> Array:
    return 100 * np.nan_to_num(_f1(*(part.sum(axis=1) for part in np.split(sums, 3, axis=1))))


def macro_f1(sums: Array) -> Array:
    """Over the techniques that occur in truth or answers; 0 if none does."""
    by_technique = _f1(*np.split(sums, 3, axis=1))
    occurring = (~np.isnan(by_technique)).sum(axis=1)
    return 100 * np.nansum(by_technique, axis=1) / np.maximum(occurring, 1)


def macro_f1_of_all(sums: Array) -> Array:
    """Over all seven techniques, one that never occurs counting 0."""
    return 100 * np.nan_to_num(_f1(*np.split(sums, 3, axis=1))).mean(axis=1)


def evaluate(items: Iterable[Item], setting: Setting) -> Evaluation:
    is_paper = setting.protocol == "paper"
    read = _parser(setting)

    def measure(item: Item) -> Measured:
        truth = parse_truth(item.truth, read, "a list of (start, end, technique)")
        answer = read(item.answer)
        clip = clip_of(item, [event.start for event in truth])
        reference, estimated = (
            frames(folded(events)) if is_paper else frames(on_clip_clock(events, clip), clip.length)
            for events in (truth, answer or [])
        )
        return Measured(answer is not None, _counts(reference, estimated))

    if not is_paper:
        return evaluate_each(items, measure, [of_sums("maF1", macro_f1), of_sums("miF1", micro_f1)])
    whole = f"every event read, as Table 3 did for {setting.model}"
    note = whole if setting.model in READ_WHOLE_BY_TABLE_3 else "only the first event of truth and answer read"
    swapped = [of_sums("maF1", micro_f1), of_sums("miF1", macro_f1_of_all)]  # as printed
    return evaluate_each(items, measure, swapped, [note])


def _parser(setting: Setting) -> Callable[[str], list[Event] | None]:
    return partial(parse_paper, whole=setting.model in READ_WHOLE_BY_TABLE_3) if setting.protocol == "paper" else parse


def nulls(items: Iterable[Item]) -> list[Null]:
    return []


def reader(setting: Setting, truths: Iterable[str]) -> Reader:
    def describe(events: list[Event]) -> str:
        return ", ".join(f"({start:g}, {end:g}, {TECHNIQUES[which]})" for start, end, which in events) or NO_TECHNIQUE

    return in_words(_parser(setting), describe)

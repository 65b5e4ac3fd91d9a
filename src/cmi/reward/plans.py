"""What has to be heard for takes, group by group, and what of it is still remembered from the groups before."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from cmi.errors import InputError
from cmi.reward.hearing import Job
from cmi.reward.windows import Window, spans
from cmi.take import Audio, Take

REMEMBERED = 8  # stretches of recordings: a reference serves all takes of its prompt


class Plan(NamedTuple):
    """What has to be heard for a take, or why it can't be."""

    take: Take
    audio: tuple[Job, ...]
    reference: Job | None
    error: InputError | None


class Group(NamedTuple):
    """Plans that are worked on together; `fresh` has to be heard first, `forgotten` may be let go of afterwards."""

    plans: list[Plan]
    fresh: list[Job]
    forgotten: list[Job]


def plan_groups(takes: Iterable[Take], window: Window, size: int) -> Iterator[Group]:
    recent: OrderedDict[Job, None] = OrderedDict()
    plans = (_plan(take, window) for take in takes)
    while group := list(islice(plans, size)):
        jobs = dict.fromkeys(job for plan in group for job in (*plan.audio, plan.reference) if job is not None)
        fresh = [job for job in jobs if job not in recent]
        for job in jobs:
            recent[job] = None
            recent.move_to_end(job)
        excess = max(0, len(recent) - len(jobs) - REMEMBERED)
        yield Group(group, fresh, [recent.popitem(last=False)[0] for _ in range(excess)])


def _plan(take: Take, window: Window) -> Plan:
    try:
        audio = _jobs(take.audio, window)
        reference = take.prompt.reference
        return Plan(take, audio, _jobs(reference, window.of_reference)[0] if reference else None, None)
    except InputError as error:
        return Plan(take, (), None, error)


def _jobs(sound: Audio, window: Window) -> tuple[Job, ...]:
    return tuple(Job(sound, span) for span in spans(sound, window))

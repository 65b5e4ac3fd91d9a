"""What has to be heard for takes, group by group, and what of it is still remembered from the groups before."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cmi._util.errors import InputError
from cmi.reward.engine.read_ahead import Job
from cmi.reward.engine.windows import Window, spans
from cmi.take import Audio, Take

REMEMBERED = 8  # stretches of recordings: a reference serves all takes of its prompt


class TakePlan(NamedTuple):
    """What has to be heard for a take, or why it can't be."""

    take: Take
    audio: tuple[Job, ...]
    reference: Job | None
    error: InputError | None


class TakeGroup(NamedTuple):
    """TakePlans that are worked on together; `fresh` has to be heard first, `forgotten` may be let go of afterwards."""

    plans: list[TakePlan]
    fresh: list[Job]
    forgotten: list[Job]


def plan_groups(takes: Iterable[Take], window: Window, size: int) -> Iterator[TakeGroup]:
    """Groups of at most `size` takes, and of not more than `size` stretches to hear before the last take's."""
    recent: OrderedDict[Job, None] = OrderedDict()
    plans: list[TakePlan] = []
    jobs: dict[Job, bool] = {}  # whether they have to be heard
    for take in takes:
        plan = _plan(take, window)
        plans.append(plan)
        for job in (*plan.audio, *([plan.reference] if plan.reference else [])):
            jobs.setdefault(job, job not in recent)
        if len(plans) == size or sum(jobs.values()) >= size:
            yield _group(plans, jobs, recent)
            plans, jobs = [], {}
    if plans:
        yield _group(plans, jobs, recent)


def _group(plans: list[TakePlan], jobs: dict[Job, bool], recent: OrderedDict[Job, None]) -> TakeGroup:
    for job in jobs:
        recent[job] = None
        recent.move_to_end(job)
    excess = max(0, len(recent) - len(jobs) - REMEMBERED)
    forgotten = [recent.popitem(last=False)[0] for _ in range(excess)]
    return TakeGroup(plans, [job for job, fresh in jobs.items() if fresh], forgotten)


def _plan(take: Take, window: Window) -> TakePlan:
    try:
        audio = _jobs(take.audio, window)
        reference = take.prompt.reference
        return TakePlan(take, audio, _jobs(reference, window.of_reference)[0] if reference else None, None)
    except InputError as error:
        return TakePlan(take, (), None, error)


def _jobs(sound: Audio, window: Window) -> tuple[Job, ...]:
    return tuple(Job(sound, span) for span in spans(sound, window))

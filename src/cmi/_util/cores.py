"""How many cores this process may use, and pools of threads that do not compete for them."""

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_CGROUPS, _OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_setting = threading.Lock()


def usable_cores() -> int:
    """Return how many cores this process may use: its affinity and its container's quota, or OMP_NUM_THREADS."""
    chosen = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if chosen.isdecimal() and int(chosen):
        return int(chosen)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(cores, _quota())))


def _quota() -> float:
    """Return the cores that the nearest control groups grant, as containers have them; infinity if they set no limit.

    >>> _quota() > 0
    True
    """
    try:
        groups = _OWN_CGROUPS.read_text(encoding="utf-8").split()
    except OSError:
        return math.inf
    own = [line.partition("::")[2] for line in groups if line.startswith("0::")]
    folders = [_CGROUPS, *(_CGROUPS / part for name in own for part in _ancestors(name.strip("/")))]
    limits = [_quota_v2(folder / "cpu.max") for folder in folders]
    return min([*limits, _quota_v1(_CGROUPS / "cpu")])


def _ancestors(name: str) -> list[str]:
    parts = [part for part in name.split("/") if part not in ("", "..")]
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _quota_v2(path: Path) -> float:
    try:
        quota, period = path.read_text(encoding="utf-8").split()[:2]
        return int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):  # missing, or 'max'
        return math.inf


def _quota_v1(folder: Path) -> float:
    try:
        quota, period = (int((folder / f"cpu.cfs_{name}_us").read_text("utf-8")) for name in ("quota", "period"))
        return quota / period if quota > 0 else math.inf
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf


@contextmanager
def single_threads(count: int, name: str) -> Iterator[ThreadPoolExecutor]:
    """Open a pool of threads in which torch computes on one core each; tasks not started at the end are cancelled."""
    pool = ThreadPoolExecutor(count, name, initializer=_compute_alone)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _compute_alone() -> None:
    """Make torch compute on one core in this thread; threads that are started later get as many as before."""
    import torch

    with _setting:
        usual = torch.get_num_threads()
        torch.set_num_threads(1)  # of this thread, and of all that are started later
        restore = threading.Thread(target=torch.set_num_threads, args=(usual,))
        restore.start()
        restore.join()


def map_ahead(submit: Callable[[Item], "Future[Result]"], items: Iterable[Item], ahead: int) -> Iterator[Result]:
    """Yield the result of each item in order; `ahead` items more than were asked for are submitted."""
    pending: deque[Future[Result]] = deque()
    for item in items:
        pending.append(submit(item))
        if len(pending) > ahead:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()

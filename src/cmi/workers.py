"""Worker processes that do not outlive their parent."""

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait


def process_pool(workers: int | None = None) -> ProcessPoolExecutor:
    """A pool of processes, by default one a core. Killed with `kill -9`, their parent takes them along.

    Open it before files that are locked: forked processes hold on to those.
    """
    pool = ProcessPoolExecutor(workers or os.cpu_count(), initializer=_die_with_parent)
    pool.submit(os.getpid).result()  # only now are they forked
    return pool


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

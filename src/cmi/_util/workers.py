"""Worker processes that do not outlive their parent, and leave Ctrl-C to it."""

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait
from types import TracebackType


class _Pool(ProcessPoolExecutor):
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.shutdown(wait=True, cancel_futures=error is not None)


def process_pool(workers: int | None = None) -> ProcessPoolExecutor:
    """A pool of processes, by default one a core. Killed with `kill -9`, their parent takes them along.

    After an error or Ctrl-C it ends what it is at, and begins nothing more. Open it before files that are locked:
    forked processes hold on to those.
    """
    pool = _Pool(workers or os.cpu_count(), initializer=_die_with_parent)
    pool.submit(os.getpid).result()  # only now are they forked
    return pool


def _die_with_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent says what is to be said
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

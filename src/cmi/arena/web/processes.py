"""Run a server in several processes that accept connections from the same socket.

A process that dies is replaced, and all of them end with this one, even if it is killed.
"""

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from typing import Any

from cmi.arena.web.limits import SharedState

RESTART_WAIT = 1.0  # seconds before a dead process is replaced
STOP_WAIT = 15.0  # for requests under way
STOPPING = (signal.SIGINT, signal.SIGTERM)

log = logging.getLogger("cmi.arena")


def run_processes(count: int, target: Callable[..., None], *args: Any) -> None:
    """Run `target`, with state that all of them share and `args`, in `count` processes until interrupted."""
    context = multiprocessing.get_context("spawn")
    shared = SharedState(context)

    running: dict[int, SpawnProcess] = {}

    def start(place: int) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # until the new process is ready for them
        try:
            running[place] = context.Process(target=_run, args=(target, shared, *args))
            running[place].start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)

    try:
        for place in range(count):
            start(place)
        while True:
            wait([process.sentinel for process in running.values()])
            for place, process in running.items():
                if not process.is_alive():
                    log.warning("a process of the server ended (exit code %s) and is replaced", process.exitcode)
                    time.sleep(RESTART_WAIT)
                    start(place)
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.join(STOP_WAIT)
            process.kill()


def _run(target: Callable[..., None], *args: Any) -> None:
    with suppress(KeyboardInterrupt):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        threading.Thread(target=_end_with_parent, daemon=True).start()
        target(*args)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_WAIT)
    os._exit(1)

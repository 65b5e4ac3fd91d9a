"""Run annotators' transactions: on SQLite in the event loop, on PostgreSQL in threads of their own.

Other requests have other threads, so that no report or export delays a vote.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Concatenate, ParamSpec, TypeVar

from cmi.arena.store.database import HASTY_CONNECTIONS, Database
from cmi.arena.store.inline import Busy, InlineDatabase

P = ParamSpec("P")
T = TypeVar("T")
# Seconds between tries while another writes; then a thread waits. In a thread a transaction holds the database until
# it is on disk, so one that began to wait there would make others wait there too.
RETRIES = [0.001 * 1.5**number for number in range(16)]  # 1.3 s in all
_Waiting = tuple[asyncio.AbstractEventLoop, "asyncio.Future[None]"]


class SharedSync:
    """Calls `sync` in a thread: everybody who asks while it runs shares the next call."""

    def __init__(self, sync: Callable[[], None]) -> None:
        self._sync = sync
        self._queue: SimpleQueue[_Waiting] = SimpleQueue()
        threading.Thread(target=self._work, name="sync", daemon=True).start()

    async def __call__(self) -> None:
        """Return when a call that began after this one has succeeded; else raise its error."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        self._queue.put((loop, done))
        await done

    def _work(self) -> None:
        while True:
            waiting = [self._queue.get()]
            while True:
                try:
                    waiting.append(self._queue.get_nowait())
                except Empty:
                    break
            failure = None
            try:
                self._sync()
            except Exception as error:
                failure = error
            for loop, done in waiting:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(_settle, done, failure)


def _settle(done: "asyncio.Future[None]", failure: Exception | None) -> None:
    if done.done():  # whoever waited is gone
        return
    if failure is None:
        done.set_result(None)
    else:
        done.set_exception(failure)


class Runner:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._threads = ThreadPoolExecutor(HASTY_CONNECTIONS, "annotators")
        self._inline = InlineDatabase(database) if database.is_sqlite else None
        self._shared_sync = SharedSync(self._inline.sync) if self._inline else None

    async def __call__(self, work: Callable[Concatenate[Database, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` with the database; what it wrote is on disk when this returns."""
        if self._inline is not None:
            inline_call = partial(work, self._inline, *args, **kwargs)
            for wait in RETRIES:
                with suppress(Busy):  # it has done nothing that it would not do again
                    return await self._run_inline(self._inline, inline_call)
                await asyncio.sleep(wait)
        call = partial(work, self._database, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def _run_inline(self, inline: InlineDatabase, call: Callable[[], T]) -> T:
        before = inline.lasting
        done = call()
        if inline.lasting != before and self._shared_sync is not None:
            await self._shared_sync()
        return done

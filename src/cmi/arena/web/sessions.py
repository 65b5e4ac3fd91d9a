"""A cache of sessions, so that most requests need no database lookup.

A cached session may be out of date for KEEP seconds after a change by another process, such as `cmi arena`; changes by
this server clear the cache. Votes are safe either way, because the store checks them.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy import select
from starlette.concurrency import run_in_threadpool

from cmi.arena.store import people
from cmi.arena.store.database import Database
from cmi.arena.store.people import Session
from cmi.arena.store.schema import servers

KEEP = 5.0  # seconds
MOST_KEPT = 10_000


def server_id(database: Database) -> str:
    """The id that distinguishes this arena's cookies from another's at the same host."""
    with database.reading() as connection:
        return connection.execute(select(servers.c.id)).scalar_one()


class _CachedSession(NamedTuple):
    session: Session
    asked: float  # time of the lookup


class Sessions:
    """The latest sessions by token hash. For the event loop; only `forget` is thread-safe."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._kept: OrderedDict[bytes, _CachedSession] = OrderedDict()
        self._changed = clock()

    async def find(self, token: str) -> Session | None:
        """Look up a session; None if it is unknown or has expired."""
        key = hashlib.sha256(token.encode()).digest()
        now = self._clock()
        kept = self._kept.get(key)
        if kept is not None and kept.asked > self._changed and now - kept.asked < KEEP:
            return kept.session
        session = await run_in_threadpool(people.session, self._database, token)
        self._kept.pop(key, None)
        if session is not None:
            self._kept[key] = _CachedSession(session, now)
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return session

    def forget(self) -> None:
        """Invalidate the cache after a change to people."""
        self._changed = self._clock()

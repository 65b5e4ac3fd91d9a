"""State shared by all requests to a server process: its settings, the database, and caches of sessions and reports."""

import asyncio
import hashlib
import logging
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from fastapi import Depends
from sqlalchemy import select
from starlette.requests import Request

from cmi._util.errors import InputError
from cmi.arena.audio.playback import Copies
from cmi.arena.statistics import report_project
from cmi.arena.statistics.choosing import reorder_project
from cmi.arena.store import people
from cmi.arena.store.database import Database
from cmi.arena.store.people import Session
from cmi.arena.store.schema import servers
from cmi.arena.web import security
from cmi.arena.web.limits import Limits, RateLimiter, SharedState
from cmi.arena.web.runner import Runner
from cmi.arena.web.uploads import Uploads

KEEP_SESSION = 5.0  # seconds
KEEP_REPORT = 4.0  # times as long as it took to make
MOST_SESSIONS = 10_000
MOST_REPORTS = 100
REORDER_EVERY = 25  # votes
LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServerSettings:
    """`public_url` is the address in browsers, `folder` holds uploaded sounds.

    `shared` is common to all processes of the server.
    `player` has the files of wavesurfer.js by name; without them the pages fall back on a plain seek bar.
    """

    public_url: str
    folder: Path
    player: Mapping[str, bytes] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    shared: SharedState = field(default_factory=SharedState)


class PageFile(NamedTuple):
    """A static file of the pages."""

    content: bytes
    media_type: str
    tag: str


class Sessions:
    """A cache of sessions, so that most requests need no database lookup. Only `forget` is thread-safe.

    A cached session may be out of date for KEEP_SESSION seconds after a change by another program, such as `cmi arena`;
    changes by this server clear the caches of all its processes. Votes are safe either way, because the store checks
    them.
    """

    def __init__(
        self, run: Runner, clock: Callable[[], float] = time.monotonic, shared: SharedState | None = None
    ) -> None:
        self._run = run
        self._clock = clock
        self._shared = shared or SharedState()
        self._kept: OrderedDict[bytes, tuple[Session, float]] = OrderedDict()  # by token hash; time of the lookup

    async def find(self, token: str) -> Session | None:
        """Look up a session; None if it is unknown or has expired."""
        key, now = hashlib.sha256(token.encode()).digest(), self._clock()
        if key in self._kept:
            session, asked = self._kept[key]
            if asked > self._shared.session_change[0] and now - asked < KEEP_SESSION:
                return session
        found = await self._run(people.session, token)
        self._kept.pop(key, None)
        if found is not None:
            self._kept[key] = found, now
            if len(self._kept) > MOST_SESSIONS:
                self._kept.popitem(last=False)
        return found

    def forget(self) -> None:
        """Invalidate the cache after a change to people."""
        self._shared.session_change[0] = self._clock()


class Reports:
    """The latest statistics of each project.

    A report of a large study takes seconds. One is made at a time and cached for KEEP_REPORT times as long as it took,
    so reports never take more than a fifth of the server's time.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._made: dict[str, tuple[dict[str, Any], float]] = {}  # report, valid until
        self._one_at_a_time = asyncio.Lock()

    async def of(self, project: str) -> dict[str, Any]:
        async with self._one_at_a_time:
            if project in self._made and time.monotonic() < self._made[project][1]:
                return self._made[project][0]
            begin = time.monotonic()
            found = await asyncio.to_thread(report_project, self._database, project)
            end = time.monotonic()
            if len(self._made) >= MOST_REPORTS:
                self._made.clear()
            self._made[project] = found, end + KEEP_REPORT * (end - begin)
            return found


class PairOrders:
    """Reorders pairs after every REORDER_EVERY votes of a project that wants it, in a thread.

    The next one waits KEEP_REPORT times as long as the last one took.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._votes: Counter[str] = Counter()
        self._next: dict[str, float] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    def count_vote(self, project: str) -> None:
        self._votes[project] += 1
        if self._votes[project] >= REORDER_EVERY and time.monotonic() >= self._next.get(project, 0.0):
            self._votes[project], self._next[project] = 0, math.inf
            task = asyncio.create_task(self._reorder(project))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def _reorder(self, project: str) -> None:
        begin = time.monotonic()
        try:
            await asyncio.to_thread(reorder_project, self._database, project)
        except InputError as error:  # the database is busy, full or gone: pairs keep their order
            LOG.warning("the pairs were not reordered: %s", error)
        finally:
            end = time.monotonic()
            self._next[project] = end + KEEP_REPORT * (end - begin)


class Arena:
    def __init__(self, database: Database, settings: ServerSettings, files: Mapping[str, PageFile]) -> None:
        self.database = database
        self.settings = settings
        self.files = files
        self.cookie = security.cookie_name(settings.public_url, server_id(database))
        self.run = Runner(database)
        self.sessions = Sessions(self.run, shared=settings.shared)
        self.reports = Reports(database)
        self.orders = PairOrders(database)
        self.copies = Copies(database, settings.folder)
        self.uploads = Uploads(settings.folder, settings.limits)
        self.person_rate = RateLimiter(settings.limits.person, "person", settings.shared)
        self.sign_in_rate = RateLimiter(settings.limits.sign_in, "sign_in", settings.shared)
        self.upload_rate = RateLimiter(settings.limits.uploads, "uploads", settings.shared)


def server_id(database: Database) -> str:
    """The id that distinguishes this arena's cookies from another's at the same host."""
    with database.reading() as connection:
        return connection.execute(select(servers.c.id)).scalar_one()


async def arena_of(request: Request) -> Arena:
    arena: Arena = request.app.state.arena
    return arena


ThisArena = Annotated[Arena, Depends(arena_of)]


async def database_of(arena: ThisArena) -> Database:
    return arena.database


ThisDatabase = Annotated[Database, Depends(database_of)]


async def address_of(request: Request, arena: ThisArena) -> str:
    return security.own_address(request.headers.get("host", ""), arena.settings.public_url)


Address = Annotated[str, Depends(address_of)]  # for links

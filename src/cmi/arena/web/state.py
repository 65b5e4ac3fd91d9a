"""State shared by all requests to a server."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from starlette.requests import Request

from cmi.arena.audio.playback import Copies
from cmi.arena.audio.uploads import Uploads
from cmi.arena.store.database import Database
from cmi.arena.web import security
from cmi.arena.web.rate_limit import RateLimiter
from cmi.arena.web.reports import Reports
from cmi.arena.web.sessions import Sessions, server_id
from cmi.arena.web.settings import ServerSettings

THREADS = 8  # that talk to the database for annotators

P = ParamSpec("P")
T = TypeVar("T")


class PageFile(NamedTuple):
    """A static file of the pages."""

    content: bytes
    media_type: str
    tag: str


class Arena:
    """Annotators' requests have their own threads, so that no report or export delays a vote."""

    def __init__(self, database: Database, settings: ServerSettings, files: Mapping[str, PageFile]) -> None:
        self.database = database
        self.settings = settings
        self.files = files
        self.cookie = security.cookie_name(settings.public_url, server_id(database))
        self.sessions = Sessions(database)
        self.reports = Reports(database)
        self.copies = Copies(database, settings.folder)
        self.uploads = Uploads(settings.folder, settings.limits)
        self.person_rate = RateLimiter(settings.limits.person)
        self.sign_in_rate = RateLimiter(settings.limits.sign_in)
        self.upload_rate = RateLimiter(settings.limits.uploads)
        self._threads = ThreadPoolExecutor(THREADS, "annotators")

    async def run(self, work: Callable[Concatenate[Database, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` with the database in one of the annotators' threads."""
        call = partial(work, self.database, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


def arena_of(request: Request) -> Arena:
    arena: Arena = request.app.state.arena
    return arena

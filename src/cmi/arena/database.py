"""The database behind the arena: SQLite in a file, or PostgreSQL by URL; migrated to this version when it is opened.

Durability
    What `writing` committed survives kill -9 and power loss: the log is synced with every commit. With `lasting` false
    it survives kill -9, and power loss from the next lasting commit on: for what can be done again, such as giving out
    a pair. Whatever a vote refers to was written before it, and so lasts with it.

Concurrency
    SQLite has one writer at a time. Threads of a process queue for their turn, processes wait for each other up to
    BUSY_TIMEOUT. PostgreSQL locks rows; code that writes locks people first, then views, then pairs (in the order of
    their ids), so that no two transactions wait for each other.
"""

import hashlib
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from cmi.arena.database_url import shown_url, without_passwords
from cmi.arena.errors import NotFound, Unavailable
from cmi.arena.queue_lock import QueueLock
from cmi.errors import InputError, MissingExtra

BUSY_TIMEOUT = 30.0  # seconds that a process waits for another one that writes to the same SQLite file
CONNECTIONS = 40  # at most; PostgreSQL allows 100 in all by default

_POSTGRES = "postgresql+psycopg"
_DRIVERS = {"sqlite": "sqlite", "postgresql": _POSTGRES, "postgres": _POSTGRES, _POSTGRES: _POSTGRES}
_WRITES = "arena_writes"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Database:
    """Transactions on an engine. `now` is the clock by which everything is timed."""

    def __init__(self, engine: Engine, now: Callable[[], float] = time.time) -> None:
        self.engine = engine
        self.now = now
        self.is_sqlite = engine.dialect.name == "sqlite"
        self._turn: AbstractContextManager[Any] = QueueLock() if self.is_sqlite else nullcontext()

    @property
    def name(self) -> str:
        """For messages: the file, or the URL without its password."""
        return shown_url(self.engine.url)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads; on SQLite it sees one moment throughout."""
        with self._plainly(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, lasting: bool = True) -> Iterator[Connection]:
        """A transaction that is kept, all of it, when the block is left; none of it if the block raises."""
        with self._plainly(), self._turn, self.engine.connect() as connection:
            connection = connection.execution_options(**{_WRITES: "FULL" if lasting else "NORMAL"})
            with connection.begin():
                if not (lasting or self.is_sqlite):
                    connection.exec_driver_sql("SET LOCAL synchronous_commit TO OFF")
                yield connection

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            if type(error) not in (OperationalError, DatabaseError):
                raise
            raise Unavailable(f"{self.name}: {reason(error)}; try again, or restore a backup if it stays") from error
        except PoolTimeout as error:
            raise Unavailable(f"{self.name}: too many requests at once; try again") from error


def open_database(url: str) -> Database:
    """The database at a path, `sqlite:///path` or `postgresql://…`, made or migrated to this version's tables.

    InputError: no such scheme, not an arena's database, damaged, out of reach, or written by a newer version.
    """
    from cmi.arena.migrate import migrate

    parsed = parse_url(url)
    try:
        engine = _sqlite(parsed) if parsed.drivername == "sqlite" else create_engine(parsed, **_pool())
    except ModuleNotFoundError as error:
        raise MissingExtra("PostgreSQL", "arena-postgres") from error
    database = Database(engine)
    try:
        if database.is_sqlite:
            _start_write_ahead_log(engine)
        migrate(database)
    except DBAPIError as error:
        database.close()
        raise InputError(f"{database.name}: can't be used as the arena's database ({reason(error)})") from error
    except BaseException:
        database.close()
        raise
    return database


def parse_url(text: str) -> URL:
    """A URL with its driver; what has no scheme is the path of an SQLite file."""
    scheme, _, rest = text.partition(":")
    if "://" not in text and not (scheme in _DRIVERS and rest):  # a slash too few would make a path with a password
        return URL.create("sqlite", database=text)
    try:
        url = make_url(text)
        driver = _DRIVERS[url.drivername]
    except (ArgumentError, KeyError, ValueError) as error:
        raise InputError(f"{scheme}://…: expected a path, sqlite:///path or postgresql://user@host/database") from error
    return url.set(drivername=driver)


def reason(error: DBAPIError) -> str:
    """What the driver said, in one line."""
    return without_passwords(" ".join(str(error.orig).split()).rstrip("."))


def digest_of(secret: str) -> str:
    """What is stored of a token: it has 128 random bits or more, so that a plain hash can't be searched."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def storable(text: str) -> str:
    """Text as both databases hold it: without NUL, and with U+FFFD for half a surrogate pair."""
    return text.replace("\x00", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def require_id(value: str, what: str) -> str:
    """The id itself, if it could be one: NotFound for what no database should be asked about."""
    if not _ID.fullmatch(value):
        raise NotFound(f"there is no such {what}")
    return value


def _pool() -> dict[str, Any]:
    """Trying connections before their use would cost a round trip each time.

    So when the database was restarted the first request fails, all connections are made anew, and the page asks again.
    """
    return {"pool_size": CONNECTIONS // 2, "max_overflow": CONNECTIONS // 2, "pool_timeout": 30}


def _sqlite(url: URL) -> Engine:
    if not url.database or url.database == ":memory:":
        raise InputError("an arena in memory would lose its votes; give the path of a file")
    _make_private(Path(url.database))
    engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT}, **_pool())

    @event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, by their kind
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        synchronous = connection.get_execution_options().get(_WRITES)
        if synchronous:
            connection.exec_driver_sql(f"PRAGMA synchronous = {synchronous}")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if synchronous else "BEGIN")

    return engine


def _make_private(path: Path) -> None:
    """A new file that only its owner can read: it holds names."""
    try:
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return  # another process was faster
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _start_write_ahead_log(engine: Engine) -> None:
    """SQLite's own waiting does not cover the switch, so two first users need this loop."""
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        raw = engine.raw_connection()
        try:
            raw.cursor().execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise InputError(f"{shown_url(engine.url)}: {error}") from error
            time.sleep(0.01)
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"{shown_url(engine.url)}: not an arena's database, or damaged ({error}); choose another file"
            ) from error
        finally:
            raw.close()

"""The arena's database: SQLite in a file, or PostgreSQL by URL; migrated to this version when it is opened.

Durability
    What `writing` commits survives kill -9 and power loss. With `lasting` false, for work that can be repeated such as
    assigning a pair, it survives kill -9, but a power loss only after the next lasting commit.

Deletion
    SQLite overwrites deleted data (secure_delete), and `forget` empties the log, which holds older pages. If readers
    prevent that, the next transaction, closing and opening try again.

Concurrency
    SQLite has one writer at a time: threads queue, processes wait up to BUSY_TIMEOUT. PostgreSQL locks rows; writers
    lock people first, then views, then pairs by id, to avoid deadlocks.
"""

import errno
import hashlib
import re
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, func, select
from sqlalchemy.engine import URL
from sqlalchemy.exc import DatabaseError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from cmi._util.errors import InputError, require_extra
from cmi._util.files import cannot_write
from cmi.arena.store.database_url import parse_url, shown_url, without_passwords
from cmi.arena.store.errors import DiskFull, NotFound, Unavailable
from cmi.arena.store.schema import ratings, sittings, views, votes
from cmi.arena.store.sqlite_file import DatabaseClaim, empty_log, make_private
from cmi.arena.store.statements import execute

BUSY_TIMEOUT = 30.0  # seconds to wait for another process that writes to the same SQLite file
FORGET_WAIT = 1.0  # seconds for readers to finish; blocks writers
FORGET_EVERY = 1.0  # seconds between further tries
CLOSE_WAIT = 1.0
# PostgreSQL allows 100 connections in all by default. They are not tested before use, which would cost a round trip:
# after a restart one request fails.
MOST_CONNECTIONS = 80  # of all server processes together
IDLE = 0  # libpq's status of a connection that can be used again
HASTY_CONNECTIONS = 8  # of each, for transactions that need not last
_POOL = {"pool_size": 20, "max_overflow": 20, "pool_timeout": 30}

WRITES = "arena_writes"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
FARTHEST = 86_400.0  # seconds that a clock may have been set back


class QueueLock:
    """A first-come, first-served lock; with threading.Lock some threads would wait far longer than others."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._taken = False

    def __enter__(self) -> None:
        with self._guard:
            if not self._taken:
                self._taken = True
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        turn.acquire()  # until the previous holder releases it

    def __exit__(self, *_: object) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False

    @contextmanager
    def at_once(self) -> Iterator[bool]:
        """Hold the lock if it is free; whether it is."""
        with self._guard:
            is_free, self._taken = not self._taken, True
        try:
            yield is_free
        finally:
            if is_free:
                self.__exit__()


class SteadyClock:
    """UTC in seconds since 1970 that never goes back, even if the system's clock is set back.

    `latest` is the last time stored by an earlier process. The clock continues from there, unless it is so far ahead
    that it must have been wrong.
    """

    def __init__(
        self,
        latest: float = 0.0,
        wall: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall = wall
        self._ticks = ticks
        self._lock = threading.Lock()
        start = wall()
        self._now, self._tick = max(start, latest) if latest - start < FARTHEST else start, ticks()

    def __call__(self) -> float:
        with self._lock:
            tick = self._ticks()
            self._now, self._tick = max(self._wall(), self._now + tick - self._tick), tick
            return self._now


class Database:
    """Transactions on an engine. `now` is the clock for all stored times; `close` releases `claim`."""

    def __init__(
        self,
        engine: Engine,
        now: Callable[[], float] | None = None,
        claim: DatabaseClaim | None = None,
        hasty: Engine | None = None,
    ) -> None:
        self.engine = engine
        self._hasty = hasty or engine  # whose connections do not wait for PostgreSQL's disk
        self.now = now or SteadyClock()
        self.is_sqlite = engine.dialect.name == "sqlite"
        self.on_close: list[Callable[[], None]] = []
        self._turn = QueueLock()  # for SQLite, which has one writer
        self._claim = claim
        self._next_try: float | None = None  # to empty the log, by `time.monotonic`

    @property
    def name(self) -> str:
        """For messages: the file, or the URL without its password."""
        return shown_url(self.engine.url)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A read transaction; on SQLite it sees a consistent snapshot."""
        with self._translate_errors(), self.engine.connect() as connection, connection.begin():
            yield connection
        self._after_transaction()

    @contextmanager
    def writing(self, lasting: bool = True) -> Iterator[Connection]:
        """A write transaction, committed at the end of the block or rolled back if it raises."""
        engine, turn = self.engine if lasting else self._hasty, self._turn if self.is_sqlite else nullcontext()
        with self._translate_errors(), turn, engine.connect() as connection:
            if self.is_sqlite:
                connection = connection.execution_options(**{WRITES: "FULL" if lasting else "NORMAL"})
            with connection.begin():
                yield connection
        self._after_transaction()

    @contextmanager
    def stepping(self) -> Iterator[Connection]:
        """For PostgreSQL: each statement is a transaction of its own, on disk when it returns.

        This saves the round trips of BEGIN and COMMIT. A statement that writes must itself check what was read before.
        """
        with self._translate_errors(), self.engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            driver.autocommit = True
            try:
                yield connection
            finally:
                if driver.pgconn.transaction_status == IDLE:
                    driver.autocommit = False
                else:  # lost, or interrupted in a statement: it must not serve a transaction
                    connection.invalidate()

    def forget(self, wait: float = FORGET_WAIT) -> None:
        """Remove deleted personal data from an SQLite database's files too; for PostgreSQL see docs/arena.md."""
        if self.is_sqlite:
            self._try_to_empty_log(wait)

    def close(self) -> None:
        """Close; SQLite's log is merged into the database file unless another process has it open."""
        while self.on_close:
            self.on_close.pop()()
        for engine in {self.engine, self._hasty}:
            engine.dispose()
        if self.is_sqlite:
            self._try_to_empty_log(CLOSE_WAIT)
        if self._claim is not None:
            self._claim.release()

    def _after_transaction(self) -> None:
        if self._next_try is not None and time.monotonic() >= self._next_try:
            self._try_to_empty_log(0.0)

    def _try_to_empty_log(self, wait: float) -> None:
        done = False
        with suppress(sqlite3.Error):  # full or damaged: the next transaction reports it
            done = empty_log(Path(str(self.engine.url.database)), wait)
        self._next_try = None if done else time.monotonic() + FORGET_EVERY

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            said = getattr(error.orig, "sqlite_errorname", None) or getattr(error.orig, "sqlstate", None)
            if said in ("SQLITE_FULL", "53100"):
                raise DiskFull(str(cannot_write(self.name, OSError(errno.ENOSPC, "")))) from error
            if type(error) not in (OperationalError, DatabaseError):
                raise
            raise Unavailable(
                f"{self.name}: {reason(error)}; try again, or restore a backup if the error persists"
            ) from error
        except PoolTimeout as error:
            raise Unavailable(f"{self.name}: too many requests at once; try again") from error


def open_database(url: str, processes: int = 1) -> Database:
    """Open the database at a path, `sqlite:///path` or `postgresql://…`, creating or migrating its tables.

    As many `processes` share the connections that PostgreSQL allows.
    """
    from cmi.arena.store.migrate import migrate

    parsed = parse_url(url)
    database = _sqlite(parsed) if parsed.drivername == "sqlite" else _postgres(parsed, processes)
    try:
        if database.is_sqlite:
            _start_write_ahead_log(database.engine)
            require_sound(database)
            database.forget(wait=0.0)  # a withdrawal just before the server was killed
        migrate(database)
        database.now = SteadyClock(_latest_time(database))
    except DBAPIError as error:
        database.close()
        raise InputError(f"{database.name}: cannot be used as the arena's database ({reason(error)})") from error
    except BaseException:
        database.close()
        raise
    return database


def require_sound(database: Database, thoroughly: bool = False) -> None:
    """Unavailable if an SQLite database is damaged; PostgreSQL reports damage itself.

    100,000 votes (95 MB) take 0.3 s; thoroughly, which also compares indexes with rows, 2.5 s.
    """
    if not database.is_sqlite:
        return
    check = "integrity_check" if thoroughly else "quick_check"
    try:
        with database.engine.connect() as connection:
            verdict = connection.exec_driver_sql(f"PRAGMA {check}(1)").scalar()
    except DatabaseError as error:
        if isinstance(error, OperationalError):
            raise
        verdict = reason(error)
    if verdict != "ok":
        said = " ".join(str(verdict).split())
        raise Unavailable(f"{database.name}: damaged ({said}); put a backup in its place with `cmi arena restore`")


def _latest_time(database: Database) -> float:
    """The latest stored time that others are measured against."""
    with database.reading() as connection:
        shown = [one.c[name] for one in (views, sittings) for name in ("created", "begun")]
        times = [connection.scalar(select(func.max(one))) for one in (*shown, votes.c.created, ratings.c.created)]
    return max((time for time in times if time is not None), default=0.0)


def reason(error: DBAPIError) -> str:
    """What the driver said, in one line."""
    return without_passwords(" ".join(str(error.orig).split()).rstrip("."))


def digest_of(secret: str) -> str:
    """Hash a token for storage; tokens have at least 128 random bits, so a plain hash suffices."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def storable(text: str) -> str:
    """Make text fit for both databases: without NUL, and with U+FFFD for lone surrogates."""
    return text.replace("\x00", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def require_id(value: str, what: str) -> str:
    """Return the id if it is well-formed, else NotFound."""
    if not _ID.fullmatch(value):
        raise NotFound(f"there is no such {what}")
    return value


def _postgres(url: URL, processes: int) -> Database:
    patient = max(HASTY_CONNECTIONS, MOST_CONNECTIONS // max(2, processes) - HASTY_CONNECTIONS)
    with require_extra("PostgreSQL", "arena-postgres"):
        engine = create_engine(url, pool_size=patient, max_overflow=0)
        hasty = create_engine(url, pool_size=HASTY_CONNECTIONS, max_overflow=0)

    @event.listens_for(engine, "connect")
    def _wait_for_the_disk(connection: Any, _: Any) -> None:
        """Override a server, database or role that does not wait; stricter settings stay."""
        with connection.cursor() as cursor:
            if cursor.execute("SHOW synchronous_commit").fetchone() == ("off",):
                cursor.execute("SET synchronous_commit TO ON")
        connection.commit()

    @event.listens_for(hasty, "connect")
    def _do_not_wait(connection: Any, _: Any) -> None:
        connection.execute("SET synchronous_commit TO OFF")
        connection.commit()

    return Database(engine, hasty=hasty)


def _sqlite(url: URL) -> Database:
    if not url.database or url.database == ":memory:":
        raise InputError("an arena in memory would lose its votes; give the path of a file")
    path = Path(url.database)
    if path.is_dir():
        raise InputError(f"{path}: a folder, expected a file such as study.sqlite3")
    claim = DatabaseClaim(path)
    try:
        make_private(path)
    except BaseException:
        claim.release()
        raise
    return Database(sqlite_engine(url), claim=claim)


def sqlite_engine(url: URL, busy_timeout: float = BUSY_TIMEOUT) -> Engine:
    """Create an engine with foreign keys, secure deletion, and transactions that wait for each other."""
    engine = create_engine(url, connect_args={"timeout": busy_timeout}, **_POOL)

    @event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # transactions are begun below
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        synchronous = connection.get_execution_options().get(WRITES)
        if synchronous:
            execute(connection, f"PRAGMA synchronous = {synchronous}")
        execute(connection, "BEGIN" if synchronous is None else "BEGIN IMMEDIATE")

    return engine


def _start_write_ahead_log(engine: Engine) -> None:
    """Loop, because SQLite's busy timeout does not cover this switch by two first users."""
    name, deadline = shown_url(engine.url), time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            with closing(engine.raw_connection()) as raw:
                raw.cursor().execute("PRAGMA journal_mode = WAL")
                return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise InputError(f"{name}: {error}") from error
            time.sleep(0.01)
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"{name}: not an arena's database, or damaged ({error}); "
                "choose another file, or put a backup in its place with `cmi arena restore`"
            ) from error

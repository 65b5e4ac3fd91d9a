"""The database behind the arena: SQLite in a file, or PostgreSQL by URL; migrated to this version when it is opened.

Durability
    What `writing` committed survives kill -9 and power loss: the log is synced with every commit. With `lasting` false
    it survives kill -9 of our process, and a crash of the machine or of PostgreSQL from the next lasting commit on: for
    what can be done again, such as giving out a pair. Whatever a lasting commit refers to was written before it, and so
    lasts with it.

What was deleted
    SQLite overwrites what is deleted (secure_delete), and `forget` empties the log, which has older pages. While
    somebody reads, it can't: then the next transaction tries again, and so do closing and opening.

Concurrency
    SQLite has one writer at a time. Threads of a process queue for their turn, processes wait for each other up to
    BUSY_TIMEOUT. PostgreSQL locks rows; code that writes locks people first, then views, then pairs (in the order of
    their ids), so that no two transactions wait for each other.
"""

import errno
import hashlib
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, func, make_url, select
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from cmi._util.errors import InputError, MissingExtra
from cmi._util.files import cannot_write
from cmi.arena.store.database_url import shown_url, without_passwords
from cmi.arena.store.errors import DiskFull, NotFound, Unavailable
from cmi.arena.store.queue_lock import QueueLock
from cmi.arena.store.schema import views, votes
from cmi.arena.store.sqlite_file import DatabaseClaim, empty_log, make_private
from cmi.arena.store.steady_clock import SteadyClock

BUSY_TIMEOUT = 30.0  # seconds that a process waits for another one that writes to the same SQLite file
FORGET_WAIT = 1.0  # seconds for those who read to finish; nobody can write meanwhile
FORGET_EVERY = 1.0  # seconds between further tries
CLOSE_WAIT = 1.0
CONNECTIONS = 40  # at most; PostgreSQL allows 100 in all by default

_POSTGRES = "postgresql+psycopg"
_DRIVERS = {"sqlite": "sqlite", "postgresql": _POSTGRES, "postgres": _POSTGRES, _POSTGRES: _POSTGRES}
_WRITES = "arena_writes"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Database:
    """Transactions on an engine. `now` is the clock by which everything is timed; `claim` is released at the end."""

    def __init__(
        self, engine: Engine, now: Callable[[], float] | None = None, claim: DatabaseClaim | None = None
    ) -> None:
        self.engine = engine
        self.now = now or SteadyClock()
        self.is_sqlite = engine.dialect.name == "sqlite"
        self._turn: AbstractContextManager[Any] = QueueLock() if self.is_sqlite else nullcontext()
        self._claim = claim
        self._next_try: float | None = None  # to empty the log, by `time.monotonic`

    @property
    def name(self) -> str:
        """For messages: the file, or the URL without its password."""
        return shown_url(self.engine.url)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads; on SQLite it sees one moment throughout."""
        with self._plainly(), self.engine.connect() as connection, connection.begin():
            yield connection
        self._after_transaction()

    @contextmanager
    def writing(self, lasting: bool = True) -> Iterator[Connection]:
        """A transaction that is kept, all of it, when the block is left; none of it if the block raises."""
        with self._plainly(), self._turn, self.engine.connect() as connection:
            connection = connection.execution_options(**{_WRITES: "FULL" if lasting else "NORMAL"})
            with connection.begin():
                if not (lasting or self.is_sqlite):
                    connection.exec_driver_sql("SET LOCAL synchronous_commit TO OFF")
                yield connection
        self._after_transaction()

    def forget(self, wait: float = FORGET_WAIT) -> None:
        """After personal data was deleted: let no file of an SQLite database have it any longer.

        Of PostgreSQL's files, see docs/arena.md.
        """
        if self.is_sqlite:
            self._try_to_empty_log(wait)

    def close(self) -> None:
        """What is in SQLite's log goes to the database, which is then one file, unless another process has it open."""
        self.engine.dispose()
        if self.is_sqlite:
            self._try_to_empty_log(CLOSE_WAIT)
        if self._claim is not None:
            self._claim.release()

    def _after_transaction(self) -> None:
        if self._next_try is not None and time.monotonic() >= self._next_try:
            self._try_to_empty_log(0.0)

    def _try_to_empty_log(self, wait: float) -> None:
        done = False
        with suppress(sqlite3.Error):  # full or damaged: whoever reads or writes next is told
            done = empty_log(Path(str(self.engine.url.database)), wait)
        self._next_try = None if done else time.monotonic() + FORGET_EVERY

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            if is_disk_full(error):
                raise DiskFull(str(cannot_write(self.name, OSError(errno.ENOSPC, "")))) from error
            if type(error) not in (OperationalError, DatabaseError):
                raise
            raise Unavailable(f"{self.name}: {reason(error)}; try again, or restore a backup if it stays") from error
        except PoolTimeout as error:
            raise Unavailable(f"{self.name}: too many requests at once; try again") from error


def open_database(url: str) -> Database:
    """The database at a path, `sqlite:///path` or `postgresql://…`, made or migrated to this version's tables.

    InputError: no such scheme, not an arena's database, damaged, out of reach, or written by a newer version.
    """
    from cmi.arena.store.migrate import migrate

    parsed = parse_url(url)
    database = _sqlite(parsed) if parsed.drivername == "sqlite" else _postgres(parsed)
    try:
        if database.is_sqlite:
            _start_write_ahead_log(database.engine)
            require_sound(database)
            database.forget(wait=0.0)  # what was withdrawn just before the server was killed
        migrate(database)
        database.now = SteadyClock(_latest_time(database))
    except DBAPIError as error:
        database.close()
        raise InputError(f"{database.name}: can't be used as the arena's database ({reason(error)})") from error
    except BaseException:
        database.close()
        raise
    return database


def require_sound(database: Database, thoroughly: bool = False) -> None:
    """Unavailable if an SQLite database is damaged. PostgreSQL says so itself when it reads damage.

    A study of 100,000 votes (95 MB) takes 0.3 s once it is read; thoroughly, which compares indexes with rows, 2.5 s.
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
    """The last time that something was timed by which others are measured or ordered."""
    with database.reading() as connection:
        times = [connection.scalar(select(func.max(one))) for one in (views.c.created, views.c.begun, votes.c.created)]
    return max((time for time in times if time is not None), default=0.0)


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


def is_disk_full(error: DBAPIError) -> bool:
    said = getattr(error.orig, "sqlite_errorname", None) or getattr(error.orig, "sqlstate", None)
    return said in ("SQLITE_FULL", "53100")


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


def _postgres(url: URL) -> Database:
    try:
        engine = create_engine(url, **_pool())
    except ModuleNotFoundError as error:
        raise MissingExtra("PostgreSQL", "arena-postgres") from error

    @event.listens_for(engine, "connect")
    def _wait_for_the_disk(connection: Any, _: Any) -> None:
        """Also if the server, the database or the role is set up not to; stricter settings stay."""
        with connection.cursor() as cursor:
            if cursor.execute("SHOW synchronous_commit").fetchone() == ("off",):
                cursor.execute("SET synchronous_commit TO ON")
        connection.commit()

    return Database(engine)


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


def sqlite_engine(url: URL) -> Engine:
    """With foreign keys, deletions that overwrite, and transactions that wait for each other."""
    engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT}, **_pool())

    @event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, by their kind
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        synchronous = connection.get_execution_options().get(_WRITES)
        if synchronous:
            connection.exec_driver_sql(f"PRAGMA synchronous = {synchronous}")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if synchronous else "BEGIN")

    return engine


def _start_write_ahead_log(engine: Engine) -> None:
    """SQLite's own waiting does not cover the switch, so two first users need this loop."""
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            raw = engine.raw_connection()
        except sqlite3.Error as error:
            raise InputError(f"{shown_url(engine.url)}: {error}") from error
        try:
            raw.cursor().execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise InputError(f"{shown_url(engine.url)}: {error}") from error
            time.sleep(0.01)
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"{shown_url(engine.url)}: not an arena's database, or damaged ({error}); "
                "choose another file, or put a backup in its place with `cmi arena restore`"
            ) from error
        finally:
            raw.close()

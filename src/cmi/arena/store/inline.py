"""An SQLite database for the event loop: transactions that never wait, and one sync of the log for all of them.

Handing a transaction to a thread takes longer than the transaction. So the server runs an annotator's transaction at
once, in the event loop. It is then in SQLite's log, which survives kill -9 of the server; it survives a power failure
after `sync`, which runs in a thread and serves all who wait for it. Only then is anything acknowledged.

If another thread or process is writing, `writing` raises Busy before anything has happened, and the server repeats the
call with the ordinary database in a thread, where it may wait.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from cmi.arena.store.database import WRITES, Database, sqlite_engine
from cmi.arena.store.errors import Unavailable
from cmi.arena.store.sqlite_file import beside, empty_log, real_path
from cmi.arena.store.statements import execute

CHECKPOINT_EVERY = 64  # syncs, after which the log is copied into the database: about a thousand pages
MOST_PAGES = 10_000  # of the log, after which a writer copies it, if readers kept `sync` from it
MERGE_WAIT = 1.0  # seconds

_sync = getattr(os, "fdatasync", os.fsync)


class Busy(Exception):
    """Another thread or process is writing."""


class InlineDatabase(Database):
    """Writes on one connection of its own to the file of `database`, which closes it; not for several threads."""

    def __init__(self, database: Database) -> None:
        super().__init__(sqlite_engine(database.engine.url, busy_timeout=0.0), now=lambda: database.now())
        self._turn = database._turn
        self._path = real_path(Path(str(self.engine.url.database)))
        self._log: IO[bytes] | None = None
        self._syncs = 0
        self._must_merge = False
        self.lasting = 0  # transactions so far that must be synced before they are acknowledged
        self._connection = self.engine.connect().execution_options(**{WRITES: ""})
        execute(self._connection, "PRAGMA synchronous = NORMAL")
        execute(self._connection, f"PRAGMA wal_autocheckpoint = {MOST_PAGES}")
        database.on_close.append(self.close)

    @contextmanager
    def writing(self, lasting: bool = True) -> Iterator[Connection]:
        with self._translate_errors(), self._turn.at_once() as is_free:
            if not is_free:
                raise Busy
            try:
                transaction = self._connection.begin()
            except OperationalError as error:
                if getattr(error.orig, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                    raise Busy from error
                raise
            with transaction:
                yield self._connection
            self.lasting += lasting

    def sync(self) -> None:
        """Put all that was committed on disk; Unavailable if that fails.

        After a failure the log is merged into the database instead, because a system may forget what it failed to
        write, and report success the next time.
        """
        try:
            if self._must_merge and not empty_log(self._path, MERGE_WAIT):
                raise OSError("others are reading it")
            self._must_merge = False
            if self._log is None:
                self._log = beside(self._path, "-wal").open("rb")
            _sync(self._log.fileno())
        except (OSError, sqlite3.Error) as error:
            self._must_merge = True
            raise Unavailable(f"{self._path}: the log cannot be written ({error}); nothing was confirmed") from error
        self._syncs += 1
        if self._syncs % CHECKPOINT_EVERY == 0:
            self._checkpoint()

    def close(self) -> None:
        self._connection.close()
        self.engine.dispose()
        if self._log is not None:
            self._log.close()

    def _checkpoint(self) -> None:
        with suppress(sqlite3.Error), closing(sqlite3.connect(self._path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

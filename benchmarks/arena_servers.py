"""The servers of `benchmarks/arena.py`: an arena and a PostgreSQL in processes of their own, which can be killed."""

import argparse
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LEAST_ROOM = 65_536  # bytes of a file; SQLite's shared index alone has half of it


class Server:
    """The arena in processes of its own."""

    def __init__(self, url: str, folder: Path, arguments: argparse.Namespace, postgres: "Postgres | None") -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        more = f", processes={arguments.processes}" if arguments.processes > 1 else ""
        call = f"serve({url!r}, port={self.port}, folder=Path({str(folder)!r}){more})"
        code = f"from pathlib import Path; from cmi.arena.web.serve import serve\nif __name__ == '__main__': {call}"
        (folder / "server.py").write_text(code)
        self._command = [sys.executable, str(folder / "server.py")]
        source = arguments.source or Path(__file__).parents[1]
        self._environment = {**os.environ, "PYTHONPATH": str(source / "src")}
        self._file = Path(url)
        self._postgres = postgres
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = 0.0  # processor seconds of processes that were killed
        self._is_full = False
        self._one_at_a_time = threading.RLock()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, env=self._environment)

    def wait(self) -> None:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit("the server does not start")

    def restart(self) -> None:
        """Kill the server, and PostgreSQL, and start them again."""
        with self._one_at_a_time:
            self._ended = self.used()[0]
            self._stop(signal.SIGKILL)
            if self._postgres is not None:
                self._postgres.restart()
            self.start()
            self.wait()
            self.set_full(self._is_full)

    def stop(self) -> None:
        self._stop(signal.SIGTERM)

    def used(self) -> tuple[float, float]:
        """Processor seconds of the server and of PostgreSQL so far."""
        assert self._process is not None
        server = self._ended + processor_seconds(self._process.pid)
        return server, self._postgres.used() if self._postgres else 0.0

    def set_full(self, is_full: bool) -> None:
        """Let no file of the server grow, or end that."""
        with self._one_at_a_time:
            self._is_full = is_full
            if self._postgres is not None:
                self._postgres.set_full(is_full)
                return
            assert self._process is not None
            _, hard = resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE)
            log = self._file.with_name(self._file.name + "-wal")
            written = log.stat().st_size if log.exists() else 0
            most = max(written, LEAST_ROOM) if is_full else hard
            resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (most, hard))

    def _stop(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait()


def processor_seconds(process: int) -> float:
    """What a process and those that it started have used, including those that it waited for."""
    total, ticks = 0.0, os.sysconf("SC_CLK_TCK")
    for folder in [Path(f"/proc/{process}"), *map(Path, _children(process))]:
        with suppress(OSError):
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            total += sum(map(int, fields[11:15])) / ticks
    return total


def _children(process: int) -> list[str]:
    with suppress(OSError):
        found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        return [f"/proc/{child}" for child in found]
    return []


class Postgres:
    """A cluster of our own, reached through a socket in `folder`; PostgreSQL refuses to run as root."""

    def __init__(self, folder: Path) -> None:
        found = shutil.which("initdb") or max(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")), default="")
        if not found:
            sys.exit("PostgreSQL is not installed here: install it, or name a server by its URL")
        self._programs, self._folder, self._data = Path(found).parent, folder, folder / "data"
        folder.chmod(0o777)
        self._ended = 0.0
        self._run("initdb", "-U", "arena", "--auth=trust", "-E", "UTF8")
        self.url = f"postgresql://arena@/postgres?host={folder}"
        self.start()

    def start(self) -> None:
        self._run("pg_ctl", "-w", "-l", str(self._folder / "log"), "-o", f"-k {self._folder} -h ''", "start")

    def restart(self) -> None:
        """As after kill -9 of all its processes: no file is closed, and the log is replayed."""
        self._ended = self.used()
        self._run("pg_ctl", "-m", "immediate", "-w", "stop")
        self.start()

    def stop(self) -> None:
        self._run("pg_ctl", "-m", "fast", "stop")

    def used(self) -> float:
        """Processor seconds so far."""
        return self._ended + processor_seconds(int((self._data / "postmaster.pid").read_text().split()[0]))

    def set_full(self, is_full: bool) -> None:
        """Let every new view and vote fail with PostgreSQL's own error of a full disk, or end that."""
        import psycopg

        fail = "BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                f"CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger AS $$ {fail} $$ LANGUAGE plpgsql"
            )
            for table in ("views", "votes"):
                connection.execute(f"DROP TRIGGER IF EXISTS full_disk ON {table}")
                if is_full:
                    call = "FOR EACH ROW EXECUTE FUNCTION full_disk()"
                    connection.execute(f"CREATE TRIGGER full_disk BEFORE INSERT ON {table} {call}")

    def _run(self, program: str, *arguments: str) -> None:
        prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*prefix, str(self._programs / program), "-D", str(self._data), *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd="/")


@contextmanager
def postgresql(folder: Path) -> Iterator[Postgres]:
    server = Postgres(folder)
    try:
        yield server
    finally:
        server.stop()

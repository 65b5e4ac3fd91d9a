"""Databases to test the arena on: SQLite in a file, and a PostgreSQL server that lives as long as the tests."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi.arena.audio.measure import SoundMeasurement, measure
from cmi.arena.audio.sounds import register_all
from cmi.arena.store import people
from cmi.arena.store.database import Database, open_database
from cmi.arena.store.pairs import NewPair, add_all
from cmi.arena.store.projects import Project, create

RATE = 8_000


def postgres_programs() -> Path | None:
    """The folder with initdb and pg_ctl, or None: on PATH, or where Debian puts them."""
    if found := shutil.which("pg_ctl"):
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    return folders[-1].parent if folders else None


@dataclass
class PostgresServer:
    """A throw-away server on a Unix socket."""

    url: str
    _run: Callable[..., None]
    _start: tuple[object, ...]
    _crash: tuple[object, ...]

    def start(self) -> None:
        self._run(*self._start)

    def crash(self) -> None:
        """End it at once: what it had not written to disk is lost."""
        self._run(*self._crash)


@contextmanager
def run_postgres(*more_settings: str) -> Iterator[PostgresServer]:
    """Skips the test where PostgreSQL is not installed."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server here: apt-get install postgresql")
    as_user: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        try:
            owner = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # short: a socket's path has 107 characters at most
    if as_user:
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    data, log = folder / "data", folder / "log"

    def run(*command: object) -> None:
        subprocess.run([*as_user, *map(str, command)], check=True, capture_output=True, cwd=folder, timeout=120)

    settings = " ".join(["-c max_connections=200", *more_settings])
    server = PostgresServer(
        f"postgresql://arena@/postgres?host={folder}",
        run,
        (
            programs / "pg_ctl",
            "-D",
            data,
            "-l",
            log,
            "-o",
            f"-k {folder} -c listen_addresses='' {settings}",
            "-w",
            "start",
        ),
        (programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"),
    )
    try:
        run(programs / "initdb", "-D", data, "-U", "arena", "-A", "trust", "-E", "UTF8", "--no-sync")
        server.start()
        try:
            yield server
        finally:
            server.crash()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a server that all tests share."""
    with run_postgres() as server:
        yield server.url


@pytest.fixture
def lazy_postgres() -> Iterator[PostgresServer]:
    """A server that writes to disk what it must, and all else seconds later; it can be crashed and started again."""
    with run_postgres("-c wal_writer_delay=10s", "-c wal_writer_flush_after=1GB") as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """The URL of an empty database."""
    import psycopg

    name = "arena_" + os.urandom(6).hex()
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return postgres_server.replace("/postgres?", f"/{name}?")


@pytest.fixture
def sqlite_database(tmp_path: Path) -> Iterator[Database]:
    database = open_database(str(tmp_path / "arena.sqlite3"))
    yield database
    database.close()


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[Database]:
    database = open_database(postgres_url)
    yield database
    database.close()


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Database:
    """Each test that asks for it runs on both."""
    return request.getfixturevalue(f"{request.param}_database")


def write_tone(
    path: Path, seconds: float = 1.0, frequency: float = 440.0, level: float = 0.1, channels: int = 1
) -> Path:
    moments = np.arange(round(seconds * RATE)) / RATE
    sound = level * np.sin(2 * np.pi * frequency * moments)
    soundfile.write(path, np.repeat(sound[:, None], channels, axis=1).astype(np.float32), RATE)
    return path


def make_study(
    database: Database,
    pairs: int = 10,
    gold: int = 0,
    modalities: int = 1,
    folder: Path | None = None,
    **settings: object,
) -> Project:
    project = create(database, "A study", {"heard_share": 0.0, **settings})
    with database.writing() as connection:
        names = [f"{number}{side}" for number in range(pairs) for side in "abr"]
        known = [SoundMeasurement(name, 10.0, 44_100, 2, -20.0, -3.0, [0.5, 1.0], "audio/flac") for name in names]
        files = [(Path(f"/sounds/{one.digest}"), one) for one in known]
        if folder is not None:
            paths = [write_tone(folder / f"{name}.wav", 0.1, 100 + 5 * place) for place, name in enumerate(names)]
            files = [(path, measure(path)) for path in paths]
        ids = register_all(connection, project.id, files)
        new = [
            NewPair(
                source_id=f"p{number}",
                text=f"text {number}",
                a=ids[3 * number],
                b=ids[3 * number + 1],
                lyrics="la la" if number % modalities in (1, 3) else "",
                reference=ids[3 * number + 2] if number % modalities in (2, 3) else None,
                system_a="one",
                system_b="two",
                gold={"musicality": "a", "alignment": "b"} if number < gold else None,
                about={"split": "test"},
            )
            for number in range(pairs)
        ]
        add_all(connection, project.id, project.settings, new)
    return project


def join_study(database: Database, project: Project, count: int = 1) -> list[str]:
    made = people.invite(database, project.id, "annotator", days=1, count=count)
    return [people.join(database, invite.token, None, consented=True).person for invite in made]


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.time = 1_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tone() -> Callable[..., Path]:
    """Writes a file with a sine in it: tone(path, seconds, frequency, level, channels)."""
    return write_tone


@pytest.fixture
def new_study() -> Callable[..., Project]:
    """Makes a project: new_study(database, pairs, gold, modalities, folder, **settings).

    Its sounds are nowhere on disk, unless a folder for them is given: a server needs them.
    Nothing has to be heard unless the settings say so.
    """
    return make_study


@pytest.fixture
def new_people() -> Callable[..., list[str]]:
    """People who have joined as annotators: new_people(database, project, count)."""
    return join_study

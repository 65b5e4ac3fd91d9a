"""The arena under load: annotators who all vote at once, against SQLite or PostgreSQL, and a server that is killed.

    python benchmarks/arena.py [--database sqlite|postgresql|URL] [--processes 1] [--annotators 200] [--seconds 60]
                               [--think 1] [--votes N] [--kill-every S] [--fill-disk] [--source FOLDER]

Each annotator has an address of their own (127.0.0.x), asks for the next pair, begins it and votes, with a pause of
about --think seconds after each of the three: by default a vote every three seconds from each, far more than people
who listen could give. One vote in twenty is sent twice, as a double click would. The server runs in processes of its
own with its default limits, and with --source from another checkout. At the end the votes that were acknowledged are
compared with the rows in the database.

With --kill-every the server is killed with `kill -9` every S seconds and started again, and so is PostgreSQL. With
--fill-disk no file of the server may grow (RLIMIT_FSIZE) from a quarter of --votes on, until as many requests as there
are annotators were refused. On PostgreSQL every new view and vote then fails with the error of a full disk, because a
limit on its own files would end it. What was refused or got no answer is sent again, as the page does. Every
acknowledged vote must be there, none twice. --votes ends the run when so many were acknowledged; --seconds, which ends
it at the latest, must then be long enough for a machine on which the server takes seconds to start.

Beside the latencies stand the processor time that the server, and PostgreSQL, used for each vote, and what the database
alone does: one row of a vote's size a transaction, on disk each time. `postgresql` starts a cluster of its own in a
temporary folder, with PostgreSQL's default settings.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from arena_servers import Postgres, Server, postgresql
from rich.console import Console
from sqlalchemy import text

from cmi.arena.audio import sounds
from cmi.arena.audio.measure import measure
from cmi.arena.store import pairs, people, projects
from cmi.arena.store.database import Database, open_database
from cmi.report.tables import Table, print_tables

DOUBLE_CLICKS = 0.05
STEPS = ("next", "begin", "vote")
WRONG = ("lost", "twice for a view", "twice for a person and pair", "more than a pair wants", "two names for one vote")
RAW_SECONDS = 3.0
TRIES = 1000
SYSTEMS = [f"system {number}" for number in range(8)]
SETTINGS = {"heard_share": 0.0, "overlap_share": 1.0, "overlap_votes": 10, "gold_share": 0.0, "repeat_share": 0.05}


class Gone(Exception):
    """The server did not answer."""


class Forgotten(Exception):
    """The server does not know the page: it was shown just before PostgreSQL was killed, and not begun."""


class Unwritten(Gone):
    """The server answered that it could not write."""


class Browser:
    """One connection at a time to the server, from an address of our own."""

    def __init__(self, port: int, number: int) -> None:
        self._port = port
        self._address = f"127.0.{1 + number // 250}.{1 + number % 250}"
        self._stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.cookie = ""
        self.csrf = ""

    async def request(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """The answer's JSON; Gone if there is none, RuntimeError if it is not a success."""
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nOrigin: http://127.0.0.1:{self._port}\r\n"
            f"Cookie: {self.cookie}\r\nX-CSRF-Token: {self.csrf}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        try:
            if self._stream is None:
                self._stream = await asyncio.open_connection("127.0.0.1", self._port, local_addr=(self._address, 0))
            reader, writer = self._stream
            writer.write(head.encode() + content)
            await writer.drain()
            headers = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            fields = dict(line.lower().split(": ", 1) for line in headers[1:] if line)
            answer = await reader.readexactly(int(fields["content-length"]))
        except (OSError, asyncio.IncompleteReadError) as error:
            self.close()
            raise Gone from error
        status = int(headers[0].split()[1])
        if status == 503:
            raise Unwritten
        if status == 404 and path.endswith("/begin"):
            raise Forgotten
        if not 200 <= status < 300:
            raise RuntimeError(f"{method} {path}: {headers[0]} {answer.decode()}")
        for line in headers:
            if line.lower().startswith("set-cookie: "):
                self.cookie = line.split(": ", 1)[1].split(";")[0]
        return dict(json.loads(answer))

    def close(self) -> None:
        if self._stream is not None:
            self._stream[1].close()
            self._stream = None


@dataclass
class Outcome:
    """What the annotators saw."""

    latencies: dict[str, list[float]] = field(default_factory=lambda: {step: [] for step in STEPS})
    acknowledged: dict[str, str] = field(default_factory=dict)  # view -> vote
    doubled: int = 0
    sent_again: int = 0
    disagreeing: int = 0  # answers that name another vote for the same view
    finished: int = 0  # annotators for whom nothing was left
    seconds: float = 0.0
    processor_seconds: float = 0.0  # of the server
    database_seconds: float = 0.0  # of processor, of PostgreSQL
    kills: int = 0
    refusals: int = 0  # because the disk was full or the database was down

    async def timed(self, step: str, browser: Browser, method: str, path: str, body: Any = None) -> dict[str, Any]:
        begin = time.perf_counter()
        answer = await browser.request(method, path, body)
        self.latencies[step].append(time.perf_counter() - begin)
        return answer

    def keep(self, view: str, vote: str) -> None:
        self.disagreeing += self.acknowledged.setdefault(view, vote) != vote


async def persist(outcome: Outcome, step: str, browser: Browser, method: str, path: str, body: Any = None) -> Any:
    """Ask until there is an answer, as the page does when the connection is lost."""
    for _ in range(TRIES):
        try:
            return await outcome.timed(step, browser, method, path, body)
        except Gone as error:
            outcome.sent_again += 1
            outcome.refusals += isinstance(error, Unwritten)
            await asyncio.sleep(random.uniform(0.1, 0.5))
    raise RuntimeError(f"no answer to {method} {path} after {TRIES} tries")


async def annotate(browser: Browser, outcome: Outcome, until: float, think: float, most: int) -> None:
    chance = random.Random(browser.csrf)

    async def pause() -> None:
        await asyncio.sleep(think * chance.uniform(0.5, 1.5))

    await asyncio.sleep(think * chance.uniform(0, 3))  # they do not all begin in the same instant
    while time.perf_counter() < until and len(outcome.acknowledged) < most:
        shown = await persist(outcome, "next", browser, "GET", "/api/next")
        if "done" in shown:
            outcome.finished += 1
            return
        view = shown["view"]
        await pause()
        try:
            await persist(outcome, "begin", browser, "POST", f"/api/views/{view}/begin")
        except Forgotten:
            continue
        await pause()
        ballot = {
            "alignment": {"choice": chance.choice("ab"), "confidence": chance.randint(1, 5)},
            "musicality": {"choice": chance.choice("ab"), "confidence": chance.randint(1, 5)},
            "feedback": "The bass is muddy at 0:20, and the voice slurs its words.",
            "heard": {"a": 1.0, "b": 1.0},
        }
        for _ in range(2 if chance.random() < DOUBLE_CLICKS else 1):
            answer = await persist(outcome, "vote", browser, "POST", f"/api/views/{view}/vote", ballot)
            outcome.doubled += answer["again"]
            outcome.keep(view, answer["vote"])
        await pause()


async def join_all(tokens: list[str], port: int) -> list[Browser]:
    browsers = []
    for number, token in enumerate(tokens):
        browser = Browser(port, number)
        browser.csrf = (await browser.request("POST", "/api/join", {"token": token, "consent": True}))["csrf"]
        browsers.append(browser)
    return browsers


async def drive(tokens: list[str], server: Server, arguments: argparse.Namespace) -> Outcome:
    browsers = await join_all(tokens, server.port)
    outcome = Outcome()
    seconds, begin = arguments.seconds, time.perf_counter()
    before = server.used()
    voting = [
        asyncio.create_task(annotate(browser, outcome, begin + seconds, arguments.think, arguments.votes or 10**9))
        for browser in browsers
    ]

    async def kill() -> None:
        while arguments.kill_every:
            await asyncio.sleep(arguments.kill_every)
            await asyncio.to_thread(server.restart)
            outcome.kills += 1

    async def fill() -> None:
        while arguments.fill_disk and len(outcome.acknowledged) < (arguments.votes or 1000) / 4:
            await asyncio.sleep(0.1)
        if arguments.fill_disk:
            await asyncio.to_thread(server.set_full, True)
            while outcome.refusals < arguments.annotators:
                await asyncio.sleep(0.1)
            await asyncio.to_thread(server.set_full, False)

    others = [asyncio.create_task(work()) for work in (kill, fill)]
    try:
        await asyncio.gather(*voting)
    finally:
        for other in others:
            other.cancel()
    outcome.seconds = time.perf_counter() - begin
    used = server.used()
    outcome.processor_seconds, outcome.database_seconds = (b - a for a, b in zip(before, used, strict=True))
    for browser in browsers:
        browser.close()
    for other in others:
        if other.done() and not other.cancelled() and other.exception():
            raise RuntimeError("the disturbances failed") from other.exception()
    return outcome


def prepare(
    database: Database, folder: Path, annotators: int, seconds: float, votes: int | None = None
) -> tuple[str, list[str]]:
    """A project with as many pairs as the annotators could vote on, and an invitation for each."""
    project = projects.create(database, "Load", SETTINGS)
    rows = []
    for number in range(4):
        path = folder / f"{number}.wav"
        times = np.arange(24_000) / 8000
        soundfile.write(path, 0.3 * np.sin(2 * np.pi * (200 + 50 * number) * times), 8000)
        rows.append((path, measure(path)))
    most = annotators * seconds if votes is None else 4 * votes
    wanted = int(max(most / SETTINGS["overlap_votes"], most / annotators)) + annotators
    with database.writing() as connection:
        ids = [sounds.register(connection, project.id, path, measured) for path, measured in rows]
        new = [_pair(number, *random.sample(ids, 2)) for number in range(wanted)]
        pairs.add_all(connection, project.id, project.settings, new)
    return project.id, [
        invite.token for invite in people.invite(database, project.id, "annotator", 1, count=annotators)
    ]


def _pair(number: int, a: str, b: str) -> pairs.NewPair:
    system_a, system_b = random.sample(SYSTEMS, 2)
    lyrics = "la la la " * 20 if number % 2 else ""
    words = f"a slow song, number {number}"
    return pairs.NewPair(f"{number}", words, a, b, lyrics, system_a=system_a, system_b=system_b)


def raw_rate(database: Database) -> float:
    """Rows of a vote's size that one client commits to the database in a second, each on disk before the next."""
    with database.writing() as connection:
        connection.execute(text("CREATE TABLE raw_rate (id VARCHAR(32) PRIMARY KEY, content TEXT)"))
    row = text("INSERT INTO raw_rate VALUES (:id, :content)")
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < RAW_SECONDS:
        with database.writing() as connection:
            connection.execute(row, {"id": f"{count}", "content": 400 * "x"})
        count += 1
    rate = count / (time.perf_counter() - begin)
    with database.writing() as connection:
        connection.execute(text("DROP TABLE raw_rate"))
    return rate


def check(database: Database, project: str, outcome: Outcome) -> dict[str, int]:
    """What is wrong with the rows, counted."""
    with database.reading() as connection:
        rows = connection.execute(
            text("SELECT id, view, person, pair FROM votes WHERE project = :p"), {"p": project}
        ).all()
        repeats = set(connection.scalars(text("SELECT key FROM views WHERE repeat_of IS NOT NULL")))
        wanted = {row.id: row.wanted for row in connection.execute(text("SELECT id, wanted FROM pairs"))}
    stored = {row.id for row in rows}
    first = [row for row in rows if row.view not in repeats]
    given = Counter(row.pair for row in first)
    return {
        "rows": len(rows),
        "acknowledged": len(outcome.acknowledged),
        "lost": len(set(outcome.acknowledged.values()) - stored),
        "never acknowledged": len(stored - set(outcome.acknowledged.values())),
        "twice for a view": sum(count - 1 for count in Counter(row.view for row in rows).values()),
        "twice for a person and pair": sum(n - 1 for n in Counter((row.person, row.pair) for row in first).values()),
        "more than a pair wants": sum(max(0, n - wanted[pair]) for pair, n in given.items()),
        "two names for one vote": outcome.disagreeing,
    }


def run(url: str, folder: Path, arguments: argparse.Namespace, postgres: Postgres | None) -> tuple[list[Table], bool]:
    database = open_database(url)
    raw = raw_rate(database)
    project, tokens = prepare(database, folder, arguments.annotators, arguments.seconds, arguments.votes)
    database.close()
    server = Server(url, folder, arguments, postgres)
    server.start()
    server.wait()
    try:
        outcome = asyncio.run(drive(tokens, server, arguments))
    finally:
        server.stop()
    database = open_database(url)
    found = check(database, project, outcome)
    database.close()

    latencies = [
        [step, f"{len(times):,}", *(f"{1000 * np.percentile(times, share):.0f}" for share in (50, 95, 99, 100))]
        for step, times in outcome.latencies.items()
    ]
    votes = max(1, found["rows"])
    facts = [
        ["votes per second", f"{votes / outcome.seconds:.0f}"],
        ["rows a second that the database alone commits", f"{raw:,.0f}"],
        ["processor ms of the server per vote", f"{1000 * outcome.processor_seconds / votes:.2f}"],
        ["processor ms of PostgreSQL per vote", f"{1000 * outcome.database_seconds / votes:.2f}"],
        ["load average at the end", f"{os.getloadavg()[0]:.1f}"],
        ["double clicks", f"{outcome.doubled:,}"],
        ["kill -9", f"{outcome.kills}"],
        ["sent again for want of an answer, or refused", f"{outcome.sent_again:,}"],
        ["of these refused because nothing could be written", f"{outcome.refusals:,}"],
        ["annotators with nothing left", f"{outcome.finished}"],
        *([name, f"{count:,}"] for name, count in found.items()),
    ]
    title = f"{arguments.annotators} annotators for {outcome.seconds:.0f} s, {arguments.think:g} s after each request"
    headers = ("request", "n", "p50 ms", "p95 ms", "p99 ms", "slowest")
    tables = [Table(title, headers, latencies, labels=1), Table("votes", ("what", "n"), facts, labels=1)]
    return tables, not any(found[name] for name in WRONG)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default="sqlite", help="sqlite, postgresql (a cluster of its own), or a URL")
    parser.add_argument("--processes", type=int, default=1, help="of the server")
    parser.add_argument("--annotators", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--think", type=float, default=1.0, help="seconds after each request, on average")
    parser.add_argument("--votes", type=int, help="end when so many were acknowledged")
    parser.add_argument("--kill-every", type=float, help="kill -9 the server, and PostgreSQL, every so many seconds")
    parser.add_argument("--fill-disk", action="store_true", help="let the disk be full for a while")
    parser.add_argument("--folder", type=Path, help="where to put the database: the disk that is measured")
    parser.add_argument("--source", type=Path, help="a checkout whose server is measured")
    arguments = parser.parse_args()
    random.seed(0)
    with tempfile.TemporaryDirectory(prefix="arena-benchmark-", dir=arguments.folder) as name:
        folder = Path(name)
        if arguments.database == "postgresql":
            with postgresql(folder) as postgres:
                tables, right = run(postgres.url, folder, arguments, postgres)
        else:
            url = str(folder / "arena.db") if arguments.database == "sqlite" else arguments.database
            tables, right = run(url, folder, arguments, None)
    print_tables(tables, Console())
    if not right:
        sys.exit("votes were lost or counted twice")


if __name__ == "__main__":
    main()

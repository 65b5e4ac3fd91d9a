"""A server of several processes: what one of them learns holds for all, and none outlives the server."""

import os
import re
import signal
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from cmi._util.errors import InputError
from cmi.arena.store import people
from cmi.arena.store.database import open_database
from cmi.arena.web.limits import Limits
from cmi.arena.web.serve import serve

PATIENCE = 300.0  # seconds
BURST = int(Limits().sign_in.burst)


def children(process: int) -> set[int]:
    return set(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


def servers(process: int) -> set[int]:
    """Its server processes, without the one that multiprocessing keeps for itself."""
    found = {child: Path(f"/proc/{child}/cmdline").read_bytes() for child in children(process)}
    return {child for child, command in found.items() if b"spawn_main" in command}


@contextmanager
def connections(url: str, count: int, **more):
    """Clients with a connection of their own each, which any of the processes may have accepted."""
    with ExitStack() as opened:
        yield [
            opened.enter_context(httpx.Client(base_url=url, headers={"origin": url}, timeout=PATIENCE, **more))
            for _ in range(count)
        ]


def test_sessions_and_rates_hold_across_processes_and_a_killed_one_is_replaced(postgres_url, running, new_study):
    database = open_database(postgres_url)
    project = new_study(database)
    [invite] = people.invite(database, project.id, "annotator", days=1)
    database.close()
    with running(postgres_url, processes=2) as process:
        line = next(line for line in process.stdout if "The arena is open at" in line)
        url = re.search(r"http://\S+", line)[0]
        with connections(url, 1) as [client]:
            joined = client.post("/api/join", json={"token": invite.token, "consent": True})
            cookies, token = dict(client.cookies), {"x-csrf-token": joined.json()["csrf"]}
        with connections(url, 12, cookies=cookies) as everyone:
            assert {one.get("/api/me").status_code for one in everyone} == {200}
            assert everyone[0].post("/api/sign-out", headers=token).status_code == 200
            assert {one.get("/api/me").status_code for one in everyone} == {401}

        with connections(url, 12) as everyone:
            begin = time.monotonic()
            tried = [everyone[n % 12].post("/api/invite", json={"token": "x" * 20}).status_code for n in range(90)]
            passed = time.monotonic() - begin
            assert tried.count(409) <= BURST - 1 + passed * Limits().sign_in.rate + 1
            assert set(tried) == {409, 429} or passed > 30, "only a very slow machine gets all of them through"

        while len(before := servers(process.pid)) < 2:  # on a busy machine the second one starts late
            time.sleep(0.1)
        victim = before.pop()
        os.kill(victim, signal.SIGKILL)
        while len(now := servers(process.pid)) < 2 or victim in now:
            time.sleep(0.1)
        assert httpx.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200
        process.kill()  # not even time to say goodbye
        while any(Path(f"/proc/{child}").exists() for child in now):
            time.sleep(0.1)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/healthz", timeout=PATIENCE)


def test_several_processes_stop_cleanly(postgres_url, running):
    with running(postgres_url, processes=2) as process:
        assert "Own 'First study'" in process.stdout.readline()
        url = re.search(r"http://\S+", process.stdout.readline())[0]
        assert httpx.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200
        process.send_signal(signal.SIGTERM)
        said, logged = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, logged
    assert "The arena is closed." in said and "Traceback" not in logged


def test_sqlite_is_served_by_one_process(tmp_path):
    with pytest.raises(InputError, match=r"2: SQLite allows one writer .*; use --db postgresql://") as refused:
        serve(str(tmp_path / "arena.db"), processes=2)
    assert "\n" not in str(refused.value) and list(tmp_path.iterdir()) == []

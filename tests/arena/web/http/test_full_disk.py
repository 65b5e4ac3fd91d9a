"""A full disk: the server says so, goes on, and has acknowledged nothing that is not there."""

import errno
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest
import soundfile
from sqlalchemy import Engine, event

from cmi.arena.store import people, projects
from cmi.arena.store.database import Database, open_database
from cmi.arena.store.votes import counted
from cmi.arena.web import uploads

SENTENCE = "The server's disk is full, so this was not saved. Send it again when there is space."


def fill(database: Database) -> list[int]:
    """Let the database grow no further until the list that is returned is emptied."""
    with database.reading() as connection:
        room = [connection.exec_driver_sql("PRAGMA page_count").scalar()]

    @event.listens_for(Engine, "begin")  # the server has several for the same file
    def limit(connection) -> None:
        if connection.engine.url == database.engine.url:
            most = room[0] if room else 2**30
            connection.exec_driver_sql(f"PRAGMA max_page_count = {most}")

    return room


def test_a_vote_that_finds_no_room_is_refused_and_can_be_sent_again(annotator, study, database):
    view = annotator.begun()
    full, words = fill(database), "x" * 4000
    for _ in range(3):
        answer = annotator.vote(view, feedback=words)
        if answer.status_code != 200:
            break
        words += "y"
        view = annotator.begun()
    assert (answer.status_code, answer.json()) == (503, {"code": "full", "message": SENTENCE})
    before = list(counted(database, study.id))
    assert all(vote.view != view for vote in before)
    assert annotator.get("/api/me").status_code == 200, "it still answers"
    full.clear()
    assert annotator.vote(view, feedback=words[:4000]).json()["saved"]
    assert len(list(counted(database, study.id))) == len(before) + 1


@pytest.mark.parametrize("step", ["_copy", "keep"])
def test_an_upload_that_finds_no_room_leaves_nothing(owner, settings, tmp_path: Path, monkeypatch, step: str):
    soundfile.write(tmp_path / "take.wav", 0.1 * np.sin(np.arange(4000)), 8000)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "somewhere")

    with monkeypatch.context() as patched:
        if step == "_copy":
            patched.setattr(uploads.shutil, "copyfileobj", lambda _, file: write_to_a_full_disk())
        else:
            patched.setattr(uploads, "move_into_place", full)
        answer = owner.post("/api/owner/sounds", files={"file": (tmp_path / "take.wav").read_bytes()})
    assert (answer.status_code, answer.json()) == (503, {"code": "full", "message": SENTENCE})
    assert list(settings.folder.iterdir()) == []
    assert owner.post("/api/owner/sounds", files={"file": (tmp_path / "take.wav").read_bytes()}).status_code == 201


def write_to_a_full_disk() -> None:
    with Path("/dev/full").open("wb") as file:
        file.write(b"x")


def test_a_server_whose_disk_takes_no_more_goes_on_and_loses_no_acknowledged_vote(tmp_path: Path, new_study):
    """A real process and its real files, with a limit on their size in place of a full disk."""
    db = tmp_path / "study.sqlite3"
    database = open_database(str(db))
    project = new_study(database, 60, folder=tmp_path, overlap_share=0.0, repeat_share=0.0, gold_share=0.0)
    [made] = people.invite(database, project.id, "annotator", days=1)
    database.close()
    code = f"from cmi.arena.web.serve import serve; serve({str(db)!r}, port=0)"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", code], text=True, **pipes) as process:
        try:
            line = next(line for line in process.stdout if "The arena is open at" in line)
            url = re.search(r"http://\S+", line)[0]
            with httpx.Client(base_url=url, headers={"origin": url}, timeout=60) as client:
                joined = client.post("/api/join", json={"token": made.token, "consent": True})
                client.headers["x-csrf-token"] = joined.json()["csrf"]
                acknowledged = vote_until_refused(client, process.pid, db)
        finally:
            process.kill()
    database = open_database(str(db))
    [found] = projects.list_all(database)
    assert {vote.view for vote in counted(database, found.id)} == acknowledged
    database.close()


def vote_until_refused(client: httpx.Client, server: int, db: Path) -> set[str]:
    answer = {"choice": "a", "confidence": 3}
    body = {"alignment": answer, "musicality": answer, "feedback": "x" * 3000, "heard": {"a": 9.0, "b": 9.0}}
    acknowledged: set[str] = set()
    _, hard = resource.prlimit(server, resource.RLIMIT_FSIZE)
    room = db.with_name(db.name + "-wal").stat().st_size + 200_000
    resource.prlimit(server, resource.RLIMIT_FSIZE, (room, hard))
    refused = 0
    for _ in range(60):
        given = client.get("/api/next")
        if given.status_code != 200:
            refused += 1
            break
        view = given.json()["view"]
        begun = client.post(f"/api/views/{view}/begin")
        voted = client.post(f"/api/views/{view}/vote", json=body)
        assert {begun.status_code, voted.status_code} <= {200, 503} or begun.status_code == 503
        if voted.status_code == 200:
            acknowledged.add(view)
        else:
            refused += 1
            break
    assert refused and acknowledged
    resource.prlimit(server, resource.RLIMIT_FSIZE, (hard, hard))
    view = client.get("/api/next").json()["view"]
    client.post(f"/api/views/{view}/begin").raise_for_status()
    client.post(f"/api/views/{view}/vote", json=body).raise_for_status()
    return acknowledged | {view}

"""A data set comes from a hub on this machine, with the hub's own client and `cmi data` as a user runs it."""

import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest


class HubHandler(BaseHTTPRequestHandler):
    """The few requests that downloading a data set needs."""

    protocol_version = "HTTP/1.1"
    server: "Hub"

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.server.requests.append(f"{self.command} {path}")
        status, headers, body = self.result(path)
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if path.endswith(".parquet") and self.server.cuts:
            self.server.cuts -= 1
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            return
        self.wfile.write(body)

    def result(self, path: str) -> tuple[int, dict[str, str], bytes]:
        files, sha = self.server.repository, "a" * 40
        if self.server.is_gated:
            return 403, {"X-Error-Code": "GatedRepo"}, b"{}"
        if path.startswith("/api/datasets/BAAI/MusicEval/tree/"):
            listed = [
                {"type": "file", "path": name, "size": len(each), "oid": git(each)} for name, each in files.items()
            ]
            return 200, {"Content-Type": "application/json"}, json.dumps(listed).encode()
        if path.startswith("/api/datasets/BAAI/MusicEval"):
            siblings = [{"rfilename": name, "size": len(each), "blobId": git(each)} for name, each in files.items()]
            info = {"id": "BAAI/MusicEval", "sha": sha, "siblings": siblings}
            return 200, {"Content-Type": "application/json"}, json.dumps(info).encode()
        prefix = f"/datasets/BAAI/MusicEval/resolve/{sha}/"
        if path.startswith(prefix) and path.removeprefix(prefix) in files:
            content = files[path.removeprefix(prefix)]
            begin = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").split("-")[0])
            headers = {"X-Repo-Commit": sha, "ETag": f'"{git(content)}"'}
            headers |= {"Content-Range": f"bytes {begin}-{len(content) - 1}/{len(content)}"} if begin else {}
            return (206 if begin else 200), headers, content[begin:]
        return 404, {"X-Error-Code": "RepoNotFound"}, b"{}"

    def log_message(self, *arguments) -> None:
        """Silence."""


def git(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Hub(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        table = pa.table({"audio": [{"bytes": os.urandom(10_000), "path": "S001_P002.wav"}], "overall quality": [3.5]})
        file = io.BytesIO()
        pq.write_table(table, file)
        self.repository = {
            "data/test-00000-of-00001.parquet": file.getvalue(),
            "README.md": b"# card",
            "MusicEval-full.zip": b"not wanted",
        }
        self.requests: list[str] = []
        self.cuts = 0
        self.is_gated = False


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def cmi(hub: Hub, root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`cmi data` in a process of its own: the hub's client reads its settings when it is imported."""
    ours = {"HF_ENDPOINT": hub.url, "HF_HOME": str(root / "home"), "CMI_DATA": str(root / "data"), "COLUMNS": "150"}
    environment = {**os.environ, **ours, "HF_HUB_DISABLE_XET": "1"}
    command = [sys.executable, "-m", "cmi", "data", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


def test_a_data_set_comes_from_the_hub_and_passes_its_check(hub, tmp_path):
    hub.cuts = 1
    got = cmi(hub, tmp_path, "get", "musiceval")
    assert got.returncode == 0, got.stderr
    assert "CC BY-NC 4.0" in got.stderr and "https://huggingface.co/datasets/BAAI/MusicEval" in got.stderr
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["musiceval", "musiceval.manifest.json"]
    files = {path.name for path in (tmp_path / "data/musiceval").rglob("*") if path.is_file()}
    assert {"test-00000-of-00001.parquet", "README.md", "test.jsonl"} <= files
    assert not files & {"MusicEval-full.zip", "lock", "revision"}
    assert json.loads((tmp_path / "data/musiceval.manifest.json").read_text())["revision"] == "a" * 40
    checked = cmi(hub, tmp_path, "check", "--json")
    assert checked.returncode == 0, checked.stderr
    (record,) = json.loads(checked.stdout)["datasets"]
    assert (record["kept"], record["files"], record["missing"], record["changed"]) == (1, 2, [], [])
    hub.requests.clear()
    assert cmi(hub, tmp_path, "get", "musiceval").returncode == 0
    assert hub.requests == []


def test_what_the_hub_does_not_give_is_one_sentence(hub, tmp_path):
    hub.is_gated = True
    got = cmi(hub, tmp_path, "get", "musiceval")
    assert got.returncode == 2
    assert got.stderr.startswith("cmi: musiceval is given to registered users only: accept its terms at https://")
    hub.is_gated = False
    got = cmi(hub, tmp_path, "get", "cmi-pref")
    assert got.returncode == 2
    assert (
        "the hub has no 'HaiwenXia/cmi-pref', or it is private: on a connected machine run 'hf download" in got.stderr
    )
    del hub.repository["data/test-00000-of-00001.parquet"], hub.repository["README.md"]
    got = cmi(hub, tmp_path, "get", "musiceval")
    assert "has no data/*.parquet or README.md any more" in got.stderr
    assert not (tmp_path / "data/musiceval").exists()

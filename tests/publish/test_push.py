"""A published folder goes to a hub on this machine, with the hub's own client, in the command as a user runs it."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.slow
NAME = "me/two-songs"


class UploadHandler(BaseHTTPRequestHandler):
    """The few requests that uploading a data set needs; large files go to a storage, by their hash."""

    protocol_version = "HTTP/1.1"
    server: "UploadHub"

    def answer(self) -> None:
        body = self.read_body()
        path = urlsplit(self.path).path
        self.server.requests.append(f"{self.command} {path}")
        status, said = self.result(path, body)
        content = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = answer

    def read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        found = b""
        while size := int(self.rfile.readline(), 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return found

    def result(self, path: str, body: bytes) -> tuple[int, object]:
        hub = self.server
        if self.headers.get("Authorization") != "Bearer hf_ours" and path.startswith("/api/repos"):
            return 401, {"error": "Invalid credentials"}
        if hub.is_private is None and path.startswith("/api/datasets"):
            return 404, {"error": "Repository not found"}
        match path.removeprefix(f"/api/datasets/{NAME}").removeprefix(f"/datasets/{NAME}.git"):
            case "/api/repos/create":
                return self.create(json.loads(body))
            case "/api/validate-yaml":
                return 200, {"warnings": [], "errors": []}
            case "" | "/revision/main":
                files = [{"rfilename": name} for name in hub.files]
                return 200, {"id": NAME, "sha": "a" * 40, "private": hub.is_private, "siblings": files}
            case listing if listing.startswith("/tree/"):
                files = [
                    {"type": "file", "path": name, "size": len(one), "oid": "1"} for name, one in hub.files.items()
                ]
                return 200, files
            case "/preupload/main":
                names = [file["path"] for file in json.loads(body)["files"]]
                modes = {name: "lfs" if name.endswith(".parquet") else "regular" for name in names}
                return 200, {"files": [{"path": n, "uploadMode": m, "shouldIgnore": False} for n, m in modes.items()]}
            case "/info/lfs/objects/batch":
                return 200, {"transfer": "basic", "objects": [self.action(one) for one in json.loads(body)["objects"]]}
            case stored if stored.startswith("/store/"):
                hub.store[stored.removeprefix("/store/")] = body
                return 200, {}
            case "/commit/main":
                return self.commit([json.loads(line) for line in body.splitlines()])
        return 404, {"error": "not found"}

    def create(self, asked: dict) -> tuple[int, object]:
        address = {"url": f"{self.server.url}/datasets/{NAME}"}
        if self.server.is_private is not None:
            return 409, {**address, "error": "You already created this dataset repo"}
        self.server.is_private = asked.get("visibility") == "private" or bool(asked.get("private"))
        return 200, address

    def action(self, asked: dict) -> dict:
        if asked["oid"] in self.server.store:
            return asked
        return {**asked, "actions": {"upload": {"href": f"{self.server.url}/store/{asked['oid']}"}}}

    def commit(self, operations: list[dict]) -> tuple[int, object]:
        for each in operations:
            value, files = each["value"], self.server.files
            if each["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif each["key"] == "lfsFile":
                files[value["path"]] = self.server.store[value["oid"]]
            elif each["key"] == "deletedFile":
                del files[value["path"]]
        self.server.commits += 1
        return 200, {"commitUrl": f"{self.server.url}/datasets/{NAME}/commit/{'b' * 40}", "commitOid": "b" * 40}

    def log_message(self, *arguments) -> None:
        """Silence."""


class UploadHub(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), UploadHandler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.is_private: bool | None = None  # None: there is no such repository
        self.files: dict[str, bytes] = {}
        self.store: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.commits = 0


@pytest.fixture
def hub() -> Iterator[UploadHub]:
    with UploadHub() as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def run(hub: UploadHub, folder: Path, *more: str, token: str = "hf_ours") -> subprocess.CompletedProcess[str]:
    ours = {"HF_ENDPOINT": hub.url, "HF_HOME": str(folder / "home"), "HF_TOKEN": token, "HF_HUB_DISABLE_XET": "1"}
    command = [sys.executable, "-m", "cmi", "data", "publish", "set", "out", "--terms", "reference=CC0 1.0"]
    command += ["--contact", "data@example.org", "--push", NAME, "-q", *more]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**os.environ, **ours}, timeout=120)


def test_the_folder_is_uploaded_to_a_private_repository(hub, tmp_path, votes):
    done = run(hub, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"{hub.url}/datasets/{NAME}"
    assert hub.is_private is True
    files = {path.relative_to(tmp_path / "out").as_posix(): path for path in (tmp_path / "out").rglob("*.*")}
    files["SHA256SUMS"] = tmp_path / "out/SHA256SUMS"
    uploaded = {name: content for name, content in hub.files.items() if name != ".gitattributes"}
    assert uploaded == {name: path.read_bytes() for name, path in files.items()}


def test_files_of_an_earlier_version_are_removed_and_stored_ones_not_sent_again(hub, tmp_path, votes):
    assert run(hub, tmp_path).returncode == 0
    hub.files["data/train-00000-of-00009.parquet"] = b"old"
    hub.files["notes.txt"] = b"theirs"
    hub.requests.clear()
    again = run(hub, tmp_path)
    assert again.returncode == 0, again.stderr
    assert not [request for request in hub.requests if request.startswith("PUT")]
    assert "data/train-00000-of-00009.parquet" not in hub.files and "notes.txt" in hub.files


def test_a_public_repository_needs_a_word(hub, tmp_path, votes):
    hub.is_private = False
    refused = run(hub, tmp_path)
    assert refused.returncode == 2 and hub.commits == 0
    assert (
        refused.stderr.strip() == f"cmi: {NAME} is public on the hub: add --public to upload there, or choose another"
    )
    assert run(hub, tmp_path, "--public").returncode == 0
    assert "README.md" in hub.files


def test_who_may_not_write_there_reads_one_sentence(hub, tmp_path, votes):
    refused = run(hub, tmp_path, token="hf_other")
    assert refused.returncode == 2
    assert "log in with 'hf auth login'" in refused.stderr and len(refused.stderr.strip().splitlines()) == 1
    assert (tmp_path / "out/README.md").exists()

"""Data sets are downloaded from servers on this machine, with all that can go wrong on the way."""

import dataclasses
import hashlib
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest

from cmi._util import fetch
from cmi._util.errors import InputError
from cmi._util.files import locked
from cmi.rewardbench.data import DataSet, data_sets, download

CONTENT = bytes(range(256)) * 4000  # 1 MB


class Handler(BaseHTTPRequestHandler):
    """Gives files with ranges, and misbehaves as the server's `faults` say, one for each GET."""

    server: "Server"

    def do_HEAD(self) -> None:
        self.answer(send_body=False)

    def do_GET(self) -> None:
        self.answer(send_body=True)

    def answer(self, send_body: bool) -> None:
        path = urlsplit(self.path).path
        if send_body:
            self.server.ranges.append(self.headers.get("Range"))
        fault = self.server.faults.pop(0) if send_body and self.server.faults else ""
        content = self.server.files.get(path)
        if content is None or fault.isdigit():
            self.send_error(int(fault or 404))
            return
        etag = f'"{hashlib.sha256(content).hexdigest()[:8]}"'
        begin, status = 0, 200
        asked = self.headers.get("Range")
        if asked and fault != "no ranges" and self.headers.get("If-Range") == etag:
            begin, status = int(asked.removeprefix("bytes=").rstrip("-")), 206
        body = content[begin:]
        self.send_response(status)
        self.send_header("ETag", etag)
        if status == 206:
            first = begin + 5 if fault == "another range" else begin
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        if fault != "no length":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if send_body:
            self.wfile.write(body[: len(body) // 2] if fault == "cut" else body)

    def log_message(self, *arguments) -> None:
        """Silence."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.files: dict[str, bytes] = {}
        self.faults: list[str] = []
        self.ranges: list[str | None] = []


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        running.files["/file.bin"] = CONTENT
        Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def load(server: Server, path: Path, name: str = "file.bin") -> None:
    fetch.fetch(f"{server.url}/{name}", path, "get it yourself", wait=0)


# one file


def test_a_file_comes_whole_with_progress(server, tmp_path):
    heard: list[tuple[int, int | None]] = []
    fetch.fetch(f"{server.url}/file.bin", tmp_path / "x", "", lambda done, total: heard.append((done, total)))
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert heard[-1] == (len(CONTENT), len(CONTENT))
    assert names(tmp_path) == ["x"]
    assert fetch.length_of(f"{server.url}/file.bin", "") == len(CONTENT)


def test_cut_connections_are_resumed_where_they_were_cut(server, tmp_path):
    server.faults = ["cut", "cut", "503"]
    load(server, tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT
    half = len(CONTENT) // 2
    assert server.ranges == [None, f"bytes={half}-", f"bytes={half + half // 2}-", f"bytes={half + half // 2}-"]


def test_a_later_call_resumes_what_an_earlier_one_left(server, tmp_path):
    server.faults = ["cut", *["500"] * fetch.ATTEMPTS]
    with pytest.raises(
        InputError, match=r"file.bin: the server says 500 .*; run this again to resume, or get it yourself"
    ):
        load(server, tmp_path / "x")
    assert not (tmp_path / "x").exists()
    server.ranges.clear()
    load(server, tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert server.ranges == [f"bytes={len(CONTENT) // 2}-"]


@pytest.mark.parametrize("fault", ["no ranges", "another range"])
def test_a_server_that_does_not_resume_is_asked_for_all_of_it_again(server, tmp_path, fault):
    server.faults = ["cut", fault]
    load(server, tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT


def test_a_file_that_changed_meanwhile_is_not_mixed(server, tmp_path):
    server.faults = ["cut", *["500"] * fetch.ATTEMPTS]
    with pytest.raises(InputError):
        load(server, tmp_path / "x")
    server.files["/file.bin"] = CONTENT[::-1]
    load(server, tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT[::-1]


def test_a_file_that_always_ends_early_is_refused(server, tmp_path):
    server.faults = ["cut"] * 99
    server.files["/file.bin"] = b"12"
    with pytest.raises(InputError, match=r"file.bin: ended after 1 of 2 bytes; run this again"):
        load(server, tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_without_a_length_what_comes_is_taken(server, tmp_path):
    server.faults = ["no length"]
    load(server, tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT


def test_what_will_never_come_is_one_sentence_at_once(server, tmp_path):
    with pytest.raises(InputError, match=r"/none: the server says 404 Not Found; get it yourself"):
        load(server, tmp_path / "x", "none")
    assert server.ranges == [None]
    with pytest.raises(InputError, match="expected an address that begins with http"):
        fetch.fetch("file:///etc/passwd", tmp_path / "x", "")
    with pytest.raises(InputError, match=r"refused; by hand$"):
        fetch.length_of("http://127.0.0.1:1/x", "by hand")


# an archive


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


PAM = {
    "human_eval/music/scores.csv": b"Model,File Name,Text,OVL,REL\nreal,1,a tango,4,5\n",
    "human_eval/music/real/1.wav": b"RIFF",
    "human_eval/audio/scores.csv": b"not wanted",
}


@pytest.fixture
def pam(server) -> DataSet:
    server.files["/human_eval.zip"] = zipped(PAM)
    return dataclasses.replace(data_sets()["pam"], url=f"{server.url}/human_eval.zip?download=1")


def get(dataset: DataSet, root: Path) -> Path:
    return download.get(dataset, root, download.plan(dataset, root))


def test_an_archive_becomes_a_data_set_with_a_manifest(server, pam, tmp_path):
    assert download.plan(pam, tmp_path).size == len(server.files["/human_eval.zip"])
    folder = get(pam, tmp_path)
    assert len(list(pam.read(folder))) == 1
    assert not (folder / "human_eval/audio").exists()
    assert names(tmp_path) == ["pam", "pam.manifest.json"]
    assert names(folder) == ["human_eval"]
    manifest = json.loads((tmp_path / "pam.manifest.json").read_text())
    assert manifest["files"]["human_eval/music/real/1.wav"] == {
        "size": 4,
        "sha256": hashlib.sha256(b"RIFF").hexdigest(),
    }
    server.files.clear()
    assert download.get(pam, tmp_path, download.Plan(None)) == folder  # it is there: nothing is asked


def test_a_check_tells_missing_changed_and_unlisted_files(pam, tmp_path):
    folder = get(pam, tmp_path)
    assert download.check(pam, folder)[1:] == (False, [], [], [])
    (folder / "human_eval/music/real/1.wav").write_bytes(b"RIFX")
    (folder / "human_eval/music/scores.csv").unlink()
    (folder / "new.txt").touch()
    (folder / "prepared").mkdir()
    (folder / "prepared" / "x").touch()
    found = download.check(pam, folder)
    assert found.missing == ["human_eval/music/scores.csv"]
    assert found.changed == ["human_eval/music/real/1.wav"]
    assert found.unlisted == ["new.txt"]


def test_what_was_fetched_by_hand_is_recorded_by_its_first_check(pam, tmp_path):
    (tmp_path / "pam").mkdir()
    (tmp_path / "pam" / "x").write_text("1")
    assert download.check(pam, tmp_path / "pam").is_first
    assert not download.check(pam, tmp_path / "pam").is_first
    (tmp_path / "pam" / "x").write_text("2")
    assert download.check(pam, tmp_path / "pam").changed == ["x"]


def test_another_file_than_the_one_recorded_is_refused(server, pam, tmp_path):
    folder = get(pam, tmp_path)
    folder.rename(tmp_path / "away")
    good = server.files["/human_eval.zip"]
    server.files["/human_eval.zip"] = zipped(PAM | {"human_eval/music/real/1.wav": b"evil"})
    with pytest.raises(InputError, match=r"pam: human_eval/music/real/1.wav is not what was first downloaded \(1 f"):
        get(pam, tmp_path)
    assert not folder.exists()
    server.files["/human_eval.zip"] = good
    assert get(pam, tmp_path) == folder


def test_a_broken_manifest_is_named(pam, tmp_path):
    folder = get(pam, tmp_path)
    (tmp_path / "pam.manifest.json").write_text('{"files": []}')
    with pytest.raises(InputError, match=r"pam.manifest.json: not a manifest; remove it"):
        download.check(pam, folder)


@pytest.mark.parametrize("name", ["../x", "human_eval/music/../../../x", "/tmp/x", "a\\..\\..\\x", "C:x"])
def test_an_archive_that_would_write_elsewhere_is_refused_whole(server, pam, tmp_path, name):
    server.files["/human_eval.zip"] = zipped(PAM | {name: b"evil"})
    with pytest.raises(InputError, match=r"the member .* leads out of the archive; nothing was unpacked"):
        get(pam, tmp_path / "root")
    assert not (tmp_path / "root/pam").exists()
    assert not list((tmp_path / "root/pam.partial").rglob("scores.csv"))
    assert names(tmp_path) == ["root"]


def test_a_link_in_an_archive_is_refused(server, pam, tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        link = zipfile.ZipInfo("human_eval/music/link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc")
    server.files["/human_eval.zip"] = file.getvalue()
    with pytest.raises(InputError, match="leads out of the archive"):
        get(pam, tmp_path)


def test_a_damaged_archive_is_fetched_anew(server, pam, tmp_path):
    good = server.files["/human_eval.zip"]
    for bad in (good[: len(good) // 2], good.replace(b"RIFF", b"RIFX", 1), b"", zipped({"other.txt": b""})):
        server.files["/human_eval.zip"] = bad
        with pytest.raises(InputError, match=r"human_eval.zip\?download=1: (a damaged archive|no human_eval/music)"):
            get(pam, tmp_path)
        assert not (tmp_path / "pam").exists()
    server.files["/human_eval.zip"] = good
    assert get(pam, tmp_path).is_dir()


def test_a_full_disk_and_a_second_process_are_told_before_anything_is_fetched(pam, tmp_path):
    with pytest.raises(InputError, match=r"bytes are needed, but only [\d,]+ are free"):
        download.get(pam, tmp_path, download.Plan(10**18))
    with (
        locked(tmp_path / "pam.partial/.cmi/lock"),
        pytest.raises(InputError, match="another process is writing into it"),
    ):
        get(pam, tmp_path)
    assert not (tmp_path / "pam").exists()


def test_a_folder_that_cannot_be_written_is_named(pam, tmp_path):
    (tmp_path / "taken").touch()
    with pytest.raises(InputError, match=r"taken.*: Not a directory"):
        get(pam, tmp_path / "taken")


def test_a_single_file_is_a_data_set_too(server, tmp_path):
    server.files["/all_test.jsonl"] = b'{"source": "PAM", "split": "test", "audio-path": "x.wav", "musicality": 3}\n'
    dataset = dataclasses.replace(data_sets()["released"], url=f"{server.url}/all_test.jsonl")
    folder = get(dataset, tmp_path)
    assert names(folder) == ["all_test.jsonl"]
    assert len(list(dataset.read(folder))) == 1


FULL = """
import resource, signal, sys
from pathlib import Path
from cmi._util import fetch
from cmi._util.errors import InputError
from cmi._util.fetch import fetch
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    fetch(sys.argv[1], Path("sounds.zip"), "get it yourself")
except InputError as error:
    print(error)
"""


def test_a_full_disk_is_told_at_once_and_the_server_not_blamed(server, tmp_path):
    server.files["/sounds.zip"] = CONTENT
    url = f"http://127.0.0.1:{server.server_port}/sounds.zip"
    done = subprocess.run([sys.executable, "-c", FULL, url], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("sounds.zip.part: larger than the limit on files' sizes"), done.stderr
    assert server.ranges == [None]  # asked once
    assert not (tmp_path / "sounds.zip").exists() and (tmp_path / "sounds.zip.part").stat().st_size == 300_000

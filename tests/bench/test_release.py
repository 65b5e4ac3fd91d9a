"""`cmi bench data get`: the authors' released files, by hash, from a server or a mirror on this machine."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

from cmi._util.errors import InputError
from cmi._util.repositories import RecipeFile
from cmi.bench.catalog import DATASETS
from cmi.bench.instruction import Instruction
from cmi.bench.release import SOURCE, list_release, place_of
from cmi.bench.scoring.responses import find_annotations, find_responses
from cmi.bench.scoring.tables import MODELS
from cmi.cli import app

RECORD = {"question": "Which genre?", "correct_answer": "blues", "audioid": "../testdata/GTZAN/a.wav", "other": ""}
CONTENT = {  # by path in the repository
    "data/GTZAN/CMI_GTZAN.jsonl": json.dumps(
        Instruction("Which genre?", "blues", "data/GTZAN/a.wav", 0.0, 30.0).to_record()
    ).encode(),
    "eval/output/gama/gama_GTZAN.jsonl": json.dumps([{**RECORD, "response": "jazz"}]).encode(),
    "eval/fix/gama/gama_GTZAN.jsonl": json.dumps([{**RECORD, "response": "blues"}]).encode(),
    "model/results/salmonn/salmonn_GTZAN.jsonl": json.dumps([{**RECORD, "response": "<s> jazz</s>"}]).encode(),
}


def hash_of(path: str, content: bytes) -> str:
    """SHA-256; for answers of SALMONN, git's id."""
    if "salmonn" in path:
        return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small release in place of the real one."""
    files = {place_of(path): RecipeFile(SOURCE, path, hash_of(path, data), len(data)) for path, data in CONTENT.items()}
    monkeypatch.setattr("cmi.bench.release.list_release", lambda: files)


class Server(ThreadingHTTPServer):
    asked: list[str]


class Handler(SimpleHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        super().do_GET()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server that has the files as GitHub has them."""
    root = tmp_path / "www" / SOURCE.repository / SOURCE.commit
    for path, content in CONTENT.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    with Server(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path / "www"))) as running:
        running.asked = []
        Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def get(out: Path, server: Server, *words: str):
    origin = f"http://127.0.0.1:{server.server_port}/"
    return CliRunner().invoke(app, ["bench", "data", "get", str(out), "--from", origin, "--json", *words])


def paths_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_what_was_got_can_be_scored_at_once_and_nothing_is_got_twice(listed, server, tmp_path):
    done = get(tmp_path / "out", server)
    assert done.exit_code == 0, done.output
    assert {one["what"]: (one["files"], one["missing"]) for one in json.loads(done.stdout)["got"]} == {
        "annotations": (1, 0),
        "gama": (1, 0),
        "gama-fix": (1, 0),
        "salmonn": (1, 0),
    }
    assert paths_in(tmp_path / "out") == sorted(map(place_of, CONTENT))
    scored = ["bench", "score", str(tmp_path / "out/responses"), "--annotations", str(tmp_path / "out/annotations")]
    cells = json.loads(CliRunner().invoke(app, [*scored, "--protocol", "paper", "--json"]).stdout)["cells"]
    assert {cell["model"]: cell["value"] for cell in cells if cell["model"] in MODELS} == {"gama": 100.0, "salmonn": 0}
    asked = len(server.asked)
    assert get(tmp_path / "out", server).exit_code == 0
    assert len(server.asked) == asked


def test_only_some_models_are_got(listed, server, tmp_path):
    assert get(tmp_path / "out", server, "--models", " gama").exit_code == 0
    assert "responses/salmonn/salmonn_GTZAN.jsonl" not in paths_in(tmp_path / "out")
    assert len(paths_in(tmp_path / "out")) == 3


@pytest.mark.parametrize("path", ["data/GTZAN/CMI_GTZAN.jsonl", "model/results/salmonn/salmonn_GTZAN.jsonl"])
def test_another_file_is_not_kept_and_the_same_command_gets_the_right_one(listed, server, tmp_path, path):
    served = tmp_path / "www" / SOURCE.repository / SOURCE.commit / path
    served.write_bytes(b"something else")
    first = get(tmp_path / "out", server)
    assert first.exit_code == 0 and json.loads(first.stdout)["missing"] == [place_of(path)]
    assert not (tmp_path / "out" / place_of(path)).exists()
    served.write_bytes(CONTENT[path])
    assert json.loads(get(tmp_path / "out", server).stdout)["missing"] == []


def test_the_table_says_why_a_file_is_missing(listed, server, tmp_path):
    (tmp_path / "www" / SOURCE.repository / SOURCE.commit / "data/GTZAN/CMI_GTZAN.jsonl").unlink()
    origin = f"http://127.0.0.1:{server.server_port}"
    done = CliRunner().invoke(app, ["bench", "data", "get", str(tmp_path / "out"), "--from", origin])
    assert "1 files are missing" in done.stdout and "404" in done.stdout


def test_a_file_that_was_changed_is_named_and_not_overwritten(listed, server, tmp_path):
    get(tmp_path / "out", server)
    changed = tmp_path / "out" / "annotations" / "CMI_GTZAN.jsonl"
    changed.write_text("mine")
    done = get(tmp_path / "out", server)
    assert isinstance(done.exception, InputError)
    assert "CMI_GTZAN.jsonl: another file than the listed one" in str(done.exception)
    assert changed.read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--models", "gamma"], "--models: no gamma; there are qwen2, qwen"),
        (["--from", "no/such/folder"], "not a folder, expected one with mirrors"),
        (["--from", "http://127.0.0.1:9"], "run this again to resume, or name a folder of mirrors with --from"),
        (["--from", "."], "none of the 4 files could be downloaded"),
    ],
)
def test_bad_input_is_one_sentence(listed, server, tmp_path, monkeypatch, words, why):
    monkeypatch.setattr("cmi._util.fetch.ATTEMPTS", 1)
    monkeypatch.setattr("cmi._util.repositories.GIVE_UP", 1)
    monkeypatch.chdir(tmp_path)
    done = get(tmp_path / "out", server, *words)
    assert isinstance(done.exception, InputError) and why in str(done.exception)


def test_the_shipped_list_has_every_model_and_data_set(tmp_path):
    release = list_release()
    for place in release:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    assert set(find_annotations(tmp_path / "annotations")) <= set(DATASETS) and len(release) == 287
    found = find_responses([tmp_path / "responses"])
    assert {file.model for file in found} == set(MODELS)
    assert {len([file for file in found if file.model == model]) for model in MODELS} == {21}
    assert {file.model for file in found if file.is_second_run} == {"ltu", "ltu_as", "gama", "gama_it", "pengi"}
    assert all(len(file.hash) == 64 if file.size else len(file.hash) == 40 for file in release.values())


def test_the_listed_hashes_are_those_of_the_released_files(shared):
    checked = 0
    for place, file in list_release().items():
        path = shared / "cmi-bench" / f"{place}.gz"
        if path.exists():
            file.require_content(gzip.decompress(path.read_bytes()), place)
            checked += 1
    assert checked == 77

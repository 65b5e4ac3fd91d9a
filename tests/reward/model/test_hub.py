"""A reward model goes to a hub and comes back, with the real client on both ways and a small hub on this machine."""

import base64
import dataclasses
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
import soundfile
import torch
import yaml
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from cmi.reward.model.encoders.muq_mulan import MuQMuLan
from cmi.reward.model.head import Downsampling, RewardHead
from cmi.reward.model.reward_model import RewardModel

TOKEN = "dummy"


class File(NamedTuple):
    content: bytes
    large: bool  # kept as an LFS object

    @property
    def oid(self) -> str:
        """Its SHA-256 in LFS, else git's hash of it."""
        if self.large:
            return hashlib.sha256(self.content).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(self.content) + self.content).hexdigest()


class Commit(NamedTuple):
    oid: str
    files: dict[str, File]  # all of them, not only those that changed


class Refused(Exception):
    """An HTTP status and the error's code, which the client turns into its own exceptions."""

    def __init__(self, status: int, code: str, details: dict | None = None) -> None:
        super().__init__(code)
        self.status, self.code, self.details = status, code, details or {}


class Hub(ThreadingHTTPServer):
    """Repositories with one branch. Speaks what pushing and downloading a model need, and refuses all else."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.repositories: dict[str, list[Commit]] = {}  # the newest last
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []

    def commit_at(self, repository: str, revision: str) -> Commit:
        if repository not in self.repositories:
            raise Refused(404, "RepoNotFound")
        commits = self.repositories[repository]
        if revision == "main":
            return commits[-1] if commits else Commit("0" * 40, {})
        for commit in commits:
            if commit.oid == revision:
                return commit
        raise Refused(404, "RevisionNotFound")

    # One method for each request; `body` is what was sent.

    def create_repo(self, body: bytes):
        asked = json.loads(body)
        name = f"{asked.get('organization') or 'someone'}/{asked['name']}"
        created = {"url": f"{self.url}/{name}", "name": name}
        if name in self.repositories:
            raise Refused(409, "", created)
        self.repositories[name] = []
        return created

    def who_am_i(self, body: bytes):
        return {"type": "user", "name": "someone"}

    def validate_card(self, body: bytes):
        _, metadata, _ = json.loads(body)["content"].split("---\n", 2)
        if not isinstance(yaml.safe_load(metadata), dict):
            raise Refused(400, "")
        return {"errors": [], "warnings": []}

    def preupload(self, body: bytes, repository: str, revision: str):
        known = self.commit_at(repository, revision).files
        answers = []
        for file in json.loads(body)["files"]:
            path = file["path"]
            mode = "lfs" if path.endswith((".safetensors", ".bin", ".pt", ".pkl", ".ckpt")) else "regular"
            oid = {"oid": known[path].oid} if path in known else {}
            answers.append({"path": path, "uploadMode": mode, "shouldIgnore": False, **oid})
        return {"files": answers}

    def lfs_batch(self, body: bytes, repository: str):
        self.commit_at(repository, "main")
        objects = json.loads(body)["objects"]
        for wanted in objects:
            if wanted["oid"] not in self.objects:
                wanted["actions"] = {"upload": {"href": f"{self.url}/lfs/{wanted['oid']}"}}
        return {"transfer": "basic", "objects": objects}

    def lfs_upload(self, body: bytes, oid: str):
        if hashlib.sha256(body).hexdigest() != oid:
            raise Refused(400, "")
        self.objects[oid] = body
        return {}

    def commit(self, body: bytes, repository: str, revision: str):
        parent = self.commit_at(repository, revision)
        files = dict(parent.files)
        for line in body.splitlines():
            key, value = json.loads(line).values()
            if key == "file":
                files[value["path"]] = File(base64.b64decode(value["content"]), large=False)
            elif key == "lfsFile":
                files[value["path"]] = File(self.objects[value["oid"]], large=True)
            elif key != "header":
                raise Refused(400, "")
        oid = hashlib.sha1(parent.oid.encode() + body).hexdigest()
        self.repositories[repository].append(Commit(oid, files))
        return {"success": True, "commitOid": oid, "commitUrl": f"{self.url}/{repository}/commit/{oid}"}

    def info(self, body: bytes, repository: str, revision: str = "main"):
        commit = self.commit_at(repository, revision)
        return {"id": repository, "sha": commit.oid, "siblings": [{"rfilename": path} for path in commit.files]}

    def tree(self, body: bytes, repository: str, revision: str):
        return [
            {"type": "file", "path": path, "size": len(file.content), "oid": file.oid}
            | ({"lfs": {"oid": file.oid, "size": len(file.content), "pointerSize": 130}} if file.large else {})
            for path, file in self.commit_at(repository, revision).files.items()
        ]

    def resolve(self, body: bytes, repository: str, revision: str, path: str):
        commit = self.commit_at(repository, revision)
        if path not in commit.files:
            raise Refused(404, "EntryNotFound")
        file = commit.files[path]
        return 200, {"X-Repo-Commit": commit.oid, "ETag": f'"{file.oid}"'}, file.content


REPOSITORY = r"(?P<repository>[\w.-]+/[\w.-]+)"
REVISION = r"(?P<revision>[^/]+)"
ROUTES = [
    ("POST", "/api/repos/create", Hub.create_repo),
    ("GET", "/api/whoami-v2", Hub.who_am_i),
    ("POST", "/api/validate-yaml", Hub.validate_card),
    ("POST", f"/api/models/{REPOSITORY}/preupload/{REVISION}", Hub.preupload),
    ("POST", f"/{REPOSITORY}\\.git/info/lfs/objects/batch", Hub.lfs_batch),
    ("PUT", r"/lfs/(?P<oid>\w+)", Hub.lfs_upload),
    ("POST", f"/api/models/{REPOSITORY}/commit/{REVISION}", Hub.commit),
    ("GET", f"/api/models/{REPOSITORY}", Hub.info),
    ("GET", f"/api/models/{REPOSITORY}/revision/{REVISION}", Hub.info),
    ("GET", f"/api/models/{REPOSITORY}/tree/{REVISION}", Hub.tree),
    ("GET", f"/{REPOSITORY}/resolve/{REVISION}/(?P<path>.+)", Hub.resolve),
]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def answer(self) -> None:
        status, headers, content = self.result(self.body())
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = answer

    def result(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        path = urlsplit(self.path).path
        self.server.requests.append(f"{self.command} {path}")
        method = "GET" if self.command == "HEAD" else self.command
        to_the_hub = not path.startswith("/lfs/")  # the object store has its own, signed addresses
        try:
            if method != "GET" and to_the_hub and self.headers["Authorization"] != f"Bearer {TOKEN}":
                raise Refused(401, "")
            for wanted, pattern, respond in ROUTES:
                if wanted == method and (match := re.fullmatch(pattern, path)):
                    parts = {name: unquote(part) for name, part in match.groupdict().items()}
                    found = respond(self.server, body, **parts)
                    break
            else:
                raise Refused(404, "RepoNotFound")
        except Refused as refused:
            content = json.dumps({"error": refused.code, **refused.details}).encode()
            return refused.status, {"X-Error-Code": refused.code, "Content-Type": "application/json"}, content
        if isinstance(found, tuple):
            return found
        return 200, {"Content-Type": "application/json"}, json.dumps(found).encode()

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def log_message(self, *arguments) -> None:
        """Silence."""


# What a user does, in a process of its own: the client reads its settings when it is imported.
VISIT = """
import json, sys
from pathlib import Path

from cmi import Prompt, RewardModel, Take
from cmi._util.errors import InputError

folder = Path(sys.argv[1])
take = Take(Prompt("slow piano", lyrics="la la"), folder / "take.flac")
report = {"pushed": [], "models": {}, "refused": {}}

def met(key, model):
    report["models"][key] = {"name": model.name, "scores": list(model.score(take))}
    model.save_pretrained(folder / "back" / key)

for key in ("older", "newer"):
    model = RewardModel.from_pretrained(folder / key)
    met(key, model)
    report["pushed"].append(model.push_to_hub("someone/tiny").oid)
met("latest", RewardModel.from_pretrained("someone/tiny"))
met("pinned", RewardModel.from_pretrained("someone/tiny", revision=report["pushed"][0]))
model.push_to_hub("short", model_card_kwargs={"model_name": "Short", "figures": "Trained on nothing."})
for key, asked in {"repository": ("someone/else", None), "revision": ("someone/tiny", "f" * 40)}.items():
    try:
        RewardModel.from_pretrained(asked[0], revision=asked[1])
    except InputError as error:
        report["refused"][key] = str(error)
print(json.dumps(report))
"""


def build(encoder, head, seed: int = 0) -> RewardModel:
    torch.manual_seed(seed)
    return RewardModel(MuQMuLan(encoder), RewardHead(head))


def save_tokenizer(folder: Path) -> None:
    """Bytes between <s> and </s>."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3} | {letter: 4 + i for i, letter in enumerate(letters)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')


class Visit(NamedTuple):
    hub: Hub
    folder: Path  # older/ and newer/ were pushed; what was met is in back/
    pushed: list[str]  # revisions
    models: dict[str, dict]
    refused: dict[str, str]

    def files(self, repository: str = "someone/tiny", commit: int = -1) -> dict[str, File]:
        return self.hub.repositories[repository][commit].files

    def card(self, repository: str = "someone/tiny") -> tuple[dict, str]:
        start, metadata, text = self.files(repository)["README.md"].content.decode().split("---\n", 2)
        assert not start
        return yaml.safe_load(metadata), text


@pytest.fixture(scope="module")
def visit(tiny, tmp_path_factory) -> Iterator[Visit]:
    folder = tmp_path_factory.mktemp("hub")
    for seed, key in enumerate(("older", "newer")):
        build(tiny.encoder.config, tiny.head.config, seed).save_pretrained(folder / key)
        save_tokenizer(folder / key)
    soundfile.write(folder / "take.flac", np.random.default_rng(0).standard_normal(24_000) / 10, 24_000)
    hub = Hub()
    Thread(target=hub.serve_forever, daemon=True).start()
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HUGGING", "TRANSF"))}
    settings = {"HF_ENDPOINT": hub.url, "HF_HOME": str(folder / "home"), "HF_TOKEN": TOKEN, "HF_HUB_DISABLE_XET": "1"}
    proxies = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", VISIT, folder],
        capture_output=True,
        text=True,
        timeout=200,
        env={**inherited, **settings, **proxies, "CMI_CACHE": str(folder / "cache")},
    )
    assert done.returncode == 0, f"{done.stderr}\n{hub.requests}"
    yield Visit(hub, folder, **json.loads(done.stdout.splitlines()[-1]))
    hub.shutdown()
    hub.server_close()


def assert_equal_weights(one: Path, other: Path) -> None:
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (one, other))
    assert ours.keys() == theirs.keys()
    assert [key for key in ours if not torch.equal(ours[key], theirs[key])] == []


def test_the_hub_gets_weights_configuration_card_and_tokenizer_and_nothing_else(visit):
    files = visit.files()
    assert set(files) == {
        "model.safetensors",
        "config.yaml",
        "README.md",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert [path for path, file in files.items() if file.large] == ["model.safetensors"]
    for commit, key in enumerate(("older", "newer")):
        for path in ("model.safetensors", "config.yaml", "tokenizer.json"):
            assert visit.files(commit=commit)[path].content == (visit.folder / key / path).read_bytes()


@pytest.mark.parametrize(("loaded", "saved"), [("latest", "newer"), ("pinned", "older")])
def test_what_is_loaded_from_the_hub_is_what_was_pushed(visit, loaded, saved):
    assert_equal_weights(visit.folder / "back" / loaded, visit.folder / saved)
    assert visit.models[loaded]["scores"] == pytest.approx(visit.models[saved]["scores"], abs=1e-6)


def test_the_two_pushes_can_be_told_apart(visit):
    """Else the test above would say nothing about revisions."""
    older, newer = (np.array(visit.models[key]["scores"]) for key in ("older", "newer"))
    assert np.abs(older - newer).max() > 1e-3


def test_the_name_says_repository_and_revision(visit):
    older, newer = visit.pushed
    assert [commit.oid for commit in visit.hub.repositories["someone/tiny"]] == [older, newer]
    assert visit.models["latest"]["name"] == f"someone/tiny@{newer[:12]}"
    assert visit.models["pinned"]["name"] == f"someone/tiny@{older[:12]}"


def test_what_the_hub_does_not_have_is_one_sentence(visit):
    assert visit.refused["repository"].startswith("the hub has no 'someone/else', or it is private")
    assert visit.refused["revision"].startswith(f"the hub has no 'someone/tiny' at revision {'f' * 40}")
    assert not any("\n" in sentence for sentence in visit.refused.values())


def test_the_card_says_what_it_is_and_how_to_load_it(visit):
    metadata, text = visit.card()
    assert metadata["library_name"] == "cmi"
    assert metadata["pipeline_tag"] == "audio-classification"
    assert {"music", "reward-model"} <= set(metadata["tags"])
    assert "# A CMI-RM reward model\n" in text
    assert 'RewardModel.from_pretrained("someone/tiny")' in text
    assert not re.search(r"[{}]|%}|REPOSITORY|None|Undefined", text)
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    compile(example, "README.md", "exec")


def test_a_card_takes_what_its_maker_states_and_the_full_name_of_a_short_one(visit):
    _, text = visit.card("someone/short")
    assert "# Short\n" in text
    assert "Trained on nothing." in text
    assert "not stated" not in text
    assert 'RewardModel.from_pretrained("someone/short")' in text


@pytest.mark.parametrize("spec", [Downsampling("conv", factor=2, stage=2), Downsampling("mean", factor=4)])
def test_downsamplers_survive_saving(tiny, tmp_path, spec):
    saved = build(tiny.encoder.config, dataclasses.replace(tiny.head.config, take=spec, text=spec))
    saved.save_pretrained(tmp_path / "once")
    loaded = RewardModel.from_pretrained(tmp_path / "once")
    assert loaded.head.config == saved.head.config
    assert loaded.encoder.config == saved.encoder.config
    loaded.save_pretrained(tmp_path / "twice")
    assert_equal_weights(tmp_path / "once", tmp_path / "twice")
    tokens = torch.randn(1, 13, tiny.head.config.dim)
    with torch.inference_mode():
        assert torch.equal(saved.head.thin(tokens), loaded.head.thin(tokens))

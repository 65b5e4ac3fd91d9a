"""An arena over HTTP: two projects, and a browser of sorts for each kind of person."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import soundfile
from starlette.testclient import TestClient

from cmi.arena.audio import sounds
from cmi.arena.audio.measure import SoundMeasurement, measure
from cmi.arena.store import pairs, people, projects
from cmi.arena.store.database import Database, open_database
from cmi.arena.web import security
from cmi.arena.web.app import create_app
from cmi.arena.web.limits import Limits
from cmi.arena.web.state import ServerSettings, server_id

URL = "http://127.0.0.1:8008"
SYSTEMS = ("Zanzibar-9000", "Quetzalcoatl-XL")  # words that nothing else would say
BALLOT = {
    "alignment": {"choice": "a", "confidence": 4},
    "musicality": {"choice": "b", "confidence": 2},
    "feedback": "B drags at 0:20",
    "heard": {"a": 1.0, "b": 1.0},
}


def tone(path: Path, hertz: float, seconds: float = 0.3) -> Path:
    times = np.arange(int(seconds * 8000)) / 8000
    soundfile.write(path, 0.3 * np.sin(2 * np.pi * hertz * times), 8000)
    return path


@dataclass
class Study:
    """A project with three pairs."""

    id: str
    pairs: list[str] = field(default_factory=list)
    sounds: list[str] = field(default_factory=list)


@dataclass
class Visitor:
    """A person's browser: cookies, the CSRF token and our own Origin come by themselves."""

    client: TestClient
    csrf: str
    person: str
    token: str

    def get(self, url: str, **more: Any) -> httpx.Response:
        return self.client.get(url, **more)

    def send(self, method: str, url: str, **more: Any) -> httpx.Response:
        headers = {"origin": URL, "x-csrf-token": self.csrf} | more.pop("headers", {})
        return self.client.request(method, url, headers=headers, **more)

    def post(self, url: str, json: Any = None, **more: Any) -> httpx.Response:
        return self.send("POST", url, json=json, **more) if json is not None else self.send("POST", url, **more)

    def begun(self) -> str:
        """A view that can be voted on."""
        view = self.get("/api/next").json()["view"]
        assert self.post(f"/api/views/{view}/begin").status_code == 200
        return view

    def vote(self, view: str, **changes: Any) -> httpx.Response:
        return self.post(f"/api/views/{view}/vote", json=BALLOT | changes)


@pytest.fixture(scope="session")
def ballot() -> dict[str, Any]:
    return BALLOT


@pytest.fixture(scope="session")
def systems() -> tuple[str, str]:
    return SYSTEMS


@pytest.fixture(scope="session")
def origin() -> str:
    return URL


@pytest.fixture
def cookie_name(database: Database) -> str:
    return security.cookie_name(URL, server_id(database))


@pytest.fixture(scope="session")
def tones(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, SoundMeasurement]]:
    """Six sounds, measured once."""
    folder = tmp_path_factory.mktemp("tones")
    paths = [tone(folder / f"{number}.wav", 200 + 20 * number) for number in range(6)]
    return [(path, measure(path)) for path in paths]


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with its tables, to be copied: making them takes longer than most tests."""
    path = tmp_path_factory.mktemp("empty") / "arena.db"
    open_database(str(path)).close()
    return path


@pytest.fixture
def database(tmp_path: Path, empty: Path) -> Iterator[Database]:
    shutil.copy(empty, tmp_path / "arena.db")
    database = open_database(str(tmp_path / "arena.db"))
    yield database
    database.close()


@pytest.fixture
def make_study(database: Database, tones: list[tuple[Path, SoundMeasurement]]) -> Callable[..., Study]:
    def make(title: str = "Takes", **settings: Any) -> Study:
        settings = {"heard_share": 0.0, "gold_share": 0.0, "repeat_share": 0.0} | settings
        project = projects.create(database, title, settings, "You may leave at any time.")
        study = Study(project.id)
        with database.writing() as connection:
            for number in range(3):
                takes = tones[2 * number : 2 * number + 2]
                a, b = (sounds.register(connection, project.id, path, measured) for path, measured in takes)
                new = pairs.NewPair(f"{number}", f"a tone, number {number}", a, b, "la la", None, *SYSTEMS)
                study.pairs.append(pairs.add(connection, project.id, project.settings, new))
                study.sounds += [a, b]
        return study

    return make


@pytest.fixture
def study(make_study: Callable[..., Study]) -> Study:
    return make_study()


@pytest.fixture
def other_study(make_study: Callable[..., Study]) -> Study:
    return make_study("Other")


@pytest.fixture
def settings(tmp_path: Path) -> ServerSettings:
    return ServerSettings(public_url=URL, folder=tmp_path / "uploads", limits=Limits(upload_bytes=2_000_000))


@pytest.fixture
def make_client(database: Database, settings: ServerSettings) -> Iterator[Callable[..., TestClient]]:
    """Each its own cookies; all of the one application, unless told otherwise."""
    app = create_app(database, settings)

    def make(**limits: Any) -> TestClient:
        own = app
        if limits:
            changed = settings.limits._replace(**limits)
            own = create_app(database, ServerSettings(settings.public_url, settings.folder, limits=changed))
        client = TestClient(own, base_url=URL, raise_server_exceptions=False, follow_redirects=False)
        return opened.enter_context(client)

    with ExitStack() as opened:
        yield make


@pytest.fixture
def client(make_client: Callable[..., TestClient]) -> TestClient:
    """Nobody in particular."""
    return make_client()


@pytest.fixture
def sign_in(database: Database, make_client: Callable[..., TestClient]) -> Callable[..., Visitor]:
    def sign_in(study: Study, role: str = "annotator", **limits: Any) -> Visitor:
        client = make_client(**limits)
        invite = people.invite(database, study.id, role, 1)[0]
        body = {"token": invite.token, "name": "Jo", "consent": True}
        answer = client.post("/api/join", json=body, headers={"origin": URL})
        assert answer.status_code == 200, answer.text
        said = answer.json()
        return Visitor(client, said["csrf"], said["person"]["id"], invite.token)

    return sign_in


@pytest.fixture
def annotator(sign_in: Callable[..., Visitor], study: Study) -> Visitor:
    return sign_in(study)


@pytest.fixture
def owner(sign_in: Callable[..., Visitor], study: Study) -> Visitor:
    return sign_in(study, "owner")


@pytest.fixture
def observer(sign_in: Callable[..., Visitor], study: Study) -> Visitor:
    return sign_in(study, "observer")


@contextmanager
def _running(path, before="", **options):
    """A server as a process; `before` is what a shell does before it becomes the server."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in {"port": 0, **options}.items())
    code = f"from cmi.arena.web.serve import serve; serve({str(path)!r}, {arguments})"
    command = ["sh", "-c", f'{before}\nexec "$@"', "sh", sys.executable, "-c", code]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


@pytest.fixture(scope="session")
def running() -> Callable[..., AbstractContextManager[subprocess.Popen[str]]]:
    return _running

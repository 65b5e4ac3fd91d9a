"""Rating over HTTP: what annotators may see, what owners get, what is refused, and a server that is killed."""

import csv
import io
import json
import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import numpy as np
import pytest
import soundfile
from schemathesis import GenerationMode
from sqlalchemy import select
from tests.arena.web.http.conftest import Study
from tests.arena.web.http.test_described_api import UNLIMITED, made_up, operations, sent

from cmi.arena.exchange.trial_import import import_trials, measure_trials
from cmi.arena.store import people, projects
from cmi.arena.store.database import open_database
from cmi.arena.store.schema import ratings
from cmi.arena.web.security import cookie_name
from cmi.arena.web.state import server_id

RATE = 22_050
SYSTEMS = ("Zanzibar-9000", "Quetzalcoatl-XL")


@pytest.fixture(scope="session")
def manifest(tmp_path_factory) -> Path:
    """Two prompts with a reference and two systems each."""
    folder = tmp_path_factory.mktemp("rated")
    rng = np.random.default_rng(0)
    rows = ["id,audio,text,reference,generator"]
    for number in range(2):
        soundfile.write(folder / f"r{number}.wav", 0.1 * rng.standard_normal(RATE // 2), RATE)
        for place, system in enumerate(SYSTEMS):
            soundfile.write(folder / f"{number}{place}.wav", 0.1 * rng.standard_normal(RATE // 2), RATE)
            rows.append(f"{number}{place},{number}{place}.wav,a slow song {number},r{number}.wav,{system}")
    (folder / "takes.csv").write_text("\n".join(rows))
    return folder / "takes.csv"


def add_project(database, manifest, folder, kind) -> Study:
    project = projects.create(database, "Rated", {"heard_share": 0.0}, "You may leave.", kind)
    import_trials(database, project.id, measure_trials(manifest, kind, folder))
    return Study(project.id)


@pytest.fixture
def make_rated(database, manifest, tmp_path):
    return lambda kind: add_project(database, manifest, tmp_path, kind)


def ballot(begun: dict, axes=("musicality",), value: int = 60) -> dict:
    return {"answers": {axis: dict.fromkeys(begun["takes"], value) for axis in axes}, "feedback": "ok", "heard": {}}


def test_a_page_never_says_which_stimulus_is_what(sign_in, make_rated):
    """Neither a system's name, nor the hidden reference, nor an anchor, nor a waveform that would give them away."""
    annotator = sign_in(make_rated("mushra"))
    shown = annotator.get("/api/trials/next")
    view = shown.json()["view"]
    assert annotator.get(f"/media/trials/{view}/1").status_code == 404, "the instruction is read first"
    begun = annotator.post(f"/api/trials/{view}/begin")
    said = shown.text + begun.text + annotator.get(f"/api/trials/{view}").text
    for secret in (*SYSTEMS, "anchor", "hidden", "role", "system"):
        assert secret not in said
    takes = begun.json()["takes"]
    assert list(takes) == ["1", "2", "3", "4"] and {take["peaks"] for take in takes.values()} == {None}
    for name, take in takes.items():
        sound = annotator.get(take["url"])
        assert sound.status_code == 200 and sound.headers["etag"] == f'"{view}-{name}"'
        assert soundfile.read(io.BytesIO(sound.content))[1] == RATE
    part = annotator.get(takes["1"]["url"], headers={"range": "bytes=0-9"})
    assert (part.status_code, len(part.content)) == (206, 10)
    assert annotator.get(f"/media/trials/{view}/5").status_code == 404
    assert sign_in(make_rated("mushra")).get(takes["1"]["url"]).status_code == 404, "another's page"


def test_a_rating_is_saved_once_listed_corrected_and_exported(sign_in, make_rated):
    study = make_rated("mushra")
    annotator, owner = sign_in(study), sign_in(study, "owner")
    view = annotator.get("/api/trials/next").json()["view"]
    begun = annotator.post(f"/api/trials/{view}/begin").json()
    first = annotator.post(f"/api/trials/{view}/vote", json=ballot(begun, value=95)).json()
    assert (first["saved"], first["number"], first["again"]) == (True, 1, False)
    assert annotator.post(f"/api/trials/{view}/vote", json=ballot(begun, value=95)).json()["again"] is True
    assert annotator.post(f"/api/trials/{view}/vote", json=ballot(begun, value=96)).json()["number"] == 2
    [recent] = annotator.get("/api/trials/recent").json()
    assert recent["vote"]["answers"] == {"musicality": dict.fromkeys("1234", 96)} and recent["can_correct"]
    assert annotator.get("/api/me").json()["progress"] == {"done": 1, "quota": 2}
    assert annotator.get("/api/me").json()["project"]["kind"] == "mushra"
    [listed] = owner.get("/api/owner/ratings").json()["ratings"]
    assert (listed["corrections"], listed["feedback"]) == (1, "ok")
    assert {one["system"] for one in listed["stimuli"]} == {*SYSTEMS, "reference", "anchor35"}
    assert owner.get("/api/owner/ratings", params={"person": "nobody"}).json() == {"ratings": [], "total": 0}
    report = owner.get("/api/owner/statistics").json()
    assert report["kind"] == "mushra" and report["progress"]["ratings"] == 1
    assert owner.get("/api/owner/charts/rated_systems.csv").text.startswith("axis,system,role,ratings")
    assert owner.get(f"/api/owner/people/{annotator.person}").json()["screening"]["verdict"] == "can't tell yet"
    rows = list(csv.DictReader(io.StringIO(owner.get("/api/owner/answers.csv").text)))
    assert [row["musicality"] for row in rows] == ["96"] * 4
    votes = [json.loads(line) for line in owner.get("/api/owner/export.jsonl").text.splitlines()]
    assert len(votes) == 6 and {vote["choice"] for vote in votes} == {"both"}
    assert owner.post(f"/api/owner/people/{annotator.person}/withdraw").status_code == 200
    assert owner.get("/api/owner/ratings").json()["total"] == 0


def test_an_owner_looks_at_a_trial_and_hides_it_and_shows_it_again(sign_in, make_rated):
    study = make_rated("mushra")
    annotator, owner, observer = sign_in(study), sign_in(study, "owner"), sign_in(study, "observer")
    view = annotator.get("/api/trials/next").json()["view"]
    begun = annotator.post(f"/api/trials/{view}/begin").json()
    annotator.post(f"/api/trials/{view}/vote", json=ballot(begun, value=95))
    listed = observer.get("/api/owner/trials", params={"state": "rated", "system": SYSTEMS[0]}).json()
    [trial] = listed["trials"]
    assert (listed["total"], trial["ratings"], trial["hidden"], trial["broken"]) == (1, 1, None, False)
    assert trial["systems"] == [*SYSTEMS, "reference", "anchor35"]
    url = f"/api/owner/trials/{trial['id']}"
    described = observer.get(url).json()
    recordings = [described["reference"], *(one["recording"] for one in described["stimuli"])]
    for recording in recordings:
        assert observer.get(f"/media/{recording['id']}").status_code == 200
        assert annotator.get(f"/media/{recording['id']}").status_code == 403
    assert owner.post(f"{url}/hide", json={"reason": ""}).status_code == 422
    assert observer.post(f"{url}/hide", json={"reason": "take 1 is silent"}).status_code == 403
    assert owner.post(f"{url}/hide", json={"reason": "take 1 is silent"}).json() == {"hidden": True}
    assert owner.get("/api/owner/ratings").json()["total"] == 0
    [kept] = owner.get("/api/owner/ratings", params={"trial": trial["id"], "hidden": True}).json()["ratings"]
    assert kept["hidden"] == "take 1 is silent"
    assert owner.get("/api/owner/statistics").json()["progress"]["ratings"] == 0
    assert owner.get("/api/owner/export.jsonl").text == ""
    votes = [json.loads(line) for line in owner.get("/api/owner/export.jsonl?hidden=true").text.splitlines()]
    assert len(votes) == 6 and {vote["hidden"] for vote in votes} == {"take 1 is silent"}
    assert owner.get("/api/owner/answers.csv").text.count("\n") <= 1
    assert observer.post(f"{url}/show").status_code == 403
    assert owner.post(f"{url}/show").json() == {"hidden": False}
    assert owner.get("/api/owner/statistics").json()["progress"]["ratings"] == 1
    assert [one["action"] for one in owner.get(url).json()["history"]] == ["trial shown", "trial hidden"]


def test_trials_are_for_the_owners_of_their_project(sign_in, make_rated, make_client, study):
    rated = make_rated("mos")
    owner, others = sign_in(rated, "owner"), sign_in(study, "owner")
    trial = owner.get("/api/owner/trials").json()["trials"][0]["id"]
    annotator, nobody = sign_in(rated), make_client()
    for path in ("", f"/{trial}"):
        assert annotator.get(f"/api/owner/trials{path}").status_code == 403
        assert nobody.get(f"/api/owner/trials{path}").status_code == 401
    for action, body in (("hide", {"reason": "x"}), ("show", {})):
        url = f"/api/owner/trials/{trial}/{action}"
        assert annotator.post(url, json=body).status_code == 403
        assert nobody.post(url, json=body).status_code in (401, 403)
        assert others.post(url, json=body).status_code == 404
        forged = owner.client.post(url, json=body, headers={"origin": "http://127.0.0.1:8008"})
        assert forged.status_code == 403 and forged.json()["code"] == "csrf"
    assert others.get(f"/api/owner/trials/{trial}").status_code == 404
    assert others.get("/api/owner/trials").json() == {"trials": [], "total": 0}
    assert owner.get("/api/owner/trials", params={"state": "done"}).status_code == 422


@pytest.mark.parametrize(
    "change",
    [
        {"answers": {}},
        {"answers": {"musicality": {"1": 101}}},
        {"answers": {"musicality": {"1": 5.5}}},
        {"answers": {"musicality": {"0": 5}}},
        {"answers": {"loudness": {"1": 5}}},
        {"answers": {"musicality": {str(n): 5 for n in range(1, 40)}}},
        {"heard": {"1": -1}},
        {"heard": {"1": 1e999}},
        {"feedback": "x" * 4001},
        {"feedback": "a\0b"},
        {"more": 1},
    ],
)
def test_a_wrong_rating_is_refused(sign_in, make_rated, change):
    annotator = sign_in(make_rated("mushra"))
    view = annotator.get("/api/trials/next").json()["view"]
    begun = annotator.post(f"/api/trials/{view}/begin").json()
    body = json.dumps(ballot(begun) | change)
    answer = annotator.post(f"/api/trials/{view}/vote", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422 and set(answer.json()) == {"code", "message"}


def test_roles_and_kinds_are_kept_apart(sign_in, make_rated, study):
    rated = make_rated("mos")
    annotator, owner, other = sign_in(rated), sign_in(rated, "owner"), sign_in(study)
    assert annotator.get("/api/next").json() == {"done": "no more pairs"}
    assert other.get("/api/trials/next").json() == {"done": "no more pairs"}
    assert owner.get("/api/trials/next").status_code == 403
    for url in ("/api/owner/ratings", "/api/owner/answers.csv"):
        assert annotator.get(url).status_code == 403
    assert sign_in(study, "owner").get("/api/owner/answers.jsonl").status_code == 404
    view = annotator.get("/api/trials/next").json()["view"]
    forged = annotator.client.post(f"/api/trials/{view}/begin", headers={"origin": "http://127.0.0.1:8008"})
    assert forged.status_code == 403 and forged.json()["code"] == "csrf"
    assert other.post(f"/api/trials/{view}/begin").status_code == 404
    pair = owner.send(
        "POST", "/api/owner/pairs", json={"text": "x", "a": "x", "b": "y", "system_a": "m", "system_b": "n"}
    )
    assert pair.status_code == 422 and "kind mos" in pair.json()["message"]


@pytest.mark.parametrize("role", ["owner", "annotator", "nobody"])
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_no_made_up_request_brings_the_server_down(sign_in, make_rated, make_client, role, mode, origin):
    study = make_rated("mushra")
    visitor = sign_in(study, "annotator" if role == "nobody" else role, **UNLIMITED)
    if role == "nobody":
        visitor.client = make_client(**UNLIMITED)
    view = "none"
    if role == "annotator":
        view = visitor.get("/api/trials/next").json()["view"]
        visitor.post(f"/api/trials/{view}/begin")
    asked = []

    def ask(case, really):
        if really and "view" in (case.path_parameters or {}):
            case.path_parameters["view"] = view
        answer = sent(visitor, case, origin)
        assert answer.status_code < 500, (case.as_curl_command(), answer.text)
        asked.append(answer.status_code)

    described = operations(visitor.client.app.openapi())
    ours = [
        one for one in described if "trials" in one.path or one.path.startswith(("/api/owner/rat", "/api/owner/ans"))
    ]
    assert len(ours) == 13
    for operation in ours:
        made_up(operation, mode, ask)
    assert len(asked) > 9


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_every_acknowledged_rating_survives_kill_9_and_counts_once(kind, request, running, manifest, tmp_path):
    """Six people rate while the server is killed twice; what got no answer is sent again, as the page does."""
    db = str(tmp_path / "arena.db") if kind == "sqlite" else request.getfixturevalue("postgres_url")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    database = open_database(db)
    study = add_project(database, manifest, tmp_path, "mos")
    made = people.invite(database, study.id, "annotator", 1, count=6)
    joined = [people.join(database, invite.token, None, consented=True) for invite in made]
    cookie = cookie_name(url, server_id(database))
    database.close()
    acknowledged: dict[str, str] = {}
    kills = threading.Event()

    def rate(session) -> None:
        headers = {"origin": url, "x-csrf-token": session.csrf}
        client = httpx.Client(base_url=url, headers=headers, cookies={cookie: session.session_token}, timeout=60)

        def insist(method: str, path: str, body: dict | None = None) -> dict:
            while True:
                with suppress(httpx.TransportError):
                    answer = client.request(method, path, json=body)
                    if answer.status_code != 503:
                        assert answer.status_code == 200, answer.text
                        return answer.json()
                time.sleep(0.05)

        while "done" not in (shown := insist("GET", "/api/trials/next")):
            view = shown["view"]
            begun = insist("POST", f"/api/trials/{view}/begin")
            for _ in range(2):  # a double click
                saved = insist("POST", f"/api/trials/{view}/vote", ballot(begun, ("alignment", "musicality"), 3))
                assert acknowledged.setdefault(view, saved["vote"]) == saved["vote"]
            if len(acknowledged) >= 4:
                kills.wait()  # the last ones are given after the last kill

    with ThreadPoolExecutor(6) as threads:
        rating = []
        for number in range(3):
            with running(db, port=port) as server:
                if not rating:
                    rating = [threads.submit(rate, session) for session in joined]
                if number == 2:
                    kills.set()
                    for one in rating:
                        one.result()
                    break
                while len(acknowledged) < min(4, number + 1):
                    assert server.poll() is None
                    time.sleep(0.05)
                os.kill(server.pid, signal.SIGKILL)
                server.wait()
    database = open_database(db)
    with database.reading() as connection:
        rows = connection.execute(select(ratings.c.id, ratings.c.sitting)).all()
    database.close()
    assert {row.sitting: row.id for row in rows} == acknowledged
    assert len(rows) == 6 * 4

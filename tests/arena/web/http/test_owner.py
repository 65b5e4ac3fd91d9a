"""The owner's routes: what they do, who may use them, and that ids of other projects lead nowhere."""

import csv
import io
import json

import pytest

from cmi.arena.store import people

SCRIPT = "<script>alert(1)</script>"
CHANGES = [
    ("PATCH", "/api/owner/project", {"title": "Mine"}),
    ("POST", "/api/owner/projects", {"title": "Mine"}),
    ("PATCH", "/api/owner/people/{person}", {"state": "paused"}),
    ("POST", "/api/owner/people/{person}/withdraw", None),
    ("POST", "/api/owner/people/{person}/link", None),
    ("POST", "/api/owner/people/{person}/sign-out", None),
    ("POST", "/api/owner/sounds/check", None),
    ("POST", "/api/owner/invites", {}),
    ("DELETE", "/api/owner/invites/{invite}", None),
    ("POST", "/api/owner/sounds", None),
    ("POST", "/api/owner/pairs", {"text": "x", "a": "a", "b": "b", "system_a": "x", "system_b": "y"}),
    ("POST", "/api/owner/pairs/{pair}/hide", {"reason": "silent"}),
    ("POST", "/api/owner/pairs/{pair}/show", None),
    ("POST", "/api/owner/pairs/{pair}/replace", {"reason": "silent", "text": "another"}),
    ("GET", "/api/owner/export.jsonl", None),
    ("GET", "/api/owner/openapi.json", None),
]
VIEWS = [
    "/api/owner/project",
    "/api/owner/projects",
    "/api/owner/people",
    "/api/owner/invites",
    "/api/owner/pairs",
    "/api/owner/pairs/{pair}",
    "/api/owner/people/{person}",
    "/api/owner/votes",
    "/api/owner/systems",
    "/api/owner/sounds/problems",
    "/api/owner/statistics",
    "/api/owner/charts/confidence.csv",
]


@pytest.fixture
def ids(annotator, database, study):
    invite = people.invite(database, study.id, "annotator", 1)[0].id
    return {"person": annotator.person, "invite": invite, "pair": study.pairs[0]}


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
def test_observers_and_annotators_change_nothing(annotator, observer, ids, method, path, body):
    for visitor in (annotator, observer):
        answer = visitor.send(method, path.format(**ids), json=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "role")
    assert annotator.get("/api/me").json()["person"]["state"] == "active"


@pytest.mark.parametrize("path", VIEWS)
def test_observers_look_and_annotators_do_not(annotator, observer, owner, ids, path):
    path = path.format(**ids)
    assert owner.get(path).status_code == observer.get(path).status_code == 200
    answer = annotator.get(path)
    assert (answer.status_code, answer.json()["code"]) == (403, "role")


@pytest.mark.parametrize(("method", "path", "body"), [change for change in CHANGES if "{" in change[1]])
def test_ids_of_another_project_lead_nowhere(sign_in, other_study, ids, annotator, database, study, method, path, body):
    answer = sign_in(other_study, "owner").send(method, path.format(**ids), json=body)
    assert (answer.status_code, answer.json()["code"]) == (404, "not found")
    assert annotator.get("/api/me").json()["person"]["state"] == "active"
    assert not any(invite.revoked for invite in people.list_invites(database, study.id))


def test_a_pair_of_another_projects_sounds_is_refused(owner, study, other_study):
    body = {"text": "x", "system_a": "x", "system_b": "y"}
    theirs = {"a": other_study.sounds[0], "b": other_study.sounds[1]}
    mixed = {"a": study.sounds[0], "b": study.sounds[1], "reference": other_study.sounds[2]}
    for sounds in (theirs, mixed):
        assert owner.post("/api/owner/pairs", json=body | sounds).status_code == 404
    ours = {"a": study.sounds[0], "b": study.sounds[1], "reference": study.sounds[2]}
    assert owner.post("/api/owner/pairs", json=body | ours).status_code == 201
    assert owner.get("/api/owner/pairs").json()["total"] == len(study.pairs) + 1


def test_what_one_owner_sees_is_their_own_project(owner, other_study, sign_in):
    sign_in(other_study, "annotator")
    assert [row["title"] for row in owner.get("/api/owner/projects").json()] == ["Takes"]
    assert {row["role"] for row in owner.get("/api/owner/people").json()} == {"owner"}
    made = owner.post("/api/owner/projects", json={"title": "Second"}).json()
    assert made["link"].startswith("http://127.0.0.1:8008/join#")
    assert [row["title"] for row in owner.get("/api/owner/projects").json()] == ["Takes", "Second"]


def test_the_project_is_changed_by_parts(owner):
    before = owner.get("/api/owner/project").json()
    after = owner.send("PATCH", "/api/owner/project", json={"state": "paused", "settings": {"quota": 7}}).json()
    assert after == before | {"state": "paused", "settings": before["settings"] | {"quota": 7}}
    assert after["role"] == "owner"


@pytest.mark.parametrize(
    "body",
    [
        {"state": "gone"},
        {"title": ""},
        {"title": "x" * 201},
        {"consent": "x" * 20_001},
        {"settings": {"overlap_share": 2}},
        {"settings": {"nonsense": 1}},
        {"settings": {"quota": -1}},
        {"settings": {"quota": 10**30}},
        {"settings": {"heard_share": "0.5"}},
        {"settings": {"level_matched": 1}},
        {"settings": {"language": "<script>"}},
        {"settings": [1]},
        {"id": "x"},
        {"title": "nul \x00"},
    ],
)
def test_settings_out_of_bounds_are_refused(owner, body):
    before = owner.get("/api/owner/project").json()
    answer = owner.send("PATCH", "/api/owner/project", json=body)
    assert answer.status_code == 422, answer.text
    assert owner.get("/api/owner/project").json() == before


def test_links_are_shown_once_and_their_tokens_kept_as_hashes(owner, client, origin, database):
    made = owner.post("/api/owner/invites", json={"count": 2, "days": 3, "quota": 5}).json()
    tokens = [one["link"].partition("/join#")[2] for one in made]
    assert len(set(tokens)) == 2
    listed = owner.get("/api/owner/invites")
    assert not any(token in listed.text for token in tokens)
    assert {row["quota"] for row in listed.json() if row["role"] == "annotator"} == {5}
    database.close()
    assert not any(token.encode() in (database_file(database)) for token in tokens)
    assert owner.send("DELETE", f"/api/owner/invites/{made[0]['id']}").json() == {"revoked": True}
    for token, status in zip(tokens, (409, 200), strict=True):
        answer = client.post("/api/join", json={"token": token, "consent": True}, headers={"origin": origin})
        assert answer.status_code == status


def database_file(database) -> bytes:
    from pathlib import Path

    path = Path(database.name)
    return b"".join(part.read_bytes() for part in path.parent.glob(f"{path.name}*") if part.is_file())


def test_a_person_is_paused_and_comes_back_by_a_new_link(owner, annotator, make_client, origin):
    paused = owner.send("PATCH", f"/api/owner/people/{annotator.person}", json={"state": "paused", "quota": 3}).json()
    assert (paused["state"], paused["quota"]) == ("paused", 3)
    assert annotator.get("/api/next").json() == {"done": "paused"}
    owner.send("PATCH", f"/api/owner/people/{annotator.person}", json={"state": "active"})
    token = owner.post(f"/api/owner/people/{annotator.person}/link").json()["link"].partition("#")[2]
    answer = make_client().post("/api/join", json={"token": token, "consent": True}, headers={"origin": origin})
    assert answer.json()["person"]["id"] == annotator.person


def test_withdrawing_someone_ends_their_session_at_once(owner, annotator):
    annotator.vote(annotator.begun())
    assert owner.get("/api/owner/people").json()[0]["votes"] + owner.get("/api/owner/people").json()[1]["votes"] == 1
    assert owner.post(f"/api/owner/people/{annotator.person}/withdraw").json() == {"withdrawn": True}
    assert annotator.get("/api/me").status_code == 401
    assert owner.get("/api/owner/export.jsonl").text == ""


def test_pairs_are_listed_page_by_page(owner, study):
    first = owner.get("/api/owner/pairs?limit=2").json()
    rest = owner.get(f"/api/owner/pairs?limit=2&after={first['after']}").json()
    assert [row["id"] for row in first["pairs"] + rest["pairs"]] == study.pairs
    assert (first["total"], rest["after"]) == (3, None)
    for query in ("limit=0", "limit=1e9", "after=x", "after=9999999999999999999999", "limit=501"):
        assert owner.get(f"/api/owner/pairs?{query}").status_code == 422


def test_a_pair_is_hidden_once_however_often_it_is_sent_and_shown_again(owner, annotator):
    annotator.vote(annotator.begun())
    pair = owner.get("/api/owner/votes").json()["votes"][0]["pair"]
    for _ in range(2):
        assert owner.post(f"/api/owner/pairs/{pair}/hide", json={"reason": SCRIPT}).json() == {"hidden": True}
    assert len(owner.get(f"/api/owner/pairs/{pair}").json()["history"]) == 1
    assert owner.get("/api/owner/pairs?state=hidden").json()["pairs"][0]["hidden"] == SCRIPT
    assert owner.get("/api/owner/votes").json()["total"] == 0
    assert owner.get("/api/owner/votes?hidden=true").json()["votes"][0]["feedback"] == "B drags at 0:20"
    assert owner.get("/api/owner/export.jsonl").text == ""
    assert SCRIPT in json.loads(owner.get("/api/owner/export.jsonl?hidden=true").text.splitlines()[0])["hidden"]
    owner.post(f"/api/owner/pairs/{pair}/show")
    assert owner.get("/api/owner/votes").json()["total"] == 1
    assert owner.get(f"/api/owner/people/{annotator.person}").json()["screening"]["votes"] == 1
    for wrong in ({}, {"reason": ""}, {"reason": " "}, {"reason": "x" * 501}, {"reason": "\x00"}):
        assert owner.post(f"/api/owner/pairs/{pair}/hide", json=wrong).status_code == 422


def test_a_pair_is_replaced_once_and_the_export_has_splits(owner, annotator, study):
    body = {"reason": "take a is cut off", "a": study.sounds[4]}
    made = {owner.post(f"/api/owner/pairs/{study.pairs[0]}/replace", json=body).json()["id"] for _ in range(2)}
    assert len(made) == 1 and owner.get("/api/owner/pairs").json()["total"] == 4
    assert owner.get(f"/api/owner/pairs/{study.pairs[0]}").json()["replaced_by"] in made
    assert owner.post(f"/api/owner/pairs/{study.pairs[1]}/replace", json={"reason": "x"}).status_code == 422
    annotator.vote(annotator.begun())
    rows = owner.get("/api/owner/export.jsonl?split=train=1").text.splitlines()
    assert [json.loads(row)["split"] for row in rows] == ["train", "train"]
    assert owner.get("/api/owner/export.jsonl?split=nonsense").status_code == 422


def test_a_filter_that_makes_no_sense_is_refused_in_one_sentence(owner):
    for query in ("day=yesterday", "confidence=6", "order=x", "person=<script>", "won=maybe", "offset=-1", "x=1"):
        answer = owner.get(f"/api/owner/votes?{query}")
        assert (answer.status_code, set(answer.json())) == (422, {"code", "message"}), query
    for query in ("day=9999-12-31", "day=0001-01-01", "text=%25_%5C", "system=%00x"):
        assert owner.get(f"/api/owner/votes?{query}").status_code in (200, 422)


def test_the_export_has_votes_and_no_names(owner, annotator, systems):
    annotator.vote(annotator.begun())
    answer = owner.get("/api/owner/export.jsonl")
    rows = [json.loads(line) for line in answer.text.splitlines()]
    assert {row["axis"] for row in rows} == {"musicality", "alignment"}
    assert {row["rater"] for row in rows} == {annotator.person}
    assert systems[0] in answer.text
    assert "Jo" not in {value for row in rows for value in row.values() if isinstance(value, str)}
    assert "attachment" in answer.headers["content-disposition"]


def test_statistics_and_the_data_behind_each_chart(owner, annotator):
    from cmi.arena.statistics import charts

    annotator.vote(annotator.begun())
    report = owner.get("/api/owner/statistics").json()
    assert report["progress"]["votes"] == 1
    for name, rows in charts(report).items():
        assert owner.get(f"/api/owner/charts/{name}.json").json() == rows
        read = list(csv.DictReader(io.StringIO(owner.get(f"/api/owner/charts/{name}.csv").text)))
        assert len(read) == len(rows)
    for path in ("nothing.csv", "confidence.exe", "confidence", "../project.json", "Confidence.csv"):
        assert owner.get(f"/api/owner/charts/{path}").status_code in (404, 422)


def test_a_name_does_not_become_a_formula_in_a_spreadsheet(client, owner, database, study, origin):
    token = people.invite(database, study.id, "annotator", 1)[0].token
    body = {"token": token, "consent": True, "name": '=HYPERLINK("https://evil.example")'}
    client.post("/api/join", json=body, headers={"origin": origin})
    text = owner.get("/api/owner/charts/progress_people.csv").text
    assert "'=HYPERLINK" in text
    assert ",=HYPERLINK" not in text
    assert ',"=HYPERLINK' not in text


def test_the_description_of_the_api_is_for_owners(owner, client):
    assert "/api/next" in owner.get("/api/owner/openapi.json").json()["paths"]
    assert client.get("/openapi.json").status_code == 404
    assert client.get("/docs").status_code == 404


def test_the_audit_log_holds_no_personal_data(owner, annotator, database):
    from sqlalchemy import select

    from cmi.arena.store.schema import audit

    owner.post("/api/owner/invites", json={})
    owner.get("/api/owner/export.jsonl")
    with database.reading() as connection:
        rows = connection.execute(select(audit)).all()
    assert {"joined", "invited", "exported"} <= {row.action for row in rows}
    assert "Jo" not in {str(value) for row in rows for value in row}
    assert not any("127.0.0.1" in str(row) or annotator.token in str(row) for row in rows)

"""Recruited people over HTTP: cookies, places, checks and codes; who may see what."""

import io

import pytest
import soundfile

from cmi.arena.store import checks, people, projects, recruit

EXITS = {"exit_complete": "DONE1", "exit_screened_out": "OUT1", "exit_returned": "https://x.example/?p={PROLIFIC_PID}"}
WHO = {"PROLIFIC_PID": "5f1", "STUDY_ID": "st", "SESSION_ID": "s1"}


@pytest.fixture
def token(database, study):
    projects.change(database, study.id, settings=recruit.PLATFORMS["prolific"] | EXITS)
    return recruit.recruiting_link(database, study.id).token


@pytest.fixture
def enter(token, origin):
    def post(client, step="", consent=True, **who):
        body = {"study": token, "parameters": WHO | who} | ({} if step else {"consent": consent})
        return client.post(f"/api/enter{step}", json=body, headers={"origin": origin})

    return post


def test_a_link_describes_the_study_and_the_way_back_before_anything_is_stored(client, enter, database, study):
    said = enter(client, "/look").json()
    assert (said["place"], said["consent"], said["state"]) == ("new", "You may leave at any time.", "open")
    assert said["exit"] == {"url": "https://x.example/?p=5f1", "code": None}
    assert people.list_people(database, study.id) == []


def test_a_place_is_taken_once_and_found_again(make_client, enter, cookie_name):
    mine, thief = make_client(), make_client()
    first = enter(mine)
    assert (
        first.headers["set-cookie"].startswith(cookie_name) and "samesite=strict" in first.headers["set-cookie"].lower()
    )
    view = mine.get("/api/next").json()["view"]
    assert enter(mine, "/look", SESSION_ID="").json()["place"] == "here"
    for step in ("/look", ""):
        refused = enter(thief, step, SESSION_ID="s2")
        assert (refused.status_code, refused.json()["code"]) == (409, "place")
        assert "set-cookie" not in refused.headers
    assert thief.get("/api/next").status_code == 401
    elsewhere = make_client()
    assert enter(elsewhere, consent=False).json()["person"] == first.json()["person"]
    assert elsewhere.get("/api/next").json()["view"] == view == mine.get("/api/next").json()["view"]


def test_consent_and_origin_are_required_and_links_are_not_guessed(client, enter, token, origin):
    assert enter(client, consent=False).json()["code"] == "consent"
    body = {"study": token, "parameters": WHO, "consent": True}
    assert client.post("/api/enter", json=body).json()["code"] == "origin"
    wrong = client.post("/api/enter", json=body | {"study": "x" * 22}, headers={"origin": origin})
    assert (wrong.status_code, wrong.json()["code"]) == (404, "study")
    for parameters in ({}, {"PROLIFIC_PID": 5}, {"a" * 101: "x"}, {str(n): "x" for n in range(51)}, []):
        answer = client.post("/api/enter", json=body | {"parameters": parameters}, headers={"origin": origin})
        assert answer.status_code in (409, 422)


def test_the_completion_code_is_shown_to_nobody_who_is_not_done(client, enter, database, study, origin):
    projects.change(database, study.id, settings={"quota": 1})
    csrf = enter(client).json()["csrf"]
    assert "DONE1" not in client.get("/api/me").text + client.get("/api/next").text
    assert client.get("/api/exit").json() == {"outcome": None, "screened_out": None, "url": None, "code": None}
    view = client.get("/api/next").json()["view"]
    headers = {"origin": origin, "x-csrf-token": csrf}
    client.post(f"/api/views/{view}/begin", headers=headers)
    answers = {axis: {"choice": "a", "confidence": 3} for axis in ("alignment", "musicality")}
    client.post(f"/api/views/{view}/vote", json=answers | {"heard": {"a": 1, "b": 1}}, headers=headers)
    assert client.get("/api/next").json() == {"done": "quota"}
    url = "https://app.prolific.com/submissions/complete?cc=DONE1"
    assert client.get("/api/exit").json() == {"outcome": "complete", "screened_out": None, "url": url, "code": "DONE1"}
    left = client.post("/api/withdraw", json={"confirm": True}, headers=headers).json()
    assert left["exit"]["url"] == "https://x.example/?p=5f1"
    assert enter(client).json()["code"] == "withdrawn"


def test_sounds_of_checks_are_the_callers_own_and_say_nothing_else(sign_in, make_study, monkeypatch):
    monkeypatch.setitem(checks.SECONDS, "headphones", 0.0)
    study = make_study(headphone_check=True, exit_screened_out="OUT1", check_attempts=1)
    one, other = sign_in(study), sign_in(study)
    assert one.get("/api/next").json() == {"done": "checks"}
    assert one.get("/api/checks").json()["checks"][0]["attempts_left"] == 1
    assert one.post("/api/checks/headphones").json() == {"attempt": 1}
    sound = one.get("/api/checks/headphones/1/0.flac")
    assert soundfile.info(io.BytesIO(sound.content)).channels == 2 and sound.headers["cache-control"] == "no-store"
    part = one.get("/api/checks/headphones/1/0.flac", headers={"range": "bytes=0-3"})
    assert (part.status_code, part.content) == (206, b"fLaC")
    assert one.get("/api/checks/headphones/1/0.flac", headers={"range": "bytes=9999999-"}).status_code == 416
    assert one.get("/api/checks/calibration.flac").status_code == 200
    assert other.get("/api/checks/headphones/1/0.flac").status_code == 404
    assert one.post("/api/checks/device").json()["code"] == "check"
    for wrong in ([0] * 5, [0] * 7, [3] * 6, ["0"] * 6, None):
        assert one.post("/api/checks/headphones/1", json={"answers": wrong}).status_code == 422
    result = one.post("/api/checks/headphones/1", json={"answers": [0] * 6, "volume": 0.5}).json()
    assert one.post("/api/checks/headphones/1", json={"answers": [1] * 6}).json() == result
    if not result["passed"]:  # 13 times in 729 it is
        assert one.get("/api/next").json() == {"done": "screened out"}
        assert one.get("/api/exit").json()["code"] == "OUT1"


def test_the_owner_gets_a_table_that_no_spreadsheet_takes_for_formulas(enter, make_client, owner, observer, study):
    enter(make_client(), PROLIFIC_PID="=1+1", STUDY_ID="@x")
    [row] = owner.get("/api/owner/participants").json()
    assert (row["participant"], row["parameters"]["STUDY_ID"]) == ("=1+1", "@x")
    table = observer.get("/api/owner/participants.csv").text.splitlines()
    assert "'=1+1" in table[1] and "'@x" in table[1] and "parameter_STUDY_ID" in table[0]


def test_the_link_is_the_owners_and_can_be_renewed(owner, observer, enter, client, token):
    link = owner.get("/api/owner/recruiting").json()["link"]
    assert f"/enter?study={token}&PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}" in link
    assert observer.get("/api/owner/recruiting").status_code == 403
    assert owner.post("/api/owner/recruiting/renew").json()["link"] != link
    assert enter(client, "/look").json()["code"] == "study"


def test_only_an_owner_lets_somebody_in_who_was_screened_out(owner, observer, annotator, database, study):
    path = f"/api/owner/people/{annotator.person}/admit"
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE people SET screened_out = 'device' WHERE id = ?", (annotator.person,))
    assert annotator.get("/api/next").json() == {"done": "screened out"}
    assert [one.post(path).status_code for one in (observer, annotator)] == [403, 403]
    assert owner.post(path).json() == {"admitted": True}
    assert "view" in annotator.get("/api/next").json()
    assert owner.post(f"/api/owner/people/{owner.person}/admit").status_code == 404

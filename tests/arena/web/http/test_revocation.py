"""Sessions that are ended by others, people who are paused, and owners who must not lock everyone out."""

import pytest
from starlette.testclient import TestClient

from cmi.arena.store import people, votes
from cmi.arena.store.database import open_database
from cmi.arena.web.app import create_app
from cmi.arena.web.state import ServerSettings

ADDED = [  # what this page is about: (method, path, body, who may)
    ("POST", "/api/sign-out-everywhere", {"confirm": True}, {"annotator", "another annotator", "observer", "stranger"}),
    ("POST", "/api/owner/people/{person}/sign-out", None, {"owner"}),
    ("POST", "/api/owner/people/{person}/link", None, {"owner"}),
    ("GET", "/api/owner/sounds/problems", None, {"owner", "observer", "stranger"}),
    ("POST", "/api/owner/sounds/check", None, {"owner", "stranger"}),
    ("POST", "/api/views/{view}/skip", None, set()),  # nothing is wrong with it
    ("GET", "/media/{view}/a", None, {"annotator"}),
    ("GET", "/media/{sound}", None, {"owner", "observer"}),
]


@pytest.fixture
def come_back(owner, make_client, origin, sign_in):
    """A client that a person gets by a new link."""

    def back(person):
        token = owner.post(f"/api/owner/people/{person}/link").json()["link"].partition("#")[2]
        client = make_client()
        answer = client.post("/api/join", json={"token": token, "consent": True}, headers={"origin": origin})
        assert answer.json()["person"]["id"] == person
        return client

    return back


@pytest.mark.parametrize(("method", "path", "body", "allowed"), ADDED, ids=[f"{one[0]} {one[1]}" for one in ADDED])
def test_who_may_do_what(sign_in, study, other_study, client, origin, method, path, body, allowed):
    annotator = sign_in(study)
    ids = {"person": annotator.person, "view": annotator.begun(), "sound": study.sounds[0]}
    sign_in(study, "owner")  # a second one, so that the first is not the last
    visitors = {
        "another annotator": sign_in(study),
        "observer": sign_in(study, "observer"),
        "stranger": sign_in(other_study, "owner"),
        "annotator": annotator,
        "owner": sign_in(study, "owner"),
    }
    sign_in(other_study, "owner")
    nobody = client.request(method, path.format(**ids), json=body, headers={"origin": origin})
    assert (nobody.status_code, nobody.json()["code"]) == (401, "session")
    if "everywhere" in path:
        allowed = allowed | {"owner"}
    for name, visitor in visitors.items():
        without = visitor.client.request(method, path.format(**ids), json=body, headers={"origin": origin})
        if method != "GET":
            assert (without.status_code, without.json()["code"]) == (403, "csrf")
        answer = visitor.send(method, path.format(**ids), json=body)
        assert (answer.status_code == 200) is (name in allowed), (name, answer.text)
        assert answer.status_code in (200, 403, 404, 409)


def test_an_owner_signs_a_person_out_at_once(owner, annotator):
    view = annotator.begun()
    assert owner.post(f"/api/owner/people/{annotator.person}/sign-out").json() == {"sessions": 1}
    assert annotator.get("/api/me").status_code == 401
    assert annotator.vote(view).status_code == 401
    assert owner.get("/api/me").status_code == 200


def test_a_new_link_ends_the_old_sessions_and_brings_the_person_back(annotator, come_back):
    view = annotator.begun()
    annotator.vote(view)
    client = come_back(annotator.person)
    assert annotator.get("/api/me").status_code == 401
    assert client.get("/api/views/recent").json()[0]["view"] == view
    client = come_back(annotator.person)
    assert client.get("/api/me").status_code == 200


def test_a_person_signs_out_everywhere(annotator, come_back, origin, cookie_name):
    client = come_back(annotator.person)
    stolen = {"cookie": f"{cookie_name}={client.cookies[cookie_name]}"}
    csrf = client.get("/api/me").json()["csrf"]
    headers = {"origin": origin, "x-csrf-token": csrf}
    assert client.post("/api/sign-out-everywhere", json={"confirm": False}, headers=headers).status_code == 422
    assert client.post("/api/sign-out-everywhere", json={"confirm": True}, headers=headers).status_code == 200
    assert client.get("/api/me", headers=stolen).status_code == 401


def test_of_a_paused_person_nothing_is_taken_until_they_go_on(owner, annotator, database, study):
    first = annotator.begun()
    annotator.vote(first)
    view = annotator.get("/api/next").json()["view"]
    change = f"/api/owner/people/{annotator.person}"
    owner.send("PATCH", change, json={"state": "paused"})
    assert annotator.get("/api/next").json() == {"done": "paused"}
    refused = [annotator.post(f"/api/views/{view}/begin"), annotator.vote(first, feedback="changed")]
    owner.send("PATCH", change, json={"state": "active"})
    annotator.post(f"/api/views/{view}/begin")
    owner.send("PATCH", change, json={"state": "paused"})
    refused.append(annotator.vote(view))
    assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [(409, "paused")] * 3
    assert annotator.vote(first).json()["again"]  # it was taken before: a page that asks again is told so
    assert len(list(votes.counted(database, study.id))) == 1
    owner.send("PATCH", change, json={"state": "active"})
    assert annotator.vote(view).status_code == 200


def test_a_vote_is_corrected_five_times_and_no_more(annotator):
    view = annotator.begun()
    answers = [annotator.vote(view, feedback=f"number {number}") for number in range(8)]
    assert [answer.status_code for answer in answers] == [200] * 6 + [409] * 2
    assert answers[-1].json()["code"] == "final"
    assert annotator.vote(view, feedback="number 5").json()["again"]
    (entry,) = annotator.get("/api/views/recent").json()
    assert (entry["can_correct"], entry["vote"]["feedback"]) == (False, "number 5")


def test_a_vote_is_corrected_within_a_day(annotator, database):
    now = [database.now()]
    database.now = lambda: now[0]
    view = annotator.begun()
    annotator.vote(view)
    now[0] += 23 * 3600
    assert annotator.get("/api/views/recent").json()[0]["can_correct"]
    assert annotator.vote(view, feedback="after a night").status_code == 200
    now[0] += 2 * 3600
    assert not annotator.get("/api/views/recent").json()[0]["can_correct"]
    answer = annotator.vote(view, feedback="after another")
    assert (answer.status_code, answer.json()["code"]) == (409, "final")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/api/owner/people/{owner}", {"state": "paused"}),
        ("POST", "/api/owner/people/{owner}/withdraw", None),
        ("POST", "/api/owner/people/{owner}/sign-out", None),
        ("POST", "/api/owner/people/{owner}/link", None),
        ("POST", "/api/withdraw", {"confirm": True}),
        ("POST", "/api/sign-out-everywhere", {"confirm": True}),
    ],
)
def test_the_last_owner_does_not_lock_everyone_out(sign_in, study, database, method, path, body):
    owner = sign_in(study, "owner")
    paused, signed_out = (sign_in(study, "owner") for _ in range(2))
    people.change(database, study.id, paused.person, state="paused")
    people.end_sessions(database, study.id, signed_out.person)
    sign_in(study, "observer")
    answer = owner.send(method, path.format(owner=owner.person), json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, "last owner")
    assert owner.get("/api/owner/project").status_code == 200
    sign_in(study, "owner")
    assert owner.send(method, path.format(owner=owner.person), json=body).status_code == 200


def test_a_study_whose_owner_signed_out_gets_a_new_link_at_the_next_start(owner, study, database, capsys):
    from cmi.arena.web.serve import _show_links

    _show_links(database, "http://127.0.0.1:8008", demo=False, open_browser=False)
    assert "Own 'Takes'" not in capsys.readouterr().out
    owner.post("/api/sign-out")
    _show_links(database, "http://127.0.0.1:8008", demo=False, open_browser=False)
    assert "Own 'Takes':  http://127.0.0.1:8008/join#" in capsys.readouterr().out


@pytest.mark.parametrize("public_url", ["https://arena.example:443", "https://bücher.example"])
def test_over_https_the_cookie_is_this_hosts_alone(database, study, tmp_path, public_url):
    app = create_app(database, ServerSettings(public_url, tmp_path))
    origin = "https://arena.example" if "443" in public_url else "https://xn--bcher-kva.example"
    token = people.invite(database, study.id, "annotator", 1)[0].token
    with TestClient(app, base_url=origin) as client:
        answer = client.post("/api/join", json={"token": token, "consent": True}, headers={"origin": origin})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-cmi_arena_")
        assert {"Secure", "Path=/", "HttpOnly"} <= set(cookie.split("; ")) and "domain" not in cookie.lower()
        assert client.get("/api/me").status_code == 200
        headers = {"origin": origin, "x-csrf-token": answer.json()["csrf"]}
        assert client.post("/api/sign-out", headers=headers).status_code == 200


def test_two_arenas_at_one_host_keep_their_sessions_apart(client, database, study, tmp_path, origin):
    """A browser sends the cookies of a host to all its ports, and keeps one of each name."""
    from cmi.arena.store import projects

    other = open_database(str(tmp_path / "other.db"))
    try:
        project = projects.create(other, "Other").id
        both = [(client.app, database, study.id), (create_app(other, ServerSettings(origin, tmp_path)), other, project)]
        jar = client.cookies
        for app, its_database, its_project in both:
            token = people.invite(its_database, its_project, "annotator", 1)[0].token
            with TestClient(app, base_url=origin, cookies=jar) as browser:
                browser.post("/api/join", json={"token": token, "consent": True}, headers={"origin": origin})
                jar = browser.cookies
        titles = []
        for app, _, _ in both:
            with TestClient(app, base_url=origin, cookies=jar) as browser:
                titles.append(browser.get("/api/me").json()["project"]["title"])
        assert titles == ["Takes", "Other"]
    finally:
        other.close()

"""Invitations, sessions, and requests that come from elsewhere."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from cmi.arena.store import people, votes


@pytest.fixture
def token(database, study):
    return people.invite(database, study.id, "annotator", 1)[0].token


def join(client, token, origin, **more):
    return client.post("/api/join", json={"token": token, "consent": True} | more, headers={"origin": origin})


def test_an_invitation_can_be_looked_at_before_it_is_used(client, token, study, origin):
    for _ in range(2):
        answer = client.post("/api/invite", json={"token": token}, headers={"origin": origin})
        assert answer.json() == {
            "project": {"id": study.id, "title": "Takes", "kind": "pairs"},
            "consent": "You may leave at any time.",
            "role": "annotator",
            "language": "en",
        }


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(client, token, origin, cookie_name):
    answer = join(client, token, origin, name="Jo")
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith(f"{cookie_name}=")
    for part in ("httponly", "samesite=strict", "path=/"):
        assert part in cookie
    assert "domain" not in cookie
    assert "secure" not in cookie  # plain http on this machine
    assert token not in answer.text
    me = client.get("/api/me").json()
    assert me["person"] == {"id": answer.json()["person"]["id"], "role": "annotator", "name": "Jo", "state": "active"}
    assert me["project"]["settings"] == {"heard_share": 0.0, "heard_most": 30.0, "level_matched": False}
    assert me["csrf"] == answer.json()["csrf"]


def test_an_invitation_works_once(client, make_client, token, origin):
    assert join(client, token, origin).status_code == 200
    again = join(make_client(), token, origin)
    assert (again.status_code, again.json()["code"]) == (409, "invite")
    assert "set-cookie" not in again.headers


def test_of_many_who_use_one_invitation_at_once_one_gets_in(make_client, token, origin):
    clients = [make_client() for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda client: join(client, token, origin), clients))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 5


def test_used_revoked_expired_and_unknown_invitations_are_told_apart_by_nobody(client, database, study, origin):
    used, revoked, expired = people.invite(database, study.id, "annotator", 1, count=3)
    people.join(database, used.token, None, True)
    people.revoke(database, study.id, revoked.id)
    answers = []
    for token in (used.token, revoked.token, "x" * 32):
        answers.append(client.post("/api/invite", json={"token": token}, headers={"origin": origin}))
        answers.append(join(client, token, origin))
    now = database.now
    database.now = lambda: now() + 2 * 86_400
    answers.append(join(client, expired.token, origin))
    assert len({answer.text for answer in answers}) == 1
    assert {answer.status_code for answer in answers} == {409}


def test_nobody_joins_without_consent(client, token, origin):
    for consent in (False, None, 1, "true"):
        assert join(client, token, origin, consent=consent).status_code == 422
    assert join(client, token, origin).status_code == 200


def test_without_a_session_there_is_nothing_to_see(client, study, origin):
    for method, path in (
        ("GET", "/api/me"),
        ("GET", "/api/next"),
        ("GET", f"/media/{study.sounds[0]}"),
        ("GET", "/api/owner/people"),
        ("POST", "/api/sign-out"),
        ("DELETE", "/api/owner/invites/x"),
    ):
        answer = client.request(method, path, headers={"origin": origin})
        assert (answer.status_code, answer.json()["code"]) == (401, "session"), path


@pytest.mark.parametrize("cookie", ["", "x", "x" * 5000, "' OR 1=1 --", "%00", "\x7f"])
def test_a_made_up_cookie_is_nobody(client, cookie, cookie_name):
    assert client.get("/api/me", headers={"cookie": f"{cookie_name}={cookie}"}).status_code == 401


def test_every_route_that_needs_a_session_refuses_who_has_none(client, origin):
    """Whoever adds a route must give it a door."""
    description = client.app.openapi()
    open_to_all = {"/api/invite", "/api/join", "/api/enter", "/api/enter/look"}
    for path, methods in description["paths"].items():
        for method in methods:
            answer = client.request(
                method.upper(),
                path.replace(".{format}", ".csv").replace("{", "").replace("}", ""),
                headers={"origin": origin, "content-type": "application/json"},
                content=b"{}" if method != "get" else None,
            )
            expected = {422} if path in open_to_all else {401}
            assert answer.status_code in expected, (method, path, answer.text)


def test_signing_out_ends_the_session_on_the_server_too(annotator, cookie_name):
    cookie = annotator.client.cookies[cookie_name]
    assert annotator.post("/api/sign-out").json() == {"signed_out": True}
    assert annotator.get("/api/me", headers={"cookie": f"{cookie_name}={cookie}"}).status_code == 401


def test_whoever_withdraws_is_out_and_their_votes_are_gone(annotator, database, study, cookie_name):
    annotator.vote(annotator.begun())
    cookie = annotator.client.cookies[cookie_name]
    assert annotator.post("/api/withdraw", json={"confirm": False}).status_code == 422
    assert annotator.post("/api/withdraw", json={"confirm": True}).json()["withdrawn"] is True
    assert not list(votes.counted(database, study.id))
    assert annotator.get("/api/next", headers={"cookie": f"{cookie_name}={cookie}"}).status_code == 401


def test_a_request_without_the_token_of_its_session_changes_nothing(annotator, sign_in, study):
    stranger = sign_in(study)
    for csrf in ("", "x", stranger.csrf, annotator.csrf[:-1], annotator.csrf + "x"):
        answer = annotator.post("/api/sign-out", headers={"x-csrf-token": csrf})
        assert (answer.status_code, answer.json()["code"]) == (403, "csrf")
    assert annotator.get("/api/me").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {},
    ],
)
def test_a_request_from_another_site_changes_nothing(annotator, headers, token):
    headers = {"x-csrf-token": annotator.csrf} | headers
    answer = annotator.client.post("/api/sign-out", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "origin")
    assert annotator.get("/api/me").status_code == 200
    assert (
        annotator.client.post("/api/join", json={"token": token, "consent": True}, headers=headers).status_code == 403
    )


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "0.0.0.0:8008"])
def test_a_name_that_somebody_else_points_here_is_refused(annotator, host):
    answer = annotator.get("/api/me", headers={"host": host})
    assert (answer.status_code, answer.json()["code"]) == (421, "host")


def test_guessing_invitations_is_slowed_down(make_client, origin, settings):
    client = make_client(sign_in=settings.limits.sign_in._replace(burst=3, rate=1e-6))
    answers = [client.post("/api/invite", json={"token": "x" * 32}, headers={"origin": origin}) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [409, 409, 409, 429, 429]
    assert answers[-1].json()["code"] == "rate"
    assert int(answers[-1].headers["retry-after"]) > 1


def test_one_person_or_address_that_asks_too_often_has_to_wait(sign_in, study, settings):
    slow = settings.limits.person._replace(burst=3, rate=1e-6)
    eager = sign_in(study, person=slow)
    assert [eager.get("/api/me").status_code for _ in range(5)] == [200, 200, 200, 429, 429]
    noisy = sign_in(study, address=slow)
    assert [noisy.get("/api/me").status_code for _ in range(4)] == [200, 200, 429, 429]


def test_a_class_that_opens_the_pages_through_one_address_gets_them_all(client):
    asked = 30 * 45  # people, and files of a page
    assert {client.get("/static/icon.svg").status_code for _ in range(asked)} == {200}


def test_every_answer_carries_the_headers(annotator, client, origin):
    answers = [
        client.get("/api/me"),
        client.get("/nowhere"),
        client.get("/static/nowhere.js"),
        client.post("/api/join", content=b"x" * 100_000, headers={"origin": origin}),
        client.get("/healthz"),
        annotator.get("/api/me"),
        annotator.get("/api/me", headers={"host": "evil.example"}),
    ]
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert "script-src 'self';" in answer.headers["content-security-policy"]
        assert "server" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers

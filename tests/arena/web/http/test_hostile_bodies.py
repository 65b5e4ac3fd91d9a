"""Bodies that no page of ours would send."""

import pytest

DEEP = b"[" * 30_000 + b"]" * 30_000


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{",
        b"NaN",
        b'{"token": NaN, "consent": true}',
        b'{"token": Infinity, "consent": true}',
        b'{"token": ' + b"9" * 20_000 + b"}",
        b'{"token": 1e999}',
        DEEP,
        b'{"token": ' + DEEP + b"}",
        b'{"token": "\xff\xfe"}',
        b"\xff\xfe\x00",
        b'{"token": "\\ud800"}',
        b'{"token": "aaaaaaaaaaaa\\u0000"}',
        b'{"token": "' + b"a" * 129 + b'"}',
        b'{"token": "aaaaaaaa", "token": ["aaaaaaaa"]}',
        b'{"__proto__": {}, "token": "aaaaaaaa"}',
    ],
)
def test_a_malformed_body_is_refused_in_one_sentence(client, body, origin):
    for path in ("/api/invite", "/api/join"):
        headers = {"origin": origin, "content-type": "application/json"}
        answer = client.post(path, content=body, headers=headers)
        assert answer.status_code in (400, 422), answer.text
        assert set(answer.json()) == {"code", "message"}
        assert len(answer.json()["message"]) < 300


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000, '"1"', "null", "[1]"])
def test_a_number_of_seconds_is_a_number(annotator, number):
    view = annotator.begun()
    answer = '{"choice": "a", "confidence": 3}'
    body = f'{{"alignment": {answer}, "musicality": {answer}, "heard": {{"a": {number}, "b": 1}}}}'
    sent = annotator.post(f"/api/views/{view}/vote", content=body, headers={"content-type": "application/json"})
    assert sent.status_code in (400, 422)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/xml", ""])
def test_a_body_of_another_kind_is_not_read_as_json(client, kind, origin):
    answer = client.post(
        "/api/invite", content=b'{"token": "aaaaaaaa"}', headers={"origin": origin, "content-type": kind}
    )
    assert answer.status_code == 422


def test_a_body_that_says_it_is_too_large_is_not_read(client, origin):
    headers = {"origin": origin, "content-type": "application/json", "content-length": str(10**12)}
    answer = client.post("/api/invite", content=b"{}", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "too large")


def test_a_body_that_does_not_say_how_large_it_is_is_counted(client, origin):
    def endless():
        for _ in range(100):
            yield b" " * 1000

    headers = {"origin": origin, "content-type": "application/json"}
    assert client.post("/api/invite", content=endless(), headers=headers).status_code == 413


@pytest.mark.parametrize(
    "path", ["/api/views/%00/vote", "/api/views/../begin", "/api/views/a%2Fb/begin", "/api/views/ä/begin"]
)
def test_an_id_that_could_not_be_one_is_not_looked_for(annotator, path):
    assert annotator.post(path, json={}).status_code in (404, 405, 422)


def test_a_failure_of_ours_is_an_answer_without_details(annotator, database):
    database.engine.dispose()

    def fail(*_, **__):
        raise ZeroDivisionError("secret detail")

    database.now = fail
    answer = annotator.get("/api/next")
    assert answer.status_code == 500
    assert answer.json() == {"code": "server", "message": "Something went wrong on the server: try again."}
    assert answer.headers["x-content-type-options"] == "nosniff"

"""Requests made up from the API's own description, right ones and wrong ones: none of them may bring a 500."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

from cmi.arena.store import people
from cmi.arena.web.limits import Rate

EXAMPLES = 8  # for each operation, role and mode
UPLOADS = 2  # each starts a process
ENDS_THE_SESSION = {"/api/sign-out", "/api/sign-out-everywhere", "/api/withdraw"}
UNLIMITED = {name: Rate(1e6, 1e6) for name in ("address", "person", "sign_in", "uploads")}


@pytest.fixture
def database(request, sqlite_database):
    """SQLite takes text that PostgreSQL does not, so that both are asked."""
    return sqlite_database if request.param == "sqlite" else request.getfixturevalue("postgres_database")


def operations(description: dict[str, Any]) -> list[Any]:
    found = [result.ok() for result in schemathesis.openapi.from_dict(description).get_all_operations()]
    return [operation for operation in found if operation.path not in ENDS_THE_SESSION]


def sent(visitor, case, origin: str):
    """The answer to a case, with the session's cookie and token."""
    arguments = case.as_transport_kwargs(base_url=origin)
    headers = dict(arguments.pop("headers", None) or {}) | {"origin": origin, "x-csrf-token": visitor.csrf}
    arguments.pop("cookies", None)
    if isinstance(arguments.get("data"), str | bytes):
        arguments["content"] = arguments.pop("data")
    headers = {name: value.encode("utf-8", "surrogatepass") for name, value in headers.items()}
    return visitor.client.request(**arguments, headers=headers)


def made_up(operation, mode, ask) -> None:
    """Ask with cases of an operation, each with made-up ids in its path or with real ones."""

    @settings(
        max_examples=UPLOADS if operation.path == "/api/owner/sounds" else EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode), st.booleans())
    def each(case, really):
        ask(case, really)

    try:
        each()
    except Unsatisfiable:  # nothing in it that could be wrong
        assert mode == GenerationMode.NEGATIVE


@pytest.mark.parametrize("database", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("role", ["owner", "annotator", "nobody"])
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_no_request_brings_the_server_down(sign_in, study, role, mode, origin, database, make_client):
    visitor = sign_in(study, "annotator" if role == "nobody" else role, **UNLIMITED)
    if role == "nobody":
        visitor.client = make_client(**UNLIMITED)
    invite = people.invite(database, study.id, "annotator", 1)[0]
    known = {"person": visitor.person, "sound": study.sounds[0], "invite": invite.id, "view": "none"}
    known["pair"] = study.pairs[0]
    if role == "annotator":
        known["view"] = visitor.begun()
    if role == "owner":  # somebody else: an owner who withdraws themselves is signed out
        known["person"] = sign_in(study).person
    asked = []

    def ask(case, really):
        for name in set(case.path_parameters or {}) & set(known) if really else ():
            case.path_parameters[name] = known[name]
        answer = sent(visitor, case, origin)
        assert answer.status_code < 500, (case.as_curl_command(), answer.text)
        if answer.status_code >= 400:
            assert set(answer.json()) == {"code", "message"}, answer.text
        asked.append(answer.status_code)

    for operation in operations(visitor.client.app.openapi()):
        made_up(operation, mode, ask)

    assert len(set(asked)) > 2
    assert visitor.get("/api/me").status_code == (401 if role == "nobody" else 200)

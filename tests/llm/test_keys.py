"""Keys go where the user sends them, and are shown nowhere."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi._util.errors import LONGEST_REASON, InputError
from cmi._util.redaction import HIDDEN, RUN, redactor, shown_url
from cmi.judge import load_judge
from cmi.llm import Chat, Endpoint, Failure, Request, user

KEY = "sk-very-secret-0123456789abcdefghijklmnopqrstuv"
CHARACTERS = st.characters(codec="ascii", exclude_categories=("Cc",))


def runs_of(secret: str, text: str) -> list[str]:
    """The runs of a secret that a text holds."""
    runs = [secret[start : start + RUN] for start in range(len(secret) - RUN + 1)]
    return [run for run in runs if run in text]


def ask(url: str, folder: Path, **settings: Any) -> Any:
    with Chat(Endpoint(url, "m", **{"tries": 1} | settings), folder) as chat:
        [(_, result)] = chat.ask_all([Request("q", (user("which key?"),))])
    return result


@given(st.text(CHARACTERS, max_size=40), st.integers(0, 30), st.integers(0, 47), st.text(CHARACTERS, max_size=40))
def test_no_run_of_a_key_survives_however_much_of_it_is_quoted(before: str, start: int, end: int, after: str):
    shown = redactor([KEY])(f"{before}{KEY[start:end]}{after}")
    assert not runs_of(KEY, shown)
    assert redactor([KEY])("nothing secret") == "nothing secret"


@pytest.mark.parametrize("shift", range(0, 60, 7))
@pytest.mark.parametrize("status", [400, 401, 500])
def test_a_key_in_a_long_error_is_hidden_before_the_error_is_cut(
    canned: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, shift: int
):
    monkeypatch.setenv("MY_KEY", KEY)
    error = "x" * (LONGEST_REASON - shift) + KEY + "y" * 500
    body = json.dumps({"error": {"message": error}}).encode()
    with canned(lambda handler: handler.send(body, status=status)) as server:
        try:
            said = str(ask(server.url, tmp_path, key_env="MY_KEY"))
        except InputError as raised:
            said = str(raised)
    assert f"status {status}" in said and not runs_of(KEY, said)


@pytest.mark.parametrize(
    "choice",
    [
        {"message": {"content": f"text {KEY}"}, "finish_reason": "stop"},
        {"message": {"content": "text"}, "finish_reason": KEY},
        {"message": {"content": "", "refusal": f"no, {KEY}"}},
        {"message": {"content": [KEY]}},
        {"message": {"content": None, "other": KEY}},
    ],
)
def test_a_key_reaches_no_field_of_what_is_kept(
    canned: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choice: dict[str, Any]
):
    monkeypatch.setenv("MY_KEY", KEY)
    with canned(lambda handler: handler.send(json.dumps({"choices": [choice]}).encode())) as server:
        said = ask(server.url, tmp_path, key_env="MY_KEY", repairs=0)
        assert server.requests[0]["authorization"] == f"Bearer {KEY}"
    kept = [path.read_text() for path in tmp_path.iterdir()]
    assert any(HIDDEN in text for text in kept)
    assert not any(runs_of(KEY, text) for text in [*kept, str(said)])


def test_what_the_environment_holds_for_openai_is_not_sent_elsewhere(
    canned: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"x-secret: {KEY}")
    with canned(lambda handler: handler.send(b"{}")) as server:
        ask(server.url, tmp_path / "unnamed", repairs=0)
        ask(server.url, tmp_path / "named", repairs=0, key_env="OPENAI_API_KEY")
        unnamed, named = server.requests
    assert KEY not in str(unnamed) and "authorization" not in {name.lower() for name in unnamed}
    assert named["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("url", "is_sent"),
    [
        ("https://api.openai.com/v1", True),
        ("https://eu.api.openai.com/v1", True),
        ("https://API.OpenAI.com:443/v1", True),
        ("http://api.openai.com/v1", False),
        ("https://api.openai.com.example.org/v1", False),
        ("https://example-api.openai.com.evil/v1", False),
        ("https://myapi.openai.com/v1", False),
        ("https://api.openai.com@example.org/v1", False),
        ("https://example.org/v1?host=api.openai.com", False),
        ("http://localhost:8000/v1", False),
    ],
)
def test_openais_key_goes_to_openai_alone(monkeypatch: pytest.MonkeyPatch, url: str, is_sent: bool):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert Endpoint(url, "m").key() == (KEY if is_sent else "")
    assert Endpoint(url, "m", key_env="OPENAI_API_KEY").key() == KEY


def test_a_refusal_without_a_key_says_how_to_send_one(canned: Callable[..., Any], tmp_path: Path):
    with canned(lambda handler: handler.send(b"", status=401)) as server:
        with pytest.raises(InputError, match="no key was sent: name its environment variable with --key-env"):
            ask(server.url, tmp_path)
        with pytest.raises(InputError, match="UNSET_KEY is not set"):
            ask(server.url, tmp_path, key_env="UNSET_KEY")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_takes_neither_the_key_nor_the_sounds_along(
    canned: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
):
    monkeypatch.setenv("MY_KEY", KEY)
    with canned(lambda handler: handler.send(b"{}")) as other:
        to = f"{other.url}/chat/completions?key={KEY}"
        elsewhere = canned(lambda handler: handler.send(b"", status=status, Location=to))
        with elsewhere as server, pytest.raises(InputError, match="redirects to http://") as raised:
            ask(server.url, tmp_path, key_env="MY_KEY")
        assert not other.requests and not runs_of(KEY, str(raised.value))


def test_a_password_in_the_address_is_not_shown(canned: Callable[..., Any], tmp_path: Path):
    password = "hunter2-hunter2"

    def gossip(handler: Any) -> None:
        said = f"{handler.path} {handler.headers['authorization']} {password}"
        handler.send(json.dumps({"error": {"message": said}}).encode(), status=400)

    with canned(gossip) as server:
        address = server.url.replace("http://", f"http://someone:{password}@") + f"?key={KEY}&password={password}"
        failure = ask(address, tmp_path)
    assert isinstance(failure, Failure) and failure.reason.count(HIDDEN) >= 3
    shown = [failure.reason, shown_url(address), *(path.read_text() for path in tmp_path.iterdir())]
    assert not any(password in text or runs_of(KEY, text) for text in shown)


@pytest.mark.parametrize("key", ["sk-\u2028x", "sk-a\nb", "clé"])
def test_a_key_that_no_header_can_carry_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str):
    monkeypatch.setenv("MY_KEY", key)
    with pytest.raises(InputError, match="MY_KEY contains characters") as raised:
        Chat(Endpoint("http://localhost/v1", "m", key_env="MY_KEY"), tmp_path)
    assert key not in str(raised.value)


def test_the_key_of_an_endpoint_s_file_is_for_the_file_s_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_KEY", KEY)
    file = tmp_path / "mine.toml"
    file.write_text('url = "https://example.org/v1"\nmodel = "m"\nkey_env = "MY_KEY"\n')

    def key(**settings: Any) -> str:
        return load_judge._endpoint(load_judge.Spec(endpoint=file, **settings))[0].key()

    assert key() == key(url="https://example.org/v2", model="other") == KEY
    assert key(url="https://elsewhere.example/v1") == ""
    assert key(url="https://elsewhere.example/v1", key_env="MY_KEY") == KEY

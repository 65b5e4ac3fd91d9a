"""What the server refuses, it says in the annotator's language; a browser at an unknown address gets a page."""

import ast
import re
from pathlib import Path

import cmi._util.web_requests
import cmi.arena
from cmi.arena.web.languages import TRANSLATIONS, preferred_language, translate

FOLDER = Path(cmi.arena.__file__).parent
SOURCES = [*(FOLDER / "store").glob("*.py"), *(FOLDER / "web").rglob("*.py"), FOLDER / "audio" / "playback.py"]
OWNERS = ("hiding.py", "uploads.py", "owner.py")  # what only owners can cause
OTHERS = {  # said to an owner, or to a program
    "this person has withdrawn from the study",
    "this person has withdrawn; send a new invitation if they have changed their mind",
}


def sentences(path: Path) -> set[str]:
    """The templates of all refusals in a file, {} for each gap."""
    found = set()
    for call in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(
            ("Refused", "HttpRefusal", "super().__init__")
        ):
            found |= {_template(one) for one in call.args[1:2]}
        if isinstance(call, ast.Assign) and ast.unparse(call.targets[0]) in ("message", "NO_INVITE"):
            found.add(_template(call.value))
    return found - {None}


def _template(node: ast.expr) -> str | None:
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def test_every_refusal_that_an_annotator_can_meet_is_translated():
    said = set().union(*(sentences(path) for path in SOURCES if path.name not in OWNERS))
    said |= sentences(Path(cmi._util.web_requests.__file__))
    assert len(said) > 25
    known = {re.sub(r"\{\w+\}", "{}", english) for english in TRANSLATIONS["zh"]}
    assert {one for one in said if re.search("[a-z]{3} [a-z]", one)} - known - OTHERS == set()
    for english, chinese in TRANSLATIONS["zh"].items():
        assert set(re.findall(r"\{(\w+)\}", chinese)) <= set(re.findall(r"\{(\w+)\}", english)), english


def test_the_language_is_the_first_that_the_request_prefers_and_we_speak():
    assert [preferred_language(one) for one in ("zh-TW,en;q=0.5", "fr, en-GB, zh", "", "*", ";;,zh")] == [
        "zh", "en", "en", "en", "zh",
    ]  # fmt: skip
    assert translate("a sentence that nobody knows", "zh") == "a sentence that nobody knows"


def test_a_refused_vote_is_explained_in_chinese(sign_in, make_study):
    annotator = sign_in(make_study(heard_share=1.0))
    view = annotator.begun()
    vote = annotator.vote(view, heard={"a": 0.0, "b": 0.0})
    assert (vote.status_code, vote.json()["message"]) == (409, "Please hear 0 s of take A before you vote.")
    body = annotator.client.post(
        f"/api/views/{view}/vote",
        json={**{axis: {"choice": "a", "confidence": 3} for axis in ("alignment", "musicality")}}
        | {"heard": {"a": 0.0, "b": 0.0}},
        headers={"origin": "http://127.0.0.1:8008", "x-csrf-token": annotator.csrf, "accept-language": "zh-CN,zh"},
    ).json()
    assert body == {"code": "heard", "message": "投票前请听音乐 A 至少 0 秒。"}


def test_an_unknown_address_is_a_page_in_a_browser_and_json_elsewhere(client, owner):
    browser = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for address in ("/nothing/here", "/owner/x", "/static/nothing.js", "/api/nothing"):
        page = client.get(address, headers=browser)
        assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert 'data-word="lost.title"' in page.text and "content-security-policy" in page.headers
        for accept in ("application/json", "*/*"):
            other = client.get(address, headers={"accept": accept})
            assert (other.status_code, other.json()["code"]) == (404, "not found")
    assert owner.get("/api/owner/pairs/none", headers=browser).status_code == 404


def test_links_carry_the_address_by_which_the_owner_reaches_the_server(owner):
    def link(host):
        headers = {"host": host, "origin": f"http://{host}"}
        return owner.post("/api/owner/invites", json={}, headers=headers).json()[0]["link"].partition("/join#")[0]

    assert link("localhost:8008") == "http://localhost:8008"
    assert link("127.0.0.1:8008") == "http://127.0.0.1:8008"
    for forged in ("localhost:9", "LOCALHOST:8008@evil.example"):
        headers = {"host": forged, "origin": "http://localhost:8008"}
        answer = owner.post("/api/owner/invites", json={}, headers=headers)
        assert answer.status_code != 201 or answer.json()[0]["link"].startswith("http://127.0.0.1:8008/")

"""Pages and scripts: files of the package, by name."""

import pytest
from starlette.testclient import TestClient

from cmi.arena.web.app import create_app
from cmi.arena.web.routes.pages import PAGES
from cmi.arena.web.state import ServerSettings


@pytest.fixture
def visit(database, tmp_path, origin):
    app = create_app(database, ServerSettings(origin, tmp_path, {"wavesurfer.js": b"window.WaveSurfer = 1;"}))
    return TestClient(app, base_url=origin, follow_redirects=False)


def test_pages_are_served_by_their_names(visit):
    for path, title in (("/", ""), ("/join", "Join · "), ("/annotate", "Vote · "), ("/owner", "Study · ")):
        answer = visit.get(path)
        assert answer.text.count(f"<title>{title}cmi arena</title>") == answer.text.count("<title>") == 1
        assert [answer.text.count(f"<{tag}") for tag in ("!doctype", "body>", "header ", "main ")] == [1] * 4
        assert "<!--" not in answer.text
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert "'unsafe-inline'" not in answer.headers["content-security-policy"]


def test_scripts_are_served_with_a_type_and_a_tag(visit):
    answer = visit.get("/static/js/api.js")
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert visit.get("/static/js/api.js", headers={"if-none-match": answer.headers["etag"]}).status_code == 304
    assert visit.get("/static/wavesurfer.js").text == "window.WaveSurfer = 1;"


def test_without_the_player_its_address_is_empty(client):
    assert client.get("/static/wavesurfer.js").status_code == 404


def test_what_is_not_a_page_is_not_served(visit):
    for name in ("../app.py", "join.html", "shell.html", "js", "js/../../app.py", ""):
        assert visit.get(f"/static/{name}").status_code == 404


def test_the_front_page_leads_everyone_to_theirs(annotator, owner, observer):
    for visitor, home in ((annotator, "/annotate"), (owner, "/owner"), (observer, "/owner")):
        answer = visitor.get("/")
        assert (answer.status_code, answer.headers["location"]) == (303, home)


def test_no_page_of_ours_has_inline_script_or_style():
    for page in PAGES.glob("*.html"):
        text = page.read_text(encoding="utf-8").lower()
        assert " style=" not in text, page
        assert " on" not in "".join(part.split(">")[0] for part in text.split("<")).replace(" on ", ""), page
        assert all("src=" in part.split(">")[0] for part in text.split("<script")[1:]), page

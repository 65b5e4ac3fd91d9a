"""The owner's page: watching a study, and running it."""

import csv
import io

import pytest
from playwright.sync_api import expect

from cmi.arena.audio import sounds
from cmi.arena.store import pairs, people, projects

FIGURES = (
    "progress",
    "agreement",
    "confidence",
    "axes",
    "screening",
    "ranking",
    "needed",
    "win-rates",
    "covariates",
    "days",
)


@pytest.fixture
def owner(make_arena, open_dashboard):
    """(arena, page) of an owner of a study that four people have voted in."""
    arena = make_arena(overlap_votes=4)
    arena.simulate(listeners=4)
    return arena, open_dashboard(arena)


def test_the_dashboard_shows_the_study_and_follows_it(owner, unworded, screenshot, open_details):
    arena, page = owner
    expect(page.locator(".tile").first).to_contain_text("24 of 24 wanted")
    for name in FIGURES:
        expect(page.locator(f"[data-figure='{name}'] h2")).to_be_visible()
    expect(page.locator("[data-figure='ranking']")).to_contain_text("Left out, with fewer than 20 votes")
    assert page.evaluate("document.documentElement.scrollHeight") <= 2 * 900, "two screens"
    screenshot(page, "owner-overview")
    open_details(page)
    expect(page.locator("[data-figure='confidence'] svg[role='img']")).to_be_visible()
    expect(page.locator("[data-figure='screening'] tbody tr")).to_have_count(4)
    expect(page.locator("[data-figure='screening'] tbody tr").first).to_contain_text("can't tell yet")
    assert unworded(page) == []
    screenshot(page, "owner-overview-open")
    page.emulate_media(color_scheme="dark")
    screenshot(page, "owner-overview-dark")
    people.withdraw(arena.database, arena.project, people.list_people(arena.database, arena.project)[0].id)
    expect(page.locator(".tile").first).to_contain_text("18 of 24 wanted")


def test_charts_come_as_data(owner, open_details):
    _, page = owner
    open_details(page)
    with page.expect_download() as download:
        page.locator("[data-figure='confidence'] a[href$='.csv']").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert {row["axis"] for row in rows} == {"alignment", "musicality"} and len(rows) == 10
    assert all("/api/owner/charts/" in link for link in hrefs(page))
    for link in hrefs(page):
        assert page.request.get(link).ok, link


def hrefs(page):
    return page.locator(".downloads a").evaluate_all("links => links.map(link => link.href)")


def test_the_owner_pauses_and_changes_the_study(owner, unworded, screenshot):
    arena, page = owner
    page.get_by_role("link", name="Study", exact=True).click()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Open it")).to_be_visible()
    assert projects.get(arena.database, arena.project).state == "paused"
    page.get_by_label("Gold pairs (%)").fill("12.5")
    page.get_by_label("Play all takes equally loud").check()
    with page.expect_response(lambda answer: answer.request.method == "PATCH"):  # the pause was "Saved." too
        page.get_by_role("region", name="Settings").get_by_role("button", name="Save").click()
    expect(page.locator("#status")).to_have_text("Saved.")
    settings = projects.get(arena.database, arena.project).settings
    assert (settings.gold_share, settings.level_matched) == (0.125, True)
    screenshot(page, "owner-study")
    assert unworded(page) == []
    with page.expect_download() as download:
        page.get_by_role("link", name="Download votes").click()
    assert len(download.value.path().read_text().splitlines()) > 0


def test_the_owner_invites_and_takes_an_invitation_back(owner, unworded, screenshot):
    arena, page = owner
    page.get_by_role("link", name="People", exact=True).click()
    page.get_by_label("How many").fill("2")
    page.get_by_role("button", name="Make links").click()
    expect(page.get_by_label("Invitation link")).to_have_count(2)
    assert page.get_by_label("Invitation link").first.input_value().startswith(f"{arena.url}/join#")
    screenshot(page, "owner-people")
    assert unworded(page) == []
    page.get_by_role("button", name="Revoke").first.click()
    expect(page.get_by_role("button", name="Revoke")).to_have_count(1)


def test_the_owner_pauses_and_withdraws_a_person(owner):
    arena, page = owner
    page.get_by_role("link", name="People", exact=True).click()
    row = page.locator("tr", has_text="Listener 2")
    row.get_by_role("button", name="Pause").click()
    expect(row.get_by_role("button", name="Resume")).to_be_visible()
    row.get_by_role("button", name="Quota").click()
    page.get_by_role("dialog").get_by_label("Votes").fill("9")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(row).to_contain_text("6 / 9")
    row.get_by_role("button", name="Withdraw").click()
    page.get_by_role("button", name="Delete these votes").click()
    expect(page.locator("tr", has_text="Listener 2")).to_have_count(0)
    assert sum(person.votes for person in people.list_people(arena.database, arena.project)) == 18


def test_the_owner_uploads_a_pair(owner, tmp_path, unworded, screenshot):
    arena, page = owner
    page.get_by_role("link", name="Pairs", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(6)
    page.locator("summary", has_text="Upload recordings").click()
    page.get_by_label("Instruction").fill("A march for two tubas")
    page.get_by_label("First recording").set_input_files(tmp_path / "tone-0.wav")
    page.get_by_label("Second recording").set_input_files(tmp_path / "tone-3.wav")
    for number, name in enumerate(("tuba", "trombone")):
        page.get_by_label("System that made it").nth(number).fill(name)
    page.get_by_role("button", name="Upload and add").click()
    expect(page.locator("tbody tr")).to_have_count(7)
    screenshot(page, "owner-pairs")
    assert unworded(page) == []
    assert pairs.count(arena.database, arena.project) == 7


def test_an_observer_can_look_and_change_nothing(owner, open_dashboard):
    arena, _ = owner
    page = open_dashboard(arena, "observer")
    for tab in ("Study", "People", "Pairs", "Votes"):
        page.get_by_role("link", name=tab, exact=True).click()
        expect(page.locator("h2").first).to_be_visible()
        for change in ("Pause", "Make links", "Upload and add", "Save", "Withdraw", "Hide it"):
            expect(page.get_by_role("button", name=change)).to_have_count(0)


def test_lost_recordings_are_on_the_dashboard_until_they_are_back(owner, tmp_path, unworded, screenshot):
    arena, page = owner
    path = tmp_path / "tone-2.wav"
    content = path.read_bytes()
    path.unlink()
    list(sounds.check(arena.database, arena.project, thoroughly=True))
    expect(page.locator("#banners")).to_contain_text("Recordings missing or changed since their import: 1 (tone-2.wav)")
    assert unworded(page) == []
    screenshot(page, "owner-lost-recordings")
    page.get_by_role("button", name="Check again").click()
    expect(page.get_by_role("button", name="Check again")).to_be_enabled()
    expect(page.locator("#banners")).to_contain_text("tone-2.wav")
    path.write_bytes(content)
    page.get_by_role("button", name="Check again").click()
    expect(page.locator("#banners")).not_to_contain_text("tone-2.wav")


def test_the_owner_signs_somebody_out(owner, new_context):
    arena, page = owner
    someone = new_context()
    arena.sign_in(someone, "annotator", "Zoe")
    page.get_by_role("link", name="People", exact=True).click()
    row = page.locator("tr", has_text="Zoe")
    row.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign out now").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    theirs = someone.new_page()
    theirs.goto(f"{arena.url}/annotate")
    expect(theirs.get_by_role("heading", name="You are signed out")).to_be_visible()

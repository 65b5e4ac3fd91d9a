"""axe finds nothing serious on any page, in light and in dark."""

import pytest
from playwright.sync_api import expect

from cmi.arena.store import recruit
from cmi.arena.store.browse import find_votes

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")


def assert_no_serious_finding(page):
    found = axe.Axe().run(page).response["violations"]
    serious = [
        (one["id"], [node["html"][:120] for node in one["nodes"][:3]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_annotators_page(arena, join, scheme):
    someone = join(arena, color_scheme=scheme)
    page = someone.page
    assert_no_serious_finding(page)
    page.locator("#read").click()
    expect(page.locator("#submit")).to_be_visible()
    assert_no_serious_finding(page)
    someone.hear_both()
    someone.answer()
    page.locator("#glossary summary").click()
    assert_no_serious_finding(page)
    page.locator("#help").click()
    assert_no_serious_finding(page)
    page.keyboard.press("Escape")
    page.locator("#privacy").click()
    assert_no_serious_finding(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_way_in(arena, new_context, scheme):
    page = new_context(color_scheme=scheme).new_page()
    page.goto(arena.url)
    expect(page.locator("h1")).to_be_visible()
    assert_no_serious_finding(page)
    page.goto(arena.link())
    expect(page.locator("#agree")).to_be_visible()
    assert_no_serious_finding(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_owners_page(make_arena, new_context, open_details, scheme):
    arena = make_arena(overlap_votes=4)
    arena.simulate(listeners=4)
    context = new_context(color_scheme=scheme)
    arena.sign_in(context, "owner", "Olga")
    page = context.new_page()
    page.goto(f"{arena.url}/owner")
    expect(page.locator("[data-updated]")).to_contain_text("Updated")
    assert_no_serious_finding(page)
    open_details(page)
    assert_no_serious_finding(page)
    for tab in ("People", "Pairs", "Votes", "Study"):
        page.get_by_role("link", name=tab, exact=True).click()
        expect(page.locator("h2").first).to_be_visible()
        assert_no_serious_finding(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_owners_pages_of_a_pair_and_a_person(make_arena, new_context, open_details, scheme):
    arena = make_arena(overlap_votes=4)
    arena.simulate(listeners=2)
    context = new_context(color_scheme=scheme)
    arena.sign_in(context, "owner", "Olga")
    page = context.new_page()
    vote = find_votes(arena.database, arena.project).rows[0]
    for address in (f"pair?id={vote['pair']}", f"person?id={vote['person']}", f"votes?person={vote['person']}"):
        page.goto(f"{arena.url}/owner#{address}")
        expect(page.locator(".ballots").first).to_be_visible()
        open_details(page)
        assert_no_serious_finding(page)
    page.goto(f"{arena.url}/nowhere")
    expect(page.locator("h1")).to_be_visible()
    assert_no_serious_finding(page)


def test_what_changes_is_announced(annotator):
    """A screen reader hears that the takes are there, that enough was heard, and that questions open."""
    page = annotator.page
    status = page.locator("#status")
    page.locator("#read").click()
    expect(status).to_contain_text("two takes")
    annotator.hear_both()
    expect(status).to_contain_text("answer the questions")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_of_recruited_people(make_arena, new_context, scheme):
    recruited = recruit.PLATFORMS["prolific"] | {"exit_returned": "BACK1"}
    arena = make_arena(**recruited, device_check=True)
    page = new_context(color_scheme=scheme).new_page()
    token = recruit.recruiting_link(arena.database, arena.project).token
    address = f"{arena.url}/enter?study={token}&PROLIFIC_PID=5f1&SESSION_ID=s1"
    page.goto(address)
    page.locator("#decline").click()
    expect(page.locator("#code")).to_be_visible()
    assert_no_serious_finding(page)
    page.goto(address)
    expect(page.locator("#agree")).to_be_visible()
    assert_no_serious_finding(page)
    page.locator("#agree").check()
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#begin-check")).to_be_visible()
    assert_no_serious_finding(page)
    page.locator("#begin-check").click()
    expect(page.locator("#play")).to_be_visible()
    assert_no_serious_finding(page)

"""From an invite link to the first instruction."""

import pytest
from playwright.sync_api import expect

from cmi.arena.store import people


def test_a_link_signs_in_once_and_leaves_the_address_bar(arena, new_context, unworded, screenshot):
    link = arena.link()
    page = new_context().new_page()
    page.goto(link)
    expect(page.get_by_role("heading", name="Welcome to Rainy day study")).to_be_visible()
    screenshot(page, "join")
    assert unworded(page) == []
    assert page.url == f"{arena.url}/join"
    page.reload()
    page.get_by_label("Your name").fill("Ada")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#agree")).to_be_visible()  # nobody takes part without having agreed
    page.locator("#agree").check()
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/annotate")
    expect(page.locator("#read")).to_be_visible()
    (person,) = people.list_people(arena.database, arena.project)
    assert (person.name, person.role) == ("Ada", "annotator") and person.consented

    stranger = new_context().new_page()
    stranger.goto(link)
    expect(stranger.get_by_role("heading", name="This link cannot be used")).to_be_visible()


@pytest.mark.parametrize(
    ("kind", "task"),
    [
        ("pairs", "listen to two pieces of music made from it, and say which one you prefer"),
        ("mos", "listen to a piece of music made from it, and rate it"),
        ("mushra", "listen to a reference recording and to several takes"),
        ("ranking", "listen to several pieces of music made from it, and put them into order"),
    ],
)
def test_whoever_joins_reads_what_this_study_asks_of_them(kind, task, make_arena, new_context, unworded):
    page = new_context().new_page()
    page.goto(make_arena(kind=kind).link())
    expect(page.get_by_text(task)).to_be_visible()
    assert unworded(page) == []


def test_an_owners_link_leads_to_the_dashboard(arena, new_context):
    page = new_context().new_page()
    page.goto(arena.link("owner"))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/owner")
    expect(page.get_by_role("link", name="Overview")).to_be_visible()


def test_nobody_is_told_what_to_do_without_a_link(arena, new_context):
    page = new_context().new_page()
    page.goto(arena.url)
    expect(page.get_by_role("heading", name="You need an invitation")).to_be_visible()
    page.goto(f"{arena.url}/annotate")
    expect(page.get_by_role("heading", name="You are signed out")).to_be_visible()


def test_the_interface_speaks_chinese(make_arena, new_context, join, screenshot):
    arena = make_arena(language="zh")
    page = new_context().new_page()
    page.goto(arena.link())
    expect(page.get_by_role("button", name="开始")).to_be_visible()
    assert page.locator("html").get_attribute("lang") == "zh-Hans"

    someone = join(arena, locale="zh-CN")
    someone.page.locator("#read").click()
    someone.hear_both()
    someone.answer()
    screenshot(someone.page, "annotate-chinese")
    expect(someone.page.get_by_role("button", name="提交回答")).to_be_visible()
    someone.page.locator("#language").click()
    expect(someone.page.get_by_role("button", name="Submit answers")).to_be_visible()
    expect(someone.page.locator("input[name='alignment-choice'][value='a']")).to_be_checked()
    someone.page.reload()
    expect(someone.page.get_by_role("button", name="Submit answers")).to_be_visible()


def test_a_chosen_theme_is_kept(annotator, screenshot):
    page = annotator.page
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_role("button", name="Theme: same as this device").click()
    page.get_by_role("button", name="Theme: light").click()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    dark = page.evaluate(paper)
    assert dark != light
    page.reload()
    expect(page.locator("#read")).to_be_visible()
    assert page.evaluate(paper) == dark
    page.locator("#read").click()
    screenshot(page, "annotate-dark")

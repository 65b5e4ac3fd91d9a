"""The pages for ratings, used as people use them: by mouse, keyboard and phone, with reloads and a lost connection."""

import re

import pytest
from playwright.sync_api import expect

from cmi.arena.store.browse_trials import find_trials
from cmi.arena.store.ratings import counted_ratings

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
NEXT = "#read, [data-state]:not([data-state=sending])"


def rated(arena):
    return list(counted_ratings(arena.database, arena.project))


def assert_accessible(page):
    found = axe.Axe().run(page).response["violations"]
    serious = [
        (one["id"], [node["html"][:150] for node in one["nodes"][:3]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


def set_slider(page, take, value):
    slider = page.locator(f'[data-player="{take}"] .score')
    expect(slider).to_be_enabled()
    slider.fill(str(value))


def test_a_take_is_rated_by_mouse_and_the_next_by_keyboard_alone(make_arena, join, unworded, screenshot):
    """MOS: five P.800 categories on each axis; locked until the take was heard; the answers survive a reload."""
    arena = make_arena(kind="mos", quota=2)
    someone = join(arena)
    page = someone.page
    page.locator("#read").click()
    expect(page.locator('input[name="alignment"]').first).to_be_disabled()
    someone.hear("1")
    assert_accessible(page)
    page.locator("label", has_text="Good").first.click()
    page.reload()
    expect(page.locator('input[name="alignment"][value="4"]')).to_be_checked()
    expect(page.locator('[data-player="1"] .take__heard--enough')).to_be_visible()
    page.locator('input[name="musicality"][value="2"]').check(force=True)
    page.locator("#feedback").fill("thin at 0:01")
    screenshot(page, "rate-mos")
    assert unworded(page) == []
    page.locator("#submit").dblclick(no_wait_after=True)
    expect(page.locator("#count")).to_have_text("1 of 2")
    page.keyboard.press("Enter")  # I have read it
    expect(page.locator("#submit")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.locator('[data-player="1"] .take__heard--enough')).to_be_visible()
    for key in ("5", "Enter", "1", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("[data-state=quota]")).to_be_visible()
    assert [row.answers for row in rated(arena)] == [
        {"alignment": [4], "musicality": [2]},
        {"alignment": [5], "musicality": [1]},
    ]
    assert rated(arena)[0].feedback == "thin at 0:01"
    page.locator("#recent").click()
    expect(page.locator(".votes")).to_contain_text("Alignment 5")
    assert someone.errors == []


def test_mushra_switches_at_the_same_position_and_every_slider_must_be_set(make_arena, join, unworded, screenshot):
    arena = make_arena(kind="mushra", language="zh")
    someone = join(arena, viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = someone.page
    someone.hear("reference")
    page.locator("#read").click()
    expect(page.locator(".score")).to_have_count(5)
    expect(page.locator('[data-player="1"] .score')).to_be_disabled()
    someone.hear("1")
    page.locator('[data-player="1"] .seek').evaluate(  # in one step, because a take that plays moves the bar too
        "bar => { bar.value = 0.5; bar.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
    page.locator(".switcher button").nth(2).click()
    positions = page.locator('[data-player="2"] .seek')
    expect(positions).not_to_have_value("0")
    assert float(positions.input_value()) >= 0.4
    page.locator(".switcher button").nth(2).click()  # pauses
    someone.hear("2", "3", "4", "5")
    assert_accessible(page)
    for take, value in zip("1234", (100, 80, 60, 20), strict=True):
        set_slider(page, take, value)
    expect(page.locator("#submit")).to_have_attribute("aria-disabled", "true")
    expect(page.locator("#missing")).to_contain_text("5")
    set_slider(page, "5", 0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    screenshot(page, "rate-mushra-phone")
    assert unworded(page) == []
    someone.context.set_offline(True)
    page.locator("#submit").click()
    expect(page.locator("#banners")).not_to_be_empty()
    assert rated(arena) == []
    someone.context.set_offline(False)
    expect(page.locator("#read")).to_be_visible()
    [row] = rated(arena)
    in_shown_order = [row.answers["musicality"][position] for position in row.shown]
    assert in_shown_order == [100, 80, 60, 20, 0]
    assert sorted(one.role for one in row.stimuli) == ["anchor35", "reference", "take", "take", "take"]


def test_takes_are_ranked_by_dragging_and_by_buttons_and_may_tie(make_arena, join, unworded, screenshot):
    arena = make_arena(kind="ranking")
    someone = join(arena)
    page = someone.page
    page.locator("#read").click()
    someone.hear("1", "2", "3")
    first, second = page.locator("#question-alignment"), page.locator("#question-musicality")
    third = first.locator('[data-take="3"] .order__name')
    third.scroll_into_view_if_needed()
    box, target = third.bounding_box(), first.locator('[data-take="1"]').bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(target["x"] + 20, target["y"] + 30, steps=5)
    page.mouse.move(target["x"] + 20, target["y"] + 5)
    page.mouse.up()
    expect(first.locator("li").first).to_have_attribute("data-take", "3")
    second.get_by_role("button", name="Move take 2 up").focus()
    page.keyboard.press("Enter")
    expect(second.locator("li").first).to_have_attribute("data-take", "2")
    expect(second.get_by_role("button", name="Move take 2 up")).to_be_focused()
    second.get_by_role("button", name="Take 3 is as good").click()
    expect(second.locator('[data-take="3"] .order__place')).to_have_text("2.")
    assert_accessible(page)
    screenshot(page, "rate-ranking")
    assert unworded(page) == []
    page.locator("#submit").click()
    expect(page.locator("#count")).to_have_text("1 of 2")
    [row] = rated(arena)
    as_shown = {axis: [values[position] for position in row.shown] for axis, values in row.answers.items()}
    assert as_shown == {"alignment": [2, 3, 1], "musicality": [2, 1, 2]}
    page.locator("#read").click()
    someone.hear("1", "2", "3")
    expect(page.locator("#submit")).to_have_attribute("aria-disabled", "true")
    for box in page.get_by_label("This is my order").all():
        box.check()
    page.locator("#submit").click()
    expect(page.locator("[data-state=no-more]")).to_be_visible()
    assert someone.errors == []


def test_two_tabs_give_one_rating(make_arena, join):
    arena = make_arena(kind="mos", quota=1)
    someone = join(arena)
    tabs = [someone.page, someone.context.new_page()]
    tabs[1].goto(f"{arena.url}/annotate")
    for tab in tabs:
        tab.locator("#read").click()
    someone.hear("1")
    for axis in ("alignment", "musicality"):
        tabs[0].locator(f'input[name="{axis}"][value="3"]').check(force=True)
    tabs[0].locator("#submit").click()
    expect(tabs[0].locator("[data-state=quota]")).to_be_visible()
    tabs[1].reload()
    expect(tabs[1].locator("[data-state=quota]")).to_be_visible()
    assert len(rated(arena)) == 1


def test_the_owner_sees_systems_post_screening_and_what_was_written(make_arena, open_dashboard, unworded, screenshot):
    arena = make_arena(kind="mushra", heard_share=0.0)
    arena.rate(listeners=3)
    page = open_dashboard(arena)
    systems = page.locator('[data-figure="rated"]')
    expect(systems).to_contain_text("harp")
    systems.locator("details summary").click()
    expect(systems.locator("table")).to_contain_text("anchor35")
    page.locator('[data-figure="post-screening"] summary').click()
    expect(page.locator('[data-figure="post-screening"] table')).to_contain_text("fails")
    assert_accessible(page)
    screenshot(page, "owner-ratings")
    assert unworded(page) == []
    page.get_by_role("link", name="Ratings", exact=True).click()
    expect(page.locator("[data-rating]")).to_have_count(6)
    expect(page.locator("blockquote").first).to_have_text("muffled")
    page.locator("[data-rating] .small a").first.click()
    expect(page.locator("[data-rating]")).to_have_count(2)
    assert_accessible(page)
    page.get_by_role("link", name="Study", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download answers").click()
    assert download.value.path().read_text().count("\n") == 1 + 3 * 2 * 5


def test_a_page_is_found_played_hidden_with_a_reason_and_shown_again(
    make_arena, open_dashboard, unworded, screenshot, attack
):
    arena = make_arena(kind="mushra", heard_share=0.0)
    arena.rate(listeners=2)
    page = open_dashboard(arena)
    page.get_by_role("link", name="Pages", exact=True).click()
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    page.get_by_label("Search").fill("0 HARP")
    expect(rows).to_have_count(1)
    page.get_by_label("Order").select_option("most-ratings")
    page.reload()
    expect(rows).to_have_count(1)
    expect(rows.locator("td.number").first).to_have_text("2")
    assert_accessible(page)
    assert unworded(page) == []
    screenshot(page, "owner-trials")
    page.locator("td.long a").click()
    expect(page.locator("[data-player]")).to_have_count(6)
    for part in ("reference", "1", "4"):
        page.locator(f"[data-player='{part}'] .take__play").click()
        expect(page.locator(f"[data-player='{part}'] .take__time")).not_to_contain_text("0:00 /")
    expect(page.locator("[data-player='4']")).to_contain_text("Hidden reference")
    expect(page.locator("blockquote")).to_have_count(2)
    assert_accessible(page)
    screenshot(page, "owner-trial")
    page.get_by_role("button", name="Hide it").click()
    expect(page.locator("#banners")).to_contain_text("Give a reason")
    page.get_by_label("Reason").fill(attack)
    page.get_by_role("button", name="Hide it").dblclick()
    expect(page.get_by_role("button", name="Show it again")).to_be_visible()
    assert unworded(page) == [] and page.evaluate("window.hacked") is None
    assert len(rated(arena)) == 2, "the ratings of the other page"
    expect(page.locator("[data-rating]")).to_have_count(2)
    page.get_by_role("link", name="Ratings", exact=True).click()
    expect(page.locator("[data-rating]")).to_have_count(2)
    page.get_by_label("include hidden ones").check()
    expect(page.locator("[data-rating]")).to_have_count(4)
    expect(page.locator("[data-rating] .pill")).to_have_count(2)
    page.locator("[data-rating]", has=page.locator(".pill")).locator("a").last.click()
    page.get_by_role("button", name="Show it again").click()
    expect(page.get_by_label("Reason")).to_be_visible()
    expect(page.locator("section", has=page.get_by_role("heading", name="History")).locator("li")).to_have_count(2)
    assert len(rated(arena)) == 4


def test_the_owner_sees_who_rates_as_the_others(make_arena, open_dashboard, unworded):
    arena = make_arena(kind="mos", heard_share=0.0)
    arena.rate(listeners=2)
    page = open_dashboard(arena)
    people = page.locator('[data-figure="raters"]')
    expect(people.locator("summary")).to_contain_text("can't tell yet: 2")
    people.locator("summary").click()
    expect(people.locator("tbody tr")).to_have_count(2)
    assert_accessible(page)
    assert unworded(page) == []
    people.locator("tbody td.number a").first.click()
    expect(page.locator("[data-rating]")).to_have_count(6)


def test_the_pages_of_trials_on_a_phone_in_chinese_in_the_dark(make_arena, open_dashboard, unworded, screenshot):
    arena = make_arena(kind="mushra", heard_share=0.0)
    arena.rate(listeners=1)
    page = open_dashboard(arena, viewport={"width": 390, "height": 844}, locale="zh-CN", color_scheme="dark")
    page.evaluate("localStorage.setItem('cmi-arena:language', '\"zh\"')")
    page.reload()
    trial = find_trials(arena.database, arena.project).rows[0]["id"]
    for address in ("trials", f"trial?id={trial}", "ratings"):
        page.goto(f"{arena.url}/owner#{address}")
        expect(page.locator("#work h2").first).to_be_visible()
        expect(page.locator("tbody tr, .ballots li").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, address
        assert unworded(page) == []
        words = " ".join(page.locator("nav, h2, h3, label, summary").all_inner_texts())
        assert not re.search(r"[A-Za-z]{4,} [a-z]{3,} [a-z]{3,}", words), "English"
        assert_accessible(page)
    screenshot(page, "owner-trial-phone-zh")


def test_an_observer_cannot_hide_a_page(make_arena, new_context):
    arena = make_arena(kind="mos")
    context = new_context()
    arena.sign_in(context, "observer", "Otto")
    page = context.new_page()
    trial = find_trials(arena.database, arena.project).rows[0]["id"]
    page.goto(f"{arena.url}/owner#trial?id={trial}")
    expect(page.locator("[data-player='1']")).to_be_visible()
    expect(page.get_by_role("button", name="Hide it")).to_have_count(0)
    page.goto(f"{arena.url}/owner#trial?id=none")
    expect(page.locator("#banners .banner--alarm")).to_be_visible()

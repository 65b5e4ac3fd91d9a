"""The owner's pages of pairs, votes and annotators: reached from every number, searched, played, hidden, replaced."""

import re

import pytest
from playwright.sync_api import expect

from cmi.arena.store import people, votes
from cmi.arena.store.assign import begin, next_page
from cmi.arena.store.browse import PairFilter, VoteFilter, find_pairs, find_votes

FEEDBACK = "A loses the beat at 0:20 <b onclick=alert(1)>"


@pytest.fixture
def owner(make_arena, open_dashboard, attack):
    """(arena, page) of a study with eight people who voted and one, called by an attack, who wrote something."""
    arena = make_arena(overlap_votes=9)
    arena.simulate(listeners=8)
    token = people.invite(arena.database, arena.project, "annotator", days=1)[0].token
    person = people.join(arena.database, token, attack, True).person
    view = begin(arena.database, person, next_page(arena.database, person)[0].key)
    real = arena.database.now
    arena.database.now = lambda: real() + 60
    ballot = votes.Ballot("a", 3, "b", 5, FEEDBACK, view.needed_a, view.needed_b, 0.0, False, True)
    votes.save(arena.database, person, view.key, ballot)
    arena.database.now = real
    return arena, open_dashboard(arena)


def test_every_number_leads_to_as_many_votes_or_pairs(owner, open_details):
    _, page = owner
    open_details(page)
    links = page.locator("a[href^='#votes'], a[href^='#pairs']")
    found = links.evaluate_all("links => links.map((link) => [link.getAttribute('href'), link.textContent])")
    assert len(found) > 40
    counts = set()
    for address, text in found:
        whole = re.fullmatch(r"\d+", text)
        if whole and address.startswith("#votes") and "order=" not in address:  # an order leads to a median
            counts.add((address, int(whole[0])))
    assert len(counts) > 20
    for address, number in counts:
        answer = page.request.get(f"{page.url.split('/owner')[0]}/api/owner/votes?{address.partition('?')[2]}")
        assert answer.json()["total"] == number, address
    page.locator(".tile a").first.click()
    expect(page.get_by_role("heading", name="Votes", exact=True)).to_be_visible()
    expect(page.locator(".ballots li")).to_have_count(49)


def test_pairs_are_searched_filtered_and_sorted_and_the_address_keeps_it(owner, unworded, screenshot):
    _, page = owner
    page.get_by_role("link", name="Pairs", exact=True).click()
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(6)
    page.get_by_label("Search").fill("sad PIANO")
    expect(rows).to_have_count(5)
    page.get_by_label("System", exact=True).select_option("organ")
    expect(rows).to_have_count(3)
    page.get_by_label("Order").select_option("disputed")
    page.get_by_label("two votes or more").check()
    expect(rows).to_have_count(3)
    page.reload()
    expect(rows).to_have_count(3)
    expect(page.get_by_label("Search")).to_have_value("sad PIANO")
    assert unworded(page) == []
    screenshot(page, "owner-pairs-filtered")
    page.get_by_label("Search").fill("nothing of the kind")
    expect(page.get_by_text("0 pairs")).to_be_visible()


def test_a_pair_is_played_and_its_votes_are_read_as_text(owner, unworded, screenshot, attack):
    arena, page = owner
    pair = find_votes(arena.database, arena.project, VoteFilter(feedback=True)).rows[0]
    page.goto(f"{arena.url}/owner#pair?id={pair['pair']}")
    expect(page.locator(".ballots blockquote")).to_have_text(FEEDBACK)
    expect(page.get_by_text("In these words A is take")).to_be_visible()
    expect(page.get_by_text("confidence not set")).to_be_visible()
    expect(page.locator(".ballots")).to_contain_text(attack)
    expect(page.locator("[data-player]")).to_have_count(3 if pair["modality"].endswith("audio") else 2)
    for side in "ab":
        page.locator(f"[data-player='{side}'] .take__play").click()
        expect(page.locator(f"[data-player='{side}'] .take__time")).not_to_contain_text("0:00 /")
    assert page.evaluate("window.hacked") is None and unworded(page) == []
    screenshot(page, "owner-pair")
    page.locator(".ballots a", has_text="onerror").click()
    expect(page.get_by_role("heading", name="The annotator")).to_be_visible()
    expect(page.locator(".ballots blockquote")).to_have_text(FEEDBACK)
    assert page.evaluate("window.hacked") is None and unworded(page) == []
    screenshot(page, "owner-person")


def test_a_pair_is_hidden_with_a_reason_and_shown_again(owner, unworded, attack):
    arena, page = owner
    page.get_by_role("link", name="Pairs", exact=True).click()
    page.locator("td.long a").nth(3).click()
    page.get_by_role("button", name="Hide it").click()
    expect(page.locator("#banners")).to_contain_text("Give a reason")
    page.get_by_label("Reason").fill(attack)
    page.get_by_role("button", name="Hide it").dblclick()
    expect(page.locator("#saved")).to_have_text("It is hidden.")
    expect(page.get_by_role("button", name="Show it again")).to_be_visible()
    assert unworded(page) == [] and page.evaluate("window.hacked") is None
    [hidden] = find_pairs(arena.database, arena.project, PairFilter(state="hidden")).rows
    assert hidden["hidden"] == attack
    expect(page.locator("section", has=page.get_by_role("heading", name="History")).locator("li")).to_have_count(1)
    page.reload()
    page.get_by_role("button", name="Show it again").click()
    expect(page.get_by_label("Reason")).to_be_visible()
    assert find_pairs(arena.database, arena.project, PairFilter(state="hidden")).total == 0


def test_a_pair_is_replaced_by_one_with_another_recording(owner, tmp_path):
    arena, page = owner
    page.get_by_role("link", name="Pairs", exact=True).click()
    page.locator("td.long a").first.click()
    page.get_by_label("Reason").fill("take a is cut off")
    page.locator("summary", has_text="Replace it by another pair").click()
    page.get_by_label("Another recording for a").set_input_files(tmp_path / "tone-3.wav")
    page.get_by_role("button", name="Upload and replace").click()
    expect(page.get_by_role("link", name="Replaces an earlier pair")).to_be_visible()
    assert find_pairs(arena.database, arena.project).total == 7
    page.get_by_role("link", name="Replaces an earlier pair").click()
    expect(page.get_by_role("link", name="Replaced by another pair")).to_be_visible()
    expect(page.get_by_text("take a is cut off").first).to_be_visible()


def test_the_pages_on_a_phone_in_chinese_in_the_dark_and_by_keyboard(owner, open_dashboard, unworded, screenshot):
    arena, _ = owner
    phone = {"width": 390, "height": 844}
    page = open_dashboard(arena, viewport=phone, locale="zh-CN", color_scheme="dark")
    page.evaluate("localStorage.setItem('cmi-arena:language', '\"zh\"')")
    page.reload()
    expect(page.locator(".tile")).to_have_count(5)
    expect(page.locator("[data-figure='ranking'] svg")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollHeight") <= 2 * 844, "two screens"
    screenshot(page, "owner-phone-zh")
    pair = find_pairs(arena.database, arena.project).rows[1]["id"]
    for address in ("overview", "pairs", "votes", f"pair?id={pair}", "people"):
        page.goto(f"{arena.url}/owner#{address}")
        expect(page.locator("#work h2").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, address
        assert unworded(page) == []
        words = " ".join(page.locator("nav, h2, label, summary").all_inner_texts())
        assert not re.search(r"[A-Za-z]{4,} [a-z]{4,} [a-z]{3,}", words), "English"
    page.goto(f"{arena.url}/owner#pairs")
    page.locator("td.long a").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-player='a']")).to_be_visible()
    page.locator("[data-player='a'] .take__play").focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-player='a'] .take__time")).not_to_contain_text("0:00 /")
    screenshot(page, "owner-pair-phone-zh")


def test_an_unknown_address_is_a_page(arena, new_context, unworded):
    page = new_context().new_page()
    assert page.goto(f"{arena.url}/no/such/page").status == 404
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
    page.get_by_role("link", name="To the start").click()
    expect(page.get_by_role("heading", name="You need an invitation")).to_be_visible()
    assert unworded(page) == []


def test_a_pair_or_person_that_is_not_there_is_one_sentence(owner):
    arena, page = owner
    for address in ("pair?id=none", "person?id=%3Cscript%3E", "votes?x=1"):
        page.goto(f"{arena.url}/owner#{address}")
        expect(page.locator("#banners .banner--alarm")).to_be_visible()

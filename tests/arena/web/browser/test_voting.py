"""Voting in a real browser: by mouse, by keyboard, on a phone, twice by accident, and with takes that hide script."""

import re

import pytest
from playwright.sync_api import Page, expect

from cmi.arena.audio import sounds
from cmi.arena.store import projects, votes

CHOICE = "input[name='alignment-choice'][value='a']"
HACKED = "window.hacked"
SCRIPT = "<script>window.hacked = 1</script>"


def counted(arena):
    return list(votes.counted(arena.database, arena.project))


def heard_seconds(page: Page, side: str) -> str:
    return page.locator(f'[data-player="{side}"] .take__heard').inner_text()


def seek(page: Page, side: str, position: str) -> None:
    page.locator(f"[data-player='{side}'] .seek").evaluate(
        "(seek, to) => { seek.value = to; seek.dispatchEvent(new Event('input')); }", position
    )


def wait_for_a_step_back(page: Page, side: str) -> None:
    """Until a take that plays is at an earlier position than it was: it loops."""
    page.wait_for_function(
        """(side) => {
          const now = Number(document.querySelector(`[data-player="${side}"] .seek`).value);
          const furthest = window.furthest ?? 0;
          window.furthest = Math.max(furthest, now);
          return now < furthest - 0.1;
        }""",
        arg=side,
    )


def test_a_full_vote_with_the_mouse(arena, annotator, unworded, screenshot):
    page = annotator.page
    screenshot(page, "annotate-instruction")
    expect(page.locator(".take__play")).to_have_count(0)
    page.locator("#read").click()
    screenshot(page, "annotate-takes")
    expect(page.locator(CHOICE)).to_be_disabled()
    annotator.hear_both()
    expect(page.locator(CHOICE)).to_be_enabled()
    annotator.answer(alignment="a", musicality="b")
    page.locator('input[name="alignment-confidence"][value="5"]').check(force=True)
    page.locator(".chip--a").click()
    page.locator("#glossary summary").click()
    page.get_by_role("button", name="catchy", exact=True).click()
    expect(page.locator("#feedback")).to_have_value(re.compile(r"^A at 0:0\d catchy $"))
    screenshot(page, "annotate-vote")
    assert unworded(page) == []
    page.locator("#submit").click()
    expect(page.locator("#count")).to_have_text("1 of 6")
    (vote,) = counted(arena)
    assert (vote.alignment_confidence, vote.musicality_confidence) == (5, 3)
    assert (vote.alignment == "b") == vote.swapped and vote.alignment != vote.musicality
    assert annotator.errors == []


def test_a_full_vote_with_the_keyboard_alone(arena, annotator):
    page, press = annotator.page, annotator.page.keyboard.press
    press("Enter")
    expect(page.locator("[data-player='a'] .take__play")).to_be_focused()
    press("Space")
    expect(page.locator("[data-player='a'] .take__heard--enough")).to_be_visible()
    press("b")
    expect(page.locator("[data-player='b'] .take__heard--enough")).to_be_visible()
    press("Space")
    for key in ("Shift+B", "4", "Enter", "Shift+A", "2"):
        press(key)
    press("f")
    page.keyboard.type("a b 1 5 ? r l")
    press("Escape")
    press("t")
    expect(page.locator("#feedback")).to_have_value(re.compile(r"^a b 1 5 \? r l B at 0:0\d $"))
    press("Enter")
    expect(page.locator("#count")).to_have_text("1 of 6")
    (vote,) = counted(arena)
    assert (vote.alignment_confidence, vote.musicality_confidence) == (4, 2)
    assert (vote.alignment == "a") == vote.swapped
    assert annotator.errors == []


def test_space_arrows_and_help_do_what_the_overlay_says(annotator):
    page, press = annotator.page, annotator.page.keyboard.press
    press("Enter")
    expect(page.locator("[data-player='a'] .take__play")).to_be_focused()
    press("ArrowRight")
    expect(page.locator("[data-player='a'] .seek")).not_to_have_js_property("value", "0")
    press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    press("b")  # a dialog is open: no shortcut reaches the page behind it
    expect(page.locator("[data-player='b'].take--current")).to_have_count(0)
    press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_jumping_ahead_is_not_hearing(annotator):
    page = annotator.page
    page.locator("#read").click()
    for position in ("1", "2", "0.2", "2.3"):
        seek(page, "a", position)
    page.wait_for_timeout(500)
    assert heard_seconds(page, "a").startswith("0 s of")
    expect(page.locator(CHOICE)).to_be_disabled()


def test_one_clip_sounds_at_a_time(annotator):
    page = annotator.page
    page.locator("#read").click()
    page.get_by_role("button", name="Play: Take A").click()
    expect(page.get_by_role("button", name="Pause: Take A")).to_be_visible()
    page.get_by_role("button", name="Play: Take B").click()
    expect(page.get_by_role("button", name="Pause: Take B")).to_be_visible()
    expect(page.get_by_role("button", name="Play: Take A")).to_be_visible()


def test_a_loop_comes_back_to_its_start(annotator):
    page, press = annotator.page, annotator.page.keyboard.press
    page.locator("#read").click()
    take = page.locator("[data-player='a']")
    for position, then in (("0.5", "… to here"), ("1.2", "Stop looping")):
        seek(page, "a", position)
        press("l")
        expect(take.get_by_role("button", name=then)).to_be_visible()
    page.get_by_role("button", name="Play: Take A").click()
    wait_for_a_step_back(page, "a")
    expect(page.get_by_role("button", name="Pause: Take A")).to_be_visible()


def test_dragging_over_a_waveform_loops_that_part(annotator, player):
    if not player:
        pytest.skip("wavesurfer.js could not be fetched")
    page = annotator.page
    page.locator("#read").click()
    wave = page.locator("[data-player='a'] .take__wave").bounding_box()
    page.mouse.move(wave["x"] + 0.3 * wave["width"], wave["y"] + 30)
    page.mouse.down()
    page.mouse.move(wave["x"] + 0.6 * wave["width"], wave["y"] + 30, steps=8)
    page.mouse.up()
    expect(page.locator("[data-player='a']").get_by_role("button", name="Stop looping")).to_be_visible()
    page.get_by_role("button", name="Play: Take A").click()
    wait_for_a_step_back(page, "a")
    expect(page.get_by_role("button", name="Pause: Take A")).to_be_visible()
    page.keyboard.press("l")
    expect(page.locator("[data-player='a']").get_by_role("button", name="Loop from here")).to_be_visible()


def test_lyrics_scroll_with_the_music_and_stay_where_the_reader_put_them(arena, join):
    someone = join(arena)
    page = someone.page
    while "about the sea" not in "".join(page.locator(".lyrics").all_inner_texts()):
        someone.vote()
    page.locator("#read").click()
    page.get_by_role("button", name="Play: Take A").click()
    expect(page.locator(".lyrics")).not_to_have_js_property("scrollTop", 0)
    page.get_by_label("Scroll with the music").uncheck()
    page.locator(".lyrics").evaluate("panel => { panel.scrollTop = 0; }")
    page.get_by_role("button", name="Play: Take B").click()
    page.wait_for_timeout(800)
    assert page.locator(".lyrics").evaluate("panel => panel.scrollTop") == 0


def test_volume_is_remembered(annotator):
    page = annotator.page
    page.locator("#read").click()
    page.locator("#volume").fill("0.35")
    page.reload()
    expect(page.locator("#volume")).to_have_value("0.35")


def test_a_reload_in_the_middle_loses_nothing(arena, annotator):
    page = annotator.page
    page.locator("#read").click()
    annotator.hear_both()
    annotator.answer(alignment="b", musicality="b")
    page.locator("#feedback").fill("half a sentence")
    page.reload()
    expect(page.locator("#feedback")).to_have_value("half a sentence")
    expect(page.locator("input[name='alignment-choice'][value='b']")).to_be_checked()
    page.locator("#submit").click()
    expect(page.locator("#count")).to_have_text("1 of 6")
    page.reload()
    expect(page.locator("#count")).to_have_text("1 of 6")
    assert len(counted(arena)) == 1


def test_a_double_click_votes_once(arena, annotator):
    page = annotator.page
    page.locator("#read").dblclick()
    annotator.hear_both()
    annotator.answer()
    page.locator("#submit").dblclick()
    expect(page.locator("#count")).to_have_text("1 of 6")
    expect(page.locator("#read")).to_be_visible()
    assert [vote.view for vote in counted(arena)] == list({vote.view for vote in counted(arena)})
    assert len(counted(arena)) == 1


def test_two_annotators_at_once(arena, join):
    ada, bob = join(arena, "Ada"), join(arena, "Bob")
    for one in (ada, bob):
        one.page.locator("#read").click()
    ada.hear_both()
    bob.hear_both()
    ada.answer("a", "a")
    bob.answer("b", "b")
    for one in (ada, bob):
        one.page.locator("#submit").click()
    for one in (ada, bob):
        expect(one.page.locator("#count")).to_have_text("1 of 6")
    assert len({vote.person for vote in counted(arena)}) == 2


def test_a_vote_on_a_phone(arena, join, screenshot):
    phone = join(arena, viewport={"width": 375, "height": 812}, has_touch=True, is_mobile=True)
    page = phone.page
    page.locator("#read").tap()
    phone.hear_both()
    phone.answer()
    screenshot(page, "annotate-phone")
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    small = page.locator("button:visible, summary:visible, .choice, .level").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).filter(box => box.height < 44).length"
    )
    assert small == 0
    page.locator("#submit").tap()
    expect(page.locator("#count")).to_have_text("1 of 6")


def test_script_in_prompt_lyrics_and_feedback_is_shown_as_text(make_arena, join):
    arena = make_arena(overlap_share=0.0)
    someone = join(arena)
    page = someone.page
    while "<script>" not in page.locator("#prompt").inner_text():
        someone.vote()
    expect(page.locator(".lyrics")).to_contain_text("<script>")
    page.locator("#read").click()
    someone.hear_both()
    someone.answer()
    page.locator("#feedback").fill(SCRIPT)
    page.locator("#submit").click()
    expect(page.locator("#read, [data-state='quota']")).to_be_visible()
    page.locator("#recent").click()
    expect(page.get_by_role("dialog")).to_contain_text("<script>")
    page.get_by_role("button", name="Correct").first.click()
    expect(page.locator("#feedback")).to_have_value(SCRIPT)
    assert page.evaluate(HACKED) is None


def test_a_vote_can_be_corrected(arena, annotator):
    annotator.vote()
    page = annotator.page
    page.locator("#recent").click()
    page.get_by_role("button", name="Correct").click()
    expect(page.locator("input[name='alignment-choice'][value='a']")).to_be_checked()
    annotator.answer(alignment="b", musicality="b")
    page.get_by_role("button", name="Save the correction").click()
    expect(page.locator("#read")).to_be_visible()
    expect(page.locator("#count")).to_have_text("1 of 6")
    (vote,) = counted(arena)
    assert vote.alignment == vote.musicality


def test_it_works_without_the_waveform_player(make_arena, join):
    someone = join(make_arena(player={}))
    someone.vote()
    expect(someone.page.locator("#count")).to_have_text("1 of 6")
    someone.page.locator("#read").click()
    expect(someone.page.get_by_role("slider", name="Position: Take A")).to_be_visible()


def test_playing_that_the_browser_blocks_is_explained(annotator):
    page = annotator.page
    page.locator("#read").click()
    page.evaluate(
        "() => { HTMLMediaElement.prototype.play = "
        "() => Promise.reject(new DOMException('a gesture first', 'NotAllowedError')); }"
    )
    page.get_by_role("button", name="Play: Take A").click()
    expect(page.locator("#banners")).to_contain_text("Press the play button")


def test_a_pair_whose_recordings_are_lost_can_be_skipped_and_comes_back(arena, annotator, tmp_path):
    page = annotator.page
    prompt = page.locator("#prompt").inner_text()
    kept = {path: path.read_bytes() for path in tmp_path.glob("tone-*.wav")}
    for path in (*kept, *(tmp_path / "sounds" / "played").iterdir()):
        path.unlink()
    page.locator("#read").click()
    expect(page.locator("#banners")).to_contain_text("cannot be played")
    page.get_by_role("button", name="Skip this pair").click()
    expect(page.get_by_role("heading", name="Nothing is left for you to do")).to_be_visible()
    expect(page.locator("#banners")).not_to_contain_text("cannot be played")
    for path, content in kept.items():
        path.write_bytes(content)
    list(sounds.check(arena.database, arena.project, thoroughly=True))
    page.reload()
    expect(page.locator("#prompt")).to_have_text(prompt)
    annotator.hear_both()
    annotator.answer()
    page.locator("#submit").click()
    expect(page.locator("#count")).to_have_text("1 of 6")


def test_a_vote_that_can_no_longer_be_corrected_says_so(arena, annotator):
    annotator.vote()
    now = arena.database.now
    arena.database.now = lambda: now() + votes.CORRECTION_TIME + 60
    annotator.page.locator("#recent").click()
    expect(annotator.page.get_by_role("dialog")).to_contain_text("Cannot be changed any more")
    expect(annotator.page.get_by_role("button", name="Correct")).to_have_count(0)


def test_signing_out_on_all_devices(arena, annotator):
    page = annotator.page
    page.locator("#privacy").click()
    page.get_by_role("button", name="Sign out on all devices").click()
    expect(page.get_by_role("heading", name="You are signed out")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="You are signed out")).to_be_visible()


@pytest.mark.parametrize(("state", "heading"), [("paused", "The study is paused"), ("closed", "The study is closed")])
def test_a_study_that_stops_says_so(arena, annotator, state, heading):
    projects.change(arena.database, arena.project, state=state)
    annotator.page.reload()
    expect(annotator.page.get_by_role("heading", name=heading)).to_be_visible()


def test_the_last_vote_is_followed_by_thanks(make_arena, join, screenshot):
    someone = join(make_arena(quota=1))
    someone.vote()
    expect(someone.page.get_by_role("heading", name="Thank you. You are done")).to_be_visible()
    expect(someone.page.locator("#count")).to_have_text("1 of 1")
    screenshot(someone.page, "annotate-done")


def test_withdrawal_needs_a_confirmation_and_removes_the_votes(arena, annotator, screenshot):
    annotator.vote()
    page = annotator.page
    page.locator("#privacy").click()
    screenshot(page, "annotate-privacy")
    withdraw = page.get_by_role("button", name="Withdraw and delete")
    expect(withdraw).to_be_disabled()
    page.get_by_label("I want to withdraw").check()
    withdraw.click()
    expect(page.get_by_role("heading", name="You have withdrawn")).to_be_visible()
    assert counted(arena) == []


def test_a_study_can_ask_for_every_second_of_both_takes(make_arena, join):
    someone = join(make_arena(heard_share=1.0))
    someone.vote()
    expect(someone.page.locator("#count")).to_have_text("1 of 6")


def test_a_confidence_counts_as_touched_once_it_is_chosen_even_where_it_stands(arena, annotator):
    page = annotator.page
    page.locator("#read").click()
    annotator.hear_both()
    annotator.answer()
    page.locator("label.level:has(input[name='musicality-confidence'][value='3'])").click()
    page.reload()
    expect(page.locator("#submit")).to_have_attribute("aria-disabled", "false")
    page.locator("#submit").click()
    expect(page.locator("#saved")).to_have_text("Answers saved.")
    expect(page.locator("#read")).to_be_visible()
    [vote] = counted(arena)
    assert (vote.alignment_confidence, vote.alignment_touched) == (3, False)
    assert (vote.musicality_confidence, vote.musicality_touched) == (3, True)


def test_the_reference_is_heard_first_where_the_study_requires_it(make_arena, join, unworded):
    arena = make_arena(require_reference=True)
    someone = join(arena)
    page = someone.page
    while page.locator("[data-player=reference]").count() == 0:
        someone.vote()
        page.wait_for_function("document.querySelector('#read') !== null")
    before = len(counted(arena))
    someone.hear("reference")
    page.locator("[data-player=reference] .take__play").click()
    page.reload()  # what was heard before the takes are shown is kept
    expect(page.locator("[data-player=reference] .take__heard--enough")).to_be_visible()
    page.evaluate("localStorage.clear()")
    page.reload()
    page.locator("#read").click()
    someone.hear_both()
    expect(page.locator("#missing")).to_contain_text("of the reference recording first")
    expect(page.locator(CHOICE)).to_be_disabled()
    assert unworded(page) == []
    someone.hear("reference")
    page.locator("[data-player=reference] .take__play").click()
    someone.answer()
    page.locator("#submit").click()
    expect(page.locator("#saved")).to_have_text("Answers saved.")
    assert len(counted(arena)) == before + 1

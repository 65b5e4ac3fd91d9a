"""People from a recruiting platform: in by a link, through the checks, and out with a code."""

import re

import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from cmi.arena.store import checks, outcomes, pairs, projects, recruit
from cmi.arena.store.schema import sounds

FAST = """const play = HTMLMediaElement.prototype.play;
HTMLMediaElement.prototype.play = function () { this.playbackRate = 16; return play.call(this); };"""
EXITS = {"exit_complete": "DONE1", "exit_screened_out": "OUT1", "exit_returned": "BACK1"}
PROLIFIC = recruit.PLATFORMS["prolific"] | EXITS
QUICK = {"heard_share": 0.0, "quota": 1}


@pytest.fixture(autouse=True)
def _sounds_are_short(monkeypatch):
    for kind in checks.KINDS:
        monkeypatch.setitem(checks.SECONDS, kind, 0.1)


@pytest.fixture
def open_page(new_context):
    def new(**options):
        page = new_context(**options).new_page()
        page.add_init_script(FAST)
        return page

    return new


def address(arena, pid="5f1", session="s1"):
    token = recruit.recruiting_link(arena.database, arena.project).token
    return f"{arena.url}/enter?study={token}&PROLIFIC_PID={pid}&STUDY_ID=st&SESSION_ID={session}"


def agree(page, arena, **who):
    page.goto(address(arena, **who))
    page.locator("#agree").check()
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/annotate")


def add_gold(arena, count):
    study = projects.get(arena.database, arena.project).settings
    with arena.database.writing() as connection:
        takes = list(connection.scalars(select(sounds.c.id).where(sounds.c.project == arena.project)))
        for number in range(count):
            answers = {"alignment": "a", "musicality": "a"}
            new = pairs.NewPair(f"gold {number}", "easy", takes[0], takes[1], "", None, "x", "y", gold=answers)
            pairs.add(connection, arena.project, study, new)


def person_of(arena):
    [row] = outcomes.list_participants(arena.database, arena.project)
    return row


def take_check(page, arena, kind, number=1, wrong=0, reload_at=None, loses_connection=False):
    """All trials of an attempt, with the mouse and with keys."""
    page.locator("#begin-check").click()
    expect(page.locator("#play")).to_be_visible()
    plan = checks.read_plan(arena.database, person_of(arena)["person"], kind, number)
    for trial, one in enumerate(plan):
        expect(page.get_by_role("heading", name=f"Sound {trial + 1} of 6")).to_be_visible()
        if trial == reload_at:
            page.reload()
            page.locator("#begin-check").click()
            expect(page.get_by_role("heading", name=f"Sound {trial + 1} of 6")).to_be_visible()
        answer = checks.right_answer(kind, one)
        answer = (answer + 1) % 3 if trial < wrong else answer
        page.keyboard.press(str(answer + 1))  # nothing was heard yet: no answer
        page.locator("#play").click()
        expect(page.locator("[data-choice]:not([aria-disabled])")).to_have_count(3)
        if loses_connection and trial == checks.TRIALS - 1:
            page.context.set_offline(True)
        if trial % 2:
            page.keyboard.press(str(answer + 1))
        else:
            page.locator(f'[data-choice="{answer}"]').click()
    if loses_connection:
        expect(page.locator("[data-again]")).to_be_visible()
        page.context.set_offline(False)
        page.locator("[data-again] button").click()


def vote(page, arena, right=True):
    page.locator("#read").click()
    with arena.database.reading() as connection:
        swapped = connection.exec_driver_sql("SELECT swapped FROM views WHERE closed IS NULL").scalar()
    side = "b" if bool(swapped) == right else "a"
    for axis in ("alignment", "musicality"):
        page.locator(f'input[name="{axis}-choice"][value="{side}"]').check(force=True)
    page.locator("#submit").click()


def test_from_the_platforms_link_to_its_completion_code(make_arena, open_page, unworded, screenshot):
    arena = make_arena(**PROLIFIC, **QUICK, device_check=True, headphone_check=True, qualify_pairs=2, qualify_right=2)
    add_gold(arena, 2)
    page = open_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address(arena))
    expect(page.get_by_role("heading", name="Welcome to Rainy day study")).to_be_visible()
    assert page.url == f"{arena.url}/enter", "ids leave the address bar"
    page.reload()
    page.locator("#agree").check()
    screenshot(page, "enter")
    page.get_by_role("button", name="Start").dblclick()
    page.wait_for_url("**/annotate")

    expect(page.get_by_role("heading", name="A check of your device")).to_be_visible()
    screenshot(page, "check-device")
    page.get_by_role("button", name="Play the noise").click()
    take_check(page, arena, "device", reload_at=3)
    expect(page.get_by_role("heading", name="Passed")).to_be_visible()
    page.locator("#go-on").click()
    expect(page.get_by_role("heading", name="A check of your headphones")).to_be_visible()
    take_check(page, arena, "headphones", wrong=1, loses_connection=True)
    expect(page.get_by_role("heading", name="Passed")).to_be_visible()
    expect(page.locator("#banners > *")).to_have_count(0)
    screenshot(page, "check-passed")
    assert unworded(page) == []
    page.locator("#go-on").click()

    expect(page.locator("#count")).to_have_text("qualification: 0 of 2")
    expect(page.get_by_text("They decide whether you continue")).to_be_visible()
    vote(page, arena)
    expect(page.locator("#count")).to_have_text("qualification: 1 of 2")
    vote(page, arena)
    expect(page.get_by_role("heading", name="You have qualified")).to_be_visible()
    screenshot(page, "qualified")
    page.reload()
    page.locator("#go-on").click()
    expect(page.locator("#count")).to_have_text("0 of 1")
    vote(page, arena)
    expect(page.get_by_role("heading", name="Thank you. You are done")).to_be_visible()
    expect(page.locator("#code")).to_have_value("DONE1")
    href = "https://app.prolific.com/submissions/complete?cc=DONE1"
    expect(page.locator("#leave")).to_have_attribute("href", href)
    screenshot(page, "complete")
    assert unworded(page) == [] and errors == []

    elsewhere = open_page()  # the same submission in another browser
    elsewhere.goto(address(arena))
    expect(elsewhere.locator("#code")).to_have_value("DONE1")
    row = person_of(arena)
    assert (row["outcome"], row["votes"], row["qualification_right"], row["headphones_right"]) == ("complete", 1, 2, 5)


def test_who_fails_the_headphone_check_for_good_gets_the_code_for_that(make_arena, open_page, screenshot):
    arena = make_arena(**PROLIFIC, **QUICK, headphone_check=True, check_attempts=2)
    page = open_page(viewport={"width": 380, "height": 700}, color_scheme="dark")
    agree(page, arena)
    second = page.context.new_page()
    second.goto(f"{arena.url}/annotate")  # two tabs are one attempt
    expect(second.locator("#begin-check")).to_be_visible()
    page.bring_to_front()
    take_check(page, arena, "headphones", wrong=6)
    expect(page.get_by_role("heading", name="Not passed")).to_be_visible()
    screenshot(page, "check-failed-phone-dark")
    page.locator("#go-on").click()
    expect(page.get_by_text("Attempts left: 1")).to_be_visible()
    take_check(page, arena, "headphones", number=2, wrong=2)
    expect(page.locator('[data-state="screened-out"]')).to_be_visible()
    expect(page.get_by_text("The headphone check was not passed.")).to_be_visible()
    expect(page.locator("#code")).to_have_value("OUT1")
    screenshot(page, "screened-out-phone-dark")
    second.locator("#begin-check").click()
    expect(second.locator("[data-again]")).to_be_visible()
    second.reload()
    expect(second.locator("#code")).to_have_value("OUT1")


def test_who_does_not_qualify_is_told_so(make_arena, open_page):
    arena = make_arena(**PROLIFIC, **QUICK, qualify_pairs=3, qualify_right=3, language="zh")
    add_gold(arena, 3)
    page = open_page(locale="zh-CN")
    page.goto(address(arena))
    page.locator("#agree").check()
    page.get_by_role("button", name="开始").click()
    page.wait_for_url("**/annotate")
    vote(page, arena, right=False)
    expect(page.get_by_text("您在资格测试中答对的数量不足。")).to_be_visible()
    expect(page.locator("#code")).to_have_value("OUT1")


def test_who_does_not_agree_goes_back_and_leaves_nothing(make_arena, open_page):
    arena = make_arena(**PROLIFIC)
    page = open_page()
    page.goto(address(arena))
    page.locator("#decline").click()
    expect(page.get_by_role("heading", name="You are not taking part")).to_be_visible()
    expect(page.locator("#code")).to_have_value("BACK1")
    assert outcomes.list_participants(arena.database, arena.project) == []

    agree(page, arena)
    page.locator("#privacy").click()
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Withdraw").click()
    expect(page.get_by_role("heading", name="You have withdrawn")).to_be_visible()
    expect(page.locator("#code")).to_have_value("BACK1")


def test_another_persons_id_and_a_broken_link_are_refused_on_a_page(make_arena, open_page):
    arena = make_arena(**PROLIFIC)
    agree(open_page(), arena)
    page = open_page()
    for link, said in (
        (address(arena, session="guessed"), "This participant id is already in use"),
        (f"{arena.url}/enter?study=nothing-here&PROLIFIC_PID=5f1", "does not lead to an open study"),
        (address(arena, pid="{{%PROLIFIC_PID%}}"), "has no participant id"),
    ):
        page.goto(link)
        expect(page.get_by_text(re.compile(said))).to_be_visible()


def test_the_owner_sets_it_up_on_the_page(arena, open_dashboard, screenshot, unworded):
    page = open_dashboard(arena)
    page.goto(f"{arena.url}/owner#study")
    page.get_by_role("button", name="As on Prolific").click()
    expect(page.get_by_label("Parameter that only their link has")).to_have_value("SESSION_ID")
    page.get_by_label("Exit after completion").fill("DONE1")
    section = page.locator("section", has=page.get_by_role("heading", name="Recruit people"))
    section.get_by_role("button", name="Save").click()
    link = page.get_by_label("Invitation link")
    expect(link).to_have_value(re.compile(r"/enter\?study=.*&PROLIFIC_PID=\{\{%PROLIFIC_PID%\}\}&SESSION_ID="))
    before = link.input_value()
    page.get_by_role("button", name="Replace this link").click()
    expect(link).not_to_have_value(before)
    screening = page.locator("section", has=page.get_by_role("heading", name="Checks before the first pair"))
    screening.get_by_label("Headphone check").check()
    screening.get_by_label("Gold pairs to qualify").fill("8")
    screening.get_by_label("… that must be right").fill("9")
    screening.get_by_role("button", name="Save").click()
    expect(page.get_by_text(re.compile("qualify_right is 9"))).to_be_visible()
    screening.get_by_label("… that must be right").fill("7")
    screening.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_be_visible()
    screenshot(page, "owner-recruit")
    assert unworded(page) == []
    study = projects.get(arena.database, arena.project).settings
    assert (study.headphone_check, study.qualify_pairs, study.qualify_right) == (True, 8, 7)
    assert (study.participant, study.exit_complete) == ("PROLIFIC_PID", "DONE1")

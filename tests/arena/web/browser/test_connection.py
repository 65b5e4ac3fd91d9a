"""A connection that comes and goes: no vote is lost, none counts twice, and the annotator is told."""

from playwright.sync_api import expect

from cmi.arena.store import votes


def counted(arena):
    return list(votes.counted(arena.database, arena.project))


def ready_to_vote(annotator):
    annotator.page.locator("#read").click()
    annotator.hear_both()
    annotator.answer()


def test_a_vote_given_offline_is_sent_when_the_connection_is_back(arena, annotator, screenshot):
    ready_to_vote(annotator)
    annotator.context.set_offline(True)
    annotator.page.locator("#submit").click()
    expect(annotator.page.locator("#banners")).to_contain_text("Not sent yet")
    screenshot(annotator.page, "annotate-offline")
    expect(annotator.page.locator("#read")).to_have_count(0)
    assert counted(arena) == []
    annotator.context.set_offline(False)
    expect(annotator.page.locator("#read")).to_be_visible()
    expect(annotator.page.locator("#banners")).not_to_contain_text("Not sent yet")
    expect(annotator.page.locator("#count")).to_have_text("1 of 6")
    assert len(counted(arena)) == 1


def test_a_vote_that_waits_survives_a_reload(arena, annotator):
    """The server is out of reach, the page is closed and opened again: the vote goes first."""
    ready_to_vote(annotator)
    annotator.context.route("**/vote", lambda route: route.abort())
    annotator.page.locator("#submit").click()
    expect(annotator.page.locator("#banners")).to_contain_text("Not sent yet")
    annotator.page.close()
    annotator.context.unroute("**/vote")
    page = annotator.context.new_page()
    page.goto(f"{arena.url}/annotate")
    expect(page.locator("#count")).to_have_text("1 of 6")
    assert len(counted(arena)) == 1


def test_an_answer_lost_on_the_way_back_does_not_count_twice(arena, annotator):
    ready_to_vote(annotator)
    lost = []

    def lose_the_first_answer(route):
        if lost:
            route.continue_()
            return
        lost.append(route.fetch().status)
        route.abort()

    annotator.context.route("**/vote", lose_the_first_answer)
    annotator.page.locator("#submit").click()
    expect(annotator.page.locator("#count")).to_have_text("1 of 6")
    assert lost == [200]
    assert len(counted(arena)) == 1


def test_a_vote_that_the_server_refuses_stays_with_the_annotator(arena, annotator):
    ready_to_vote(annotator)
    refusal = {"status": 409, "json": {"code": "heard", "message": "Take A was not heard long enough."}}
    annotator.context.route("**/vote", lambda route: route.fulfill(**refusal))
    annotator.page.locator("#submit").click()
    expect(annotator.page.locator("[data-state='vote-refused']")).to_contain_text("not heard long enough")
    annotator.context.unroute("**/vote")
    annotator.page.get_by_role("button", name="Back to the page").click()
    expect(annotator.page.locator("input[name='alignment-choice'][value='a']")).to_be_checked()
    annotator.page.locator("#submit").click()
    expect(annotator.page.locator("#count")).to_have_text("1 of 6")
    assert len(counted(arena)) == 1

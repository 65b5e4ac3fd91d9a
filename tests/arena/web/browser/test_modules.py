"""The parts of the page that can be tried alone: how much was heard, and how loud it plays."""

import pytest

HEARD = """async (looks) => {
  const { HeardMeter } = await import("/static/js/annotate/heard.js");
  const meter = new HeardMeter(10);
  for (const look of looks) look === null ? meter.lift() : meter.listen(...look);
  const again = new HeardMeter(10, meter.spans);
  return [meter.seconds, again.seconds];
}"""
VOLUMES = """async ([matched, gains]) => {
  const { Levels } = await import("/static/js/annotate/levels.js");
  const levels = new Levels(matched);
  levels.setVolume(0.5);
  const outputs = gains.map((gain) => [new Audio(), gain]);
  for (const [audio, gain] of outputs) levels.add(audio, gain);
  return outputs.map(([audio]) => audio.volume);
}"""


@pytest.fixture
def page(arena, new_context):
    page = new_context().new_page()
    page.goto(arena.url)
    return page


@pytest.mark.parametrize(
    ("looks", "seconds"),
    [
        pytest.param([[0, 0], [1, 1000], [2, 2000]], 2, id="playing counts"),
        pytest.param([[0, 0], [1, 1000], [8, 1100], [9, 2100]], 2, id="a jump does not"),
        pytest.param([[0, 0], [1, 1000], None, [5, 60_000], [6, 61_000]], 2, id="a pause does not"),
        pytest.param([[0, 0], [1, 1000], [0, 1100], [1, 2100]], 1, id="the same second counts once"),
        pytest.param([[3, 0], [3, 1000], [3, 2000]], 0, id="waiting for data does not"),
        pytest.param([[9, 0], [10, 1000], [11, 2000]], 1, id="nothing is heard after the end"),
    ],
)
def test_heard_seconds(page, looks, seconds):
    heard, after_reload = page.evaluate(HEARD, looks)
    assert heard == after_reload == pytest.approx(seconds)


def test_levels_match_one_another_and_never_need_more_than_full_volume(page):
    louder, softer = page.evaluate(VOLUMES, [True, [-6, 3]])
    assert softer == pytest.approx(0.5)
    assert louder == pytest.approx(0.5 * 10 ** (-9 / 20))
    assert page.evaluate(VOLUMES, [True, [-6, -3]])[0] == pytest.approx(0.5 * 10 ** (-6 / 20))
    assert page.evaluate(VOLUMES, [False, [-6, 3]]) == [0.5, 0.5]


def test_a_script_that_does_not_arrive_is_reported(arena, new_context):
    page = new_context().new_page()
    page.route("**/static/js/words.js", lambda route: route.fulfill(status=429))
    page.goto(arena.url)
    said = page.get_by_role("alert").get_by_text("reload it")
    said.wait_for()
    assert said.is_visible()

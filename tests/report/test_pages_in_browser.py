"""The pages of commands in a real Chromium: nothing a stranger wrote runs, nothing is cut off, all works offline."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from cmi.bench.scoring.one_file import NULL_PREFIX, BenchCell
from cmi.bench.scoring.page import bench_page
from cmi.bench.scoring.tables import Table3Part, score_tables
from cmi.probe.page import probe_page
from cmi.probe.probe import Fall, Order, ProbeReport, ScoreChange
from cmi.report.html import page
from cmi.report.players import page_links
from cmi.reward.pick.candidates import Candidate, Group
from cmi.reward.pick.curve import Curve, CurveEstimate, Point
from cmi.reward.pick.page import pick_page
from cmi.reward.pick.pick import Broken, Pick, Ranked, Weights
from cmi.reward.pick.report import JudgedCurve, PickReport
from cmi.reward.pick.report import tables as pick_tables
from cmi.reward.scoring.explain import Explanation
from cmi.reward.scoring.page import draw_takes, score_page
from cmi.reward.scoring.scorers import TakeSection
from cmi.rewardbench.evaluation.cells import EVERYTHING, RewardCell
from cmi.rewardbench.evaluation.page import rewardbench_page
from cmi.rewardbench.evaluation.tables import cell_tables
from cmi.rewardbench.tasks import MUSICALITY_PREFERENCE
from cmi.stats.intervals import Interval
from cmi.take import Prompt, Score, Take

api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'cmi[test]'")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")

CHROMIUM = os.environ.get("CMI_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
PATIENCE = 60_000  # milliseconds
HOSTILE = """</title></script><script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">'"& é 音"""
FILE = "a<b> & 'c' \"d\" #%3F?.wav"  # of a recording
RATE = 8000
OpenPage = Callable[..., Any]  # opens HTML, and returns the tab


def write_takes(folder: Path, count: int) -> list[Take]:
    rng = np.random.default_rng(0)
    takes = []
    for number in range(count):
        path = folder / f"{number} {FILE}"
        soundfile.write(path, 0.1 * rng.normal(size=3 * RATE), RATE)
        takes.append(Take(Prompt(HOSTILE, HOSTILE), path))
    return takes


def make_score_page(folder: Path, embed: bool = False) -> str:
    takes = write_takes(folder, 27)
    records: list[dict[str, Any]] = [
        {"id": take.audio.name, "musicality": -float(i), "alignment": 0.5, "notes": [HOSTILE]}  # type: ignore[union-attr]
        for i, take in enumerate(takes)
    ]
    records[3] = {"id": HOSTILE, "error": HOSTILE}
    sections = tuple(TakeSection(float(i), i + 1.0, Score(float(i), 1.0 - i)) for i in range(3))
    named = [(record["id"], take) for record, take in zip(records, takes, strict=True)]
    drawn = draw_takes(records, named, [Explanation(records[0]["id"], sections)])
    return score_page(*drawn, HOSTILE, page_links(folder / "page.html", embed))


def make_pick_page(folder: Path) -> str:
    candidates = [Candidate(HOSTILE, take) for take in write_takes(folder, 2)]
    ranking = tuple(Ranked(one, Score(1.0, 2.0), 1.5, (HOSTILE,)) for one in candidates)
    pick = Pick(Group(HOSTILE, tuple(candidates)), ranking, (Broken(candidates[0], HOSTILE),))
    none = Pick(Group("none", ()), (), ())
    points = tuple(
        Point("overall", n, CurveEstimate(n / 10, Interval(0.0, 1.0)), CurveEstimate(0.1, None), 1.0)
        for n in (1, 3, 10)
    )
    report = PickReport(HOSTILE, Weights(), [pick, none], [JudgedCurve(HOSTILE, Curve(1, 0, points, ()))])
    return pick_page(report, pick_tables(report), page_links(folder / "page.html", embed_audio=False))


def make_probe_page(folder: Path) -> str:
    nothing = Interval(float("nan"), float("nan"))
    falls = [
        Fall(
            f"flaw-{i}",
            "production",
            5,
            0.4,
            Interval(0.1, 0.8),
            -0.5,
            nothing,
            (-9.0, -0.1, 0.2, float("nan")),
            0.8,
            -0.6,
        )
        for i in range(11)
    ]
    changes = [ScoreChange("mp3", "musicality", 5, 0.2, nothing, 0.3, 0.1)]
    orders = [Order(HOSTILE, 5, 0.8, Interval(0.4, 1.0), 0.5, None)]
    report = ProbeReport(HOSTILE, HOSTILE, "", 0, 5, 20.0, 100, {"musicality": 1.0}, changes, falls, orders, [HOSTILE])
    return probe_page(report)


def bench_cell(model: str, row: str, metric: str, value: float | None, **more: Any) -> BenchCell:
    ends = (None, None) if value is None else (value - 5, value + 5)
    return BenchCell(
        model=model, row=row, metric=metric, value=value, n=24, unparsed=1, low=ends[0], high=ends[1],
        protocol="paper", better="higher", **more,
    )  # fmt: skip


def make_bench_page(folder: Path) -> str:
    cells = [
        bench_cell("mine", "GTZ.", "Acc.", 65.0, is_null=False, best_null="majority", null_value=10.0),
        bench_cell(HOSTILE, "GTZ.", "Acc.", 20.0, is_null=False, notes=(HOSTILE,)),
        bench_cell(NULL_PREFIX + "majority", "GTZ.", "Acc.", 10.0, is_null=True),
        bench_cell("mine", "VS-T", "Acc.", None, is_null=False),
    ]
    return bench_page(cells, "paper", Table3Part(rows=("M-G", "GTZ.", "VS-T")), score_tables(cells))


def make_rewardbench_page(folder: Path) -> str:
    cells = [
        RewardCell(
            model=model, metric="ACC", value=value, low=value - 0.1, high=value + 0.1, n=100, protocol="strict",
            better="higher", is_null=model == "louder", dataset="cmi-pref", task=MUSICALITY_PREFERENCE.name,
            group=EVERYTHING, unscored=1, unparsed=None, undecided=0, prompts=50,
        )
        for model, value in ((HOSTILE, 0.7), ("louder", 0.55))
    ]  # fmt: skip
    return rewardbench_page(cells, "strict", cell_tables(cells, HOSTILE))


PAGES: dict[str, Callable[[Path], str]] = {
    "score": make_score_page,
    "pick": make_pick_page,
    "probe": make_probe_page,
    "bench": make_bench_page,
    "rewardbench": make_rewardbench_page,
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here: install it, or name one in CMI_CHROMIUM")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[OpenPage]:
    """Open HTML; at the end nothing has run that should not, and nothing but local files was asked for."""
    api.expect.set_options(timeout=PATIENCE)
    faults: list[str] = []
    opened: list[Any] = []

    def open_page(html: str, width: int = 1280, scheme: str = "light") -> Any:
        (tmp_path / "page.html").write_text(html, "utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        tab = context.new_page()
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("request", lambda asked: faults.append(asked.url) if asked.url.startswith("http") else None)
        tab.goto((tmp_path / "page.html").as_uri())
        opened.append(tab)
        return tab

    yield open_page
    for tab in opened:
        assert tab.evaluate("window.hacked") is None
        tab.context.close()
    assert faults == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_fits_any_screen_and_shows_hostile_names_as_text(
    name: str, open_page: OpenPage, tmp_path: Path
):
    html = PAGES[name](tmp_path)
    for width, scheme in ((1280, "light"), (390, "dark")):
        tab = open_page(html, width, scheme)
        api.expect(tab.get_by_text("<script>window.hacked = 1</script>").first).to_be_attached()
        tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        found = axe.Axe().run(tab).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        if width == 1280:
            widths = tab.evaluate(
                "[...document.querySelectorAll('.scroll')].map((one) => [one.scrollWidth, one.clientWidth])"
            )
            assert all(needed <= there + 1 for needed, there in widths)
        else:
            narrowest = tab.evaluate("""Math.min(...[...document.querySelectorAll('.scroll tbody tr > :first-child')]
                .filter((one) => one.textContent.length > 3).map((one) => one.clientWidth))""")
            assert narrowest > 30, "the first column is no stack of letters"
        assert tab.locator("tbody tr:visible").count() > 0
    tab.emulate_media(media="print")
    assert tab.locator("audio:visible, .filters:visible").count() == 0
    tab.set_viewport_size({"width": 718, "height": 1000})  # A4 with Chromium's margins
    assert tab.evaluate("document.documentElement.scrollWidth") <= 718, "nothing is cut off on paper"


@pytest.mark.parametrize("name", PAGES)
def test_a_word_that_fits_no_line_does_not_widen_a_page(
    name: str, open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(globals(), "HOSTILE", f"{'w' * 300} {HOSTILE}")
    html = PAGES[name](tmp_path)
    for width in (1280, 390):
        assert open_page(html, width).evaluate("document.documentElement.scrollWidth") <= width


def test_a_waveform_plays_from_where_it_is_clicked_and_the_address_survives_any_name(
    open_page: OpenPage, tmp_path: Path
):
    tab = open_page(make_score_page(tmp_path))
    card = tab.locator(".take").first
    card.locator(".wave").first.click(position={"x": 400, "y": 20})
    width = card.locator(".wave").first.bounding_box()["width"]
    tab.wait_for_function("document.querySelector('audio').currentTime > 0", timeout=PATIENCE)
    assert card.locator("audio").evaluate("(one) => one.currentTime") >= 0.9 * 400 / width * 3
    second = tab.locator(".take").nth(1).locator("audio")
    second.evaluate("(one) => { one.play() }")
    tab.wait_for_function("document.querySelector('audio').paused", timeout=PATIENCE)


def test_recordings_inside_a_page_play_without_the_files(open_page: OpenPage, tmp_path: Path):
    html = make_score_page(tmp_path, embed=True)
    for path in tmp_path.glob("*.wav"):
        path.unlink()
    player = open_page(html).locator("audio").first
    player.evaluate("(one) => one.play()")
    api.expect(player).to_have_js_property("paused", False)
    assert player.evaluate("(one) => one.duration") == pytest.approx(3, abs=0.2)


def test_a_leaderboard_is_filtered_and_sorted(open_page: OpenPage, tmp_path: Path):
    tab = open_page(make_bench_page(tmp_path))
    tab.get_by_label("task").select_option("genre")
    api.expect(tab.get_by_role("status")).to_have_text("3 of 4 tables shown")
    gtzan = tab.locator(".board", has_text="(GTZ.)")
    names = gtzan.locator("tbody tr:visible td:first-child")
    api.expect(names.first).to_contain_text("supervised state of the art")
    tab.get_by_role("checkbox", name="published").uncheck()
    api.expect(names).to_have_count(3)
    api.expect(names.first).to_contain_text("mine")
    gtzan.get_by_role("button", name="value").click()  # from the highest
    gtzan.get_by_role("button", name="value").click()
    api.expect(gtzan.locator("th[aria-sort=ascending]")).to_have_text("value")
    api.expect(names.first).to_contain_text("majority")
    tab.get_by_label("model", exact=True).fill("mine")
    api.expect(names).to_have_count(1)
    api.expect(tab.get_by_role("status")).to_have_text("1 of 4 tables shown")


def test_a_table_sorts_numbers_as_numbers_and_keeps_what_is_missing_last(open_page: OpenPage):
    rows = "".join(f"<tr><td>{text}</td></tr>" for text in ("9", "-", "1,250", "-3.5", "word", "0.20"))
    table = f'<table class="sortable"><thead><tr><th class="number">n</th></tr></thead><tbody>{rows}</tbody></table>'
    tab = open_page(page("t", f"<h1>t</h1>{table}"))
    button = tab.get_by_role("button", name="n")
    button.click()
    assert tab.locator("td").all_inner_texts() == ["1,250", "9", "0.20", "-3.5", "word", "-"]
    button.click()
    assert tab.locator("td").all_inner_texts() == ["-3.5", "0.20", "9", "1,250", "word", "-"]

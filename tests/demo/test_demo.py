"""The demonstration: everything is on the page, nothing in it runs, and a second call computes nothing."""

import html
import io
import math
import os
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from rich.console import Console

from cmi._util.errors import InputError
from cmi.audio import content_hash
from cmi.demo.mir import AnsweredClip, MirAnswer, MirPart
from cmi.demo.page import page_of
from cmi.demo.run import BenchPart, DemoPlan, run_demo
from cmi.demo.tables import demo_tables, notice_takes, pairs_to_hear, take_rows
from cmi.report.html import interval_bar, table_html
from cmi.report.html import page as whole_page
from cmi.report.tables import Table, print_tables
from cmi.reward.pick.candidates import Candidate, Group
from cmi.reward.pick.pick import Pick, Ranked
from cmi.reward.scoring.scorers import NamedScorer
from cmi.stats.intervals import Interval
from cmi.take import Prompt, Score, Take

SMALLEST = DemoPlan(takes=2, pairs=4, songs=3, seconds=1.0, clips=2, clip_seconds=4, listener="demo_ears:Constant")
EARS = """
from cmi.bench.ask.nulls import NullListener

class Constant(NullListener):
    def __init__(self):
        super().__init__("null:constant")
"""
HOSTILE = """<script>alert("1")</script>'&"""


class ByContent:
    """A number for each recording; counts what it was asked."""

    def __init__(self):
        self.asked = 0

    def score(self, takes):
        self.asked += len(takes)
        return [Score(int(content_hash(take.audio)[:6], 16) / 2**24, len(take.prompt.text) / 100) for take in takes]


class Tags(HTMLParser):
    """Names of elements, and where they point."""

    def __init__(self, text):
        super().__init__()
        self.names, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.names.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href", "srcset", "data")]


def run(out, scorer):
    steps = []
    demo = run_demo(out, lambda: NamedScorer("by content", scorer), SMALLEST, lambda *step: steps.append(step))
    return demo, steps


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("demo")
        patch.setenv("CMI_CACHE", str(folder / "cache"))
        (folder / "demo_ears.py").write_text(EARS)
        patch.syspath_prepend(folder)
        out = folder / "out"
        demo, steps = run(out, ByContent())
        return out, demo, steps


def test_all_parts_are_on_the_page_and_its_players_have_their_files(made):
    out, demo, _ = made
    shown = page_of(demo, out)
    tags = Tags(shown)
    pairs = len(pairs_to_hear(demo))
    assert tags.names.count("audio") == SMALLEST.takes + 2 * pairs + 2 * SMALLEST.clips
    assert shown.count('class="wave"') == tags.names.count("audio")
    first = [out / link for link in tags.links[: SMALLEST.takes]]
    assert first == [one.candidate.take.audio for one in demo.pick.ranking]
    assert all((out / link).is_file() for link in tags.links)
    assert demo.pick.ranking[0].mean >= demo.pick.ranking[1].mean
    for said in (
        "by content",
        "louder wins",
        "musicality",
        "a flaw lowers musicality",
        "0.5 s grid",
        "GS-K",
        "cmi pick",
    ):
        assert said in shown
    bars = 5 * len({found.axis for found in demo.accuracies})  # the scorer and four nulls
    assert tags.names.count("svg") == bars + tags.names.count("audio")


def test_each_part_says_in_two_sentences_what_to_notice(made):
    out, demo, _ = made
    shown = re.findall(r'<p class="notice">(.*?)</p>', page_of(demo, out))
    assert len(shown) == 5
    sentences = [re.split(r"\. (?=[A-Za-z])", html.unescape(text)) for text in shown]
    assert [len(one) for one in sentences] == [2] * 5, sentences
    assert all(len(text) < 330 for text in shown)


def test_what_to_notice_is_what_was_measured(made):
    _, demo, _ = made
    rows = take_rows(demo)
    assert f"picks {rows[0].name}: by the truth, from 0 to 1, its quality is {rows[0].quality:.2f}" in notice_takes(
        demo
    )
    flipped = replace(demo, pick=replace(demo.pick, ranking=demo.pick.ranking[::-1]))
    said = {notice_takes(demo), notice_takes(flipped)}
    assert len([one for one in said if "true order" in one]) == 1, "one of two orders is the true one"
    assert len([one for one in said if "Its largest mistake" in one]) == 1
    for title, judged in pairs_to_hear(demo).items():
        assert (judged.margin > 0) == title.startswith("Judged right")
        assert abs(judged.margin) == max(
            abs(one.margin) for one in demo.judged if (one.margin > 0) == (judged.margin > 0)
        )


def test_the_terminal_gets_a_screenful(made):
    """At 80 columns, with what nano was validated on; the demonstration itself ranks four takes more than here."""
    _, demo, _ = made
    captured = io.StringIO()
    console = Console(file=captured, width=80)
    print_tables(demo_tables(replace(demo, model="nano@1aab600e5412")), console)
    lines = [line.rstrip() for line in captured.getvalue().splitlines()]
    assert console.width == 80, "no table is wider"
    assert sum(max(1, math.ceil(len(line) / 80)) for line in lines) + DemoPlan().takes - SMALLEST.takes <= 40
    assert any(line.startswith("nano@1aab600e5412 was validated on") for line in lines)


def test_the_pairs_are_a_benchmark_too(made):
    _, demo, _ = made
    titles = [table.title for table in demo.rewardbench]
    assert any("musicality preference" in title for title in titles)
    model = {row[0] for table in demo.rewardbench for row in table.rows if not row[0].startswith("null")}
    assert model == {"by content"}


@pytest.fixture(scope="module")
def chromium():
    """A browser, if one is installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("CMI_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("there is no Chromium here: install it, or name one in CMI_CHROMIUM")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing_and_nothing_is_clipped(made, chromium, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    out, demo, _ = made
    (out / "index.html").write_text(page_of(demo, out), encoding="utf-8")
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}, offline=True)
    page, errors = context.new_page(), []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto((out / "index.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:120]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.locator(".wave").first.click()
    page.wait_for_function("document.querySelector('audio').currentTime > 0")
    assert errors == []
    context.close()


def test_a_page_needs_no_network(made):
    out, demo, _ = made
    assert not re.search(r"https?:|//[a-z]|@import|url\(", page_of(demo, out))


def test_the_terminal_names_the_best_take_and_every_measurement(made):
    _, demo, _ = made
    ranking, measured = demo_tables(demo)
    assert ranking.rows[0][:2] == ["1", demo.pick.chosen.candidate.name]
    assert ranking.notes == [notice_takes(demo)]
    what = [row[1] for row in measured.rows]
    assert what[0].startswith("the better take, ")
    assert "a flaw lowers musicality" in what
    asked = {row[1].partition(":")[0] for row in measured.rows if row[0] == "Constant"}
    assert asked == {"key", "instrument", "pitch", "beat", "downbeat", "melody"}
    samples = {row[0]: int(row[3]) for row in measured.rows if row[1].startswith("CMI-Bench")}
    assert samples["parrot"] < 20 < 80 < samples["listener"]


def test_of_cmi_bench_the_page_shows_a_metric_of_each_task(made):
    _, demo, _ = made
    main, listener, parrot, _ = demo.bench.tables
    assert len(main.rows) == len({row[0] for row in main.rows}) == 14
    assert len(listener.rows) == len(parrot.rows) > 40


def test_a_second_call_computes_nothing_and_gives_the_same_page(made, monkeypatch):
    out, demo, _ = made
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    monkeypatch.setattr("cmi.demo.run.small_probe", lambda *arguments, **options: pytest.fail("probed again"))
    monkeypatch.setattr("cmi.bench.scoring.many_files.score_file", lambda *arguments: pytest.fail("scored again"))
    scorer = ByContent()
    again, steps = run(out, scorer)
    assert scorer.asked == 0
    assert page_of(again, out) == page_of(demo, out)
    rewritten = {"preferences.jsonl", "about.json"}  # by the studio, which balances again what it has
    rewritten |= {"items.jsonl", "failures.jsonl"}  # by the benchmark, which notes again what it asks
    rewritten |= {path.name for path in (out / "mir").rglob("*.jsonl") if path.name != "scores.jsonl"}  # the same again
    assert {path.name for path in before if path.stat().st_mtime_ns != before[path]} <= rewritten
    assert ("takes generated", SMALLEST.takes, SMALLEST.takes) in steps


def test_another_scorer_is_probed_anew(made):
    out, _, _ = made
    asked = ByContent()
    other = run_demo(out, lambda: NamedScorer("another", asked), SMALLEST, lambda *step: None)
    assert asked.asked > 60
    assert other.probe[0].title.startswith("another")


def test_a_file_that_is_not_ours_is_named(made, tmp_path):
    out, _, _ = made
    kept = (out / "probe.json").read_text()
    (out / "probe.json").write_text("[1")
    with pytest.raises(InputError, match=r"probe\.json: not written by `cmi demo`"):
        run(out, ByContent())
    (out / "probe.json").write_text(kept)


def test_hostile_text_is_shown_and_never_run(made):
    out, demo, _ = made
    name = f"{HOSTILE}.flac"
    audio = out / "takes" / "000" / name.replace("/", "_")
    shutil.copy(demo.pick.ranking[0].audio, audio)
    candidate = Candidate(name, Take(Prompt(HOSTILE), audio))
    truth = {**next(iter(demo.truths.values())), "flaw": HOSTILE, "met": {HOSTILE: True}}
    hostile = replace(
        demo,
        model=HOSTILE,
        pick=Pick(Group(HOSTILE, (candidate,)), (Ranked(candidate, Score(1, 2), 1.5),), ()),
        truths={name: truth},
        accuracies=[replace(found, nulls={HOSTILE: found.scorer}) for found in demo.accuracies],
        probe=[Table(HOSTILE, [HOSTILE], [[HOSTILE]], notes=[HOSTILE])],
        bench=BenchPart([Table(HOSTILE, [HOSTILE], [[HOSTILE]], notes=[HOSTILE])], {HOSTILE: [True]}),
        mir=MirPart(
            [Table(HOSTILE, [HOSTILE], [[HOSTILE]], notes=[HOSTILE])],
            [AnsweredClip(audio, [MirAnswer(*[HOSTILE] * 3)])],
        ),
        judged=[one._replace(difference=HOSTILE) for one in demo.judged],
        versions={HOSTILE: HOSTILE},
    )
    shown = page_of(hostile, out)
    assert Tags(shown).names.count("script") == 1
    assert "alert(&quot;1&quot;)" in shown


def test_a_bar_lies_where_its_numbers_are_and_says_them():
    bar = interval_bar("nano", 0.75, Interval(0.5, 1.0), 0.5, "scorer")
    assert 'cx="135.0"' in bar
    assert '<rect x="90.0"' in bar
    assert 'width="90.0"' in bar
    assert 'aria-label="nano: 75%, 95 % from 50% to 100%; chance 50%"' in bar


def test_a_table_keeps_its_words_left_and_its_numbers_right():
    shown = table_html(Table("t < u", ["a", "b"], [["x & y", "1"]], notes=["n > 1"]))
    assert "<caption>t &lt; u</caption>" in shown
    assert '<td>x &amp; y</td><td class="number">1</td>' in shown
    assert '<p class="quiet">n &gt; 1</p>' in shown
    assert shown in whole_page("t", shown)

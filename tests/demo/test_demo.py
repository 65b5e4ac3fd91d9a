"""The demonstration: everything is on the page, nothing in it runs, and a second call computes nothing."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from cmi._util.errors import InputError
from cmi.audio import content_hash
from cmi.demo.page import page_of
from cmi.demo.run import DemoPlan, run_demo
from cmi.demo.tables import demo_tables
from cmi.report.html import interval_bar, page, table_html
from cmi.report.tables import Table
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
    assert tags.names.count("audio") == SMALLEST.takes
    assert [out / link for link in tags.links] == [one.candidate.take.audio for one in demo.pick.ranking]
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
    assert tags.names.count("svg") == 5 * len({found.axis for found in demo.accuracies})  # the scorer and four nulls


def test_the_pairs_are_a_benchmark_too(made):
    _, demo, _ = made
    titles = [table.title for table in demo.rewardbench]
    assert any("musicality preference" in title for title in titles)
    model = {row[0] for table in demo.rewardbench for row in table.rows if not row[0].startswith("null")}
    assert model == {"by content"}


def test_a_page_needs_no_network(made):
    out, demo, _ = made
    assert not re.search(r"https?:|//[a-z]|@import|url\(", page_of(demo, out))


def test_the_terminal_names_the_best_take(made):
    _, demo, _ = made
    ranking, judged, probed, heard, bench = demo_tables(demo)
    assert ranking.rows[0][:2] == ["1", demo.pick.chosen.candidate.name]
    assert f"The best: {demo.pick.chosen.candidate.name}." in ranking.notes[1]
    assert "(louder wins)" in [row[1] for row in judged.rows]
    assert len(probed.rows) == 3
    assert {row[0] for row in heard.rows} == {"key", "instrument", "pitch", "beat", "downbeat", "melody"}
    assert {row[2] for row in heard.rows} == {"2"}
    assert bench.title.endswith("protocol strict")


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
    audio = out / "takes" / "000" / name
    candidate = Candidate(name, Take(Prompt(HOSTILE), audio))
    truth = {**next(iter(demo.truths.values())), "flaw": HOSTILE, "met": {HOSTILE: True}}
    hostile = replace(
        demo,
        model=HOSTILE,
        pick=Pick(Group(HOSTILE, (candidate,)), (Ranked(candidate, Score(1, 2), 1.5),), ()),
        truths={name: truth},
        accuracies=[replace(found, nulls={HOSTILE: found.scorer}) for found in demo.accuracies],
        probe=[Table(HOSTILE, [HOSTILE], [[HOSTILE]], notes=[HOSTILE])],
        bench=[Table(HOSTILE, [HOSTILE], [[HOSTILE]], notes=[HOSTILE])],
        mir=[Table(HOSTILE, [HOSTILE], [[HOSTILE]], notes=[HOSTILE])],
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
    assert shown in page("t", shown)

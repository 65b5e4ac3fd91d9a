"""The error browser: readings and scores are the scorer's own, and hostile answers are text on the page (Chromium)."""

import json
import os
import shutil
from dataclasses import replace
from importlib.resources import files
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.bench.browser.items import PlayedSpan, browse_records, outcome_of, read_answers
from cmi.bench.browser.page import (
    embedded,
    find_sound,
    json_in_html,
    linked,
    no_sound,
    page_of,
    payload,
    sound_source,
    worst,
    write_page,
)
from cmi.bench.evaluation import Setting, accuracy, of_sums, percent_mean, percent_median, percent_ratio
from cmi.bench.metrics.tools import Tools
from cmi.bench.scoring.one_file import Items
from cmi.bench.scoring.responses import ResponseSet, audio_key, find_annotations, find_responses
from cmi.bench.tasks import load_task
from cmi.bench.tasks.captioning import corpus_bleu

SAMPLES = Path(str(files("cmi.bench"))) / "samples"
HOSTILE = '</script><script>window.hacked = 1</script><img src=x onerror="window.hacked = 2"><!-- & \u2028 é 音'
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def sample_files():
    return find_responses([SAMPLES / "responses"])


def gtzan(tmp_path, answers, model="m", audio="GTZAN/{}.wav", question="Genre?", dataset="GTZAN"):
    records = [
        {"question": question, "response": answer, "correct_answer": truth, "audioid": f"../testdata/{audio.format(i)}"}
        for i, (answer, truth) in enumerate(answers)
    ]
    path = tmp_path / f"{model}_{dataset}.jsonl"
    path.write_text(json.dumps(records), encoding="utf-8")
    return find_responses([path])[0]


@pytest.mark.parametrize("protocol", ["paper", "strict"])
@pytest.mark.parametrize("file", sample_files(), ids=lambda file: f"{file.model}-{file.dataset.name}")
def test_what_is_read_and_scored_is_what_the_task_reads_and_scores(file, protocol, tools):
    annotations = find_annotations(SAMPLES / "annotations")[file.dataset.name]
    shown = read_answers(file, protocol, tools, annotations)
    items = Items(list(ResponseSet(file, annotations)), answered_only=protocol == "paper")
    evaluation = load_task(file.dataset).evaluate(items, Setting(file.dataset.name, protocol, file.model, tools))
    counted = [item for item in shown.items if item.answered or protocol == "strict"]
    assert sum(item.reading is None for item in counted) == evaluation.unparsed
    values = dict(zip((metric.name for metric in evaluation.metrics), evaluation.values()[0], strict=True))
    for i, metric in enumerate(shown.metrics):
        assert np.mean([item.scores[i] for item in counted]) == pytest.approx(values[metric.name])
    not_computed = [why.partition(":")[0] for why in shown.not_computed]
    assert {metric.name for metric in shown.metrics} | {*shown.whole_set, *not_computed} == set(values)


def test_corpus_metrics_have_no_score_of_an_item():
    sets = {(f.dataset.name, f.model): f for f in sample_files()}
    annotations = find_annotations(SAMPLES / "annotations")

    def whole(name):
        return read_answers(sets[name, "listener"], "strict", Tools(), annotations[name]).whole_set

    assert whole("EMO_arousal") == ("ar", "ar^2")
    assert whole("Guzheng_Tech") == ("maF1", "miF1")
    assert whole("MTT") == ("ROC", "PR")
    assert "BL." in whole("SDD")
    assert whole("GTZAN") == ()


def test_a_metric_that_is_a_mean_says_of_what_and_others_say_nothing():
    rows, weights = np.random.default_rng(0).uniform(size=(5, 10)), np.array([[1.0, 2, 1, 3, 1]])
    for metric in (percent_mean("x"), accuracy("x", 1)):
        assert metric.value(rows, weights) == pytest.approx(
            100 * np.average(rows[:, metric.mean_of], weights=weights[0])
        )
    for metric in (percent_ratio("x", 0, 1), percent_median("x", 0), of_sums("x", corpus_bleu)):
        assert metric.mean_of is None


@pytest.mark.parametrize("with_annotations", [True, False])
def test_every_answer_stands_beside_its_own_clip(tmp_path, shared, with_annotations):
    folder = shared / "cmi-bench"
    truths = find_annotations(folder / "annotations") if with_annotations else {}
    for file in find_responses([folder / "responses" / "qwen2" / f"qwen2_{n}.jsonl.gz" for n in ("GTZAN", "DSing")]):
        annotations = truths.get(file.dataset.name)
        entries = list(ResponseSet(file, annotations))
        shown = read_answers(file, "strict", Tools(), annotations)
        assert [file.dataset.recording(audio_key(item.clip.path)) for item in shown.items] == [
            entry.item.recording for entry in entries
        ]
        assert [item.answer for item in shown.items] == [entry.item.answer for entry in entries]


def test_our_own_layout_joins_clips_by_id_whatever_the_order(tmp_path, tools):
    source = SAMPLES / "responses" / "parrot_GTZAN.jsonl"
    lines = source.read_text().splitlines()[::-1][:-3]
    path = tmp_path / "parrot_GTZAN.jsonl"
    path.write_text("\n".join(lines) + "\n")
    (file,) = find_responses([path])
    annotations = find_annotations(SAMPLES / "annotations")["GTZAN"]
    shown = read_answers(file, "strict", tools, annotations)
    entries = list(ResponseSet(file, annotations))
    assert [audio_key(item.clip.path) for item in shown.items] == [entry.item.recording for entry in entries]
    assert sum(not item.answered for item in shown.items) >= 3


def test_the_worst_are_unread_ones_and_then_the_lowest(tmp_path, tools):
    answers = read_answers(
        gtzan(tmp_path, [("rock", "rock"), ("pop", "rock"), ("?", "rock"), ("rock", "rock")]), "strict", tools
    )
    assert [item.place for item in worst(answers, 2).items] == [2, 3]
    assert [item.place for item in worst(answers, 3).items] == [1, 2, 3]


@pytest.mark.parametrize(
    ("reading", "score", "better", "outcome"),
    [
        ("rock", 100.0, "higher", "right"),
        ("C major", 30.0, "higher", "partly"),
        ("rock", 0.0, "higher", "wrong"),
        ("la la", 0.0, "lower", "right"),
        ("la", 100.0, "lower", "wrong"),
        ("la", 99.9, "lower", "partly"),
        (None, 0.0, "higher", "unparsed"),
        ("sad", None, "higher", "unscored"),
    ],
)
def test_right_is_the_best_score_wrong_the_worst_and_partly_between(reading, score, better, outcome):
    assert outcome_of(reading, score, better) == outcome


@pytest.mark.parametrize("protocol", ["paper", "strict"])
def test_one_class_is_right_when_it_is_read_as_the_expected_one(protocol, tools):
    """The confusion table's diagonal is the accuracy: on every data set of classes, under both protocols."""
    checked = set()
    for file in sample_files():
        shown = read_answers(file, protocol, tools, find_annotations(SAMPLES / "annotations")[file.dataset.name])
        for item in shown.items:
            if item.expected is not None and item.reading is not None:
                assert (item.reading == item.expected) == (item.outcome == "right")
                checked.add(file.dataset.name)
    assert checked == {"GS_key", "GTZAN", "Nsynth_instrument", "Nsynth_pitch", "VocalSet_tech"}


def test_outcomes_are_counted_for_machines_too(tmp_path, tools):
    answers = read_answers(gtzan(tmp_path, [("rock", "rock"), ("pop", "rock"), (None, "rock")]), "strict", tools)
    (record,) = browse_records([answers])
    counted = [record[name] for name in ("answers", "right", "partly", "wrong", "unparsed", "unanswered")]
    assert counted == [3, 1, 0, 1, 1, 1]


@given(st.text(max_size=200))
def test_no_text_ends_the_data_or_changes_on_the_way(text):
    written = json_in_html({"answer": text})
    assert not set("<>&") & set(written)
    assert written.isascii()
    assert json.loads(written)["answer"] == text


def test_a_clip_outside_the_folder_is_never_linked(tmp_path):
    (tmp_path / "audio").mkdir()
    (tmp_path / "secret.wav").write_bytes(b"x")
    for path in ("../secret.wav", str(tmp_path / "secret.wav"), "data/../../secret.wav"):
        assert find_sound(PlayedSpan(path), tmp_path / "audio") is None


def test_links_are_relative_quoted_and_stay_within_the_clip(tmp_path):
    (tmp_path / "audio" / "GTZAN").mkdir(parents=True)
    (tmp_path / "audio" / "GTZAN" / "a #1?.wav").write_bytes(b"x")
    (tmp_path / "pages").mkdir()
    link = linked(tmp_path / "audio", tmp_path / "pages" / "p.html")
    assert link(PlayedSpan("data/GTZAN/a #1?.wav", 10.0, 20.0)) == "../audio/GTZAN/a%20%231%3F.wav#t=10,20"
    assert link(PlayedSpan("GTZAN/a #1?.wav")) == "../audio/GTZAN/a%20%231%3F.wav"
    assert link(PlayedSpan("GTZAN/b.wav")) is None


def test_a_clip_whose_name_is_not_utf8_is_linked(tmp_path):
    name = os.fsdecode(b"bad\xff.wav")
    (tmp_path / name).write_bytes(b"sound")
    assert linked(tmp_path, tmp_path / "p.html")(PlayedSpan(name)) == "bad%FF.wav"


def test_what_could_not_be_written_or_heard_is_said_first(tmp_path, tools):
    with pytest.raises(InputError, match=r"named \.html"):
        sound_source(None, False, tmp_path / "page.txt")
    with pytest.raises(InputError, match="no such folder"):
        sound_source(None, False, tmp_path / "none" / "page.html")
    with pytest.raises(InputError, match="no such folder"):
        sound_source(tmp_path / "none", False, tmp_path / "page.html")
    with pytest.raises(InputError, match="needs --audio"):
        sound_source(None, True, tmp_path / "page.html")
    answers = read_answers(gtzan(tmp_path, [("rock", "rock")]), "strict", tools)
    with pytest.raises(InputError, match="no clip was found"):
        write_page([answers], "strict", sound_source(tmp_path, False, tmp_path / "p.html"), tmp_path / "p.html", "t")
    assert not (tmp_path / "p.html").exists()


def test_a_page_names_its_metrics_of_the_whole_set_and_cuts_what_is_endless(tmp_path, tools):
    answers = read_answers(gtzan(tmp_path, [("rock " * 5000, "rock")]), "strict", tools)
    data = payload([answers], "strict", no_sound, "t")
    assert data["texts"][data["sets"][0]["columns"]["answer"][0]].endswith("more characters)")
    assert len(page_of(data)) < 60_000


# In a browser.


@pytest.fixture(scope="module")
def chromium():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium here to open the page in")
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*quiet, "--disable-sync"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium):
    """Opens a page; fails the test on an error of its script or on any request beyond local files."""
    faults = []

    def open_page(path, address=""):
        tab = chromium.new_page()
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        tab.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else faults.append(r.url))
        tab.goto(path.as_uri() + address)
        return tab

    yield open_page
    for context in chromium.contexts:
        context.close()
    assert faults == []


HEADS = "[...document.querySelectorAll('#items h2')].map((head) => head.firstChild.textContent)"
ROWS = """[...document.querySelectorAll("#confusion tr")].map((row) =>
  [...row.cells].map((cell) => cell.textContent).join("|"))"""


def until(tab, condition):
    """Wait for a condition; playwright's own way of waiting is refused by the page's policy, as it should be."""
    for _ in range(200):
        if tab.evaluate(condition):
            return
        tab.wait_for_timeout(25)
    raise AssertionError(f"never came true: {condition}")


def page_with(tmp_path, tools, answers, sound=no_sound, model="m", more=(), **asked):
    sets = [read_answers(gtzan(tmp_path, answers, model, **asked), "strict", tools), *more]
    page = tmp_path / "page.html"
    write_page(sets, "strict", sound, page, "Answers")
    return page


def test_a_hostile_answer_is_text(tmp_path, tools, opened):
    tab = opened(page_with(tmp_path, tools, [(HOSTILE, "rock"), ("rock", "rock")], model="<b>m<"))
    tab.wait_for_timeout(200)
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("#items li").count() == 2
    assert tab.locator("#items li").first.locator("dd").nth(1).text_content() == HOSTILE
    assert tab.locator("#items img, #items script, #items b").count() == 0


def test_no_script_but_the_page_s_own_may_run(tmp_path, tools, chromium):
    tab = chromium.new_page()
    tab.goto(page_with(tmp_path, tools, [("rock", "rock")]).as_uri())
    tab.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hacked = 1'}))"
    )
    assert tab.evaluate("window.hacked") is None
    tab.context.close()


def shown(tab):
    """The places of the answers on the page, in order."""
    return [head.split(" · ")[-1] for head in tab.evaluate(HEADS)]


def counts(tab):
    """What the buttons of `Show` say: {'wrong': '2', ...}."""
    split = (text.rpartition(" ") for text in tab.locator("#show button").all_text_contents())
    return {label: number for label, _, number in split}


def emotions(tools):
    file = next(f for f in sample_files() if (f.model, f.dataset.name) == ("listener", "EMO_arousal"))
    return read_answers(file, "strict", tools, find_annotations(SAMPLES / "annotations")["EMO_arousal"])


def test_filters_leave_what_they_should(tmp_path, tools, opened):
    other = emotions(tools)
    answers = [("rock", "rock"), ("pop", "rock"), ("no idea", "jazz"), (None, "metal")]
    tab = opened(page_with(tmp_path, tools, answers, more=[other]))
    total = 4 + len(other.items)
    assert f"{total} of {total} answers" in tab.locator("#count").text_content()
    assert "EMO_arousal (ar, ar^2)" in tab.locator("#corpus").text_content()
    tab.select_option("#task", "genre")
    assert tab.locator("#dataset option").all_text_contents() == ["all", "GTZAN"]
    assert shown(tab) == ["3", "4", "2", "1"]  # worst first
    assert counts(tab) == {"all": "4", "errors": "3", "right": "1", "wrong": "1", "unparsed": "2"}
    assert "Mean Acc. of these: 25.00 (n = 4)" in tab.locator("#count").text_content()
    for show, places in (("errors", "342"), ("right", "1"), ("wrong", "2"), ("unparsed", "34")):
        tab.click(f"[data-show={show}]")
        assert shown(tab) == list(places)
    assert tab.locator("#items .flag").all_text_contents() == ["unparsed", "no answer"]
    tab.click("[data-show='']")
    for order, places in (("file", "1234"), ("best", "1234"), ("longest", "3124"), ("shortest", "4213")):
        tab.select_option("#order", order)
        assert shown(tab) == list(places)
    tab.select_option("#task", "")
    tab.select_option("#model", "listener")
    assert "no score of its own" in counts(tab)


def test_words_are_looked_for_in_answers_unless_the_reader_says_where(tmp_path, tools, opened):
    """Every question of GTZAN lists hiphop: a search that reads questions finds all of them."""
    answers = [("hiphop", "rock"), ("pop", "hiphop"), ("rock", "rock")]
    tab = opened(page_with(tmp_path, tools, answers, question="hiphop, pop or rock?"))
    tab.fill("#words", " HipHop ")
    until(tab, "document.querySelectorAll('#items > li').length === 1")
    for where, places in (("answers", "1"), ("truths", "2"), ("readings", "1"), ("questions", "123"), ("clips", "")):
        tab.select_option("#where", where)
        assert sorted(shown(tab)) == list(places)
    tab.fill("#words", "GTZAN/2.wav")
    until(tab, "document.querySelectorAll('#items > li').length === 1")


def test_a_cell_of_the_confusion_table_leads_to_its_answers(tmp_path, tools, opened):
    answers = [("rock", "rock"), ("pop", "rock"), ("pop", "rock"), ("?", "rock"), ("pop", "pop"), (HOSTILE, "pop")]
    tab = opened(page_with(tmp_path, tools, answers))
    rows = [row.split("|") for row in tab.evaluate(ROWS)]
    assert rows == [
        ["correct", "pop", "rock", "unparsed", "n", "right"],
        ["pop", "1", "", "1", "2", "50 %"],
        ["rock", "2", "1", "1", "4", "25 %"],
    ]
    assert "n = 6" in tab.locator("#confusion summary").text_content()
    tab.locator("#confusion td button").first.focus()
    tab.keyboard.press("ArrowDown")
    assert tab.evaluate("document.activeElement.getAttribute('aria-label')") == "rock, read as pop: 2"
    tab.keyboard.press("Enter")
    assert shown(tab) == ["2", "3"]
    assert "Only rock, read as pop." in tab.locator("#cell").text_content()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    assert shown(tab) == ["4"]
    tab.click("#cell button")
    assert len(shown(tab)) == 6


def test_many_classes_are_a_list_of_their_frequent_confusions(tmp_path, tools, opened):
    records = [("77", str(truth)) for truth in range(40, 90)] + [("77", "60")]
    page = page_with(tmp_path, tools, records, dataset="Nsynth_pitch")
    tab = opened(page)
    rows = [row.split("|") for row in tab.evaluate(ROWS)]
    assert rows[:2] == [["correct", "read as", "n"], ["60", "77", "2"]]
    assert len(rows) == 1 + 20


def test_two_models_stand_side_by_side_on_the_same_questions(tmp_path, tools, opened):
    """Joined by clip and truth, whatever the order of a file; what only one model has is counted."""
    ours = [("rock", "rock"), ("pop", "pop"), ("rock", "pop"), ("?", "jazz"), ("metal", "metal")]
    theirs = read_answers(
        gtzan(tmp_path, [("rock", "rock"), ("rock", "pop"), ("pop", "pop"), ("jazz", "rock")], "other"), "strict", tools
    )
    tab = opened(page_with(tmp_path, tools, ours, more=[replace(theirs, items=theirs.items[::-1])]))
    tab.select_option("#other", "other")
    assert tab.input_value("#model") == "m"
    assert " ".join(tab.locator("#show button").all_text_contents()) == (
        "all 3 both right 1 only A right 1 only B right 1 neither right 0"
    )
    assert "3 that only one of them has are left out" in tab.locator("#count").text_content()
    assert "A 66.67, B 66.67 (n = 3)" in tab.locator("#count").text_content()
    assert shown(tab) == ["2", "1", "3"]
    tab.select_option("#order", "b-first")
    assert shown(tab) == ["3", "1", "2"]
    tab.click("[data-show=only-a]")
    sides = tab.locator("#items section")
    assert sides.locator("h3").all_text_contents() == ["A: mrightAcc. 100", "B: otherwrongAcc. 0"]
    tab.select_option("#other", "")
    assert len(shown(tab)) == 5


def test_a_view_is_in_the_address_and_opens_again(tmp_path, tools, opened):
    page = page_with(tmp_path, tools, [("rock", "rock"), ("pop", "rock"), ("pop & <rock>", "rock"), ("pop", "rock")])
    tab = opened(page)
    tab.fill("#words", "pop")
    until(tab, "document.querySelectorAll('#items > li').length === 3")
    tab.click("[data-show=wrong]")
    tab.select_option("#order", "file")
    tab.click("#confusion td button[aria-label='rock, read as pop: 2']")
    tab.keyboard.press("j")
    tab.keyboard.press("j")
    until(tab, "location.hash.includes('item=')")
    again = opened(page, tab.evaluate("location.hash"))
    assert shown(again) == shown(tab) == ["2", "4"]
    assert again.input_value("#words") == "pop"
    assert again.evaluate("document.activeElement.dataset.index") == "1"
    again.evaluate("location.hash = '#show=right'")
    until(again, "document.querySelectorAll('#items > li').length === 1")


def test_a_view_that_changes_right_after_a_step_is_no_fault(tmp_path, tools, opened):
    tab = opened(page_with(tmp_path, tools, [("rock", "rock"), ("pop", "rock"), ("pop", "rock")]))
    tab.keyboard.press("j")
    tab.keyboard.press("j")
    tab.evaluate("location.hash = '#show=right'")
    until(tab, "document.querySelectorAll('#items > li').length === 1")
    tab.wait_for_timeout(600)  # the address is noted 300 ms after a step
    assert "item=" not in tab.evaluate("location.hash")


@pytest.mark.parametrize(
    "address",
    ["#%", "#show=constructor&order=toString&where=__proto__", "#model=<b>&other=m&dataset=x", "#cell=[1]&item=a/b/c"],
)
def test_an_address_that_makes_no_sense_shows_everything(tmp_path, tools, opened, address):
    tab = opened(page_with(tmp_path, tools, [("rock", "rock"), ("pop", "rock")]), address)
    assert shown(tab) == ["2", "1"]


def test_a_score_has_its_number_and_a_colour_that_tells_0_from_100(tmp_path, tools, opened):
    tab = opened(page_with(tmp_path, tools, [("rock", "rock"), ("pop", "rock")]))
    chips = tab.locator("#items .score")
    assert chips.all_text_contents() == ["Acc. 0", "Acc. 100"]
    assert [chips.nth(i).get_attribute("class") for i in (0, 1)] == ["score score-0", "score score-10"]
    assert tab.evaluate("[0, 9.9, 10, 99.99, 100].map(colourOf).join()") == "score-0,score-0,score-1,score-9,score-10"


def test_thousands_of_answers_are_shown_as_they_are_wanted(tmp_path, tools, opened):
    tab = opened(page_with(tmp_path, tools, [("pop", "rock"), ("rock", "rock")] * 3000))
    assert tab.locator("#items li").count() < 200
    assert "6,000 of 6,000" in tab.locator("#count").text_content()
    before = tab.locator("#items li").count()
    tab.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    until(tab, f"document.querySelectorAll('#items li').length > {before}")
    tab.select_option("#where", "clips")
    tab.fill("#words", "GTZAN/5999.wav")
    until(tab, "document.querySelectorAll('#items li').length === 1")


def test_keys_walk_play_and_search(tmp_path, tools, opened):
    folder = tmp_path / "audio" / "GTZAN"
    folder.mkdir(parents=True)
    soundfile.write(folder / "0.wav", 0.1 * np.sin(np.arange(22_050) / 20), 22_050)
    answers = [(f"answer {i}", "rock") for i in range(60)]
    tab = opened(page_with(tmp_path, tools, answers, linked(tmp_path / "audio", tmp_path / "page.html")))
    place = "document.activeElement.dataset.index"
    tab.keyboard.press("j")
    assert tab.evaluate(place) == "0"
    tab.keyboard.press(" ")
    until(tab, "document.querySelector('audio').currentTime > 0.05")
    tab.keyboard.press(" ")
    assert tab.evaluate("document.querySelector('audio').paused")
    for _ in range(50):
        tab.keyboard.press("j")
    assert tab.evaluate(place) == "50"
    tab.keyboard.press("k")
    assert tab.evaluate(place) == "49"
    assert "No sound here: ../testdata/GTZAN/49.wav" in tab.locator("#items li").nth(49).text_content()
    tab.keyboard.press("w")
    assert tab.input_value("#order") == "file"
    tab.keyboard.press("u")
    assert tab.locator("[data-show=unparsed]").get_attribute("aria-pressed") == "true"
    tab.keyboard.press("/")
    assert tab.evaluate("document.activeElement.id") == "words"
    tab.keyboard.type("w/j")
    assert tab.input_value("#words") == "w/j"
    assert tab.input_value("#order") == "file"


def test_the_page_can_be_used_with_assistive_tools(tmp_path, tools, chromium):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    theirs = read_answers(gtzan(tmp_path, [("rock", "rock"), ("pop", "rock")], "other"), "strict", tools)
    page = page_with(tmp_path, tools, [("pop " * 300, "rock"), ("?", "rock")], more=[theirs])
    for width, scheme, address in product((1280, 390), ("light", "dark"), ("", "#model=m", "#other=other&model=m")):
        tab = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        tab.goto(page.as_uri() + address)
        found = axe.Axe().run(tab)
        assert found.violations_count == 0, found.generate_report()
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.context.close()


def test_a_long_text_is_folded_up_and_unfolds_by_keyboard(tmp_path, tools, opened):
    tab = opened(page_with(tmp_path, tools, [("rock " * 300, "rock")]))
    whole = tab.locator("#items details div")
    assert not whole.is_visible()
    tab.locator("#items summary").focus()
    tab.keyboard.press(" ")
    assert whole.is_visible()
    assert whole.text_content() == "rock " * 300


def test_an_embedded_clip_plays_without_its_file(tmp_path, tools, opened):
    folder = tmp_path / "audio" / "GTZAN"
    folder.mkdir(parents=True)
    soundfile.write(folder / "0.wav", 0.1 * np.sin(np.arange(44_100) / 20), 22_050)
    page = page_with(tmp_path, tools, [("rock", "rock")], embedded(tmp_path / "audio"))
    shutil.rmtree(tmp_path / "audio")
    tab = opened(page)
    tab.evaluate("document.querySelector('audio').play()")
    until(tab, "document.querySelector('audio').currentTime > 0.05")
    assert tab.evaluate("document.querySelector('audio').error") is None


def test_too_much_sound_for_one_page_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("cmi.bench.browser.page.MOST_EMBEDDED", 100)
    soundfile.write(tmp_path / "0.wav", np.zeros(22_050), 22_050)
    with pytest.raises(InputError, match="--worst"):
        embedded(tmp_path)(PlayedSpan("0.wav"))

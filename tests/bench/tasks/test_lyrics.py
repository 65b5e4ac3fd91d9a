import re

import jiwer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmi.bench.evaluation import Item, Setting
from cmi.bench.metrics.tools import Tools
from cmi.bench.tasks.lyrics import evaluate, transcription, words


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The lyrics of the song are: hold me now", "hold me now"),
        ("The content of it is: one\nThe text there is: two", "one\n two"),
        ("<s> hold me </s>", "hold me"),
        ("My lyrics without a colon are here", "My lyrics without a colon are here"),
        ("all lyrics here are: a : b", "a : b"),
    ],
)
def test_announcements_are_cut(answer, expected):
    assert transcription(answer) == expected


def by_regular_expressions(answer):
    """The published rule, as it stands."""
    for pattern in (r".*? lyrics .*?are.*?:", r".*? content .*?is.*?:", r".*? transcription .*?is.*?:"):
        answer = re.sub(pattern, "", answer).strip()
    for pattern in (r".*? text .*?is.*?:", "<s>", "</s>"):
        answer = re.sub(pattern, "", answer).strip()
    return answer


PIECES = st.sampled_from(
    [" lyrics ", "are", "is", ":", " text ", " content ", "\n", " ", "x", "<s>", "</s>", " transcription "]
)


@given(st.lists(PIECES, max_size=30).map("".join))
@settings(max_examples=500, deadline=None)
def test_the_linear_cut_is_the_published_regular_expression(answer):
    assert transcription(answer) == by_regular_expressions(answer)


def test_words_lose_punctuation_and_spell_numbers_out():
    assert words("I'VE GOT 21 Reasons -- to\nstay!") == ["i've", "got", "twenty-one", "reasons", "to", "stay"]
    assert words("... !!") == []


LINES = st.lists(st.sampled_from("la di da hold me now river home".split()), min_size=1, max_size=12).map(" ".join)


@given(st.lists(st.tuples(LINES, LINES), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_rates_are_those_of_jiwer(pairs):
    items = [Item("", answer, truth.upper(), str(i)) for i, (truth, answer) in enumerate(pairs)]
    truths, answers = zip(*pairs, strict=True)
    setting = Setting("DSing", "strict", "m", Tools())
    corpus = evaluate(items, setting).values()[0]
    assert corpus[0] == pytest.approx(100 * jiwer.wer(list(truths), list(answers)))
    assert corpus[1] == pytest.approx(100 * jiwer.cer(list(truths), list(answers)))
    mean = evaluate(items, setting._replace(protocol="paper")).values()[0]
    assert mean[0] == pytest.approx(100 * sum(jiwer.wer(t, a) for t, a in pairs) / len(pairs))


def test_an_unanswered_line_is_all_wrong_and_a_loop_is_capped():
    items = [Item("", "", "LA LA", "a"), Item("", "la " * 1000, "LA LA", "b"), Item("", "la la", "LA LA", "c")]
    names = {}
    for protocol in ("paper", "strict"):
        evaluation = evaluate(items, Setting("DSing", protocol, "m", Tools()))
        names |= {(protocol, m.name): v for m, v in zip(evaluation.metrics, evaluation.values()[0], strict=True)}
    assert names["paper", "WE."] == pytest.approx(100 * (1 + 499 + 0) / 3)
    assert names["strict", "WE."] == pytest.approx(100 * (2 + 998) / 6)
    assert names["strict", "WE.cap"] == pytest.approx(100 * 2 / 3)
    assert names["strict", "WE.med"] == 100

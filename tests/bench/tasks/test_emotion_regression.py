import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cmi.bench.evaluation import Item, Setting
from cmi.bench.metrics.tools import Tools
from cmi.bench.tasks.emotion_regression import evaluate, parse, parse_paper


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("7", 7),
        ("7.5", 7.5),
        ("-0.9062441679666075", -0.9062441679666075),  # a bare number, on whatever scale
        ("Estimated score: 5.", 5),
        ("I would say 7 out of 9.", 7),
        ("7/9", 7),
        ("On a scale from 1 to 9, it is a 4.", 4),
        ("On a 1-9 scale: 6", 6),
        ("A 9-point scale puts it at 3", 3),
        ("It is in 4/4 at 120 BPM, so 8", 8),
        ("**6**", 6),
    ],
)
def test_the_one_rating_is_read(answer, expected):
    assert parse(answer) == expected


@pytest.mark.parametrize("answer", ["", "calm", "between 3 and 7", "120 BPM", "C4 and A5", "1e308 is big"])
def test_no_rating_or_several_is_unparsed(answer):
    assert parse(answer) is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("7 out of 9", 7),
        ("from 1 to 9 it is 4", 4),
        ("on a 1-9 scale, 6", 6),
        ("7.5", 7.5),
        ("7.05", 7.05),
        ("7.5 and 6", 7),  # three digits: the first
        ("a 4/4 beat5", 5),
        ("loop 03", 3),
        ("120 BPM, so 8", 8),
        ("a 9-point scale, Example 1, in a 4/4 beat", None),
        ("10", None),
    ],
)
def test_the_published_reading(answer, expected):
    assert parse_paper(answer) == expected


def evaluation(truths, answers, protocol):
    pairs = enumerate(zip(truths, answers, strict=True))
    items = [Item("Rate", answer, str(truth), str(i)) for i, (truth, answer) in pairs]
    return evaluate(items, Setting("EMO_arousal", protocol, "m", Tools()))


RATINGS = st.lists(st.tuples(st.floats(-3, 3), st.none() | st.integers(1, 9)), min_size=3, max_size=40)


@given(pairs=RATINGS)
@settings(max_examples=200, deadline=None)
def test_values_are_those_of_a_plain_computation(pairs):
    truth = np.array([y for y, _ in pairs])
    valid = np.array([x for _, x in pairs if x is not None], dtype=float)
    if np.ptp(truth) < 1e-3 or len(valid) < 2 or np.ptp(valid) == 0:
        return
    answers = ["" if x is None else str(x) for _, x in pairs]

    imputed = np.array([valid.mean() if x is None else x for _, x in pairs])
    r, r_squared = evaluation(truth, answers, "strict").values()[0]
    assert r == pytest.approx(stats.pearsonr(imputed, truth).statistic, abs=1e-6)
    assert r_squared == pytest.approx(r**2)

    z = np.array([0.0 if x is None else (x - valid.mean()) / valid.std() for _, x in pairs])
    r2 = 1 - np.sum((truth - z) ** 2) / np.sum((truth - truth.mean()) ** 2)
    assert evaluation(truth, answers, "paper").values()[0, 0] == pytest.approx(r2, rel=1e-6, abs=1e-6)


def test_one_rating_for_all_says_nothing():
    assert evaluation([0.1, 0.5, -1.0], ["5", "5", "5"], "strict").values()[0].tolist() == [0.0, 0.0]
    silent = evaluation([0.1, 0.5, -1.0], ["", "", ""], "paper").values()
    assert evaluation([0.1, 0.5, -1.0], ["5", "5", "5"], "paper").values() == pytest.approx(silent)


def test_a_valence_file_that_asks_for_arousal_is_noted():
    item = Item("Estimate the arousal score", "5", "0.1", "a")
    assert evaluate([item, item], Setting("EMO_valence", "paper", "m", Tools())).notes
    assert not evaluate([item, item], Setting("EMO_arousal", "paper", "m", Tools())).notes

"""The simulated judge is as wrong, as biased and as sure of itself as it is said to be; the experts are not."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_labels import Experts, judged, preferred, qualities, rated, verdict

from cmi._util.errors import InputError
from cmi.preferences import Preference, preference_row, read_preferences
from cmi.reward.train.config import TrainingSource
from cmi.reward.train.reading import read_examples
from cmi.stats.correlation import spearman
from cmi.stats.intervals import wilson
from cmi.take import Axis, Choice, Pair, Prompt
from cmi.testing.simulated_judge import Hearing, NoisyJudge, answer, chance_right, opinion, truth_of

from ...reward.train.conftest import write_rows

SURE = 0.9999  # of the intervals: a right judge passes all of these tests
N = 4000
FAIR = NoisyJudge(3, Hearing(0.6, 0.9, 0.0), Hearing(0.5, 0.8, 0.0), first=0.0, deaf=0.0)


def pair(
    number: int, axis: Axis = "musicality", margin: float = 0.5, better: Choice = "a", **truth: object
) -> Preference:
    sounds = Pair(Prompt("tone"), Path(f"set/{number}a.wav"), Path(f"set/{number}b.wav"))
    confidence = 1 + round(4 * margin)
    known = {"kind": "same", "flaw": "noise", "strength": margin if axis == "musicality" else 0.0, **truth}
    about = {"split": "train", "truth": known}
    return Preference(sounds, axis, better, confidence, "studio", f"p{number}", about)


def pairs(**about) -> list[Preference]:
    return [pair(number, better="ab"[number % 2], **about) for number in range(N)]


def assert_share(found: int, n: int, expected: float) -> None:
    low, high = wilson(found, n, SURE)
    assert low <= expected <= high, (found / n, expected)


@pytest.mark.parametrize(("axis", "strength"), [("musicality", 0.25), ("musicality", 1.0), ("alignment", 0.5)])
def test_it_is_right_as_often_as_the_margin_says(axis, strength):
    rows = pairs(axis=axis, margin=strength)
    right = sum(opinion(FAIR, row) == row.choice for row in rows)
    assert_share(right, N, chance_right(FAIR, axis, strength))


def test_margins_and_axes_differ():
    assert chance_right(FAIR, "musicality", 0.0) == 0.6
    assert chance_right(FAIR, "musicality", 1.0) == 0.9
    assert chance_right(FAIR, "alignment", 0.5) == pytest.approx(0.65)


def test_what_comes_first_wins_more_often():
    biased = replace(FAIR, first=0.3)
    rows = pairs(margin=0.5)
    for swapped, letter in ((False, "a"), (True, "b")):
        named = sum(answer(biased, row, swapped) == letter for row in rows)
        assert_share(named, N, 0.3 + 0.7 * 0.5)  # a is better in every other pair


def test_asked_twice_it_keeps_what_does_not_depend_on_the_order():
    biased = replace(FAIR, first=0.3)
    rows = pairs(margin=0.5)
    for row in rows:
        kept = verdict(biased, row)
        answers = {answer(biased, row, swapped) for swapped in (False, True)}
        assert answers == ({kept} if kept else {"a", "b"})
    kept = [row for row in rows if verdict(biased, row)]
    assert_share(len(kept), N, 1 - 0.3)
    assert_share(sum(verdict(biased, row) == "a" for row in kept), len(kept), 0.5)  # the bias is gone
    once = list(judged(rows, replace(biased, both_orders=False)))
    assert len(once) == N
    assert_share(sum(row.choice == "a" for row in once), N, 0.3 + 0.7 * 0.5)


def test_ties_come_as_often_as_said_and_survive_only_both_orders():
    judge = replace(FAIR, alignment=Hearing(0.5, 0.8, 0.22), first=0.1)
    rows = pairs(axis="alignment")
    assert_share(sum(opinion(judge, row) == "both" for row in rows), N, 0.22)
    found = Counter(verdict(judge, row) for row in rows)
    assert_share(found["both"], N, 0.22 * 0.9**2)


def test_it_says_five_far_too_often():
    rows = pairs(margin=0.25)
    labels = list(judged(rows, FAIR))
    assert_share(sum(label.confidence == 5 for label in labels), N, FAIR.overconfident)
    assert {label.confidence for label in labels} == {2, 5}
    assert {label.rater for label in labels} == {"simulated judge"}
    assert {row.confidence for row in preferred(rows, Experts())} == {2}


def test_it_guesses_about_flaws_it_does_not_notice():
    rows = [pair(number, margin=1.0, flaw=f"flaw {number % 40}") for number in range(N)]
    right = Counter()
    for row in rows:
        right[row.about["truth"]["flaw"]] += opinion(replace(FAIR, deaf=0.5), row) == "a"
    shares = [count / (N / 40) for count in right.values()]
    assert all(abs(share - 0.5) < 0.2 or abs(share - 0.9) < 0.15 for share in shares)
    assert 8 < sum(share < 0.7 for share in shares) < 32


@given(st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 1), st.sampled_from(["musicality", "alignment"]))
def test_the_seed_and_the_pair_tell_the_verdict(number, strength, first, axis):
    judge, row = replace(FAIR, first=first), pair(number, axis, strength)
    assert verdict(judge, row) == verdict(judge, row)
    (alone,), among = (
        list(judged([row], replace(judge, both_orders=False))),
        judged([pair(number + 1), row], replace(judge, both_orders=False)),
    )
    assert alone in list(among)


def test_another_seed_is_another_judge():
    rows = pairs(margin=0.25)[:200]
    verdicts = [[opinion(replace(FAIR, seed=seed), row) for row in rows] for seed in (0, 1, 0)]
    assert verdicts[0] == verdicts[2] != verdicts[1]


def test_experts_are_seldom_wrong():
    rows = pairs()
    wrong = sum(e.choice != row.choice for e, row in zip(preferred(rows, Experts()), rows, strict=True))
    assert_share(wrong, N, Experts().wrong)


def test_what_is_not_known_of_a_take_is_not_rated():
    assert qualities(pair(0, margin=0.7)) == {
        "a": {"musicality": 1.0, "alignment": 1.0},
        "b": {"musicality": pytest.approx(0.3), "alignment": 1.0},
    }
    assert "alignment" not in qualities(pair(0, kind="across"))["b"]
    aligned = qualities(pair(0, "alignment", 0.75, "b", strength=0.4))
    assert aligned == {"b": {"musicality": 0.6, "alignment": 1.0}, "a": {"musicality": 0.6, "alignment": 0.25}}


def test_ratings_follow_what_is_known_and_can_be_read(tmp_path):
    rows = [pair(number, margin=number % 5 / 4 or 0.1) for number in range(300)]
    target = tmp_path / "data" / "prompted"
    target.mkdir(parents=True)
    lines = list(rated(rows, Experts(), target))
    assert lines == list(rated(rows, Experts(), target))
    write_rows(target / "ratings.jsonl", lines)
    (group,) = read_examples([TrainingSource(ratings=target / "ratings.jsonl", split="train")])
    assert len(group.examples) == 600
    assert group.examples[0].takes[0].resolve() == Path("set/0a.wav").resolve()
    known = [quality["musicality"] for row in rows for _, quality in sorted(qualities(row).items())]
    marks = [example.labels["musicality"].value for example in group.examples]
    assert all(1 <= mark <= 5 for mark in marks)
    assert 0.7 < spearman(known, marks) < 0.999


def test_labels_are_read_back_in_the_common_format(tmp_path):
    rows = pairs()[:50]
    labels = list(judged(rows, NoisyJudge()))
    path = tmp_path / "pseudo.jsonl"
    write_rows(path, [preference_row(row, tmp_path) for row in labels])
    read = list(read_preferences(path))
    assert [(row.id, row.choice, row.about) for row in read] == [(row.id, row.choice, row.about) for row in labels]
    assert read[0].pair.a.resolve() == Path(labels[0].pair.a).resolve()
    assert not json.loads(path.read_text().splitlines()[0])["a"].startswith("/")


def test_a_pair_without_a_truth_is_one_sentence():
    row = pair(1, "alignment")
    with pytest.raises(InputError, match=r"pair p1: needs 'truth.strength' or 'confidence'"):
        truth_of(replace(row, confidence=None))
    with pytest.raises(InputError, match="pair p1: a tie"):
        truth_of(replace(row, choice="both"))

"""Verdicts as scores: what both orders agree on wins, what they contradict is a tie."""

import math

from cmi.judge.labels import pair_scores, scored_axes
from cmi.judge.run import Asking, Judged
from cmi.judge.verdict import Opinion, Verdict
from cmi.take import Axis, Choice, Score


def judged(**choices: tuple[Choice, ...]) -> Judged:
    """Each pair's musicality, forward and reverse, by the pair's own letters."""
    found = Judged("someone")
    for pair, said in choices.items():
        for order, choice in zip(("forward", "reverse"), said, strict=False):
            found.verdicts[Asking(pair, order)] = Verdict({"musicality": Opinion(choice, 3, 9)})
    return found


def musicality(scores: tuple[Score, Score]) -> tuple[float, float]:
    return scores[0].musicality, scores[1].musicality


def test_the_choice_decides_whatever_the_marks_say():
    scores = pair_scores(judged(one=("a", "a"), two=("b", "b")))
    assert musicality(scores["one"]) == (1, 0)
    assert musicality(scores["two"]) == (0, 1)


def test_a_judge_that_contradicts_itself_or_calls_a_tie_decides_nothing():
    scores = pair_scores(judged(one=("a", "b"), two=("both", "neither"), three=("a", "both")))
    assert musicality(scores["one"]) == musicality(scores["two"]) == (0.5, 0.5)
    assert musicality(scores["three"]) == (0.75, 0.25)


def test_what_was_not_asked_is_no_number():
    found = judged(one=("a",))
    assert math.isnan(pair_scores(found)["one"][0].alignment)
    assert scored_axes(found) == ("musicality",)


def test_an_overall_verdict_stands_for_musicality():
    opinions: dict[Axis, Opinion] = {"overall": Opinion("b")}
    found = Judged("someone", {Asking("one"): Verdict(opinions), Asking("two"): Verdict(why="no JSON")})
    assert scored_axes(found) == ("musicality",)
    assert {name: musicality(scores) for name, scores in pair_scores(found).items()} == {"one": (0, 1)}

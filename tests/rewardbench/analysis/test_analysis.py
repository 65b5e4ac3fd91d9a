from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from cmi.features import TakeFeatures
from cmi.rewardbench.analysis.aggregate import aggregate
from cmi.rewardbench.analysis.agreement import between_axes, between_raters
from cmi.rewardbench.analysis.analyse import ANALYSES, AnalysisSetting, analyse, flat
from cmi.rewardbench.analysis.paired_runs import window_changes
from cmi.rewardbench.analysis.predictors import predictors, weights
from cmi.rewardbench.items import RatedItem, Vote
from cmi.rewardbench.runs.run_folder import About, System
from cmi.rewardbench.runs.sources import Source
from cmi.take import Prompt, Score

TAKES = (Path("a"), Path("b"))
SETTING = AnalysisSetting("strict", 200)


def by_key(items, of):
    return {(item.dataset, item.id): of(item) for item in items}


def both(choice, n, **about):
    """A pair with a vote on each axis; the surer of the one, the less sure of the other."""
    prompt = Prompt(f"p{n}", "words" if n % 2 else "", Path("r.wav") if n % 4 > 1 else None)
    votes = {"musicality": Vote(choice, 1 + n % 5), "alignment": Vote(choice, 5 - n % 5)}
    return RatedItem(str(n), "cmi-pref", prompt, (Path(f"{n}a"), Path(f"{n}b")), votes=votes, about=about)


@pytest.fixture
def source():
    rng = np.random.default_rng(0)
    items = tuple(both("ab"[n % 3 == 0], n, month=f"2025-{1 + n % 2:02d}") for n in range(120))

    def guess(right):
        def score(item):
            sign = 1 if (item.votes["musicality"].choice == "a") == (rng.random() < right) else -1
            return (Score(float(sign), float(sign)), Score(0.0, 0.0))

        return score

    systems = tuple(
        System(about, by_key(items, guess(right)))
        for about, right in (
            (About("m"), 0.9),
            (About("m", prompt=False), 0.6),
            (About("m", window="first10"), 0.8),
        )
    )
    heard = by_key(
        items, lambda item: (TakeFeatures(0, 5.0 + int(item.id), 0, 0), TakeFeatures(0, 5.0 + int(item.id), 0, 0))
    )
    return Source(items, systems, heard)


def test_every_analysis_that_the_data_allow_says_something(source):
    found = analyse([source], list(ANALYSES), SETTING)
    silent = {name for name, one in found.items() if not one.tables}
    assert silent == {"predictors", "question", "best-of-k"}  # no overall votes, one question, two takes of a prompt
    rows = flat(found)
    assert {row["analysis"] for row in rows} == set(ANALYSES) - silent
    assert len({tuple(row) for row in rows}) == 1  # one header for all


def test_groups_add_up_to_the_whole(source):
    whole = {(c.model, c.task): c.n for c in source.evaluate("strict", 100).cells if c.metric == "ACC"}
    for name in ("modality", "kind", "month", "confidence"):
        counted: dict[tuple[str, str], int] = {}
        for record in analyse([source], [name], SETTING)[name].records:
            place = (record["model"], record["task"])
            counted[place] = counted.get(place, 0) + record["n"]
        assert counted == {place: n for place, n in whole.items() if place[0].startswith("m")}


def test_confidence_is_that_of_the_tasks_own_vote(source):
    records = analyse([source], ["confidence"], SETTING)["confidence"].records
    unsure = {r["task"]: r["n"] for r in records if r["model"] == "m" and r["group"] == "<3"}
    assert unsure["musicality preference"] == sum(1 + n % 5 < 3 for n in range(120))
    aligned = sum(5 - n % 5 < 3 for n in range(120))
    assert unsure["text alignment preference"] + unsure["compositional alignment preference"] == aligned


def test_durations_outside_the_bins_are_in_no_group(source):
    records = analyse([source], ["duration"], SETTING)["duration"].records
    n = {r["group"]: r["n"] for r in records if r["model"] == "m" and r["task"] == "musicality preference"}
    assert n == {"[10,30)": 20, "[30,60)": 30, "[60,120)": 60, "[120,500]": 5}


def test_the_prompts_worth_is_the_difference_of_the_two_runs(source):
    records = {r["group"]: r for r in analyse([source], ["context"], SETTING)["context"].records}
    cells = {
        cell.model: cell.value
        for cell in source.evaluate("strict", 100).cells
        if (cell.task, cell.metric) == ("musicality preference", "ACC")
    }
    assert records["all"]["a"] == "m" and records["all"]["b"] == "m, no prompt"
    assert records["all"]["difference"] == pytest.approx(cells["m"] - cells["m, no prompt"])
    assert set(records) == {"all", "text", "text+lyrics", "text+audio", "text+lyrics+audio"}


def test_windows_are_compared_take_by_take():
    items = tuple(both("a", n) for n in range(50))
    rng = np.random.default_rng(0)
    whole = by_key(items, lambda item: tuple(Score(*rng.normal(size=2)) for _ in range(2)))
    shifted = {name: tuple(Score(s.musicality + 0.5, -s.alignment) for s in two) for name, two in whole.items()}
    heard = by_key(items, lambda item: (TakeFeatures(0, 20.0, 0, 0), TakeFeatures(0, 40.0, 0, 0)))
    source = Source(items, (System(About("m", window="first10"), shifted), System(About("m"), whole)), heard)
    found = {(change.axis, change.duration): change for change in window_changes(source)}
    assert found["musicality", "overall"].n == 100 and found["musicality", "[10,30)"].n == 50
    assert found["musicality", "overall"].rmse == pytest.approx(0.5)
    assert found["musicality", "[30,60)"].lcc == pytest.approx(1) and found[
        "alignment", "overall"
    ].lcc == pytest.approx(-1)


def test_the_aggregate_is_the_mean_of_its_tasks():
    items = [both("a", n) for n in range(10)]
    scores = by_key(items, lambda item: (Score(1.0, 1.0 if int(item.id) < 5 else -1.0), Score(0.0, 0.0)))
    ratings = [3.0, 1.0, 2.0, 5.0]
    pam = [
        RatedItem(str(i), "pam", Prompt(f"{i}"), (Path(f"{i}"),), {"musicality": rating, "alignment": -rating})
        for i, rating in enumerate(ratings)
    ]
    scores |= {("pam", str(i)): (Score(r, r),) for i, r in enumerate(ratings)}
    arena = RatedItem("1", "music-arena", Prompt("p"), TAKES, votes={"overall": Vote("a")})
    scores["music-arena", "1"] = (Score(1.0, 0.0), Score(0.0, 3.0))  # a by musicality, b by the mean
    found = aggregate([*items, *pam, arena], scores, "paper")
    expected = {"pam_mean_srcc": 0.0, "musiceval_srcc": None, "music_arena_acc": 0.0, "cmi_pref_mean_acc": 0.75}
    assert found == {name: value if value is None else pytest.approx(value) for name, value in expected.items()}


def test_votes_on_a_pair_that_was_turned_are_turned(pair):
    first = pair("1", "a")
    same = replace(first, id="2")
    turned = replace(first, id="3", takes=first.takes[::-1], votes={"musicality": Vote("b")})
    [found] = between_raters([first, same, turned, pair("4", "b")])
    assert (found["units"], found["votes"], found["pairs"], found["rate"]) == (1, 3, 3, 1.0)


def test_confidence_where_the_axes_agree_and_where_not():
    votes = [("a", "a", 5, 4), ("b", "b", 3, 4), ("a", "b", 1, 2)]
    items = [
        RatedItem(str(i), "d", Prompt(f"{i}"), TAKES, votes={"musicality": Vote(m, cm), "alignment": Vote(a, ca)})
        for i, (m, a, cm, ca) in enumerate(votes)
    ]
    [found] = between_axes(items)
    assert (found["same"], found["different"], found["rate"]) == (2, 1, pytest.approx(2 / 3))
    assert (found["confidence_musicality_same"], found["confidence_alignment_different"]) == (4.0, 2.0)


def test_predictors_of_the_overall_preference_against_scikit_learn():
    rng = np.random.default_rng(0)
    difference = rng.normal(size=(300, 2))
    wanted = rng.random(300) < 1 / (1 + np.exp(-2 * difference[:, 0]))  # alignment does not matter
    items = [
        RatedItem(str(i), "music-arena", Prompt(f"{i}"), TAKES, votes={"overall": Vote("a" if it_is else "b")})
        for i, it_is in enumerate(wanted)
    ]
    scores = {("music-arena", str(i)): (Score(*d), Score(0.0, 0.0)) for i, d in enumerate(difference)}
    found = {one.method: one for one in predictors(items, "m", scores)}
    assert len(found) == 6 and {one.n for one in found.values()} == {300}
    alone = found["sign of musicality"]
    assert alone.accuracy == pytest.approx(np.mean((difference[:, 0] > 0) == wanted))
    assert alone.auc == pytest.approx(roc_auc_score(wanted, difference[:, 0]))
    said = 1 / (1 + np.exp(-difference[:, 0]))
    assert alone.mse == pytest.approx(np.mean((said - wanted) ** 2))
    assert alone.auc - 0.03 < found["logistic regression"].auc < alone.auc + 0.03
    assert found["sign of alignment"].auc < 0.6 < found["SVM, RBF"].auc
    fitted = LogisticRegression().fit(difference, wanted)
    assert weights(items, scores)["music-arena"] == pytest.approx((*fitted.coef_[0], *fitted.intercept_))


def test_a_few_pairs_predict_nothing(pair):
    items = [pair(str(i), "ab"[i % 2], axis="overall") for i in range(20)]
    scores = by_key(items, lambda item: (Score(1.0, 1.0), Score(0.0, 0.0)))
    assert predictors(items, "m", scores) == []

"""Differences are paired by prompt, nulls stand beside the variants, and nothing is said that the data don't show."""

import math
from pathlib import Path

import numpy as np
import pytest

from cmi.ablate.matrix import Claim, Matrix, MatrixTable
from cmi.ablate.results import FAILS, HOLDS, UNKNOWN, compare_variants, result_records, result_tables, verdict
from cmi.rewardbench.items import RatedItem, Vote
from cmi.stats.comparison import Comparison
from cmi.take import Prompt, Score

N = 80


def pairs(count: int = N, per_prompt: int = 1) -> list[RatedItem]:
    """a is better in every other one, on both axes; every fourth prompt has lyrics."""
    return [
        RatedItem(
            *(str(i), "votes", Prompt(f"prompt {i // per_prompt}", "la" if i // per_prompt % 4 == 0 else "")),
            (Path(f"{i}a.wav"), Path(f"{i}b.wav")),
            votes={axis: Vote("ab"[i % 2]) for axis in ("musicality", "alignment")},
        )
        for i in range(count)
    ]


def scored(items: list[RatedItem], right: np.ndarray, lead: float = 1.0) -> dict:
    """The take that people preferred leads if `right` says so, and trails if not."""
    found = {}
    for item, is_right in zip(items, right, strict=True):
        a_leads = (item.votes["musicality"].choice == "a") == bool(is_right)
        scores = [Score(lead, lead), Score(0.0, 0.0)]
        found[item.dataset, item.id] = tuple(scores if a_leads else scores[::-1])
    return found


def matrix(*names: str, **more) -> Matrix:
    return Matrix(names[0], {name: {} for name in names}, **more)


def cells(compared, measure: str = "mean", group: str = "all") -> dict:
    return {c.variant: c for one in compared for c in one.cells if (c.measure, c.group) == (measure, group)}


def test_a_difference_is_paired_and_adjusted():
    items, rng = pairs(), np.random.default_rng(0)
    worse = rng.random(N) < 0.5
    better = worse | (rng.random(N) < 0.4)
    systems = {"base": scored(items, worse), "better": scored(items, better), "same": scored(items, worse)}
    found = cells(compare_variants(matrix(*systems), items, systems, {}))
    assert found["base"].difference is None
    assert found["better"].difference == pytest.approx(better.mean() - worse.mean())
    assert 0 < found["better"].difference_low < found["better"].difference < found["better"].difference_high
    assert (found["same"].difference, found["same"].p) == (0.0, 1.0)
    alone = {name: systems[name] for name in ("base", "better")}
    unadjusted = cells(compare_variants(matrix(*alone), items, alone, {}))["better"]
    assert found["better"].p == pytest.approx(min(1, 2 * unadjusted.p))  # Holm over two
    assert (found["better"].n, found["better"].prompts) == (2 * N, N)
    assert cells(compare_variants(matrix(*alone), items, alone, {}), "alignment")["base"].n == N


def test_rows_of_a_prompt_are_drawn_together():
    """Half the prompts, four rows each, all alike: four times the rows tell no more than one each."""
    right = np.repeat(np.arange(N) < N / 2, 4)
    spread, together = pairs(4 * N), pairs(4 * N, per_prompt=4)
    widths = []
    for items in (spread, together):
        cell = cells(compare_variants(matrix("x"), items, {"x": scored(items, right)}, {}))["x"]
        widths.append(cell.high - cell.low)
    assert widths[1] == pytest.approx(2 * widths[0], rel=0.2)


def test_few_prompts_have_no_p():
    items = pairs(60, per_prompt=5)
    systems = {name: scored(items, np.full(60, name == "right")) for name in ("wrong", "right")}
    found = cells(compare_variants(matrix(*systems), items, systems, {}))["right"]
    assert (found.prompts, found.difference, found.p) == (12, 1.0, None)


def test_sureness_counts_in_the_cross_entropy():
    items = pairs()
    half = np.arange(N) % 4 < 2
    systems = {"sure": scored(items, half, 5.0), "modest": scored(items, half, 0.1)}
    found = cells(compare_variants(matrix(*systems), items, systems, {}), "cross-entropy")
    assert found["modest"].value == pytest.approx(math.log(2), abs=0.01)
    assert found["sure"].value == pytest.approx((math.log1p(math.exp(5)) + math.log1p(math.exp(-5))) / 2)
    assert found["modest"].difference_high < 0


def test_a_table_shows_its_axes_groups_nulls_and_what_was_printed():
    items = pairs()
    systems = {"base": scored(items, np.ones(N)), "other": scored(items, np.arange(N) % 4 > 0)}
    table = MatrixTable(
        "Prompts", ("other", "base"), axes=("musicality",), by="modality", paper={"votes": {"base text": "68.80"}}
    )
    plan = matrix("base", "other", tables=(table,))
    nulls = {"longer": scored(items, np.zeros(N)), "unknown": {}}
    compared = compare_variants(plan, items, systems, nulls)
    about = [
        {"id": name, "after": "", "changes": "", "counts": {"data": []}, "best_step": 1, "steps": 2, "unheard": 0}
        for name in systems
    ]
    _, shown = result_tables(about, plan, compared, {})
    assert shown.headers == [
        *("variant", "prompt", "musicality %", "95 %", "n", "cross-entropy", "v base", "95 %", "p", "paper")
    ]
    first = [row[:3] for row in shown.rows]
    assert first[:3] == [["other", "all", "75.0"], ["base", "all", "100.0"], ["null: longer", "all", "0.0"]]
    assert next(row[:5] for row in shown.rows if row[1] == "text+lyrics") == [
        *("other", "text+lyrics", "0.0", "0.0 – 16.1", "20")
    ]
    assert [row[-1] for row in shown.rows if row[:2] == ["base", "text"]] == ["68.80"]
    records = result_records(about, compared)
    assert [record["id"] for record in records] == ["base", "other", "null: longer"]
    assert {cell["measure"] for cell in records[0]["cells"]} == {"musicality", "mean", "cross-entropy"}


def test_rows_that_one_variant_could_not_score_are_left_out_of_all():
    items = pairs()
    systems = {"base": scored(items, np.ones(N)), "other": scored(items, np.ones(N))}
    del systems["other"]["votes", "0"]
    (one,) = compare_variants(matrix(*systems), items, systems, {})
    assert one.tested.unscored == 2  # labels
    assert {cell.n for cell in one.cells if cell.measure == "musicality"} == {N - 1}


def test_ratings_are_compared_by_rank():
    rng = np.random.default_rng(2)
    ratings = rng.uniform(1, 5, N)
    items = [
        RatedItem(str(i), "rated", Prompt(f"prompt {i}"), (Path(f"{i}.wav"),), {"musicality": rating})
        for i, rating in enumerate(ratings)
    ]
    systems = {
        name: {("rated", str(i)): (Score(rating + rng.normal(0, noise), 0.0),) for i, rating in enumerate(ratings)}
        for name, noise in (("noisy", 4.0), ("good", 0.3))
    }
    claim = Claim("less noise ranks better", "good", "noisy", on="ratings")
    plan = matrix(*systems, findings=(claim, Claim("of pairs", "good", "noisy", on="pairs")))
    compared = compare_variants(plan, items, systems, {})
    assert cells(compared)["good"].difference_low > 0
    assert cells(compared, "cross-entropy") == {}
    about = [
        {"id": name, "after": "", "changes": "", "counts": {"data": []}, "best_step": 1, "steps": 2, "unheard": 3}
        for name in systems
    ]
    about[1]["best_step"] = 0
    variants, _, findings = result_tables(about, plan, compared, {"third": "out of luck"})
    assert [row[-1] for row in findings.rows] == [HOLDS]
    assert variants.notes[:2] == [
        "third failed: out of luck.",
        "Training did not help good: the head before it validated best, and was kept.",
    ]


@pytest.mark.parametrize(
    ("low", "high", "better", "same"),
    [
        (0.01, 0.05, HOLDS, FAILS),
        (-0.05, -0.01, FAILS, FAILS),
        (-0.01, 0.05, UNKNOWN, UNKNOWN),
        (-0.01, 0.02, UNKNOWN, HOLDS),
        (0.005, 0.015, HOLDS, HOLDS),
        (math.nan, math.nan, UNKNOWN, UNKNOWN),
    ],
)
def test_verdicts(low, high, better, same):
    difference = Comparison((low + high) / 2, low, high, 0.5)
    assert verdict(difference, 100, same=False) == better
    assert verdict(difference, 100, same=True) == same
    assert verdict(difference, 29, same=False) == UNKNOWN

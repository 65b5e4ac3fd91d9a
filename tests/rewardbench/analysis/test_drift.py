"""A watch on a reward model's agreement with people: it is silent while nothing changes, and says when it does."""

import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from cmi._util.errors import InputError
from cmi.report.tables import to_plain
from cmi.rewardbench.analysis import drift
from cmi.rewardbench.analysis.drift import drift_page, drift_tables, watch
from cmi.rewardbench.items import RatedItem, Vote
from cmi.rewardbench.runs.run_folder import About, System
from cmi.rewardbench.tasks import key
from cmi.take import Prompt, Score

HOSTILE = "<script>alert(1)</script>"


def study(agreement, per_month=120, seed=0, dated=True, names=("one", "two", "three")):
    """Votes of which the model's scores predict a given share in each month."""
    rng = np.random.default_rng(seed)
    items, scores = [], {}
    for month, share in enumerate(agreement, 1):
        for i in range(per_month):
            a, b = rng.choice(names, 2, replace=False)
            about = {"generator_a": str(a), "generator_b": str(b)}
            about |= {"voted": f"2026-{month:02}-{1 + i * 27 // per_month:02}T10:00:00.000+00:00"} if dated else {}
            name = f"{month}-{i}"
            takes = (Path(f"{name}a.wav"), Path(f"{name}b.wav"))
            item = RatedItem(name, "own", Prompt(name), takes, votes={"overall": Vote("a")}, about=about)
            items.append(item)
            is_right = rng.random() < share
            scores[key(item)] = (Score(1.0, 0.0), Score(0.0, 0.0)) if is_right else (Score(0.0, 0.0), Score(1.0, 0.0))
    rng.shuffle(items)
    return items, System(About("model@1"), scores)


def test_a_model_that_holds_raises_no_alarm_and_months_have_their_agreement():
    found = watch(*study([0.7] * 5))
    assert not found.raised
    assert [one.group for one in found.months] == [f"2026-0{i}" for i in range(1, 6)]
    assert [one.period for one in found.months] == ["baseline", *["watched"] * 4]
    assert all(one.low < one.value < one.high and one.votes == 120 for one in found.months)
    assert {one.group for one in found.generators} == {"one", "two", "three"}


def test_a_fall_raises_an_alarm_with_its_date():
    found = watch(*study([0.75, 0.75, 0.75, 0.45, 0.45]), until="2026-02")
    [everything] = [one for one in found.raised if one.group == "all"]
    assert everything.since[:7] in ("2026-04", "2026-05")
    assert 120 < everything.after <= 360
    assert everything.bound < everything.expected
    assert "ALARM after" in drift_tables(found)[0].rows[0][2]


def test_one_bad_generator_is_named():
    items, system = study([0.75, 0.75], per_month=300)
    bad, _ = study([0.75, 0.2], per_month=150, seed=1, names=("bad", "one"))
    bad = [one for one in bad if one.id.startswith("2-")]
    bad = [RatedItem(f"x{o.id}", o.dataset, Prompt(f"x{o.id}"), o.takes, votes=o.votes, about=o.about) for o in bad]
    wrong = {key(one): (Score(0.0, 0.0), Score(1.0, 0.0)) for one in bad}
    found = watch([*items, *bad], System(system.about, {**system.scores, **wrong}))
    assert "bad" in {one.group for one in found.raised} and "two" not in {one.group for one in found.raised}


def test_looking_every_month_raises_the_alarm_at_the_same_prompt():
    items, system = study([0.8, 0.5, 0.5, 0.5])
    full = next(one for one in watch(items, system).alarms if one.group == "all")
    for last in (2, 3, 4):
        seen = [one for one in items if one.about["voted"] < f"2026-{last + 1:02}"]
        part = next(one for one in watch(seen, system).alarms if one.group == "all")
        assert part.after in (None, full.after)


def test_false_alarms_are_as_rare_as_stated(monkeypatch):
    """60 studies without a change; the rates of a larger simulation are in docs/calibrate.md."""
    monkeypatch.setattr(drift, "RESAMPLES", 10)  # of intervals, which are not looked at here
    alarms = [watch(*study([0.7] * 4, per_month=60, seed=seed)).raised for seed in range(60)]
    assert sum(any(one.group == "all" for one in raised) for raised in alarms) <= 3
    assert sum(any(one.group != "all" for one in raised) for raised in alarms) <= 3


def test_a_published_number_is_a_baseline_for_votes_without_dates():
    items, system = study([0.5], per_month=200, dated=False)
    found = watch(items, system, expected=0.709)
    assert found.raised and found.raised[0].since == "" and found.months[0].group == "not dated"
    with pytest.raises(InputError, match="--expect"):
        watch(items, system)


def test_a_baseline_of_a_few_prompts_is_refused():
    with pytest.raises(InputError, match="expected 20 or more"):
        watch(*study([0.7, 0.7], per_month=10))


def test_nothing_to_watch_is_no_alarm():
    found = watch(*study([0.7]))
    assert not found.alarms and not found.raised


def test_names_are_text_on_the_page_and_json_is_plain():
    found = watch(*study([0.7, 0.7], names=(HOSTILE, "two")))
    page = drift_page(found)
    assert HOSTILE not in page and "&lt;script&gt;" in page
    HTMLParser().feed(page)
    json.dumps(to_plain(found.to_json()), allow_nan=False)

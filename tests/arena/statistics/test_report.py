import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from cmi.arena.statistics import charts, report, tables
from cmi.arena.store.study import CountedVote
from cmi.report.tables import print_tables, to_csv

KEYS = ["progress", "time", "agreement", "confidence", "axes", "screening"]
KEYS += ["win_rates", "ranking", "needed", "covariates"]


def test_a_report_of_nothing_is_complete_and_says_nothing():
    empty = report([], [], [])
    assert list(empty) == KEYS
    json.dumps(empty, allow_nan=False)
    assert empty["agreement"][0]["alpha"] is None and empty["ranking"]["systems"] == []
    assert len(tables(empty)) == len(KEYS) + 1  # `needed` has two


def test_every_chart_of_a_study_is_a_table_of_its_own(simulate):
    found = report(*simulate(0, [0.3, 0.0, -0.3]), resamples=50)
    json.dumps(found, allow_nan=False)
    for rows in charts(found).values():
        assert rows and len({tuple(row) for row in rows}) == 1
        assert len(list(csv.DictReader(io.StringIO(to_csv(rows))))) == len(rows)


def test_the_tables_of_a_study_can_be_printed(simulate):
    screen = io.StringIO()
    print_tables(tables(report(*simulate(0, [0.3, 0.0, -0.3]), resamples=50)), Console(file=screen, width=200))
    for title in (
        "Progress",
        "Agreement of annotators",
        "Ranking of systems",
        "Votes needed for ±5 points",
        "Effects of loudness, length and order",
    ):
        assert title in screen.getvalue()


def test_the_same_votes_give_the_same_report(simulate):
    study = simulate(1, [0.3, 0.0, -0.3], pairs=40)
    assert report(*study, resamples=50) == report(*study, resamples=50)
    assert report(*study, resamples=50, seed=1)["agreement"] != report(*study, resamples=50)["agreement"]


sides = st.sampled_from(["a", "b"])
level = st.integers(1, 5)
loudness = st.none() | st.sampled_from([-float("inf"), -30.0, -14.0, -13.5])
any_vote = st.builds(
    CountedVote,
    view=st.text("vw", min_size=1, max_size=6),
    person=st.sampled_from("abcdefg"),
    pair=st.sampled_from(["p1", "p2", "p3"]),
    kind=st.sampled_from(["ordinary", "gold"]),
    gold=st.none() | st.dictionaries(st.sampled_from(["alignment", "musicality"]), sides),
    modality=st.sampled_from(["text", "text+audio"]),
    system_a=st.sampled_from(["", "x", "y", "z"]),
    system_b=st.sampled_from(["", "x", "y", "z"]),
    alignment=sides,
    alignment_confidence=level,
    musicality=sides,
    musicality_confidence=level,
    seconds=st.floats(0, 1e4),
    created=st.floats(0, 2e9),
    swapped=st.booleans(),
    repeat_of=st.none() | st.text("vw", min_size=1, max_size=6),
    seconds_a=st.sampled_from([0.0, 10.0, 30.0]),
    seconds_b=st.sampled_from([0.0, 10.0, 30.0]),
    lufs_a=loudness,
    lufs_b=loudness,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(any_vote, max_size=30), st.integers(0, 10))
def test_no_votes_whatever_break_the_dashboard(votes, minimum):
    found = report(votes, [("p1", "text", "ordinary", 2)], [("a", None, "active", 5)], minimum, resamples=20)
    json.dumps(found, allow_nan=False)
    assert tables(found) and charts(found)
    assert {row["person"] for row in found["screening"]["people"]} == {"a", *(vote.person for vote in votes)}


@pytest.mark.parametrize("name", ["agreement", "confidence", "axes", "win_rates", "ranking", "covariates"])
def test_gold_and_repeats_move_nothing_that_speaks_of_the_music(simulate, vote, name):
    study = simulate(2, [0.3, 0.0, -0.3], pairs=60)
    gold = [
        vote(f"h{i}", "easy", kind="gold", gold={"musicality": "a"}, system_a="s0", system_b="s1") for i in range(9)
    ]
    again = [one._replace(view=one.view + " again", repeat_of=one.view) for one in study.votes[:50]]
    more = study._replace(votes=[*study.votes, *gold, *again])
    assert report(*more, resamples=50)[name] == report(*study, resamples=50)[name]

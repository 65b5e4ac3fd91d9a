"""Statistics of ratings: means by system with intervals that cover, a null by shuffling, and post-screening."""

from itertools import count

import numpy as np
import pytest

from cmi.arena.statistics.inputs import Annotator
from cmi.arena.statistics.rated import interval_over_both, rated_charts, rated_report, rated_tables
from cmi.arena.store.ratings import CountedRating, RatedStimulus

NUMBERS = count()


def rating(person, trial, answers, systems, roles=None):
    """Answers by axis, in the order of the systems."""
    roles = roles or ["take"] * len(systems)
    stimuli = tuple(RatedStimulus(name, role, "x", "x", "audio/wav") for name, role in zip(systems, roles, strict=True))
    name, shown = str(next(NUMBERS)), tuple(range(len(systems)))
    about = trial, trial, "text", "", None, {}
    return CountedRating(name, 1, name, person, *about, stimuli, shown, answers, "", 30.0, 1_000_000.0)


def annotators(n):
    return [Annotator(f"p{number}", None, "active", None) for number in range(n)]


def by_system(report, axis="musicality"):
    return {row["system"]: row for row in report["systems"] if row["axis"] == axis}


def mushra(person, trial, reference, take, anchor=20):
    systems, roles = ["codec", "reference", "anchor35"], ["take", "reference", "anchor35"]
    return rating(person, trial, {"musicality": [take, reference, anchor]}, systems, roles)


def test_who_misses_the_hidden_reference_is_reported_and_left_out():
    """15 % may be missed: 3 of 20 pages pass, 4 fail."""
    rated = [mushra("p0", f"t{page}", 89 if page < 3 else 100, 60) for page in range(20)]
    rated += [mushra("p1", f"t{page}", 89 if page < 4 else 100, 10) for page in range(20)]
    report = rated_report(rated, "mushra", 20, annotators(3))
    screened = {row["person"]: row for row in report["screening"]["people"]}
    assert [screened[f"p{n}"]["verdict"] for n in range(3)] == ["passes", "fails", ""]
    assert (screened["p1"]["pages"], screened["p1"]["missed"], screened["p1"]["share"]) == (20, 4, 0.2)
    codec = by_system(report)["codec"]
    assert (codec["mean"], codec["ratings"], codec["people"]) == (60.0, 20, 1)
    assert report["screening"]["left_out"] == 1
    text = "\n".join(str(row) for table in rated_tables(report) for row in table.rows)
    assert "anchor35" in text and "fails" in text
    assert set(rated_charts(report)) == {"rated_systems", "rated_screening", "progress_people", "progress_days"}


def test_one_slip_on_few_pages_fails_nobody_who_has_more_to_rate():
    """p0 missed 1 of 3 pages, p1 2 of 3, p2 the only one of their quota; the study has ten."""
    people = [*annotators(2), Annotator("p2", None, "active", 1)]
    rated = [mushra("p0", f"t{page}", 100 if page else 50, 60) for page in range(3)]
    rated += [mushra("p1", f"t{page}", 100 if page > 1 else 50, 0) for page in range(3)]
    rated += [mushra("p2", "t0", 89, 0)]
    report = rated_report(rated, "mushra", 10, people)
    assert [row["verdict"] for row in report["screening"]["people"]] == ["can't tell yet", "fails", "fails"]
    assert by_system(report)["codec"]["mean"] == 60.0, "who can't be told yet counts"
    notes = " ".join(rated_tables(report)[-1].notes)
    assert "2 of 3 people fail" in notes and "fewer than 7 pages" in notes
    complete = rated_report(rated, "mushra", 3, people)
    assert complete["screening"]["people"][0]["verdict"] == "fails", "1 of 3 is more than 15 %"


def test_a_system_that_is_better_stands_outside_its_null_and_equal_ones_inside():
    rng = np.random.default_rng(1)
    rated = [
        rating(
            f"p{p}", f"t{t}", {axis: [*rng.permutation([1, 2]) + 1, 1] for axis in ("alignment", "musicality")}, "xyz"
        )
        for p in range(12)
        for t in range(12)
    ]
    report = rated_report(rated, "ranking", 12, annotators(12))
    best, even = by_system(report)["z"], by_system(report)["x"]
    assert best["mean"] == 1.0 and best["mean"] > best["null_high"] and best["p"] < 0.01
    assert best["mean_rank"] == 1.0
    assert even["low"] < 0.25 < even["high"]
    assert sum(row["mean"] for row in by_system(report).values()) == pytest.approx(1.5), "each page gives 3 points of 6"


def test_ties_count_half():
    answers = {axis: [1, 1, 2] for axis in ("alignment", "musicality")}
    report = rated_report([rating("p0", "t0", answers, "xyz")], "ranking", 1, annotators(1))
    assert {name: row["mean"] for name, row in by_system(report).items()} == {"x": 0.75, "y": 0.75, "z": 0.0}


def test_nothing_is_claimed_from_nothing():
    report = rated_report([], "mos", 4, annotators(1))
    assert report["systems"] == [] and report["progress"]["median_seconds"] is None
    rated_tables(report)
    answers = {"alignment": [4], "musicality": [5]}
    one = by_system(rated_report([rating("p0", "t0", answers, ["only"])], "mos", 1, annotators(1)))["only"]
    assert (one["mean"], one["low"], one["interval"], one["null_low"], one["p"]) == (5.0, None, None, None, None)


@pytest.mark.parametrize(("people", "trials", "method"), [(20, 20, "bootstrap"), (6, 12, "t")])
def test_the_interval_over_people_and_trials_covers(people, trials, method):
    """People and trials both differ: an interval over ratings alone would cover far too seldom."""
    covered = 0
    runs = 100
    person, trial = (codes.ravel() for codes in np.meshgrid(np.arange(people), np.arange(trials)))
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        values = rng.normal(0, 1, people)[person] + rng.normal(0, 1, trials)[trial] + rng.normal(0, 1, len(person))
        found, how = interval_over_both(values, [person, trial], 400, seed)
        assert how == method
        covered += found.low <= 0 <= found.high
    assert covered >= 88


def mos(person, trial, value, other=3):
    return rating(person, trial, {"alignment": [value], "musicality": [other]}, ["codec"])


def test_who_rates_as_the_others_is_ok_and_who_rates_the_other_way_round_is_looked_at():
    """MOS: p0 to p3 agree, p4 turns the scale round, p5 has rated one take, p6 none."""
    good = [trial % 2 for trial in range(20)]
    rated = [mos(f"p{p}", f"t{trial}", 5 if high else 2) for p in range(4) for trial, high in enumerate(good)]
    rated += [mos("p4", f"t{trial}", 1 if high else 4) for trial, high in enumerate(good)]
    rated += [mos("p5", "t0", 5)]
    report = rated_report(rated, "mos", 20, annotators(7))
    people = report["screening"]["people"]
    assert [row["verdict"] for row in people] == [*["ok"] * 4, "look", "can't tell yet", "can't tell yet"]
    assert (people[0]["alignment_others"], people[0]["alignment_others_n"]) == (1.0, 20)
    assert people[4]["alignment_others"] == 0.0
    assert people[0]["musicality_others_n"] == 0, "who always says the same is on no side"
    assert report["screening"]["left_out"] == 0 and by_system(report, "alignment")["codec"]["people"] == 6
    shown = rated_tables(report)[-1]
    assert shown.title == "People" and shown.rows[4][:3] == ["p4", "look", "20"] and shown.rows[0][3] == "100.0 (20)"


def test_a_page_counts_for_the_order_that_most_of_its_takes_are_in():
    def ranked(person, trial, *ranks):
        return rating(person, trial, {axis: list(ranks) for axis in ("alignment", "musicality")}, "xyz"[: len(ranks)])

    rated = [ranked(person, f"t{trial}", 1, 2, 3) for person in ("p0", "p1") for trial in range(4)]
    rated += [ranked("p2", "t0", 2, 1, 3), ranked("p2", "t1", 3, 1, 2), ranked("p2", "t2", 1, 1, 1)]
    rated += [ranked("p2", "alone", 1, 2, 3)]
    row = rated_report(rated, "ranking", 5, annotators(3))["screening"]["people"][2]
    assert (row["alignment_others"], row["alignment_others_n"]) == (0.5, 2), "2 of 3 alike, 1 of 3, all tied, alone"


def test_raters_at_random_are_seldom_ok_and_careful_ones_seldom_looked_at():
    rng = np.random.default_rng(3)
    verdicts = {"careful": [], "random": []}
    for _ in range(20):
        quality = rng.normal(0, 0.8, 40)
        heard = [quality + rng.normal(0, 0.7, 40) for _ in range(8)] + [rng.uniform(-2.5, 2.5, 40) for _ in range(2)]
        rated = [
            mos(f"p{person}", f"t{trial}", int(np.clip(round(3 + value), 1, 5)))
            for person, values in enumerate(heard)
            for trial, value in enumerate(values)
        ]
        found = [row["verdict"] for row in rated_report(rated, "mos", 40, annotators(10), 10)["screening"]["people"]]
        verdicts["careful"] += found[:8]
        verdicts["random"] += found[8:]
    assert verdicts["careful"].count("look") <= 4 and verdicts["careful"].count("ok") >= 80
    assert verdicts["random"].count("ok") <= 2 and verdicts["random"].count("look") >= 10

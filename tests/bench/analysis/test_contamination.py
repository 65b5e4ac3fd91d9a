"""Contamination: ranks, the exact test against brute force, and three-valued facts."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.bench.analysis.contamination import (
    IMPLIED,
    NONE,
    STATED,
    UNKNOWN,
    Fact,
    contamination,
    contamination_tables,
    draw_contamination,
    exact_p,
    overlap_effects,
    place_records,
    ranks,
    read_facts,
)
from cmi.bench.analysis.model_scores import gather
from cmi.bench.scoring.one_file import BenchCell


@pytest.fixture(scope="module")
def published():
    return gather([], "paper", with_published=True)


def test_our_facts_are_those_of_the_paper_and_no_more():
    assert {(model, dataset, fact.overlap) for (model, dataset), fact in read_facts().items()} == {
        ("qwen2", "MTG_genre", STATED),
        ("qwen2", "MTG_emotion", STATED),
        ("qwen2", "MTG_instrument", STATED),
        ("qwen2", "MTG_top50tags", STATED),
        ("qwen2", "SDD", IMPLIED),
        ("musilingo", "MusicCaps", STATED),
        ("gama", "MTT", IMPLIED),
        ("gama", "Nsynth_instrument", IMPLIED),
        ("gama", "MusicCaps", IMPLIED),
    }


def test_ties_share_their_rank_and_errors_rank_upwards():
    values = np.array([3.0, 1.0, 3.0, 2.0])
    assert ranks(values, "higher") == {0: Fraction(3, 2), 1: 4, 2: Fraction(3, 2), 3: 3}
    assert ranks(values, "lower")[1] == 1


def test_a_smaller_field_is_stretched_so_that_the_last_stays_the_last():
    assert ranks(np.array([5.0, np.nan, 4.0, np.nan, 3.0]), "higher") == {0: 1, 2: 3, 4: 5}
    assert ranks(np.array([5.0, np.nan]), "higher") == {}


def test_the_published_ranks(published):
    result = contamination(published, read_facts())
    places = {(place.model, place.dataset): place for place in result.places}
    assert (places["MusiLingo", "MusicCaps"].rank, places["MusiLingo", "MusicCaps"].overlap) == (1, STATED)
    assert places["Qwen-Audio", "DSing"].rank == 1
    assert places["Pengi", "EMO_arousal"].overlap == UNKNOWN
    assert len(result.places) == 231
    assert len(result.datasets) == 21


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(1, 6), min_size=1, max_size=3), st.lists(st.integers(1, 6), min_size=1, max_size=4)
        ),
        min_size=1,
        max_size=2,
    )
)
def test_p_counts_every_way_that_there_is(sides):
    sides = [([Fraction(x, 2) for x in a], [Fraction(x, 2) for x in b]) for a, b in sides]
    deals = [[sum(deal) for deal in combinations([*a, *b], len(a))] for a, b in sides]
    expected = sum(len(a) * sum([*a, *b]) / Fraction(len(a) + len(b)) for a, b in sides)
    seen = sum(sum(a) for a, _ in sides)
    ways = [sum(way) for way in product(*deals)]
    brute = sum(abs(way - expected) >= abs(seen - expected) for way in ways) / len(ways)
    assert exact_p(sides) == pytest.approx(brute)


def test_unknown_is_not_none(published):
    facts = {("qwen", "GTZAN"): Fact(STATED, ""), ("qwen", "DSing"): Fact(NONE, "")}
    result = contamination(published, facts)
    effects = {one.against: one for one in result.effects if one.counted == "stated"}
    assert (effects["not known to overlap"].n_with, effects["not known to overlap"].n_without) == (1, 20)
    assert (effects["said not to overlap"].n_with, effects["said not to overlap"].n_without) == (1, 1)
    assert effects["said not to overlap"].difference == 1  # second on GTZAN, first on DSing


def test_a_model_is_compared_with_itself(published):
    """The best model everywhere gains nothing from having overlap."""
    about = {"model": "best", "protocol": "paper"}
    cells = [
        BenchCell(**about, row=row, metric="Acc.", value=99.0, low=None, high=None, n=1, unparsed=0)
        for row in ("GTZ.", "NI")
    ]
    scores = gather(cells, "paper", with_published=True)
    result = contamination(scores, {("best", "GTZAN"): Fact(STATED, "")})
    (effect,) = [one for one in result.effects if one.counted == "stated"]
    assert (effect.rank_with, effect.rank_without, effect.difference, effect.p) == (1, 1, 0, 1)


def test_without_any_known_overlap_there_is_no_effect(published):
    result = contamination(published, {})
    assert result.effects == ()
    tables = contamination_tables(result)
    assert any("No model has both" in note for note in tables[1].notes)
    assert overlap_effects([], "stated", (STATED,), "x", (UNKNOWN,)) == []


def test_it_is_shown_as_tables_records_and_a_picture(published, tmp_path):
    result = contamination(published, read_facts())
    ranks_table, effects, degrees = contamination_tables(result)
    assert "● 1" in [cell for row in ranks_table.rows for cell in row]
    assert effects.rows[-1][0] == "all models"
    assert any("make p too small" in note for note in effects.notes)
    assert [row[:2] for row in degrees.rows] == [["stated", "5"], ["implied", "4"], ["none", "0"], ["unknown", "222"]]
    assert len(place_records(result)) == 231
    draw_contamination(result, tmp_path / "c.svg")
    assert "MusicCaps" in (tmp_path / "c.svg").read_text() or (tmp_path / "c.svg").stat().st_size > 10_000


BAD = {
    "not TOML": ("[", "not TOML"),
    "empty": ("", "empty"),
    "no data set": ("[mine.Gtzan]\noverlap = 'stated'\n", "[mine.Gtzan] names no data set"),
    "no table": ("mine = 3\n", "'mine' is 3, expected a table of named fields"),
    "a guess": (
        "[mine.GTZAN]\noverlap = 'probably'\n",
        "'probably', expected one of stated, implied, none",
    ),
    "a number for a reason": ("[mine.GTZAN]\noverlap = 'none'\nwhy = 3\n", "'mine.GTZAN.why' is 3, expected text"),
    "no entry": ("[mine]\nGTZAN = 'stated'\n", "'mine.GTZAN' is 'stated', expected a table of named fields"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_facts_are_one_sentence(tmp_path, name):
    text, message = BAD[name]
    path = tmp_path / "facts.toml"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_facts(path)
    assert message in str(error.value)
    assert "facts.toml" in str(error.value)

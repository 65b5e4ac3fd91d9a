"""The probe tells a model that knows who made a take from one that hears the take."""

import math
from pathlib import Path

import numpy as np
import pytest

from cmi._util.errors import InputError
from cmi.rewardbench.items import RatedItem, Vote
from cmi.rewardbench.mirex.probe import ALONE, identity_scores, probe_generators, probe_tables
from cmi.rewardbench.tasks import key
from cmi.take import Prompt, Score

STRENGTHS = {"old": -1.5, "plain": -0.5, "new": 0.5, "best": 1.5}


@pytest.fixture
def votes():
    """600 pairs: a take's worth is its generator's strength and as much again of its own; people follow the worth."""
    rng = np.random.default_rng(7)
    items, quality, names = [], {}, sorted(STRENGTHS)
    for i in range(600):
        a, b = rng.choice(names, 2)
        own = rng.normal(0, 1.5, 2)
        worth = STRENGTHS[a] + own[0] - STRENGTHS[b] - own[1]
        choice = "a" if rng.random() < 1 / (1 + math.exp(-worth)) else "b"
        item = RatedItem(
            str(i), "own", Prompt(f"prompt {i // 2}"), takes(i), votes={"musicality": Vote(choice)},
            about={"generator_a": str(a), "generator_b": str(b)},
        )  # fmt: skip
        items.append(item)
        quality[key(item)] = own
    return items, quality


def takes(i):
    return Path(f"{i}a.wav"), Path(f"{i}b.wav")


def by_generator(items):
    return {key(item): tuple(Score(STRENGTHS[item.about[f"generator_{side}"]], 0.0) for side in "ab") for item in items}


def by_quality(quality):
    return {at: tuple(Score(float(value), 0.0) for value in own) for at, own in quality.items()}


def test_a_scorer_that_knows_only_the_generator_is_exposed(votes):
    items, _ = votes
    [found] = probe_generators(items, {"detector": by_generator(items)}, resamples=400)
    assert found.accuracy.value > 0.6  # it agrees with people
    assert abs(found.versus.difference) < 0.02  # no more than the generators' names do
    assert found.versus.p is None or found.versus.p > 0.05
    assert found.same_choice > 0.97
    assert found.within == 0.5  # exactly: it says the same of every pair of the same two generators
    assert found.unsure.value == pytest.approx(0.5, abs=0.06)


def test_a_scorer_that_hears_quality_within_a_generator_is_not(votes):
    items, quality = votes
    [found] = probe_generators(items, {"ear": by_quality(quality)}, resamples=400)
    assert found.within > 0.7
    assert found.within_interval.low > 0.6
    assert found.unsure.low > 0.6
    assert found.same_choice < 0.6  # its choices are its own


def test_the_probe_does_not_see_the_votes_of_a_pairs_own_prompt(votes):
    """All votes of one prompt turned around: its own prediction stays, that of other folds moves."""
    items, _ = votes
    before = identity_scores(items)
    turned = [_turned(item) if item.cluster == items[0].cluster else item for item in items]
    after = identity_scores(turned)
    assert [one.musicality for one in after[key(items[0])]] == [one.musicality for one in before[key(items[0])]]
    assert any(after[key(item)][0].musicality != before[key(item)][0].musicality for item in items)


def _turned(item):
    vote = item.votes["musicality"]
    return RatedItem(
        item.id, item.dataset, item.prompt, item.takes, votes={"musicality": Vote("a" if vote.choice == "b" else "b")},
        about=item.about,
    )  # fmt: skip


def test_generators_that_never_met_tell_nothing(votes):
    items, _ = votes
    stranger = RatedItem(
        "s", "own", Prompt("else"), items[0].takes, votes={"musicality": Vote("a")},
        about={"generator_a": "x", "generator_b": "new"},
    )  # fmt: skip
    a, b = identity_scores([*items, stranger])[key(stranger)]
    assert a.musicality == b.musicality == 0.0


def test_votes_without_generators_are_an_error():
    item = RatedItem("1", "own", Prompt("x"), takes(1), votes={"musicality": Vote("a")})
    with pytest.raises(InputError, match="generators are known"):
        probe_generators([item], {})


def test_the_tables_have_an_interval_for_each_share(votes):
    items, quality = votes
    found = probe_generators(items, {"ear": by_quality(quality)}, resamples=200)
    beside, left = probe_tables(found)
    assert beside.rows[0][:3] == ["ear", "own", "musicality preference"]
    assert ALONE in beside.headers
    assert beside.headers.count("95 %") == 3
    assert left.headers.count("95 %") == 2
    assert "-" not in [*beside.rows[0], *left.rows[0]]
    assert found[0].to_json()["couples"] == found[0].couples > 1000

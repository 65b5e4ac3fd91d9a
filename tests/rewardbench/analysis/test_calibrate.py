"""Offsets fitted to fresh votes: what they give back, what they do not, and what is said about it."""

import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from cmi._util.errors import InputError
from cmi.reward.scoring.calibration import (
    NO_GAIN,
    apply_calibration,
    read_calibration,
    write_calibration,
)
from cmi.reward.scoring.scorers import NamedScorer, ScoredTake
from cmi.rewardbench.analysis.calibrate import (
    calibrate,
    calibration_tables,
    choose_system,
    held_out_differences,
    scored_votes,
    votes_needed,
)
from cmi.rewardbench.items import RatedItem, Vote
from cmi.rewardbench.runs.run_folder import About, System
from cmi.rewardbench.tasks import key
from cmi.take import Prompt, Score

OFFSETS = {"old": 0.0, "known": 0.3, "new": 2.0, "newest": -2.0}


def study(n=300, offsets=None, axis="musicality", seed=1):
    """Votes on pairs of four generators, and a model that hears the takes but knows nothing of the generators."""
    rng = np.random.default_rng(seed)
    offsets = OFFSETS if offsets is None else offsets
    names, items, scores = sorted(offsets), [], {}
    for i in range(n):
        a, b = rng.choice(names, 2, replace=False)
        own = rng.normal(0, 1, 2)
        eta = own[0] - own[1] + offsets[a] - offsets[b]
        choice = "a" if rng.random() < 1 / (1 + math.exp(-eta)) else "b"
        item = RatedItem(
            str(i),
            "own",
            Prompt(f"prompt {i // 3}"),
            (Path(f"{i}a.wav"), Path(f"{i}b.wav")),
            votes={axis: Vote(choice)},
            about={
                "generator_a": str(a),
                "generator_b": str(b),
                "rater": f"r{i % 12}",
                "voted": f"2026-05-{i % 28 + 1:02}",
            },
        )
        items.append(item)
        scores[key(item)] = tuple(Score(float(value), float(value)) for value in own)
    return items, System(About("model@1"), scores)


@pytest.fixture(scope="module")
def fitted():
    items, system = study()
    return calibrate(items, system, {"run": "runs/votes"}, shuffles=20)


def test_votes_on_new_generators_give_agreement_back(fitted):
    gain = fitted.axes["musicality"].gain
    assert gain.verdict == "a gain" and gain.low > 0.03
    assert gain.accuracy_after - gain.accuracy_before == pytest.approx(gain.gain)
    assert gain.brier_low > 0
    assert gain.null_high < gain.gain and gain.p < 0.1
    assert (gain.votes, gain.prompts, gain.raters) == (300, 100, 12)
    assert fitted.caution == ""


def test_offsets_are_those_of_the_generators_pulled_to_zero(fitted):
    offsets = {name: one.offset for name, one in fitted.axes["musicality"].offsets.items()}
    assert sorted(offsets, key=offsets.get) == ["newest", "old", "known", "new"]
    assert 1.2 < offsets["new"] < 2.4
    assert sum(offsets.values()) == pytest.approx(0, abs=1e-6)
    assert sum(one.votes for one in fitted.axes["musicality"].offsets.values()) == 600


def test_a_model_that_needs_no_correction_is_told_no_gain():
    items, system = study(60, dict.fromkeys(OFFSETS, 0.0))
    found = calibrate(items, system, {}, shuffles=20)
    assert found.axes["musicality"].gain.verdict == NO_GAIN
    assert NO_GAIN in found.caution
    assert NO_GAIN in calibration_tables(found)[0].rows[0]


def test_a_vote_is_predicted_without_the_votes_on_its_prompt():
    items, system = study(120)
    votes = scored_votes(items, system.scores, "musicality")
    before = held_out_differences(votes)
    turned = votes.outcome.copy()
    mine = votes.prompts == votes.prompts[0]
    turned[mine] *= -1
    assert np.array_equal(held_out_differences(votes._replace(outcome=turned))[mine], before[mine])


def test_the_order_of_takes_and_rows_changes_nothing():
    items, system = study(90)
    swapped = [
        RatedItem(
            one.id,
            one.dataset,
            one.prompt,
            one.takes[::-1],
            votes={"musicality": Vote("b" if one.votes["musicality"].choice == "a" else "a")},
            about={**one.about, "generator_a": one.about["generator_b"], "generator_b": one.about["generator_a"]},
        )
        for one in reversed(items)
    ]
    scores = {at: both[::-1] for at, both in system.scores.items()}
    one, other = calibrate(items, system, {}, 1), calibrate(swapped, System(system.about, scores), {}, 1)
    for name, offset in one.axes["musicality"].offsets.items():
        assert other.axes["musicality"].offsets[name].offset == pytest.approx(offset.offset, abs=1e-9)
    assert other.axes["musicality"].gain.gain == pytest.approx(one.axes["musicality"].gain.gain)


def test_each_axis_has_its_own_offsets():
    items, system = study(120)
    others, theirs = study(120, {"old": 2.0, "known": 0.0, "new": 0.0, "newest": -2.0}, "alignment", seed=2)
    moved = [RatedItem(f"x{o.id}", o.dataset, o.prompt, o.takes, votes=o.votes, about=o.about) for o in others]
    scores = {**system.scores, **{key(new): theirs.scores[key(o)] for new, o in zip(moved, others, strict=True)}}
    found = calibrate([*items, *moved], System(system.about, scores), {}, 1)
    assert found.axes["alignment"].offsets["old"].offset > 0.8 > found.axes["musicality"].offsets["old"].offset


def test_the_file_says_what_it_was_fitted_on_and_is_read_back(fitted, tmp_path):
    write_calibration(fitted, tmp_path / "offsets.json")
    assert read_calibration(tmp_path / "offsets.json") == fitted
    assert fitted.fitted_on == {"run": "runs/votes", "items": 300, "from": "2026-05-01", "to": "2026-05-28"}
    assert fitted.model == "model@1" and len(fitted.digest) == 8


def test_a_take_gets_the_offset_of_its_generator_and_an_unknown_one_a_note(fitted):
    raw = ScoredTake(Score(1.0, 2.0))
    new, other, unknown, broken = apply_calibration(
        fitted, [raw, raw, raw, InputError("broken")], ["new", "somebody", "", "new"]
    )
    assert new.score.musicality == pytest.approx(1 + fitted.axes["musicality"].offsets["new"].offset)
    assert new.score.alignment == 2.0 and new.notes == ()
    assert other.score == unknown.score == raw.score
    assert "no votes on somebody were fitted" in other.notes[0] and "is unknown" in unknown.notes[0]
    assert isinstance(broken, InputError)


def test_a_calibration_of_another_model_or_window_is_refused(fitted):
    fitted.require_model(NamedScorer("model@1", object()))
    for other in (NamedScorer("model@2", object()), NamedScorer("model@1", object(), settings={"window": "first10"})):
        with pytest.raises(InputError, match="fit one to that model's scores"):
            fitted.require_model(other)


@pytest.mark.parametrize(
    "text, said",
    [
        ("{}", "is missing"),
        ("[]", "expected a table"),
        ('{"model": "m", "axes": {}, "fitted_on": {}, "cmi": "1", "prior": 1.0}', "expected musicality, alignment"),
        ('{"modle": "m"}', "did you mean 'model'"),
        ("{", "not JSON"),
    ],
)
def test_a_file_that_is_not_a_calibration_gets_one_sentence(tmp_path, text, said):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_calibration(path)


def test_an_infinite_offset_is_refused(fitted, tmp_path):
    path = tmp_path / "offsets.json"
    write_calibration(fitted, path)
    offset = fitted.axes["musicality"].offsets["new"].offset
    path.write_text(path.read_text().replace(f'"offset": {offset}', '"offset": Infinity', 1))
    with pytest.raises(InputError, match="finite number"):
        read_calibration(path)


def test_votes_without_generators_or_too_few_are_refused():
    items, system = study(9)
    with pytest.raises(InputError, match="10 decided votes or more"):
        calibrate(items, system, {})
    nameless = [RatedItem(i.id, i.dataset, i.prompt, i.takes, votes=i.votes) for i in study(50)[0]]
    with pytest.raises(InputError, match="generator_a and generator_b"):
        calibrate(nameless, study(50)[1], {})


def test_a_run_with_several_models_needs_a_name():
    systems = [System(About(name), {}) for name in ("nano@1", "mine@2")]
    systems += [System(About("judge", is_judge=True), {}), System(About("nano@1", calibration="ab"), {})]
    assert choose_system(systems, "nano", "runs/x").about.model == "nano@1"
    assert choose_system(systems, "mine@2", "runs/x").about.model == "mine@2"
    for name in ("", "other", "judge"):
        with pytest.raises(InputError, match="nano@1, mine@2"):
            choose_system(systems, name, "runs/x")


def test_how_many_votes_would_tell_a_gain(fitted):
    gain = fitted.axes["musicality"].gain
    assert votes_needed(gain) is None
    unsure = type(gain)(**{**asdict(gain), "votes": 50, "gain": 0.05, "low": -0.05})
    assert votes_needed(unsure) == 200  # half the width needs four times the votes

"""Folds: the held-out generator is in no training row, nothing leaks, and every pair of it is tested once."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.pairs.leaks import find_leaks
from cmi.preferences import Preference, read_preferences, read_rows
from cmi.rewardbench.mirex.cost import EVERY, fold_costs, score_folds
from cmi.rewardbench.mirex.folds import make_folds, read_fold_rows, read_folds, write_folds
from cmi.take import Pair, Prompt

NAMES = ("alpha", "beta", "gamma", "delta")
LOUDER = "cmi.rewardbench.evaluation.nulls:Louder"


def quiet(what: str, total: int):
    return lambda done: None


def vote(i: int, prompt: int, a: str, b: str, choice="a", **about) -> Preference:
    pair = Pair(Prompt(f"prompt {prompt}"), Path(f"{prompt}-{a}.wav"), Path(f"{prompt}-{b}.wav"))
    return Preference(pair, "musicality", choice, id=str(i), about={"generator_a": a, "generator_b": b, **about})


VOTES = st.lists(st.tuples(st.integers(0, 30), st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=8, max_size=60)


@given(VOTES, st.integers(1, 4))
def test_any_folds_hold_the_generator_out_and_leak_nothing(drawn, parts):
    rows = [vote(i, *one) for i, one in enumerate(drawn)]
    try:
        folds = make_folds(rows, parts, ordinary=3)
    except InputError as error:
        assert "no training pairs are left" in str(error) or "generators, expected 3 or more" in str(error)
        return
    tested: dict[str, list[int]] = {}
    for fold in folds:
        tested.setdefault(fold.generator, []).extend(fold.test)
        assert len({*fold.train, *fold.valid, *fold.test}) == len(fold.train) + len(fold.valid) + len(fold.test)
        if fold.generator:
            assert all(fold.generator in rows[i].about.values() for i in fold.test)
            assert not any(fold.generator in rows[i].about.values() for i in (*fold.train, *fold.valid))
        split = {place: name for name in ("train", "valid", "test") for place in getattr(fold, name)}
        assert find_leaks([vote(i, *drawn[i], split=name) for i, name in split.items()]) == []
    for generator, places in tested.items():
        expected = [i for i, row in enumerate(rows) if not generator or generator in row.about.values()]
        assert sorted(places) == expected


def test_if_all_prompts_went_to_all_generators_parts_are_needed():
    rows = [vote(i, i // 3, *pair) for i, pair in enumerate([NAMES[:2], NAMES[1:3], (NAMES[0], NAMES[2])] * 20)]
    with pytest.raises(InputError, match=r"no training pairs are left.*try more --parts"):
        make_folds(rows, parts=1)
    folds = [fold for fold in make_folds(rows, parts=5) if fold.generator]
    assert len(folds) == 15
    assert min(len(fold.train) for fold in folds) > 10


def test_rows_of_the_test_split_without_generators_and_ratings_are_not_used(tmp_path):
    rows = [
        {"text": "x", "a": "1.wav", "b": "2.wav", "axis": "overall", "choice": "a", "generator_a": "g", "split": split}
        for split in ("train", "test")
    ]
    rows[1]["generator_b"] = "h"
    path = tmp_path / "votes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"1 rows do not say which generators.*; 1 rows belong to the split test"):
        read_fold_rows(str(path))
    found, notes = read_fold_rows(str(path), "test")
    assert len(found) == 1
    assert notes == [f"{path}: 1 rows belong to the split train and are not used"]


@pytest.fixture
def votes(tmp_path, recording) -> Path:
    """48 prompts of two of four generators each; the louder take wins, and generators play as loud as each other."""
    rng = np.random.default_rng(3)
    rows = []
    for i in range(48):
        (a, b), levels = rng.permutation(NAMES)[:2], rng.permutation([0.1, 0.2])
        for side, level in zip("ab", levels, strict=True):
            recording(tmp_path / "audio" / f"{i}{side}.wav", amplitude=float(level), hertz=200 + 3 * i + ord(side))
        about = {"generator_a": str(a), "generator_b": str(b), "rater": "r"}
        choice = "a" if levels[0] > levels[1] else "b"
        row = {"text": f"p{i}", "a": f"audio/{i}a.wav", "b": f"audio/{i}b.wav", "axis": "musicality", "choice": choice}
        rows.append({**row, **about})
    path = tmp_path / "votes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def folds(votes, tmp_path) -> Path:
    rows, _ = read_fold_rows(str(votes))
    write_folds(rows, make_folds(rows), tmp_path / "folds")
    return tmp_path / "folds"


def test_the_folders_are_preferences_with_splits(folds, votes):
    summaries = read_folds(folds)
    assert [one.generator for one in summaries] == sorted(NAMES) + [""] * 5
    assert sum(one.test for one in summaries if not one.generator) == 48
    for one in summaries:
        rows = list(read_rows(folds / one.name))
        assert all(isinstance(row.pair.a, Path) and row.pair.a.is_file() for row in rows)
        for split in ("train", "valid", "test"):
            assert len(list(read_preferences(folds / one.name, split))) == getattr(one, split) > 0
        assert find_leaks(folds / one.name) == []


def test_the_same_rows_go_on_and_others_are_refused(folds, votes):
    rows, _ = read_fold_rows(str(votes))
    write_folds(rows, make_folds(rows), folds)
    with pytest.raises(InputError, match="other settings"):
        write_folds(rows[1:], make_folds(rows[1:]), folds)


def test_leaving_a_generator_out_costs_an_untrained_model_nothing(folds):
    scores, notes = score_folds(folds, LOUDER, "cpu", quiet)
    assert notes == []
    costs = fold_costs(folds, scores, 200)
    assert [one.generator for one in costs] == [*sorted(NAMES), EVERY]
    assert all(one.held_out.value == 1.0 and one.cost.difference == 0.0 for one in costs)
    assert costs[-1].held_out.n == 96  # each pair counts for both of its generators
    assert costs[-1].held_out.prompts == 48


def test_a_model_that_fails_on_strangers_pays(folds):
    """Right about the generators it knew and wrong about the one it did not: the cost is all of its accuracy."""
    louder, _ = score_folds(folds, LOUDER, "cpu", quiet)
    turned = {
        name: {at: tuple(reversed(given)) for at, given in known.items()} if name == "without-beta" else known
        for name, known in louder.items()
    }
    by_generator = {one.generator: one for one in fold_costs(folds, turned, 200)}
    assert by_generator["beta"].cost.difference == 1.0
    assert by_generator["beta"].held_out.value == 0.0
    assert by_generator["alpha"].cost.difference == 0.0
    share = by_generator["beta"].held_out.n / 96
    assert by_generator[EVERY].cost.difference == pytest.approx(share)


def test_folds_without_models_say_how_to_train_them(folds):
    with pytest.raises(InputError, match="no fold has a model yet; run `cmi train"):
        score_folds(folds, "", "cpu", quiet)
    with pytest.raises(InputError, match="expected a folder of `cmi mirex folds`"):
        read_folds(folds / "nothing")

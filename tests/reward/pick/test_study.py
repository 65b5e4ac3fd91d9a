"""Picks of each N and real recordings as pairs for the arena: nested draws, nothing asked twice, nothing lost."""

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.preferences import read_pairs
from cmi.reward.pick.candidates import Candidate, Group, read_folder, read_manifest
from cmi.reward.pick.pick import Weights, pick
from cmi.reward.pick.study import GROUND_TRUTH, PAIRS, STUDY, PickStudy, make_study, read_study, study_table
from cmi.reward.scoring.scorers import ScoredTake
from cmi.take import Prompt, Score, Take

SIZES = [1, 3, 5]


def picks_of(folder, prompts, takes, real=True, score=None):
    """Picks of prompts p0, p1, ... whose takes are scored by `score(prompt, take)`."""
    found = []
    for p in range(prompts):
        candidates = tuple(
            Candidate(f"{i}.wav", Take(Prompt(f"prompt {p}"), folder / f"p{p}" / f"{i}.wav")) for i in range(takes)
        )
        scores = {
            c.take: ScoredTake(Score(float(score(p, i) if score else (7 * p + 3 * i) % 11), 0.0))
            for i, c in enumerate(candidates)
        }
        group = Group(f"p{p}", candidates, folder / f"p{p}" / "real.wav" if real else None)
        found.append(pick(group, scores, Weights()))
    return found


@given(st.integers(1, 4), st.integers(5, 8), st.booleans(), st.randoms())
def test_a_larger_n_never_picks_a_lower_score_and_every_two_conditions_are_asked_once_or_the_same(
    tmp_path_factory, prompts, takes, real, random
):
    folder = tmp_path_factory.mktemp("study")
    known = {(p, i): random.randrange(4) for p in range(prompts) for i in range(takes)}
    picks = picks_of(folder, prompts, takes, real, lambda p, i: known[p, i])
    study = make_study("m", picks, SIZES, folder / "out")
    assert study.conditions == ("N=1", "N=3", "N=5", *([GROUND_TRUTH] if real else []))
    for p in range(prompts):
        taken = study.prompts[f"p{p}"]
        scores = [known[p, int(Path(taken[f"N={size}"]).stem)] for size in SIZES]
        assert scores == sorted(scores)
    asked = {}
    for pair in read_pairs(folder / "out") if (folder / "out" / PAIRS).read_text() else ():
        for one in pair.about["generator_a"].split(", "):
            for other in pair.about["generator_b"].split(", "):
                place = (pair.about["x_prompt"], frozenset((one, other)))
                asked[place] = asked.get(place, 0) + 1
    for name in study.prompts:
        for one, other in combinations(study.conditions, 2):
            same = name in study.same(one, other)
            assert asked.get((name, frozenset((one, other))), 0) == (0 if same else 1)
            assert same != (name in study.asked(one, other))


def test_a_study_is_read_as_it_was_written_and_written_again_without_a_change(tmp_path):
    picks = picks_of(tmp_path, 3, 5)
    study = make_study("m", picks, SIZES, tmp_path / "out")
    content = {name: (tmp_path / "out" / name).read_bytes() for name in (PAIRS, STUDY)}
    assert read_study(tmp_path / "out") == study
    assert make_study("m", picks, SIZES, tmp_path / "out") == study
    assert {name: (tmp_path / "out" / name).read_bytes() for name in (PAIRS, STUDY)} == content


def test_the_order_of_a_pair_does_not_tell_its_conditions(tmp_path):
    make_study("m", picks_of(tmp_path, 40, 5), SIZES, tmp_path / "out")
    first = [GROUND_TRUTH in pair.about["generator_a"] for pair in read_pairs(tmp_path / "out")
             if GROUND_TRUTH in (pair.about["generator_a"], pair.about["generator_b"])]  # fmt: skip
    assert 0.3 < sum(first) / len(first) < 0.7


def test_another_study_is_not_overwritten(tmp_path):
    make_study("m", picks_of(tmp_path, 3, 5), SIZES, tmp_path / "out")
    before = (tmp_path / "out" / PAIRS).read_bytes()
    with pytest.raises(InputError, match=r"study.json: another study, whose votes would be lost"):
        make_study("other", picks_of(tmp_path, 2, 5), SIZES, tmp_path / "out")
    assert (tmp_path / "out" / PAIRS).read_bytes() == before


def test_prompts_with_too_few_takes_are_left_out_and_named(tmp_path):
    few = [replace(one, ranking=one.ranking[:4]) for one in picks_of(tmp_path, 2, 5)[1:]]
    study = make_study("m", [*picks_of(tmp_path, 1, 5), *few], SIZES, tmp_path / "out")
    assert (list(study.prompts), study.left_out) == (["p0"], ("p1",))
    assert "Left out: 1 prompts" in " ".join(study_table(study, tmp_path).notes)
    with pytest.raises(InputError, match="no prompt has 5 takes that could be scored"):
        make_study("m", few, SIZES, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_takes_of_a_group_that_answer_several_prompts_cannot_be_compared(tmp_path):
    picks = picks_of(tmp_path, 1, 5)
    other = picks[0].ranking[0].candidate
    changed = picks[0].ranking[0]._replace(candidate=Candidate(other.name, Take(Prompt("else"), other.take.audio)))
    with pytest.raises(InputError, match="p0: its takes have 2 different prompts"):
        make_study("m", [replace(picks[0], ranking=(changed, *picks[0].ranking[1:]))], SIZES, tmp_path / "out")


@pytest.mark.parametrize("text", ["{", "[]", '{"model": "m"}', '{"model": "m", "conditions": [1], "prompts": {}}',
                                  '{"model": 1, "conditions": [], "prompts": {"p": {"N=1": 3}}}'])  # fmt: skip
def test_a_file_that_is_no_study_is_one_sentence(tmp_path, text):
    (tmp_path / STUDY).write_text(text)
    with pytest.raises(InputError, match=r"study\.json: not "):
        read_study(tmp_path)
    with pytest.raises(InputError, match="no such file, expected a folder that `cmi pick --arena` wrote"):
        read_study(tmp_path / "nowhere")


def test_ground_truth_is_read_from_a_folder_and_from_a_manifest_and_is_no_candidate(tmp_path):
    folder = tmp_path / "takes" / "one"
    folder.mkdir(parents=True)
    (folder / "prompt.txt").write_text("calm")
    for name in ("a.wav", "b.wav", "ground-truth.flac"):
        (folder / name).write_text("")
    (group,) = read_folder(tmp_path / "takes")
    assert [one.name for one in group.candidates] == ["a.wav", "b.wav"]
    assert group.real == folder / "ground-truth.flac"
    rows = [{"audio": "a.wav", "text": "calm", "ground_truth": "real.wav"}, {"audio": "b.wav", "text": "calm"}]
    manifest = tmp_path / "takes.jsonl"
    manifest.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (group,) = read_manifest(manifest)
    assert group.real == tmp_path / "real.wav"
    manifest.write_text(manifest.read_text() + json.dumps(rows[1] | {"audio": "c.wav", "ground_truth": "x.wav"}))
    with pytest.raises(InputError, match=r"line 3: 'ground_truth' is 'x\.wav', but an earlier take"):
        read_manifest(manifest)


def test_same_and_asked_need_both_conditions():
    study = PickStudy("m", ("N=1", GROUND_TRUTH), {"p": {"N=1": "a.wav"}})
    assert study.same("N=1", GROUND_TRUTH) == study.asked("N=1", GROUND_TRUTH) == []

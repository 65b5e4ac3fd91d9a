"""Preference pairs for trainers: best against worst, never a tie, never below the margin, and nothing lost."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.reward.pick.candidates import Candidate, Group
from cmi.reward.pick.dpo import dpo_pairs, dpo_table, require_dpo_file, require_margin, write_dpo_pairs
from cmi.reward.pick.pick import Weights, pick
from cmi.reward.scoring.scorers import ScoredTake
from cmi.take import Prompt, Score, Take

SCORES = st.floats(-50, 50)


def pick_of(name, folder, scores, prompt=None):
    """A prompt's takes 0.wav, 1.wav, ... with these scores; None is a take that cannot be scored."""
    asked = prompt or Prompt(f"text of {name}")
    candidates = tuple(Candidate(f"{i}.wav", Take(asked, folder / name / f"{i}.wav")) for i in range(len(scores)))
    known = {
        candidate.take: InputError("broken") if score is None else ScoredTake(Score(*score))
        for candidate, score in zip(candidates, scores, strict=True)
    }
    return pick(Group(name, candidates), known, Weights())


@given(
    st.lists(st.lists(st.none() | st.tuples(SCORES, SCORES), min_size=1, max_size=6), min_size=1, max_size=5),
    st.floats(0, 20),
)
def test_a_pair_is_the_best_against_the_worst_and_every_prompt_is_accounted_for(groups, margin):
    picks = [pick_of(f"p{i}", Path("takes"), scores) for i, scores in enumerate(groups)]
    found = dpo_pairs(picks, margin)
    assert sorted([pair.pick.group.name for pair in found.pairs] + found.too_few + found.too_close) == sorted(
        one.group.name for one in picks
    )
    for pair in found.pairs:
        means = [ranked.mean for ranked in pair.pick.ranking]
        assert pair.chosen.mean == max(means) and pair.rejected.mean == min(means)
        assert pair.margin > 0 and pair.margin >= margin
    for one in picks:
        means = [ranked.mean for ranked in one.ranking]
        assert (one.group.name in found.too_few) == (len(means) < 2)
        if one.group.name in found.too_close:
            assert max(means) - min(means) < margin or max(means) == min(means)
    dpo_table(found, margin, Path("pairs.jsonl"))


@given(st.text(min_size=1), st.text(), st.sampled_from([".jsonl", ".csv"]))
def test_any_prompt_can_be_written_and_read_back(tmp_path_factory, text, lyrics, suffix):
    folder = tmp_path_factory.mktemp("dpo")
    one = pick_of("p", folder / "takes", [(1, 2), (3, 4)], Prompt(text, lyrics))
    target = folder / f"pairs{suffix}"
    write_dpo_pairs(dpo_pairs([one]).pairs, "nano@1", target)
    if suffix == ".jsonl":
        (line,) = target.read_text(encoding="utf-8").split("\n")[:-1]
        row = json.loads(line)
        assert row["chosen"] == "takes/p/1.wav" and row["rejected"] == "takes/p/0.wav"
        assert row["score_chosen"] == 3.5 and row["margin"] == 2.0 and row["musicality_rejected"] == 1
        if text.isprintable():
            assert (row["prompt"], row["lyrics"]) == (text, lyrics) or not lyrics.isprintable()


def test_paths_are_relative_to_the_file_and_the_reference_comes_along(tmp_path):
    (tmp_path / "out").mkdir()
    asked = Prompt("like this", reference=tmp_path / "takes" / "like.wav")
    one = pick_of("p", tmp_path / "takes", [(0, 0), (1, 0)], asked)
    write_dpo_pairs(dpo_pairs([one]).pairs, "m", tmp_path / "out" / "pairs.jsonl")
    row = json.loads((tmp_path / "out" / "pairs.jsonl").read_text())
    assert row["chosen"] == "../takes/p/1.wav"
    assert row["reference"] == "../takes/like.wav"


def test_takes_of_several_prompts_are_no_pair(tmp_path):
    takes = [Take(Prompt(text), tmp_path / f"{text}.wav") for text in ("a", "b")]
    group = Group("g", tuple(Candidate(take.audio.name, take) for take in takes))
    one = pick(group, {take: ScoredTake(Score(i, 0)) for i, take in enumerate(takes)}, Weights())
    with pytest.raises(InputError, match="g: its takes have 2 different prompts"):
        write_dpo_pairs(dpo_pairs([one]).pairs, "m", tmp_path / "pairs.jsonl")
    assert not (tmp_path / "pairs.jsonl").exists()


def test_what_would_fail_after_scoring_is_said_before(tmp_path):
    with pytest.raises(InputError, match=r"ends in \.jsonl, \.csv, \.parquet"):
        require_dpo_file(tmp_path / "pairs.json", [])
    with pytest.raises(InputError, match="no such folder"):
        require_dpo_file(tmp_path / "nowhere" / "pairs.jsonl", [])
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(InputError, match=r"folder\.jsonl: a folder"):
        require_dpo_file(tmp_path / "folder.jsonl", [])
    with pytest.raises(InputError, match="another option names this file"):
        require_dpo_file(tmp_path / "takes.jsonl", [None, tmp_path / "takes.jsonl"])
    for margin in (float("nan"), float("inf"), -1):
        with pytest.raises(InputError, match="from 0 up"):
            require_margin(margin)

"""Best-of-N: the same pick in any order, nothing lost to a broken file, and an N curve that is exact."""

import json
import math
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.reward.pick.candidates import Candidate, Group, read_folder, read_manifest
from cmi.reward.pick.curve import (
    Curve,
    CurveEstimate,
    Point,
    RankedPrompt,
    chances,
    parse_sizes,
    pick_curve,
    ranked_prompts,
)
from cmi.reward.pick.pick import Weights, copy_chosen, parse_weights, pick, takes_of
from cmi.reward.pick.report import JudgedCurve, PickReport, record, tables
from cmi.reward.scoring.score_log import score_takes
from cmi.reward.scoring.scorers import NamedScorer, ScoredTake
from cmi.reward.scoring.timbre import timbre
from cmi.take import Prompt, Score, Take

FEW = st.integers(-3, 3).map(float)  # few values, so that ties come up


class Written:
    """Scores a file by the number written in it, and counts what it was asked."""

    def __init__(self):
        self.asked = []

    def score(self, takes):
        self.asked += [take.audio.name for take in takes]
        return [Score(float(take.audio.read_text()), 0.0) for take in takes]  # OSError where there is no file


@pytest.fixture
def folder(tmp_path):
    """Two prompts; take 'b' is the better one of the first."""
    for name, takes in {"first": {"a.wav": "1", "b.wav": "3"}, "second": {"a.wav": "2", "c.flac": "1"}}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "prompt.txt").write_text(f"{name} prompt\n")
        for file, score in takes.items():
            (tmp_path / name / file).write_text(score)
    return tmp_path


def chosen_of(groups, scores, weights=None):
    picks = [pick(group, scores, weights or Weights()) for group in groups]
    return {pick_.group.name: pick_.chosen.candidate.name for pick_ in picks if pick_.chosen}


def scored(groups, scorer=None, log=None):
    takes = takes_of(groups)
    results = score_takes(takes, NamedScorer("written", scorer or Written()), [log] if log else [])
    return dict(zip(takes, results, strict=True))


def test_a_folder_is_read_by_name_without_prompts_references_and_hidden_files(folder):
    (folder / "first" / "prompt.txt").unlink()
    (folder / "first" / "prompt.json").write_text(json.dumps({"lyrics": "la la", "reference": "like.wav"}))
    for name in ("first/like.wav", "first/._a.wav", "first/notes.md", ".DS_Store"):
        (folder / name).write_text("0")
    first, second = read_folder(folder)
    assert [candidate.name for candidate in first.candidates] == ["a.wav", "b.wav"]
    assert first.candidates[0].take.prompt == Prompt("", "la la", folder / "first" / "like.wav")
    assert second.candidates[0].take.prompt == Prompt("second prompt")


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({}, "no subfolders"),
        ({"p/a.wav": "1"}, "no prompt.json and no prompt.txt"),
        ({"p/prompt.txt": "", "p/prompt.json": "{}"}, "both prompt.json and prompt.txt"),
        ({"p/prompt.json": "{"}, "not JSON"),
        ({"p/prompt.json": "[]"}, "expected an object"),
        ({"p/prompt.json": '{"txt": "x"}'}, "unknown field 'txt'; did you mean 'text'"),
        ({"p/prompt.json": '{"text": 3}'}, "'text' is int, expected text"),
    ],
)
def test_what_is_wrong_with_a_folder_is_said(tmp_path, files, sentence):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_folder(tmp_path)


ROWS = [
    {"audio": "a.wav", "text": "calm"},
    {"audio": "b.wav", "text": "calm"},
    {"audio": "c.wav", "text": "calm", "lyrics": "la"},
    {"audio": "d.wav", "text": "calm", "group": "mine"},
    {"audio": "e.wav", "text": "wild", "group": "mine"},
    {"audio": "a.wav", "text": "calm"},
]


@settings(max_examples=20)
@given(st.permutations(ROWS))
def test_a_manifest_groups_by_group_or_equal_prompts_whatever_the_order_of_its_rows(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("manifest") / "takes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    groups = {group.name: [candidate.name for candidate in group.candidates] for group in read_manifest(path)}
    assert list(groups) == sorted(groups)
    assert groups.pop("mine") == ["d.wav", "e.wav"]
    assert sorted(groups.values()) == [["a.wav", "b.wav"], ["c.wav"]]


@given(st.lists(st.tuples(FEW, FEW), min_size=1, max_size=6), st.data())
def test_the_pick_is_the_best_and_the_same_in_any_order(scores, data):
    candidates = [Candidate(f"{i}.wav", Take(Prompt("x"), Path(f"{i}.wav"))) for i in range(len(scores))]
    known = {c.take: ScoredTake(Score(*score)) for c, score in zip(candidates, scores, strict=True)}
    weights = Weights(0.25, 0.75)
    shuffled = data.draw(st.permutations(candidates))
    ranking = pick(Group("x", tuple(shuffled)), known, weights).ranking
    assert ranking == pick(Group("x", tuple(candidates)), known, weights).ranking
    best = max(0.25 * musicality + 0.75 * alignment for musicality, alignment in scores)
    assert ranking[0].mean == best
    assert ranking[0].candidate.name == min(r.candidate.name for r in ranking if r.mean == best)


def test_the_default_is_the_papers_plain_mean_and_weights_are_shares():
    assert Weights().mean(Score(1.0, 4.0)) == 2.5
    assert parse_weights("musicality=0.5,alignment=0.5") == Weights()
    assert parse_weights(" alignment = 3, musicality=1") == Weights(0.25, 0.75)
    assert parse_weights("musicality=2") == Weights(1.0, 0.0)


@pytest.mark.parametrize("text", ["", "musicality", "mood=1", "musicality=-1", "musicality=nan", "alignment=inf",
                                  "musicality=1,musicality=2", "musicality=0,alignment=0"])  # fmt: skip
def test_weights_that_make_no_sense_are_refused(text):
    with pytest.raises(InputError, match="--weights"):
        parse_weights(text)


def test_a_broken_take_is_named_and_spoils_no_other(folder):
    groups = read_folder(folder)
    (folder / "first" / "b.wav").unlink()
    for file in ("a.wav", "c.flac"):
        (folder / "second" / file).unlink()
    scores = scored(groups)
    first, second = (pick(group, scores, Weights()) for group in groups)
    assert first.chosen.candidate.name == "a.wav"
    assert [broken.candidate.name for broken in first.broken] == ["b.wav"]
    assert "b.wav: written cannot score it" in first.broken[0].reason
    assert second.chosen is None


def test_a_log_spares_what_was_scored_and_a_mended_file_is_tried_again(folder, tmp_path):
    groups, log, scorer = read_folder(folder), tmp_path / "scores.jsonl", Written()
    (folder / "first" / "b.wav").write_text("3")
    (folder / "second" / "c.flac").unlink()
    before = scored(groups, log=log)
    (folder / "second" / "c.flac").write_text("5")
    (folder / "first" / "a.wav").write_text("1.0")  # written to since: not the same file
    after = scored(groups, scorer, log)
    assert sorted(scorer.asked) == ["a.wav", "c.flac"]
    assert chosen_of(groups, before) == {"first": "b.wav", "second": "a.wav"}
    assert chosen_of(groups, after) == {"first": "b.wav", "second": "c.flac"}


def test_another_model_is_not_served_from_the_log(folder, tmp_path):
    takes, log, other = takes_of(read_folder(folder)), tmp_path / "scores.jsonl", Written()
    for scorer in (NamedScorer("one", Written()), NamedScorer("other", other)):
        score_takes(takes, scorer, [log])
    assert len(other.asked) == len(takes)


def test_copies_are_named_by_prompt_and_made_once(folder, tmp_path):
    groups = read_folder(folder)
    picks = [pick(group, scored(groups), Weights()) for group in groups]
    best = tmp_path / "deep" / "best"
    assert copy_chosen(picks, best) == copy_chosen(picks, best) == [best / "first.wav", best / "second.wav"]
    assert {path.name: path.read_text() for path in best.iterdir()} == {"first.wav": "3", "second.wav": "2"}


def test_no_copy_overwrites_another_file_and_then_none_is_made(folder, tmp_path):
    groups = read_folder(folder)
    picks = [pick(group, scored(groups), Weights()) for group in groups]
    best = tmp_path / "best"
    best.mkdir()
    (best / "second.wav").write_text("somebody's own")
    with pytest.raises(InputError, match=r"second\.wav: not .*nothing was copied"):
        copy_chosen(picks, best)
    assert [path.name for path in best.iterdir()] == ["second.wav"]
    assert (best / "second.wav").read_text() == "somebody's own"


def test_two_prompts_do_not_share_a_copy(folder, tmp_path):
    groups = read_folder(folder)
    clash = [Group(name, group.candidates) for name, group in zip(("a/b", "a:b"), groups, strict=True)]
    picks = [pick(group, scored(groups), Weights()) for group in clash]
    with pytest.raises(InputError, match="two prompts"):
        copy_chosen(picks, tmp_path / "best")
    assert not (tmp_path / "best").exists()


@given(st.lists(st.tuples(FEW, FEW), min_size=1, max_size=7), st.data())
def test_the_expected_second_score_is_that_of_all_subsets(scores, data):
    size = data.draw(st.integers(1, len(scores)))
    ranked = sorted(scores, key=lambda pair: -pair[0])  # stable: ties by place, as picks break them by name
    picks = [ranked[min(subset)][1] for subset in combinations(range(len(ranked)), size)]
    assert chances(len(scores), size) @ [second for _, second in ranked] == pytest.approx(np.mean(picks))


@given(st.integers(1, 60), st.data())
def test_one_of_the_candidates_is_picked_for_sure(candidates, data):
    likely = chances(candidates, data.draw(st.integers(1, candidates)))
    assert math.isclose(likely.sum(), 1)
    assert (np.diff(likely) <= 0).all()


def prompts_of(rng, count=12, candidates=6, quality=0.0):
    """Second scores that agree with the ranking by `quality`, from 0 to 1."""
    made = []
    for _ in range(count):
        second = quality * -np.arange(candidates) + (1 - quality) * rng.standard_normal(candidates)
        made.append(RankedPrompt(tuple(Score(s, 2 * s) for s in second), rng.standard_normal((candidates, 4))))
    return made


def test_a_curve_runs_from_the_random_take_to_the_pick_and_never_above_the_oracle():
    prompts = prompts_of(np.random.default_rng(0), quality=0.8)
    points = {(p.axis, p.n): p for p in pick_curve(prompts, [1, 3, 6], Weights()).points}
    all_of = np.array([[score.musicality for score in prompt.second] for prompt in prompts])
    assert points["musicality", 1].score.mean == pytest.approx(all_of.mean())
    assert points["musicality", 1].gain.mean == 0
    assert points["musicality", 6].score.mean == pytest.approx(all_of[:, 0].mean())
    assert points["musicality", 6].oracle == pytest.approx(all_of.max(axis=1).mean())
    assert points["overall", 3].score.mean == pytest.approx(1.5 * points["musicality", 3].score.mean)
    assert points["alignment", 3].gain.interval.low > 0
    assert all(point.score.mean <= point.oracle + 1e-12 for point in points.values())


def test_a_picker_that_knows_nothing_gains_nothing_by_its_interval():
    outside = 0
    for seed in range(40):
        prompts = prompts_of(np.random.default_rng(seed), count=20)
        gain = pick_curve(prompts, [1, 6], Weights()).points[1].gain
        outside += not gain.interval.low <= 0 <= gain.interval.high
    assert outside <= 7  # 2 are expected of 95 %; 8 would be one chance in a thousand


def test_every_size_is_over_the_same_prompts():
    rng = np.random.default_rng(0)
    curve = pick_curve(prompts_of(rng, 3, candidates=2) + prompts_of(rng, 5), [1, 3], Weights())
    assert (curve.prompts, curve.left_out) == (5, 3)
    with pytest.raises(InputError, match="asks for 9 takes of a prompt, and none has more than 6"):
        pick_curve(prompts_of(rng), [1, 9], Weights())


def test_one_prompt_has_a_curve_without_intervals_and_no_diversity():
    curve = pick_curve(prompts_of(np.random.default_rng(0), count=1), [1, 3], Weights())
    assert [point.score.interval for point in curve.points] == [None] * 6
    assert curve.diversity == ()


def test_expected_diversity_is_that_of_all_picks():
    prompts = prompts_of(np.random.default_rng(1), count=3, candidates=3)
    stacked = np.concatenate([prompt.timbre for prompt in prompts])
    standard = (stacked - stacked.mean(axis=0)) / stacked.std(axis=0)
    unit = (standard / np.linalg.norm(standard, axis=1, keepdims=True)).reshape(3, 3, -1)
    picked = [min(subset) for subset in combinations(range(3), 2)]  # best of two: rank 0 twice, rank 1 once
    distances = [
        1 - unit[p, i] @ unit[q, j] for p, q in combinations(range(3), 2) for i, j in product(picked, repeat=2)
    ]
    found = pick_curve(prompts, [1, 2], Weights()).diversity[1]
    assert found.distance.mean == pytest.approx(np.mean(distances))
    assert found.distance.interval is None  # three prompts are too few to draw from


def test_a_picker_with_one_sound_in_mind_loses_diversity():
    rng = np.random.default_rng(2)
    prompts = [
        RankedPrompt((Score(0, 0),) * 5, np.vstack([np.full((1, 8), 3.0), rng.standard_normal((4, 8))]))
        for _ in range(15)
    ]
    random, five = pick_curve(prompts, [1, 5], Weights()).diversity
    assert random.change.mean == 0
    assert five.distance.mean == pytest.approx(0, abs=1e-9)  # the same sound for every prompt
    assert five.change.interval.high < 0


def test_sizes_are_sorted_and_have_their_null():
    assert parse_sizes("10, 3,3") == [1, 3, 10]
    for text in ("", "0", "-1", "1,x", "2.5"):
        with pytest.raises(InputError, match="--curve"):
            parse_sizes(text)


def test_timbre_hears_colour_but_not_level(tmp_path):
    rng = np.random.default_rng(0)
    white = rng.standard_normal(32_000) * 0.1
    for name, sound in {
        "white": white,
        "soft": white / 4,
        "dark": np.cumsum(white) * 0.01,
        "short": white[:900],
    }.items():
        soundfile.write(tmp_path / f"{name}.wav", sound, 16_000, subtype="FLOAT")
    white, soft, dark = (timbre(tmp_path / f"{name}.wav") for name in ("white", "soft", "dark"))
    assert np.abs(white - soft).max() < 0.05 * np.abs(white - dark).max()
    assert np.isfinite(timbre(tmp_path / "short.wav")).all()


def test_what_cannot_be_heard_is_not_in_the_curve_and_is_said(tmp_path):
    paths = [tmp_path / f"{name}.wav" for name in "abc"]
    for path in paths[:2]:
        soundfile.write(path, np.random.default_rng(0).standard_normal(8_000) * 0.1, 16_000)
    paths[2].write_text("not a sound")
    group = Group("x", tuple(Candidate(path.name, Take(Prompt("x"), path)) for path in paths))
    first = {candidate.take: ScoredTake(Score(1, 1)) for candidate in group.candidates}
    second = {**first, group.candidates[0].take: InputError("a.wav: too short")}
    picked = pick(group, first, Weights())
    prompts, notes = ranked_prompts([picked], second)
    assert len(prompts[0].second) == len(prompts[0].timbre) == 1
    assert len(notes) == 2
    assert notes[0] == "a.wav: too short"
    assert "c.wav" in notes[1]


def test_what_the_scorer_says_of_a_take_is_told_with_the_pick_also_from_the_log(folder):
    """That a recording was cut off, say."""

    class Telling:
        def judge(self, takes, read):
            for take in takes:
                notes = ("cut off: 3.4 of 10.0 s",) if take.audio.name == "b.wav" else ()
                yield ScoredTake(Score(1.0, 1.0), notes=notes)

    groups, log = read_folder(folder), folder.parent / "log.jsonl"
    for stream in (Telling(), None):  # the second time all come from the log
        scorer = NamedScorer("streaming", Written(), stream)
        takes = takes_of(groups)
        scores = dict(zip(takes, score_takes(takes, scorer, [log]), strict=True))
        picks = [pick(group, scores, Weights()) for group in groups]
        report = PickReport("streaming", Weights(), picks)
        assert [note for note in tables(report)[0].notes if "cut off" in note] == [
            f"{folder / 'first' / 'b.wav'}: cut off: 3.4 of 10.0 s."
        ]
        ranking = record(report)["picks"][0]["ranking"]
        assert [ranked.get("notes") for ranked in ranking] == [None, ["cut off: 3.4 of 10.0 s"]]


def test_the_judges_of_table_5_stand_beside_the_published_rows():
    point = Point("musicality", 1, CurveEstimate(6.5, None), CurveEstimate(0.0, None), 7.0)
    curve = Curve(3, 0, (point, replace(point, n=3, score=CurveEstimate(6.75, None))), ())
    report = PickReport(
        "nano", Weights(), [], [JudgedCurve("audiobox-ce (facebook/x@abc)", curve), JudgedCurve("other:Scorer", curve)]
    )
    found = next(table for table in tables(report) if table.title.startswith("Table 5"))
    assert found.rows[:2] == [["yours (N=1)", "", "6.500", "", ""], ["yours (N=3)", "", "6.750", "", ""]]
    assert found.rows[4] == ["MusicGen (N=10)", "0.339", "6.647", "7.416", "2.273"]
    assert len(found.rows) == 2 + 6
    assert not any(t.title.startswith("Table 5") for t in tables(replace(report, curves=report.curves[1:])))

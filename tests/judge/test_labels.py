"""The filter's statistics recover what a simulated judge is made of, and labels get better as theory says."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from cmi._util.errors import InputError
from cmi.audio import Waveform
from cmi.judge.consensus import Answers, davidson, dawid_skene
from cmi.judge.judges import PlainJudge, ScorerJudge
from cmi.judge.labels import PREFERENCES, agreed, count, labels, retained, write_consensus, write_labels
from cmi.judge.run import Asking, Judged, askings, judge_pairs, shard_folder, shard_of
from cmi.judge.verdict import Opinion, Verdict
from cmi.preferences import NamedPair, read_pairs, read_preferences
from cmi.take import Pair, Prompt, Score, Take
from cmi.testing.simulated_judge import Errors, SimulatedJudge, parse_errors

N = 4000


def known_pairs(count: int = N) -> list[NamedPair]:
    return [
        NamedPair(f"p{i}", Pair(Prompt(f"t{i}"), Path(f"{i}a.wav"), Path(f"{i}b.wav")), {"musicality": "ab"[i % 2]}, {})  # type: ignore[dict-item]
        for i in range(count)
    ]


def simulate(tmp_path: Path, **errors: float) -> tuple[Judged, list[NamedPair]]:
    pairs = known_pairs()
    judge = SimulatedJudge(pairs, Errors(**errors))  # type: ignore[arg-type]
    judged = Judged(judge.name)
    asked = askings(pairs, both_orders=True)
    heard = [(a.key, p.pair if a.order == "forward" else Pair(p.pair.prompt, p.pair.b, p.pair.a)) for a, p in asked]
    for (asking, _), (_, verdict) in zip(asked, judge.verdicts(heard), strict=True):
        assert isinstance(verdict, Verdict)
        judged.verdicts[asking] = verdict if asking.order == "forward" else verdict.swapped
    return judged, pairs


def within(share: float, expected: float, n: int, z: float = 4.0) -> bool:
    return abs(share - expected) <= z * math.sqrt(expected * (1 - expected) / n)


def wrong_share(found: dict[str, str], pairs: Sequence[NamedPair]) -> tuple[float, int]:
    decided = [(found[p.id], p.known["musicality"]) for p in pairs if found.get(p.id) in ("a", "b")]
    return sum(said != truth for said, truth in decided) / len(decided), len(decided)


def test_only_the_same_winner_or_two_ties_agree():
    def both(forward: str, reverse: str) -> str | None:
        return agreed(Opinion(forward), Opinion(reverse))  # type: ignore[arg-type]

    assert (both("a", "a"), both("b", "b"), both("both", "both")) == ("a", "b", "both")
    assert (both("neither", "neither"), both("both", "neither")) == ("neither", "both")
    assert both("a", "b") is both("a", "both") is both("neither", "b") is None


@pytest.mark.parametrize("first", [0.05, 0.2])
def test_the_counts_recover_a_known_position_bias(tmp_path: Path, first: float):
    judged, _ = simulate(tmp_path, right=0.8, tied=0.1, first=first)
    found = count(judged, "musicality")
    # of opinions that are no tie a share `first` contradicts; of ties all but those that are asked for twice in vain
    clash = 0.9 * first + 0.1 * (1 - (1 - first) ** 2)
    assert found.asked == N and found.missing == 0 and found.kept + found.contradicted == N
    assert within(found.contradicted / N, clash, N)
    assert within(found.first_both_times / N, 0.9 * first + 0.1 * first**2, N)
    assert found.second_both_times == 0
    # by the pair's own letters: a is heard first in the original order, b in the reversed one
    a_rate = 0.45 * (1 - first) + first
    assert within(found.original.a / N, a_rate, N) and within(found.reversed.b / N, a_rate, N)


def test_the_filter_takes_away_what_position_bias_spoils(tmp_path: Path):
    first, right = 0.3, 0.85
    judged, pairs = simulate(tmp_path, right=right, tied=0.0, first=first)
    unfiltered = {a.pair: v.opinions["musicality"].choice for a, v in judged.verdicts.items() if a.order == "forward"}
    before, n = wrong_share(unfiltered, pairs)  # type: ignore[arg-type]
    after, kept = wrong_share(labels(judged, "musicality"), pairs)  # type: ignore[arg-type]
    assert within(before, first / 2 + (1 - first) * (1 - right), n)
    assert within(after, 1 - right, kept) and after < before


@pytest.mark.parametrize("slip", [0.1, 0.3])
def test_the_filter_squares_the_odds_of_errors_that_are_independent(tmp_path: Path, slip: float):
    judged, pairs = simulate(tmp_path, right=1.0, tied=0.0, first=0.0, slip=slip)
    after, kept = wrong_share(labels(judged, "musicality"), pairs)  # type: ignore[arg-type]
    assert within(after, slip**2 / (slip**2 + (1 - slip) ** 2), kept)
    assert within(kept / N, slip**2 + (1 - slip) ** 2, N)


def test_retention_by_axis_or_by_all():
    agree, clash = Opinion("a"), Opinion("b")
    judged = Judged("j")
    for pair, second in (("p", agree), ("q", clash)):
        judged.verdicts[Asking(pair)] = Verdict({"musicality": agree, "alignment": agree})
        judged.verdicts[Asking(pair, "reverse")] = Verdict({"musicality": agree, "alignment": second})
    assert {axis: set(found) for axis, found in retained(judged, "axis").items()} == {
        "musicality": {"p", "q"},
        "alignment": {"p"},
    }
    assert all(set(found) == {"p"} for found in retained(judged, "intersection").values())


def test_labels_are_written_in_the_common_format_and_read_back(tmp_path: Path, make_pairs):
    file = make_pairs(30)
    pairs = read_pairs(file)
    judge = SimulatedJudge(pairs, Errors(first=0.3))
    judged = judge_pairs(askings(pairs, True), judge, tmp_path / "run")
    written = write_labels(pairs, judged, tmp_path / "run", "axis")
    rows = list(read_preferences(tmp_path / "run" / PREFERENCES))
    assert len(rows) == written == count(judged, "musicality").kept
    assert all(row.pair.a.resolve().is_file() for row in rows)  # type: ignore[union-attr]
    assert {row.rater for row in rows} == {judge.name} and rows[0].about == {"split": "train"}
    assert json.loads((tmp_path / "run" / "labels.json").read_text())["labels"] == written


def test_a_run_resumes_and_shards_are_put_together(tmp_path: Path, make_pairs):
    pairs = read_pairs(make_pairs(25))
    judge = SimulatedJudge(pairs, Errors())
    whole = judge_pairs(askings(pairs, True), judge, tmp_path / "whole")
    for shard in ("1/2", "2/2"):
        judge_pairs(askings(shard_of(pairs, shard), True), judge, shard_folder(tmp_path / "parts", shard))

    class Never:
        name = judge.name

        def verdicts(self, asked):
            assert not asked
            yield from ()

    for folder in ("whole", "parts"):
        assert judge_pairs(askings(pairs, True), Never(), tmp_path / folder).verdicts == whole.verdicts  # type: ignore[arg-type]
    with pytest.raises(InputError, match="i/n"):
        shard_of(pairs, "3/2")


def test_a_folder_is_for_one_judge_and_its_pairs(tmp_path: Path, make_pairs):
    pairs = read_pairs(make_pairs(3))
    judge_pairs(askings(pairs, True), SimulatedJudge(pairs, Errors()), tmp_path / "run")
    with pytest.raises(InputError, match="other settings"):
        judge_pairs(askings(pairs, True), SimulatedJudge(pairs, Errors(seed=1)), tmp_path / "run")
    changed = [pair._replace(pair=Pair(Prompt("other words"), pair.pair.a, pair.pair.b)) for pair in pairs]
    with pytest.raises(InputError, match="another prompt"):
        judge_pairs(askings(changed, True), SimulatedJudge(changed, Errors()), tmp_path / "run")


class Loudness:
    """Scores a waveform by its level; a path can't be scored."""

    def score(self, takes: Sequence[Take]) -> list[Score]:
        if any(isinstance(take.audio, Path) for take in takes):
            raise InputError("a file")
        return [Score(float(np.abs(take.audio.samples).max()), 0.0) for take in takes]  # type: ignore[union-attr]


def test_a_scorer_is_a_judge_with_ties_within_a_band():
    loud, louder, quiet = (Waveform(np.full(800, level, np.float32), 16_000) for level in (0.5, 0.55, 0.1))
    judge = PlainJudge("loudness", ScorerJudge(Loudness(), band=0.1))
    asked = [
        ("1", Pair(Prompt(), loud, louder)),
        ("2", Pair(Prompt(), quiet, loud)),
        ("3", Pair(Prompt(), Path("x"), loud)),
    ]
    told = dict(judge.verdicts(asked))
    assert told["1"].opinions["musicality"].choice == "both"  # type: ignore[union-attr]
    assert told["2"].opinions["musicality"] == Opinion("b", pytest.approx(0.1), pytest.approx(0.5))  # type: ignore[union-attr]
    assert isinstance(told["3"], InputError)


def crowd(rng: np.random.Generator, truth: np.ndarray, right: Sequence[float]) -> Answers:
    """Judges that are right so often, and else name another class."""
    rows = []
    for judge, chance in enumerate(right):
        for swapped in (0, 1):
            wrong = (truth + rng.integers(1, 3, truth.size)) % 3
            said = np.where(rng.random(truth.size) < chance, truth, wrong)
            rows.append(
                np.stack([np.arange(truth.size), np.full(truth.size, judge), np.full(truth.size, swapped), said])
            )
    return Answers(*np.concatenate(rows, axis=1))


def test_dawid_and_skene_find_out_who_can_be_trusted():
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 1500, p=[0.45, 0.45, 0.1])
    answers = crowd(rng, truth, [0.9, 0.4, 0.4])
    chances = dawid_skene(answers, truth.size)
    votes = np.zeros((truth.size, 3))
    np.add.at(votes, (answers.item, answers.said), 1)
    by_vote = (votes + rng.random(votes.shape) / 2).argmax(axis=1)
    found = chances.argmax(axis=1)
    assert np.allclose(chances.sum(axis=1), 1)
    assert (found == truth).mean() > 0.9 > (by_vote == truth).mean() + 0.1
    sure = chances.max(axis=1)
    assert abs((found == truth).mean() - sure.mean()) < 0.03  # as sure as it is right


def test_davidson_recovers_strengths_ties_and_ignores_position():
    rng = np.random.default_rng(1)
    strength = rng.normal(0, 1, 60)
    takes = np.array([(a, b) for a in range(60) for b in range(a + 1, 60)])
    rows, tie, first = [], -0.5, 0.8
    for swapped in (0, 1):
        gap = strength[takes[:, 0]] - strength[takes[:, 1]] + (1 - 2 * swapped) * first
        weights = np.exp(np.stack([gap / 2, -gap / 2, np.full(len(gap), tie)], axis=1))
        chances = weights / weights.sum(axis=1, keepdims=True)
        said = (rng.random((len(gap), 1)) > chances.cumsum(axis=1)).sum(axis=1)
        rows.append(np.stack([np.arange(len(takes)), np.zeros(len(takes), int), np.full(len(takes), swapped), said]))
    found = davidson(Answers(*np.concatenate(rows, axis=1)), takes)
    gap = strength[takes[:, 0]] - strength[takes[:, 1]]
    weights = np.exp(np.stack([gap / 2, -gap / 2, np.full(len(gap), tie)], axis=1))
    true = weights / weights.sum(axis=1, keepdims=True)
    assert np.abs(found - true).mean() < 0.05
    assert abs((found - true).mean(axis=0)).max() < 0.02


@pytest.mark.parametrize("method", ["dawid-skene", "davidson"])
def test_several_judges_come_to_soft_labels(tmp_path: Path, make_pairs, method: str):
    pairs = read_pairs(make_pairs(40))
    runs = []
    for seed in range(3):
        folder = tmp_path / str(seed)
        runs.append(judge_pairs(askings(pairs, True), SimulatedJudge(pairs, Errors(0.9, 0.0, 0.1, seed=seed)), folder))
    others = [tmp_path / "1", tmp_path / "2"]
    assert write_consensus(pairs, runs[0], others, tmp_path / "0", method) == 40  # type: ignore[arg-type]
    rows = list(read_preferences(tmp_path / "0" / PREFERENCES))
    assert all(sum(row.about["soft"].values()) == pytest.approx(1, abs=1e-3) for row in rows)
    truth = {f"{pair.id} musicality": pair.known["musicality"] for pair in pairs}
    assert sum(row.choice == truth[row.id] for row in rows) >= 33
    with pytest.raises(InputError, match="same judge"):
        write_consensus(pairs, runs[0], [tmp_path / "0"], tmp_path / "0", method)  # type: ignore[arg-type]


def test_a_simulated_judge_is_told_its_errors_in_words():
    assert parse_errors("first=0.2,seed=3") == Errors(first=0.2, seed=3)
    for bad in ("x=1", "first=2", "first=a"):
        with pytest.raises(InputError, match="simulated judge"):
            parse_errors(bad)

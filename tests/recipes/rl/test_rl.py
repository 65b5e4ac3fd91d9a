"""The study of optimisation: songs as tokens, a generator that writes songs only, and optimisers that do optimise."""

import dataclasses
import json
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import page as write_page
import pytest
import run
import torch
from corpus import heeded, make_example, write_caption
from curves import heard_flaws, highest_truth, points_of, read_results
from generator import GeneratorConfig, SongGenerator, padded
from hypothesis import given, settings
from hypothesis import strategies as st
from optimise import RlConfig, diversity, draw_pool, learn, measure, optimise_dpo, optimise_grpo
from song import ALLOWED, BAR, END, VOCABULARY, Production, Song, read_song, write_song
from take_rewards import Noise, TakeRewards, Truth, clean_share, make_sound, share_in_key

from cmi._util.errors import InputError
from cmi.studio.compose import compose

TINY = GeneratorConfig(dim=32, depth=1, heads=2, longest=120)
BRIEF = RlConfig(
    bars=1,
    learn_steps=3,
    learn_batch=8,
    steps=12,
    prompts=4,
    songs=8,
    rate=3e-3,
    held_out=4,
    held_out_songs=4,
    every=12,
    pool=48,
)


@given(seed=st.integers(0, 10**6), bars=st.integers(1, 8))
@settings(max_examples=30, deadline=None)
def test_a_song_comes_back_from_its_tokens(seed, bars):
    song = Song(compose(seed, seconds=8), Production("clean"))
    tokens = write_song(song, bars)
    assert ALLOWED[tokens[:-1], tokens[1:]].all()
    again = read_song(tokens)
    assert write_song(again, bars) == write_song(read_song(write_song(again, bars)), bars)
    assert [part.instrument for part in again.piece.parts] == [part.instrument for part in song.piece.parts]
    assert abs(again.piece.attributes.tempo - song.piece.attributes.tempo) <= 2
    assert again.piece.metre == song.piece.metre


@given(st.lists(st.integers(0, VOCABULARY - 1), max_size=300))
@settings(max_examples=100, deadline=None)
def test_any_tokens_are_a_song_that_can_be_played(tokens):
    song = read_song(tokens)
    for part in song.piece.parts:
        for note in part.notes:
            assert 0 <= note.pitch <= 127 and 1 <= note.velocity <= 127 and note.start >= 0 and note.length > 0
    assert 0 <= clean_share(song) <= 1
    assert 0 <= share_in_key(song.piece) <= 1
    assert 0 <= heeded(write_caption(1), song) <= 1


def test_what_is_sampled_are_songs_of_as_many_bars_as_asked_and_seeds_repeat():
    torch.manual_seed(0)
    model = SongGenerator(dataclasses.replace(TINY, longest=300))
    text = torch.randn(6, 384)
    songs = model.sample(text, 2, torch.Generator().manual_seed(1))
    for row in songs.tolist():
        whole = row[: row.index(END) + 1] if END in row else row
        assert ALLOWED[whole[:-1], whole[1:]].all()
        assert whole.count(BAR) == 2 or END not in whole
    assert torch.equal(songs, model.sample(text, 2, torch.Generator().manual_seed(1)))
    likely = model.log_probabilities(text, songs)
    assert likely.isfinite().all() and (likely <= 0).all()


def test_examples_are_half_heeded_and_two_in_three_are_flawed():
    examples = [make_example(seed) for seed in range(150)]
    flawed = np.mean([clean_share(one.song) < 1 for one in examples])
    assert 0.5 < flawed < 0.8
    assert 0.5 < np.mean([heeded(one.asked, one.song) for one in examples]) < 0.85
    assert np.mean([share_in_key(one.song.piece) for one in examples]) > 0.95


def test_a_flaw_is_in_the_sound_and_a_clean_song_has_none():
    piece = read_song(write_song(Song(compose(3, seconds=8), Production()), 2)).piece
    clean, again = (make_sound(0, Song(piece, Production())) for _ in range(2))
    noisy = make_sound(0, Song(piece, Production("noise", 1.0)))
    assert np.array_equal(clean.samples, again.samples)
    assert not np.array_equal(clean.samples, noisy.samples)


class Reader:
    """A vector for each text, without MiniLM."""

    def __call__(self, texts):
        rows = [np.random.default_rng(zlib.crc32(text.encode())).standard_normal(384) for text in texts]
        return torch.tensor(np.array(rows), dtype=torch.float32)


class CleanReward(Truth):
    """Rewards what is known of a song, without sound: how clean it is."""

    def ask(self, songs, asked, seed):
        clean = np.array([clean_share(song) for song in songs])
        names = [one.name for one in dataclasses.fields(TakeRewards)]
        return TakeRewards(**dict.fromkeys(names, clean)), []


@pytest.mark.slow
@pytest.mark.parametrize("method", ["grpo", "dpo"])
def test_a_reward_is_raised_by_its_optimiser_and_not_by_random_rewards(method):
    torch.manual_seed(0)
    learned = SongGenerator(TINY)

    def clean_after(rewarder):
        if method == "grpo":
            model = optimise_grpo(learned, BRIEF, rewarder, 1, lambda *_: None)
        else:
            model = optimise_dpo(learned, BRIEF, draw_pool(learned, BRIEF, rewarder), 1, lambda *_: None)
        measured = measure(model, learned, BRIEF, CleanReward(Reader()), None, 1, 12, 4)
        assert np.mean(measured.kl) > 0
        return np.mean([song["clean"] for song in measured.songs])

    before = measure(learned, learned, BRIEF, CleanReward(Reader()), None, 1, 0, 4)
    assert before.kl == [0.0] * 16
    raised = clean_after(CleanReward(Reader()))
    assert raised > np.mean([song["clean"] for song in before.songs]) + 0.1
    assert clean_after(Noise(Reader())) < raised


def test_what_is_sampled_is_as_likely_as_the_generator_says():
    """Songs must have their bars: a log-probability that forgets this would make KL and gradients wrong."""
    torch.manual_seed(0)
    model = SongGenerator(dataclasses.replace(TINY, longest=300))
    text = torch.randn(4, 384)
    songs = model.sample(text, 1, torch.Generator().manual_seed(1))
    every = model(text, songs[:, :-1], 1).exp()
    assert torch.allclose(every.sum(dim=-1), torch.ones(()), atol=1e-4)
    counted = (songs[:, :-1] == BAR).cumsum(dim=1)
    assert (every[..., END][counted < 1] == 0).all()
    assert (every[..., BAR][counted >= 1] == 0).all()


def test_learning_lowers_the_loss():
    torch.manual_seed(0)
    model = SongGenerator(TINY)
    with ThreadPoolExecutor(1) as pool:
        losses = [loss for _, loss in learn(model, dataclasses.replace(BRIEF, learn_steps=25), Reader(), pool)]
    assert losses[-1] < losses[0]


def test_bars_that_come_again_are_less_diverse():
    tokens = padded([write_song(make_example(seed).song, 2) for seed in (1, 2)], 400)
    assert diversity(tokens, 1)[0] > diversity(torch.cat([tokens, tokens]), 1)[0]


def song_row(prompt, reward, clean=1.0, flaw="clean"):
    axes = {"musicality": reward, "alignment": 0.0, "reward": reward}
    return {"prompt": prompt, **axes, "second": 0.0, "clean": clean, "in_key": 1.0, "heeded": 0.5, "flaw": flaw}


def measured_row(songs, step=0, kl=0.0):
    return {"step": step, "kl": [kl] * len(songs), "diversity": [1.0], "songs": songs}


def test_best_of_n_is_exact_over_all_choices_and_a_gamed_reward_is_found_out():
    rewards = [[1.0, 2.0, 3.0, 4.0], [4.0, 1.0, 3.0, 2.0]]  # the reward's favourite is the worst song
    songs = [song_row(p, reward, clean=1 - reward / 8) for p, own in enumerate(rewards) for reward in own]
    worse = [song_row(p, 5.0, clean=0.1, flaw="noise") for p in range(2) for _ in range(3)]
    better = [song_row(p, 3.0, clean=1.0) for p in range(2) for _ in range(3)]
    results = {
        "before": [[measured_row(songs)]],
        "grpo": [[measured_row(better, 10, 2.0), measured_row(worse, 20, 9.0)] for _ in range(2)],
    }
    points = points_of(results)
    picked = {point.at: point for point in points if point.method == "best of N"}
    every_two = [max(rewards[0][i], rewards[0][j]) for i in range(4) for j in range(i)]
    assert picked[2].by_prompt["reward"] == pytest.approx(np.mean(every_two) - 2.5)
    assert picked[4].by_prompt["truth"] == pytest.approx([-1.5 / 16] * 2)
    grpo = [point for point in points if point.method == "grpo"]
    assert [(point.at, point.seeds, point.kl) for point in grpo] == [(10, 2, 2.0), (20, 2, 9.0)]
    peak, last, truth, reward = highest_truth(grpo)
    assert (peak.at, last.at) == (10, 20)
    assert truth.mean == pytest.approx(-0.45) and reward.mean == pytest.approx(2.0)


def test_a_flaw_that_the_reward_does_not_hear_comes_first():
    songs = [song_row(0, 1.0), song_row(0, 3.0), song_row(0, 2.0, flaw="unheard"), song_row(0, -9.0, flaw="heard")]
    found = heard_flaws({"before": [[measured_row(songs)]]})
    assert [(one.flaw, one.found.mean, one.shares) for one in found] == [
        ("unheard", 0.5, {"before": 0.25}),
        ("heard", 1.0, {"before": 0.25}),
    ]


def test_a_line_that_was_cut_off_is_left_out_and_its_run_done_again(tmp_path):
    row = json.dumps(measured_row([song_row(0, 1.0)]))
    (tmp_path / "before-1.jsonl").write_text(row + "\n" + row[:30])
    assert len(read_results(tmp_path)["before"][0]) == 1
    assert not run.is_finished(tmp_path, "before-1", BRIEF)
    (tmp_path / "before-1.jsonl").rename(tmp_path / "grpo-1.jsonl")
    with pytest.raises(InputError, match=r"no before-1\.jsonl"):
        read_results(tmp_path)


@pytest.mark.slow
def test_the_whole_study_at_tiny_size_ends_in_a_page_to_listen_to(tmp_path, monkeypatch, capsys):
    """The commands of the README: learn, optimise against nano, measure, and write the page."""
    results, page = tmp_path / "results", tmp_path / "page.html"
    command = ["run.py", str(results), "--size", "tiny", "--workers", "1"]
    runs = "before-1,grpo-1,dpo-1,dpo-null-1,grpo-truth-1"
    monkeypatch.setattr("sys.argv", [*command, "--only", runs])
    run.main()
    assert {path.stem for path in results.glob("*.jsonl")} == set(runs.split(","))
    written = {path: path.stat().st_mtime_ns for path in results.glob("*.jsonl")}
    run.main()  # again: nothing is left to do
    assert {path: path.stat().st_mtime_ns for path in results.glob("*.jsonl")} == written
    monkeypatch.setattr("sys.argv", ["run.py", str(results), "--size", "full"])
    with pytest.raises(SystemExit, match=r"run\.py: .*results"):  # never mixed with runs of another size
        run.main()
    capsys.readouterr()
    monkeypatch.setattr("sys.argv", ["page.py", str(results), str(page), "--picture", str(tmp_path / "curves.svg")])
    write_page.main()
    shown, told = page.read_text(encoding="utf-8"), capsys.readouterr().out
    assert shown.count("<audio") == 5 * 2  # of two prompts, before and after four methods
    assert "http://" not in shown.replace("http://www.w3.org", "") and "https://" not in shown
    for method in ("best of N", "by truth", "grpo", "dpo-null", "grpo-truth"):
        assert method in told and method in shown
    assert "<svg" in (tmp_path / "curves.svg").read_text()

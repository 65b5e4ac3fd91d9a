"""The study of optimisation: songs as tokens, a generator that writes songs only, and optimisers that do optimise."""

import dataclasses
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from corpus import heeded, make_example, tokens_of, write_caption
from generator import GeneratorConfig, SongGenerator
from hypothesis import given, settings
from hypothesis import strategies as st
from optimise import RlConfig, diversity, learn, measure, optimise_dpo, optimise_grpo
from song import ALLOWED, BAR, END, VOCABULARY, Production, Song, read_song, write_song
from take_rewards import TakeRewards, clean_share, make_sound, share_in_key

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


class KnownReward:
    """Rewards what is known of a song, without sound: how clean it is."""

    read_text = Reader()

    def ask(self, songs, asked, seed):
        clean = np.array([clean_share(song) for song in songs])
        names = [one.name for one in dataclasses.fields(TakeRewards)]
        return TakeRewards(**dict.fromkeys(names, clean)), [None] * len(songs)


@pytest.mark.slow
@pytest.mark.parametrize("optimise", [optimise_grpo, optimise_dpo])
def test_a_reward_is_raised_by_its_optimiser_and_not_by_the_shuffled_one(optimise):
    torch.manual_seed(0)
    learned = SongGenerator(TINY)
    rewards: list[float] = []
    model = optimise(learned, BRIEF, KnownReward(), 1, lambda step, model, own: rewards.append(own.mean()))
    before, after = (measure(one, learned, BRIEF, KnownReward(), 0)[0] for one in (learned, model))
    assert after.values["clean"][0] > before.values["clean"][0] + 0.1
    assert before.kl == 0
    assert after.kl > 0
    if optimise is optimise_grpo:
        null = optimise_grpo(learned, BRIEF, KnownReward(), 1, lambda *_: None, shuffled=True)
        by_chance = measure(null, learned, BRIEF, KnownReward(), 0)[0]
        assert by_chance.values["clean"][0] < after.values["clean"][0]


def test_learning_lowers_the_loss():
    torch.manual_seed(0)
    model = SongGenerator(TINY)
    with ThreadPoolExecutor(1) as pool:
        losses = [loss for _, loss in learn(model, dataclasses.replace(BRIEF, learn_steps=25), Reader(), pool)]
    assert losses[-1] < losses[0]


def test_bars_that_come_again_are_less_diverse():
    tokens = tokens_of([make_example(1), make_example(2)], 2, 400)
    assert diversity(tokens, 1) > diversity(torch.cat([tokens, tokens]), 1)

"""The same take, the same score: alone, in any company, in any order."""

import dataclasses
import random

import numpy as np
import pytest
import soundfile
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cmi._util.errors import InputError
from cmi.audio import Waveform, load
from cmi.reward.engine.token_cache import TokenCache
from cmi.reward.model.encoders.muq_mulan import RATE
from cmi.reward.model.head import PromptTokens
from cmi.reward.scoring.scorer import RewardScorer
from cmi.take import Prompt, Take


def noise(seconds: float, seed: int) -> Waveform:
    samples = np.random.default_rng(seed).standard_normal(int(seconds * RATE)).astype(np.float32) / 10
    return Waveform(samples, RATE)


LENGTHS = [0.3, 1.0, 1.0, 2.5, 7.3, 10.0, 31.0]
SOUNDS = [noise(seconds, seed) for seed, seconds in enumerate(LENGTHS)]
PROMPTS = [
    Prompt("slow piano"),
    Prompt("slow piano", "la la la"),
    Prompt("fast drums", "", SOUNDS[1]),
    Prompt("", "oh oh", SOUNDS[-1]),
    Prompt("a text of some length, so that it is padded to another length than the others are"),
    Prompt("x", "y" * 40, SOUNDS[0]),
    Prompt("strings", "la " * 30),
    Prompt(),
    Prompt("slow piano", "", SOUNDS[4]),
    Prompt("", "la la la"),
]
TAKES = [Take(prompt, sound) for prompt in PROMPTS for sound in SOUNDS][:64]


@pytest.fixture(scope="module")
def alone(tiny):
    """Each take on its own, without the engine."""

    @torch.inference_mode()
    def score(take: Take) -> tuple[float, float]:
        prompt = take.prompt
        text, lyrics = (
            tiny.encoder.encode_text(torch.tensor([tiny.tokenize(t)])) for t in (prompt.text, prompt.lyrics)
        )
        sounds = (prompt.reference, take.audio)
        heard = [tiny.hear(torch.from_numpy(sound.samples.copy())) if sound else None for sound in sounds]
        alignment, musicality = tiny(PromptTokens(text, lyrics, heard[0]), heard[1])[0].tolist()
        return musicality, alignment

    return [score(take) for take in TAKES]


@pytest.fixture(scope="module")
def one_by_one(tiny):
    """Each take by an engine of its own."""
    return [RewardScorer(tiny).score([take])[0] for take in TAKES]


def test_the_engine_scores_as_the_model_does_without_it(alone, one_by_one):
    for plain, score in zip(alone, one_by_one, strict=True):
        assert (score.musicality, score.alignment) == pytest.approx(plain, abs=1e-5)


@given(batch=st.integers(1, 64), seed=st.integers(0, 1000))
@settings(max_examples=6, deadline=None)
def test_scores_depend_on_nothing_but_the_take(tiny, one_by_one, batch, seed):
    """64 takes of mixed length and modality, in any order and any batch: equal to the last bit, on any CPU."""
    assert len(TAKES) == 64
    order = random.Random(seed).sample(range(64), 64)
    scores = RewardScorer(tiny, batch=batch).score([TAKES[i] for i in order])
    assert scores == [one_by_one[i] for i in order]


@given(batch=st.integers(1, 9), seed=st.integers(0, 1000))
@settings(max_examples=2, deadline=None)
def test_the_fixed_shapes_of_a_gpu_change_nothing(tiny, alone, batch, seed):
    """Chunks padded to 10 s, tokens to 32, batches filled up: what is padded does not leak."""
    scorer = RewardScorer(tiny, batch=batch)
    scorer.batching = scorer._reader.batching = dataclasses.replace(scorer.batching, fixed=True)
    scorer.group = 2 * batch
    order = random.Random(seed).sample(range(64), 20)
    for i, score in zip(order, scorer.score([TAKES[i] for i in order]), strict=True):
        assert (score.musicality, score.alignment) == pytest.approx(alone[i], abs=1e-5)


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_files_read_ahead_come_back_in_their_order_and_broken_ones_in_their_place(tiny, tmp_path, workers):
    paths = []
    for i in range(12):
        paths.append(tmp_path / f"{i}.wav")
        soundfile.write(paths[-1], noise(0.5 + i / 10, i).samples, RATE, subtype="FLOAT")
    paths[5].write_bytes(b"RIFF")
    takes = [Take(Prompt("a", reference=paths[0] if i % 3 else None), path) for i, path in enumerate(paths)]
    takes.append(Take(Prompt("b"), noise(1, 3)))  # in memory, among files
    takes.append(Take(Prompt("b", reference=paths[5]), paths[1]))
    results = list(RewardScorer(tiny, workers=workers).judge(takes))
    assert [i for i, judged in enumerate(results) if isinstance(judged, InputError)] == [5, 13]
    assert "5.wav" in str(results[13])
    for take, judged in zip(takes, results, strict=True):
        if not isinstance(judged, InputError):
            assert judged.score == RewardScorer(tiny).score([take])[0]


def test_an_endless_supply_of_takes_is_not_read_to_its_end(tiny):
    drawn = []

    def takes():
        for i in range(10_000):
            drawn.append(i)
            yield Take(Prompt("a"), noise(0.1, i))

    first = next(iter(RewardScorer(tiny).judge(takes())))
    assert not isinstance(first, InputError)
    assert len(drawn) < 20


@pytest.fixture
def named(tiny, monkeypatch):
    """A model with a name, as one that was loaded has: what it hears is kept."""
    monkeypatch.setattr(tiny, "name", "tiny@1")
    return tiny


@pytest.fixture
def heard(tiny, monkeypatch):
    """How many chunks were encoded so far."""
    counts = []
    kind = type(tiny.encoder)
    original = kind.encode_sound
    monkeypatch.setattr(kind, "encode_sound", lambda self, x, n: counts.append(len(x)) or original(self, x, n))
    return counts


def test_what_was_heard_is_not_encoded_again(named, heard, tmp_path):
    paths = []
    for i in range(6):
        paths.append(tmp_path / f"{i}.wav")
        soundfile.write(paths[-1], noise(0.5 + i / 10, i).samples, RATE)
    cache = TokenCache(tmp_path / "cache")
    first = RewardScorer(named, cache=cache).score([Take(Prompt("a"), path) for path in paths])
    assert sum(heard) == 6
    assert RewardScorer(named, cache=cache).score([Take(Prompt("a"), path) for path in paths]) == first
    copy = tmp_path / "a copy by another name.wav"
    copy.write_bytes(paths[2].read_bytes())
    RewardScorer(named, cache=cache).score([Take(Prompt("new", reference=copy), path) for path in paths])
    assert sum(heard) == 6
    soundfile.write(paths[0], noise(0.5, 99).samples, RATE)
    RewardScorer(named, cache=cache).score([Take(Prompt("a"), path) for path in paths])
    assert sum(heard) == 7
    RewardScorer(named, "first10", cache=cache).score([Take(Prompt("a"), path) for path in paths])
    assert sum(heard) == 13  # another window, other chunks


def test_a_waveform_that_was_read_is_encoded_once_whatever_prompts_it_answers(tiny, heard):
    """As a server does: each request brings the same samples in an array of its own."""
    scorer, texts = RewardScorer(tiny), ["slow piano", "fast drums", "strings", ""]
    takes = [Take(Prompt(text, reference=noise(0.4, 9)), noise(0.7, 1)) for text in texts]
    alone = [RewardScorer(tiny).score([take])[0] for take in takes]
    before = sum(heard)

    def judge(some):
        return [one.score for one in scorer.judge(some, {job: x for take in some for job, x in read[id(take)].items()})]

    read = {id(take): scorer.read(take) for take in takes}  # before anything was encoded
    assert judge(takes[:2]) + judge(takes[2:]) == alone
    read = {id(take): scorer.read(take) for take in takes}
    assert judge(takes) == alone
    assert sum(heard) == before + 2, "the take and its reference"
    other = Take(takes[0].prompt, noise(0.7, 2))
    read[id(other)] = scorer.read(other)
    assert judge([other]) == RewardScorer(tiny).score([other])


def test_what_comes_from_the_cache_is_remembered_whole_while_workers_read_on(named, tmp_path):
    """A reference serves all takes, long after the memory that it was handed on in was used for others."""
    paths = []
    for i in range(30):
        paths.append(tmp_path / f"{i}.wav")
        soundfile.write(paths[-1], noise(0.5 + i / 50, i).samples, RATE)
    takes = [Take(Prompt(f"prompt {i}", reference=paths[0]), path) for i, path in enumerate(paths[1:])]
    cache = TokenCache(tmp_path / "cache")
    first = RewardScorer(named, cache=cache, workers=0).score(takes)
    again = RewardScorer(named, cache=cache, workers=1).score(takes)
    assert again == first


def test_a_model_without_a_name_keeps_nothing(tiny, heard, tmp_path):
    path = tmp_path / "a.wav"
    soundfile.write(path, noise(1, 1).samples, RATE)
    for _ in range(2):
        RewardScorer(tiny, cache=TokenCache(tmp_path / "cache")).score([Take(Prompt("a"), path)])
    assert sum(heard) == 2


def test_long_lyrics_are_cut_and_said_or_read_in_windows(tiny):
    lyrics, sound = "la " * 400, noise(1, 0)  # 1202 tokens
    (cut,) = RewardScorer(tiny).judge([Take(Prompt("a", lyrics), sound)])
    assert cut.notes == ("512 of 1202 tokens of lyrics read",)
    (same,) = RewardScorer(tiny).judge([Take(Prompt("a", lyrics[:510]), sound)])
    assert same.score == cut.score
    assert not same.notes
    (whole,) = RewardScorer(tiny, all_words=True).judge([Take(Prompt("a", lyrics), sound)])
    assert whole.notes == ("lyrics of 1202 tokens read in 3 windows",)
    assert whole.score != cut.score


@pytest.mark.parametrize(("text", "message"), [("a" * 200_001, "200,001 characters"), ("a\ud800", "surrogate")])
def test_a_prompt_that_is_no_text_spoils_its_own_take_only(tiny, text, message):
    bad, good = RewardScorer(tiny).judge([Take(Prompt(text), noise(1, 0)), Take(Prompt("b"), noise(1, 0))])
    assert message in str(bad)
    assert not isinstance(good, InputError)


def test_files_are_heard_up_to_the_limit_and_the_seconds_are_said(tiny, tmp_path):
    path = tmp_path / "long.wav"
    soundfile.write(path, noise(15, 9).samples, RATE)
    (judged,) = RewardScorer(tiny, "first10").judge([Take(Prompt("a"), path)])
    (same,) = RewardScorer(tiny).judge([Take(Prompt("a"), Waveform(noise(15, 9).samples[: 10 * RATE], RATE))])
    assert judged.seconds == 10
    assert judged.score == pytest.approx(same.score, abs=1e-3)  # 16 bits in the file
    (whole,) = RewardScorer(tiny).judge([Take(Prompt("a"), path)])
    assert whole.seconds == 15


def test_each_text_and_each_recording_is_encoded_once(tiny, heard, monkeypatch):
    read = []
    kind = type(tiny.encoder)
    original = kind.encode_text
    monkeypatch.setattr(
        kind, "encode_text", lambda self, x, n: read.append(tuple(x[0].tolist())) or original(self, x, n)
    )
    RewardScorer(tiny).score(TAKES)
    assert len(read) == len(set(read)) == 10
    assert sum(heard) == 8  # seven recordings, one of them of two chunks


def test_a_prompt_is_fused_once_for_scorers_with_two_windows(tiny, monkeypatch):
    fused = []
    fuse = tiny.head.fuse
    monkeypatch.setattr(tiny.head, "fuse", lambda prompt, mask=None: fused.append(len(prompt)) or fuse(prompt, mask))
    takes = [Take(Prompt(f"prompt {i}"), SOUNDS[-1]) for i in range(20)]
    whole = RewardScorer(tiny)
    sections = whole.with_window("mean10")
    scores, parts = whole.score(takes), list(sections.judge(takes))
    assert sum(fused) == len(takes)
    assert scores == RewardScorer(tiny).score(takes)
    assert parts == list(RewardScorer(tiny, "mean10").judge(takes))
    assert [len(scored.sections) for scored in parts] == [4] * len(takes)


def test_fused_prompts_are_forgotten_before_they_fill_the_memory(tiny, monkeypatch):
    prompts = [Prompt(f"prompt {i}") for i in range(9)]
    size = RewardScorer(tiny).fuse_prompt(prompts[0]).nbytes
    monkeypatch.setattr("cmi.reward.engine.tokens.KEPT_BYTES", 3 * size)
    scorer = RewardScorer(tiny)
    fused = [scorer.fuse_prompt(prompt) for prompt in prompts + prompts]
    assert all(torch.equal(first, again) for first, again in zip(fused[:9], fused[9:], strict=True))
    assert len(scorer._reader._prompts._known) == 3


def test_what_can_not_be_heard_is_bad_input(tiny, tmp_path):
    scorer = RewardScorer(tiny)
    with pytest.raises(InputError, match="nowhere"):
        scorer.score([Take(Prompt("a"), tmp_path / "nowhere.wav")])


def test_no_takes_no_scores(tiny):
    assert RewardScorer(tiny).score([]) == []


def cut(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


@pytest.mark.parametrize("window", ["first120", "mean10", "full"])
def test_a_recording_that_is_cut_off_is_scored_with_a_note_also_from_the_cache(named, tmp_path, window):
    whole, short = tmp_path / "whole.flac", tmp_path / "short.flac"
    for path in (whole, short):
        soundfile.write(path, noise(10.0, 1).samples, RATE)
    cut(short, 0.34)
    takes = [Take(Prompt("a"), short), Take(Prompt("a", reference=short), whole), Take(Prompt("a"), whole)]
    for _ in range(2):
        first, second, third = RewardScorer(named, window, cache=TokenCache(tmp_path / "cache")).judge(takes)
        assert first.notes == (f"cut off: {first.seconds:.1f} of 10.0 s",)
        assert 3 < first.seconds < 3.5
        assert second.notes == tuple(f"reference {note}" for note in first.notes)
        assert third.notes == ()
    sound = Waveform(load(short, RATE).samples, RATE)
    assert RewardScorer(named, window).score([Take(Prompt("a"), sound)]) == [first.score]  # the note moves no score


def test_a_long_recording_that_ends_at_once_after_a_span_is_cut_off_too(tiny, tmp_path):
    path = tmp_path / "long.flac"
    soundfile.write(path, noise(250.0, 1).samples, RATE)
    cut(path, 0.5)
    (judged,) = RewardScorer(tiny, "full").judge([Take(Prompt("a"), path)])
    assert judged.notes == (f"cut off: {judged.seconds:.1f} of 250.0 s",)
    cut(path, 0.9)  # less than the first span, after which nothing can be decoded
    (judged,) = RewardScorer(tiny, "full").judge([Take(Prompt("a"), path)])
    assert judged.notes == (f"cut off: {judged.seconds:.1f} of 250.0 s",)
    assert judged.seconds < 120
    (judged,) = RewardScorer(tiny, "first10").judge([Take(Prompt("a"), path)])
    assert judged.notes == ()

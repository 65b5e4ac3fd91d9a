"""What is heard under each window, and how sections become a score."""

import numpy as np
import pytest
import soundfile

from cmi._util.errors import InputError
from cmi.audio import Waveform
from cmi.reward.model.encoders.muq_mulan import RATE
from cmi.reward.scoring.scorer import RewardScorer
from cmi.take import Prompt, Take

SONG = np.random.default_rng(0).standard_normal(130 * RATE).astype(np.float32) / 10


ASKED = Prompt("a")


def judge(model, samples, window, prompt=ASKED):
    (judged,) = RewardScorer(model, window).judge([Take(prompt, Waveform(samples, RATE))])
    if isinstance(judged, InputError):
        raise judged
    return judged


def spans(judged):
    return [(section.start, section.end) for section in judged.sections]


def test_first10_hears_ten_seconds(tiny):
    judged = judge(tiny, SONG, "first10")
    assert judged.seconds == 10
    assert judged.score == judge(tiny, SONG[: 10 * RATE], "first120").score


def test_mean10_is_the_mean_of_sections_heard_alone(tiny):
    judged = judge(tiny, SONG[: 25 * RATE], "mean10")
    assert spans(judged) == [(0, 10), (10, 20), (20, 25)]
    alone = [judge(tiny, SONG[i * RATE : (i + 10) * RATE][: (25 - i) * RATE], "first10").score for i in (0, 10, 20)]
    for section, score in zip(judged.sections, alone, strict=True):
        assert section.score == pytest.approx(score, abs=1e-6)
    for axis in range(2):
        wanted = sum(score[axis] * seconds for score, seconds in zip(alone, (10, 10, 5), strict=True)) / 25
        assert judged.score[axis] == pytest.approx(wanted, abs=1e-6)
    assert judge(tiny, SONG, "mean10").seconds == 120


def test_full_hears_all_in_sections_of_120_s(tiny):
    judged = judge(tiny, SONG, "full")
    assert spans(judged) == [(0, 120), (120, 130)]
    first, rest = (judge(tiny, part, "first120").score for part in (SONG[: 120 * RATE], SONG[120 * RATE :]))
    for axis in range(2):
        assert judged.score[axis] == pytest.approx((first[axis] * 120 + rest[axis] * 10) / 130, abs=1e-6)
    assert judge(tiny, SONG, "first120").score == pytest.approx(first, abs=1e-6)
    assert judge(tiny, SONG, "first120").seconds == 120


def test_files_are_heard_in_full_as_waveforms_are(tiny, tmp_path):
    path = tmp_path / "song.wav"
    soundfile.write(path, SONG, RATE, subtype="FLOAT")
    (judged,) = RewardScorer(tiny, "full").judge([Take(Prompt("a"), path)])
    assert judged.score == pytest.approx(judge(tiny, SONG, "full").score, abs=1e-6)


def test_a_file_that_ends_before_its_header_says_is_heard_as_far_as_it_goes(tiny, tmp_path):
    path = tmp_path / "cut.wav"
    soundfile.write(path, np.concatenate([SONG, SONG]), RATE)
    path.write_bytes(path.read_bytes()[: 44 + 2 * RATE * 100])  # 100 s of 260
    (judged,) = RewardScorer(tiny, "full").judge([Take(Prompt("a"), path)])
    assert judged.seconds == pytest.approx(100, abs=0.01)


def test_a_rest_too_short_to_hear_is_left_out(tiny):
    judged = judge(tiny, SONG[: 10 * RATE + 1000], "mean10")
    assert spans(judged) == [(0, 10)]


def test_the_reference_is_heard_as_long_as_the_window_is(tiny):
    """Ten seconds under first10, else 120."""
    other = np.random.default_rng(1).standard_normal(40 * RATE).astype(np.float32) / 10
    like = [Prompt("a", reference=Waveform(samples, RATE)) for samples in (other, other[: 10 * RATE])]
    short = [judge(tiny, SONG[: 5 * RATE], "first10", prompt).score for prompt in like]
    assert short[0] == pytest.approx(short[1], abs=1e-6)
    long = [judge(tiny, SONG[: 5 * RATE], "mean10", prompt).score for prompt in like]
    assert long[0] != pytest.approx(long[1], abs=1e-6)


def test_silence_is_refused_by_name_but_may_be_part_of_a_song(tiny, tmp_path):
    path = tmp_path / "silent.wav"
    soundfile.write(path, np.zeros(RATE), RATE)
    scorer = RewardScorer(tiny)
    (silent,) = scorer.judge([Take(Prompt("a"), path)])
    assert "silent.wav: silent" in str(silent)
    (unheard,) = scorer.judge([Take(Prompt("a", reference=path), Waveform(SONG[:RATE], RATE))])
    assert "silent.wav: silent" in str(unheard)
    with pytest.raises(InputError, match="silent: all samples are equal"):
        judge(tiny, np.full(5 * RATE, 0.3, np.float32), "first120")
    late = np.concatenate([np.zeros(121 * RATE, np.float32), SONG[:RATE]])
    assert judge(tiny, late, "full").seconds == 122
    with pytest.raises(InputError, match="silent"):
        judge(tiny, late, "first120")


@pytest.mark.parametrize("samples", [1, 1024])
def test_a_waveform_too_short_to_be_heard_is_refused(tiny, samples):
    with pytest.raises(InputError, match="1025"):
        judge(tiny, SONG[:samples], "first120")
    assert judge(tiny, SONG[:1025], "first120").seconds == pytest.approx(1025 / RATE)


def test_another_rate_is_resampled(tiny):
    t = np.arange(2 * 48_000) / 48_000
    tone = (0.3 * np.sin(2 * np.pi * 440 * t)).astype(np.float32)
    (fine,) = RewardScorer(tiny).judge([Take(Prompt("a"), Waveform(tone, 48_000))])
    assert fine.seconds == 2
    assert fine.score == pytest.approx(judge(tiny, tone[::2].copy(), "first120").score, abs=0.02)


def test_an_unknown_window_is_named(tiny):
    with pytest.raises(InputError, match="first10, mean10, first120, full"):
        RewardScorer(tiny, "all")

import hashlib
import itertools
import os
import struct
import sys
import tracemalloc
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import soundfile
import soxr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cmi import audio
from cmi._util.errors import InputError, MissingExtra
from cmi.audio import (
    SHORTEST,
    Waveform,
    content_hash,
    duration,
    load,
    load_channels,
    load_peaks,
    require_sound,
    windows,
)

SAME_PATH = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
FORMATS = {  # name: (container, encoding, largest error after decoding)
    "int16.wav": ("WAV", "PCM_16", 1e-4),
    "int24.wav": ("WAV", "PCM_24", 1e-6),
    "float.wav": ("WAV", "FLOAT", 1e-7),
    "lossless.flac": ("FLAC", "PCM_16", 1e-4),
    "vorbis.ogg": ("OGG", "VORBIS", 0.2),
    "layer3.mp3": ("MP3", "MPEG_LAYER_III", 0.2),
}


def music(seconds: float, rate: int, channels: int = 2) -> np.ndarray:
    """A sweep and some noise, different in each channel."""
    t = np.arange(round(seconds * rate)) / rate
    noise = np.random.default_rng(7).normal(0, 0.02, (t.size, channels))
    sweeps = [0.3 * np.sin(2 * np.pi * (200 * (c + 1) + 150 * t) * t) for c in range(channels)]
    return (np.stack(sweeps, axis=1) + noise).astype(np.float32)


def write(path, samples, rate, container="WAV", encoding="FLOAT"):
    soundfile.write(path, samples, rate, format=container, subtype=encoding)
    return path


def wav_bytes(channels=1, rate=16_000, data=b"\1\1" * 16_000, claimed=None, bits=16) -> bytes:
    claimed = len(data) if claimed is None else claimed
    frame = channels * bits // 8
    fmt = struct.pack("<HHIIHH", 1, channels, rate, rate * frame % 2**32, frame % 2**16, bits)
    head = b"WAVEfmt " + struct.pack("<I", len(fmt)) + fmt + b"data" + struct.pack("<I", claimed)
    return b"RIFF" + struct.pack("<I", min(len(head) + claimed, 2**32 - 1)) + head + data


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_is_decoded_averaged_and_resampled(tmp_path, name):
    container, encoding, error = FORMATS[name]
    stereo = music(2.0, 44_100)
    path = write(tmp_path / name, stereo, 44_100, container, encoding)
    expected = soxr.resample(stereo.mean(axis=1), 44_100, 24_000, quality="HQ")
    heard = load(path, 24_000)
    assert heard.rate == 24_000
    assert heard.samples.dtype == np.float32
    assert heard.samples.shape == expected.shape
    assert np.abs(heard.samples - expected).max() < error
    assert heard.seconds == pytest.approx(duration(path)) == pytest.approx(2.0)


def test_channels_are_averaged_not_summed_or_picked(tmp_path):
    path = write(tmp_path / "dc.wav", np.tile(np.float32([0.9, 0.3, -0.6]), (8000, 1)), 8000)
    assert np.allclose(load(path, 8000).samples, 0.2, atol=1e-7)


def test_at_its_own_rate_a_mono_file_is_left_alone(tmp_path):
    samples = music(0.5, 22_050, channels=1)
    assert np.array_equal(load(write(tmp_path / "a.wav", samples, 22_050), 22_050).samples, samples[:, 0])


def test_the_name_does_not_decide_the_format(tmp_path):
    samples = music(0.5, 16_000, channels=1)
    for name in ("flac.wav", "noise.raw", "noise.vox", "no suffix"):
        path = write(tmp_path / name, samples, 16_000, "FLAC", "PCM_16")
        assert load(path, 16_000).seconds == 0.5


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("rates", [(44_100, 24_000), (16_000, 44_100), (44_100, 44_100)])
def test_a_crop_equals_the_crop_of_the_whole(tmp_path, name, rates):
    container, encoding, _ = FORMATS[name]
    source, target = rates
    path = write(tmp_path / name, music(8.0, source), source, container, encoding)
    whole = load(path, target).samples
    for offset, seconds in [(0, 1), (0, 0.05), (0.01, 2), (3.21987, 1.5), (6.9, 1.1), (7.5, 60), (7.9, None)]:
        start = round(offset * target)
        expected = whole[start:] if seconds is None else whole[start : start + round(seconds * target)]
        crop = load(path, target, seconds, offset).samples
        assert crop.shape == expected.shape
        assert np.abs(crop - expected).max() < 1e-5


@pytest.mark.parametrize("rates", [(44_101, 24_000), (44_100, 44_099), (192_000, 4_000), (4_000, 192_000)])
def test_a_crop_equals_the_crop_of_the_whole_at_awkward_rates(tmp_path, rates):
    source, target = rates
    path = write(tmp_path / "a.wav", music(6.0, source, channels=1), source)
    whole = load(path, target).samples
    for offset in (1.0 / 3, 2.5, 5.77):
        start = round(offset * target)
        crop = load(path, target, 0.2, offset).samples
        assert np.abs(crop - whole[start : start + crop.size]).max() < 1e-4
        assert crop.size == round(0.2 * target)


def test_memory_follows_the_seconds_asked_for(tmp_path):
    with soundfile.SoundFile(tmp_path / "long.wav", "w", 96_000, 2, "PCM_16") as file:
        for _ in range(60):
            file.write(music(1.0, 96_000))
    for seconds, bound in [(1.0, 3 * 2**20), (None, 16 * 2**20)]:  # the file is 46 MB of float32, 6 MB at 24 kHz mono
        tracemalloc.start()
        heard = load(tmp_path / "long.wav", 24_000, seconds)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert heard.seconds == (seconds or 60.0)
        assert peak < bound


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        ({"channels": 0}, "Channel count is zero"),
        ({"channels": 65_535}, "Too many channels"),
        ({"channels": 100}, "100 channels, expected 1 to 64"),
        ({"rate": 0}, "wrong header"),
        ({"rate": 1}, "1 Hz, expected 4,000 to 768,000 Hz"),
        ({"rate": 2**31 - 1}, "2147483647 Hz, expected"),
        ({"rate": 2**32 - 1}, "wrong header"),
        ({"data": b"\1\1" * 28, "claimed": 2 * 10**9}, r"0\.002 s of sound, the shortest accepted is 0\.05 s"),
        ({"data": b""}, r"no sound in it \(0 s\)"),
        ({"data": b"", "claimed": 2**32 - 1}, r"no sound in it \(0 s\)"),
    ],
)
def test_an_absurd_header_is_an_error_and_allocates_nothing(tmp_path, head, reason):
    path = tmp_path / "hostile.wav"
    path.write_bytes(wav_bytes(**head))
    tracemalloc.start()
    with pytest.raises(InputError, match=rf"hostile\.wav: .*{reason}"):
        load(path, 16_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * 2**20


def flac_with_length(path, frames: int):
    """Overwrite the 36 bits in which a FLAC header states the number of frames; 0 means unknown."""
    head = bytearray(path.read_bytes())
    fields = int.from_bytes(head[18:26], "big")
    head[18:26] = (fields >> 36 << 36 | frames).to_bytes(8, "big")
    path.write_bytes(head)
    return path


def test_a_flac_stream_of_unknown_length_is_read_to_its_last_frame(tmp_path):
    path = write(tmp_path / "a.flac", music(3.0, 16_000), 16_000, "FLAC", "PCM_16")
    whole = load(path, 16_000).samples
    flac_with_length(path, 0)
    assert np.array_equal(load(path, 16_000).samples, whole)
    assert np.array_equal(load(path, 16_000, offset=1.0, seconds=1.0).samples, whole[16_000:32_000])
    with pytest.raises(InputError, match=r"a\.flac: the header does not say how long"):
        duration(path)


def test_a_claim_of_weeks_is_refused_unless_a_crop_is_asked_for(tmp_path):
    path = write(tmp_path / "a.flac", music(3.0, 16_000), 16_000, "FLAC", "PCM_16")
    flac_with_length(path, 2**36 - 1)
    with pytest.raises(InputError, match=r"a\.flac: longer than 2 h, ask for fewer seconds"):
        load(path, 16_000)
    assert load(path, 16_000, seconds=10.0).seconds == 3.0


def test_more_sound_than_memory_holds_is_not_loaded_as_it_is_but_has_peaks(tmp_path, monkeypatch):
    path = write(tmp_path / "a.flac", music(3.0, 16_000), 16_000, "FLAC", "PCM_16")
    level = np.abs(soundfile.read(path)[0]).max(axis=1)
    flac_with_length(path, 0)
    monkeypatch.setattr(audio, "MOST_SAMPLES", 2 * 16_000)
    assert load_channels(path, 1.0)[0].shape == (16_000, 2)
    with pytest.raises(InputError, match=r"a\.flac: too long to measure as a whole: at 16000 Hz at most 0 min"):
        load_channels(path, 3.0)
    peaks, seconds = load_peaks(path, 7)
    assert seconds == 3.0
    np.testing.assert_allclose(peaks, np.maximum.reduceat(level, np.arange(0, 48_000, 7)), atol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_sample_that_is_not_finite_is_refused_in_any_channel(tmp_path, value):
    samples = music(0.5, 16_000)
    samples[-1, 1] = value
    path = write(tmp_path / "a.wav", samples, 16_000)
    for read in (lambda: load_channels(path, 10.0), lambda: load_peaks(path, 16)):
        with pytest.raises(InputError, match=r"a\.wav: samples that are NaN or infinite"):
            read()


def test_a_stream_that_hides_its_length_is_stopped_at_the_longest(tmp_path, monkeypatch):
    monkeypatch.setattr(audio, "LONGEST", 2.0)
    path = write(tmp_path / "a.flac", music(3.0, 16_000), 16_000, "FLAC", "PCM_16")
    flac_with_length(path, 0)
    with pytest.raises(InputError, match="longer than"):
        load(path, 16_000)
    assert load(path, 16_000, offset=1.0).seconds == 2.0


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_cut_off_anywhere_is_used_as_far_as_it_goes_or_named(tmp_path, name):
    container, encoding, _ = FORMATS[name]
    path = write(tmp_path / name, music(1.0, 16_000), 16_000, container, encoding)
    whole, data = load(path, 16_000).samples, path.read_bytes()
    longest = 0
    for cut in [*range(1, 200, 7), *range(200, len(data), max(1, len(data) // 60)), len(data) - 1]:
        path.write_bytes(data[:cut])
        try:
            heard = load(path, 16_000).samples
        except InputError as error:
            assert name in str(error)
        else:
            longest = max(longest, heard.size)
            assert np.array_equal(heard, whole[: heard.size])
    assert longest > 0.6 * whole.size


def test_no_more_than_a_flac_frame_is_lost_where_the_file_is_cut_off(tmp_path):
    path = write(tmp_path / "a.flac", music(4.0, 16_000, channels=1), 16_000, "FLAC", "PCM_16")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert load(path, 16_000).samples.size > 2 * 16_000 - 2 * 4096


def test_what_is_not_there_or_not_a_file_is_named(tmp_path):
    (tmp_path / "empty.wav").touch()
    os.mkfifo(tmp_path / "pipe.wav")
    for name, reason in [
        ("missing.wav", "No such file"),
        (".", "a folder, expected an audio file"),
        ("empty.wav", "an empty file"),
        ("pipe.wav", "not a regular file"),
        ("nul\0.wav", "null byte"),
        ("x" * 300, "File name too long"),
    ]:
        for ask in (duration, lambda path: load(path, 16_000)):
            with pytest.raises(InputError, match=reason):
                ask(tmp_path / name)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rate", [16_000, 24_000])
def test_samples_that_are_no_numbers_are_named(tmp_path, bad, rate):
    samples = music(1.0, 16_000)
    samples[500, 1] = bad
    path = write(tmp_path / "bad.wav", samples, 16_000)
    with pytest.raises(InputError, match=r"bad\.wav: samples that are NaN or infinite"):
        load(path, rate)


def test_a_double_beyond_float32_is_named_without_a_warning(tmp_path):
    path = write(tmp_path / "bad.wav", np.full((16_000, 2), 3e38), 16_000)
    assert load(path, 16_000).samples[0] == np.float32(3e38)
    path = write(tmp_path / "bad.wav", np.full((16_000, 2), 1e300), 16_000, "WAV", "DOUBLE")
    with pytest.raises(InputError, match="NaN or infinite"):
        load(path, 16_000)


def test_silence_is_loaded_and_named_on_demand(tmp_path):
    path = write(tmp_path / "hush.wav", np.zeros((16_000, 2)), 16_000, "WAV", "PCM_16")
    with pytest.raises(InputError, match=r"hush\.wav: silent: all samples are equal"):
        require_sound(load(path, 24_000), path)
    step = np.zeros(16_000, np.float32)
    step[700] = 2.0**-23  # the least that 24 bits can say
    require_sound(Waveform(step, 16_000))


@pytest.mark.parametrize("rate", [16_000, 24_000, 44_100, 48_000])
@pytest.mark.parametrize("offset", [-0.9, 0.3])
def test_a_constant_is_silent_at_any_rate_and_a_click_on_it_is_not(tmp_path, offset, rate):
    samples = np.full((3 * 32_000, 2), offset)
    constant = load(write(tmp_path / "constant.wav", samples, 32_000, "WAV", "PCM_16"), rate)
    with pytest.raises(InputError, match="silent: all samples are equal"):
        require_sound(constant)
    samples[40_000:40_010] += 0.01
    require_sound(load(write(tmp_path / "click.wav", samples, 32_000, "WAV", "PCM_16"), rate))


@pytest.mark.parametrize("name", ["OPUS", "VORBIS"])
def test_silence_is_silence_after_lossy_encoding(tmp_path, name):
    path = write(tmp_path / "hush.ogg", np.zeros((48_000, 2)), 48_000, "OGG", name)
    with pytest.raises(InputError, match="silent"):
        require_sound(load(path, 24_000))


def test_the_shortest_clip(tmp_path):
    samples = music(SHORTEST, 44_100)
    assert load(write(tmp_path / "a.wav", samples, 44_100), 22_050).seconds == pytest.approx(SHORTEST, abs=1e-4)
    write(tmp_path / "a.wav", samples[: len(samples) // 2], 44_100)
    with pytest.raises(InputError, match=r"a\.wav: 0\.025 s of sound, the shortest accepted is 0\.05 s"):
        load(tmp_path / "a.wav", 24_000)


def test_requests_that_make_no_sense_are_named(tmp_path):
    path = write(tmp_path / "a.wav", music(1.0, 16_000), 16_000)
    with pytest.raises(InputError, match=r"a\.wav: no sound that can be decoded from 1 s on"):
        load(path, 16_000, offset=1.0)
    with pytest.raises(InputError, match="a rate of 0 Hz"):
        load(path, 0)
    for seconds in (0.0, 0.01, -1.0, float("nan"), float("inf"), 1e9):
        with pytest.raises(InputError, match="s were asked for"):
            load(path, 16_000, seconds)
    for offset in (-1.0, float("nan"), float("inf"), 1e300):
        with pytest.raises(InputError, match=r"an offset of .* s, expected"):
            load(path, 16_000, offset=offset)
    with pytest.raises(InputError, match="from 1e"):
        load(flac_with_length(write(tmp_path / "b", music(1.0, 16_000), 16_000, "FLAC", "PCM_16"), 0), 16_000, 1, 1e9)


@SAME_PATH
@given(st.binary(max_size=4000))
def test_noise_is_an_error(tmp_path, noise):
    path = tmp_path / "noise.mp3"
    path.write_bytes(noise)
    with pytest.raises(InputError, match=r"noise\.mp3: "):
        load(path, 16_000)


@SAME_PATH
@given(
    name=st.sampled_from(sorted(FORMATS)),
    damage=st.lists(st.tuples(st.floats(0, 0.999), st.binary(min_size=1, max_size=8)), min_size=1, max_size=5),
    head=st.booleans(),
)
def test_damage_never_crashes(tmp_path, name, damage, head):
    container, encoding, _ = FORMATS[name]
    path = write(tmp_path / name, music(0.3, 16_000), 16_000, container, encoding)
    data = bytearray(path.read_bytes())
    for place, patch in damage:
        at = int(place * (min(100, len(data)) if head else len(data)))
        data[at : at + len(patch)] = patch
    path.write_bytes(data)
    try:
        assert np.isfinite(load(path, 24_000, seconds=5.0).samples).all()
    except InputError as error:
        assert name in str(error)


def test_another_format_asks_for_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torchcodec", None)
    monkeypatch.setitem(sys.modules, "torchcodec.decoders", None)
    path = tmp_path / "drums.m4a"
    path.write_bytes(b"\0\0\0\x20ftypM4A \0\0\0\0M4A mp42isom" + bytes(1000))
    with pytest.raises(MissingExtra, match=r"drums\.m4a: .*torchcodec.*pip install 'cmi\[codec\]'"):
        load(path, 16_000)


def test_an_exotic_format_that_libsndfile_may_read_without_end_is_not_read_by_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torchcodec.decoders", None)
    path = write(tmp_path / "dump.sds", music(0.5, 8_000, channels=1), 8_000, "SDS", "PCM_16")
    with pytest.raises(MissingExtra, match="codec"):
        load(path, 8_000)


class PretendDecoder:
    """What we use of torchcodec's AudioDecoder, for a stream that starts at 0.5 s on its own clock."""

    begin = 0.5
    stereo = music(3.0, 16_000)

    def __init__(self, file):
        if file.read(4) != b"\0\0\0\x20":
            raise ValueError("no audio stream")
        self.metadata = SimpleNamespace(
            sample_rate=16_000,
            num_channels=2,
            duration_seconds_from_header=3.0,
            begin_stream_seconds_from_header=self.begin,
        )

    def get_samples_played_in_range(self, start_seconds, stop_seconds):
        start, stop = (round((seconds - self.begin) * 16_000) for seconds in (start_seconds, stop_seconds))
        if start >= len(self.stereo):
            raise RuntimeError("No audio frames were decoded")
        samples = self.stereo[start:stop].T
        return SimpleNamespace(data=SimpleNamespace(numpy=lambda: samples))


def test_another_format_goes_through_torchcodec(tmp_path, monkeypatch):
    decoders = ModuleType("torchcodec.decoders")
    decoders.AudioDecoder = PretendDecoder
    monkeypatch.setitem(sys.modules, "torchcodec", ModuleType("torchcodec"))
    monkeypatch.setitem(sys.modules, "torchcodec.decoders", decoders)
    path = tmp_path / "drums.m4a"
    path.write_bytes(b"\0\0\0\x20ftypM4A " + bytes(1000))
    whole = soxr.resample(PretendDecoder.stereo.mean(axis=1), 16_000, 24_000, quality="HQ")
    assert duration(path) == 3.0
    assert np.allclose(load(path, 24_000).samples, whole, atol=1e-6)
    assert np.allclose(load(path, 24_000, 1.0, 1.5).samples, whole[36_000:60_000], atol=1e-5)
    with pytest.raises(InputError, match=r"drums\.m4a: no sound that can be decoded from 9 s on"):
        load(path, 24_000, 1.0, 9.0)
    path.write_bytes(b"not sound at all")
    with pytest.raises(InputError, match=r"drums\.m4a: not audio"):
        load(path, 24_000)


@pytest.mark.parametrize(
    "samples",
    [[0.1], np.zeros(3), np.zeros(3, np.int16), np.zeros((3, 1), np.float32), np.zeros(0, np.float32)],
)
def test_a_waveform_is_mono_float32_and_not_empty(samples):
    with pytest.raises(InputError, match="waveform"):
        Waveform(samples, 16_000)


def test_a_waveform_is_finite_and_has_a_rate():
    with pytest.raises(InputError, match="NaN or infinite"):
        Waveform(np.array([0, np.nan], np.float32), 16_000)
    with pytest.raises(InputError, match="a rate of 0 Hz"):
        Waveform(np.ones(9, np.float32), 0)
    assert Waveform(np.ones(8000, np.float32), 16_000).seconds == 0.5


def test_windows_are_consecutive_and_the_last_may_be_short():
    assert windows(10, 4) == [slice(0, 4), slice(4, 8), slice(8, 10)]
    assert windows(8, 4) == [slice(0, 4), slice(4, 8)]
    assert windows(3, 4) == [slice(0, 3)]
    assert windows(0, 4) == []
    assert windows(10, 4, 2) == [slice(0, 4), slice(2, 6), slice(4, 8), slice(6, 10)]
    assert windows(10, 2, 5) == [slice(0, 2), slice(5, 7)]
    for wrong in [(-1, 4), (10, 0), (10, 4, 0)]:
        with pytest.raises(ValueError, match="no windows"):
            windows(*wrong)


@given(st.integers(0, 500), st.integers(1, 60), st.integers(1, 60))
def test_windows_cover_everything_once_started(count, window, hop):
    hop = min(hop, window)
    found = windows(count, window, hop)
    assert {i for part in found for i in range(count)[part]} == set(range(count))
    assert all(part.stop - part.start == window for part in found[:-1])
    assert all(part.stop > before.stop for before, part in itertools.pairwise(found))


def test_a_file_is_named_by_its_bytes(tmp_path):
    path = write(tmp_path / "a.wav", music(1.0, 16_000), 16_000)
    assert content_hash(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(InputError, match=r"missing\.wav"):
        content_hash(tmp_path / "missing.wav")


def test_a_waveform_is_named_by_its_rate_and_samples():
    samples = music(0.1, 16_000)[:, 0]
    name = content_hash(Waveform(samples, 16_000))
    assert name == content_hash(Waveform(samples.copy(), 16_000))
    assert name != content_hash(Waveform(samples, 16_001))
    assert name != content_hash(Waveform(samples[1:], 16_000))
    assert len(name) == 64


# Cut off


STATING = ["WAV", "WAVEX", "RF64", "W64", "AIFF", "AU", "FLAC", "MP3"]


def written(path, kind, seconds=10.0, rate=44_100):
    noise = np.random.default_rng(0).standard_normal(int(seconds * rate)) / 10
    soundfile.write(path, noise, rate, format=kind)
    return path


@pytest.mark.parametrize("kind", STATING)
def test_a_file_that_is_cut_off_says_how_long_it_claims_to_be(tmp_path, kind):
    path = written(tmp_path / "sound", kind)
    assert load(path, 24_000).stated is None
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 3])
    cut = load(path, 24_000)
    assert 3 < cut.seconds < 3.5
    assert cut.stated == pytest.approx(10, abs=0.02)
    assert load(path, 24_000, seconds=2.0).stated is None  # all that was asked for is there
    assert load(path, 24_000, seconds=9.0, offset=1.0).stated == cut.stated


def test_a_header_that_states_no_length_claims_nothing(tmp_path):
    ogg = written(tmp_path / "sound", "OGG").read_bytes()
    (tmp_path / "sound").write_bytes(ogg[: len(ogg) // 3])  # the last page tells how long it is
    assert load(tmp_path / "sound", 24_000).stated is None
    wav = bytearray(written(tmp_path / "sound", "WAV", 1.0).read_bytes())
    for size in (0xFFFFFFFF, 0x7FFFF000):  # as written to a pipe
        place = wav.index(b"data") + 4
        wav[4:8] = wav[place : place + 4] = size.to_bytes(4, "little")
        (tmp_path / "sound").write_bytes(wav)
        assert load(tmp_path / "sound", 24_000).stated is None


@pytest.mark.parametrize("tag", [b"", b"ID3\x04\x00\x00\x00\x00\x01\x00" + bytes(128)])
def test_an_mp3_whose_length_is_only_guessed_claims_nothing(tmp_path, tag):
    path = written(tmp_path / "sound", "MP3")
    content = path.read_bytes()
    counted = content.index(b"Info") if b"Info" in content[:4096] else content.index(b"Xing")
    path.write_bytes(tag + content[: len(content) // 3])
    assert load(path, 24_000).stated == pytest.approx(10, abs=0.02)
    uncounted = content[:counted] + b"Nope" + content[counted + 4 :]
    path.write_bytes(tag + uncounted[: len(content) // 3])
    assert load(path, 24_000).stated is None


def test_no_samples_are_silent():
    assert audio.is_silent(np.zeros(0, np.float32))

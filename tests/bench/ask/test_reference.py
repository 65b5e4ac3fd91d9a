"""The reference listener: what each skill hears, on sounds made here; those whose package is missing are skipped."""

import importlib.metadata
import importlib.util
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi._util.errors import InputError
from cmi.bench.ask import Question
from cmi.bench.ask.reference import MADMOM, PARTS, SKILLS, ReferenceListener, version
from cmi.bench.tasks import beat, downbeat, melody, pitch
from cmi.bench.tasks import key as key_task

RATE = 44_100
SAMPLES = Path(__file__).parents[4] / "shared" / "mir-samples"
needs = {part: pytest.mark.skipif(version(part) is None, reason=f"{part} is not installed") for part in PARTS}


def _note(midi: float, seconds: float, harmonics: tuple[float, ...] = (1, 0.5, 0.3, 0.2)) -> np.ndarray:
    times = np.arange(int(RATE * seconds)) / RATE
    pitch_hz = 440 * 2 ** ((midi - 69) / 12)
    tone = sum(level * np.sin(2 * np.pi * pitch_hz * (i + 1) * times) for i, level in enumerate(harmonics))
    return tone * np.exp(-1.5 * times / seconds) * np.clip(np.minimum(times / 0.01, (seconds - times) / 0.1), 0, 1)


def _write(path: Path, samples: np.ndarray) -> Path:
    soundfile.write(path, 0.3 * samples / np.abs(samples).max(), RATE)
    return path


def _ask(dataset: str, audio: Path, text: str = "?") -> str:
    (answer,) = ReferenceListener().answer([Question("1", text, audio, dataset=dataset)])
    if isinstance(answer, InputError):
        raise answer
    return answer


@pytest.fixture(scope="module")
def waltz(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[float]]:
    """Clicks at 120 beats a minute, every third one accented: oom-pah-pah in C major."""
    samples = np.zeros(20 * RATE)
    beats = [0.5 * i for i in range(38)]
    for i, time in enumerate(beats):
        notes = [36] if i % 3 == 0 else [60, 64, 67]
        sound = sum(_note(note, 0.4) for note in notes) * (2 if i % 3 == 0 else 0.6)
        samples[int(time * RATE) :][: len(sound)] += sound[: len(samples) - int(time * RATE)]
    return _write(tmp_path_factory.mktemp("waltz") / "waltz.wav", samples), beats


@pytest.fixture(params=[pytest.param(True, marks=needs[MADMOM], id="madmom"), pytest.param(False, id="numpy")])
def rhythm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """madmom's models, and those that answer without it."""
    if not request.param:
        request.getfixturevalue("beat_weights")
        _hide(monkeypatch, MADMOM)


def test_beats_and_downbeats_of_a_waltz(waltz, rhythm):
    path, beats = waltz
    heard = beat.parse(_ask("gtzan_beat", path))
    assert heard is not None
    assert beat.f_measure(beats, heard, 0.07) > 0.85
    ones = downbeat.parse(_ask("gtzan_downbeat", path))
    assert ones is not None
    assert len(ones) == pytest.approx(len(heard) / 3, abs=2)


def test_a_key_is_one_of_24_by_its_flat_name(waltz, rhythm):
    answer = _ask("GS_key", waltz[0])
    assert str(key_task.parse(answer)) == answer


def test_silence_has_no_beats(tmp_path, monkeypatch, beat_weights):
    _hide(monkeypatch, MADMOM)
    soundfile.write(tmp_path / "silence.wav", np.zeros(5 * RATE), RATE)
    with pytest.raises(InputError, match="the clip is silent"):
        _ask("gtzan_beat", tmp_path / "silence.wav")


def test_without_madmom_the_run_says_what_answers_instead(monkeypatch):
    _hide(monkeypatch, MADMOM)
    listener = ReferenceListener()
    assert "BeatNet 1.1.3 and key profiles" in listener.name and "madmom" not in listener.name
    assert any(said.startswith(MADMOM) and "answer instead" in said for said in listener.missing)


@needs["basic-pitch"]
@pytest.mark.parametrize("midi", [45, 60, 69, 81])
def test_a_single_note_is_its_midi_number(tmp_path, midi):
    assert pitch.parse(_ask("Nsynth_pitch", _write(tmp_path / "note.wav", _note(midi, 3)))) == str(midi)


@needs["swift-f0"]
def test_without_basic_pitch_another_ear_hears_the_note(tmp_path, monkeypatch):
    _hide(monkeypatch, "basic-pitch")
    assert _ask("Nsynth_pitch", _write(tmp_path / "note.wav", _note(64, 3))) == "64"


@needs["basic-pitch"]
def test_a_melody_is_a_list_of_notes(tmp_path):
    tune = [60, 64, 67, 72]
    path = _write(tmp_path / "tune.wav", np.concatenate([_note(note, 1.0) for note in tune]))
    notes = melody.parse(_ask("MedleyDB", path))
    assert notes is not None
    held = [pitch for (start, pitch), (end, _) in zip(notes, [*notes[1:], (4.0, 0)], strict=True) if end - start > 0.5]
    assert held == tune


@needs["swift-f0"]
def test_a_vibrato_is_told_from_a_straight_tone(tmp_path):
    times = np.arange(3 * RATE) / RATE
    for width, expected in ((0.0, "straight"), (0.5, "vibrato")):
        semitones = width * np.sin(2 * np.pi * 5.5 * times)
        phase = 2 * np.pi * np.cumsum(330 * 2 ** (semitones / 12)) / RATE
        voice = sum(np.sin(k * phase) / k for k in range(1, 8))
        assert _ask("VocalSet_tech", _write(tmp_path / "voice.wav", voice)) == expected


@needs["moonshine-voice"]
def test_words_are_heard():
    spec = importlib.util.find_spec("moonshine_voice")
    assert spec is not None
    assert spec.origin is not None
    speech = Path(spec.origin).parent / "assets" / "two_cities.wav"
    assert "it was the best of times" in _ask("DSing", speech).lower()


def test_what_it_has_no_ear_for_is_said():
    with pytest.raises(InputError, match="no model for playing technique"):
        _ask("Guzheng_Tech", Path("none.wav"))


def _hide(monkeypatch: pytest.MonkeyPatch, *hidden: str) -> None:
    original = importlib.metadata.version

    def version(name: str) -> str:
        if name in hidden:
            raise importlib.metadata.PackageNotFoundError(name)
        return original(name)

    monkeypatch.setattr(importlib.metadata, "version", version)


@pytest.mark.parametrize(
    ("part", "dataset", "how"),
    [
        ("swift-f0", "VocalSet_tech", r"pip install 'cmi\[listen\]'"),
        ("moonshine-voice", "DSing", r"pip install 'cmi\[listen\]'"),
    ],
)
def test_a_missing_part_is_said_and_costs_its_own_task_only(monkeypatch, part, dataset, how):
    _hide(monkeypatch, part)
    assert any(missing.startswith(part) for missing in ReferenceListener().missing)
    with pytest.raises(InputError, match=how):
        _ask(dataset, Path("none.wav"))


def test_every_task_but_one_has_a_skill():
    from cmi.bench.catalog import DATASETS

    assert {d.task for d in DATASETS.values()} - set(SKILLS) == {"playing_technique"}


@pytest.mark.skipif(not SAMPLES.exists(), reason="real samples are not here")
def test_beats_of_a_real_waltz(rhythm):
    folder = SAMPLES / "ballroom" / "B_1.0"
    lines = (folder / "annotations" / "beats" / "Media-105901.beats").read_text().splitlines()
    heard = beat.parse(_ask("ballroom_beat", folder / "audio" / "Waltz" / "Media-105901.wav"))
    assert heard is not None
    times = [float(line.split()[0]) for line in lines if line.strip()]
    near = [time for time in heard if times[0] - 0.1 <= time <= times[-1] + 0.1]  # three beats are annotated
    assert beat.f_measure(times, near, 0.07) > 0.9

"""Pitch, melody and singing technique: basic-pitch's notes and swift-f0's fundamental, whichever is installed.

Notes       basic-pitch's network (Bittner and others, ICASSP 2022), run from its ONNX file. The package itself asks for
            TensorFlow and is never imported. Windows of 2 s overlap by 30 frames, of which the outer halves are
            dropped, as its authors do.
Pitch       The MIDI number of a single note. An organ's 16-foot stop sounds an octave below the key that is played: if
            three octaves of one note sound strongly together, the middle one is the pitch. Overtones of other
            instruments are far weaker.
Melody      A list of (seconds, MIDI pitch). For a solo, swift-f0's fundamental, with pitch 0 for silence; for a mix,
            the path through basic-pitch's notes that is strong, high and steady (Viterbi with costs for leaving a note
            and for leaps). The number of simultaneous notes tells a solo from a mix.
Singing     A rule of thumb on the pitch curve: vibrato, trill, straight or breathy. Belting, inhaled singing, lip
            trills and vocal fry are never answered.
"""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.audio import Waveform
from cmi.bench.ask import Question
from cmi.bench.ask.ask import clip
from cmi.bench.ask.reference import require

NOTE_RATE = 22_050
HOP = 256
WINDOW = 43_844  # samples
DROPPED = 15  # frames at either end of a window
LOWEST = 21  # the MIDI pitch of the first of 88 columns
_INPUT, _NOTES = "serving_default_input_2:0", "StatefulPartitionedCall:1"
_FILE = Path("saved_models") / "icassp_2022" / "nmp.onnx"
F0_RATE = 16_000
STACKED = 0.4  # a note's mean activation in a stack of octaves; overtones were seen at 0.27 at most
OCTAVE = 12
LONGEST_NOTE = 8.0  # seconds
SOUNDING = 0.3  # of an activation
MOST_IN_A_SOLO = 2.0  # notes at once, on average: a sung solo had 1.2, the studio's mixes 3.8 and more
# Chosen on ten of the studio's pieces (seed 1), where the whole range tried moved raw pitch accuracy by 0.13.
HEIGHT = 0.02  # what a semitone of height is worth, in nepers of activation
HIGHEST = 84  # the MIDI pitch beyond which height is worth no more
LEAVING = 4.0
LEAP = 0.2  # a semitone, up to an octave
FLOOR = 0.05  # of an activation
FRAMES_PER_SECOND = 62.5  # of swift-f0
SLOWEST, FASTEST = 4.0, 9.0  # hertz of a vibrato
WIDE, WIDER = 0.15, 0.7  # semitones (standard deviation) from which on it is a vibrato, a trill
VOICED = 0.4  # the share of frames with a pitch below which a voice speaks or breathes
SMOOTH = 25  # frames of the moving mean that is the melody without ornaments

T = TypeVar("T")


class NoteNetwork:
    def __init__(self) -> None:
        require("notes", "basic-pitch")
        require("notes", "onnxruntime")
        import onnxruntime

        spec = importlib.util.find_spec("basic_pitch")
        path = Path(spec.origin).parent / _FILE if spec and spec.origin else _FILE
        if not path.is_file():
            raise InputError("basic-pitch is installed without its ONNX file: pip install --no-deps basic-pitch==0.4.0")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def activations(self, waveform: Waveform) -> NDArray[np.float32]:
        """Return the activation of each note: (frames, 88), one frame per HOP samples."""
        windows = _windows(waveform.samples)
        found = self._session.run([_NOTES], {_INPUT: windows[..., None]})[0]  # (windows, 172, 88)
        kept = found[:, DROPPED:-DROPPED].reshape(-1, found.shape[2])
        return np.asarray(kept[: waveform.samples.size // HOP + 1], np.float32)


def _windows(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cut samples into overlapping windows, the last padded with zeros: (windows, WINDOW)."""
    margin = DROPPED * HOP
    step = WINDOW - 2 * margin
    count = -(-(samples.size + margin) // step)
    padded = np.zeros((count - 1) * step + WINDOW, np.float32)
    padded[margin : margin + samples.size] = samples[: padded.size - margin]
    return np.stack([padded[at * step : at * step + WINDOW] for at in range(count)])


class PitchSkill:
    def __init__(self) -> None:
        self._pitch, self._rate = _best_method()

    def answer(self, question: Question) -> str:
        return str(self._pitch(clip(question, self._rate, LONGEST_NOTE)))


def _best_method() -> tuple[Callable[[Waveform], int], int]:
    try:
        network = NoteNetwork()
    except InputError:
        tracker = PitchTracker()
        return lambda waveform: round(float(np.median(tracker.voiced(waveform)))), F0_RATE
    return lambda waveform: from_activations(network.activations(waveform)), NOTE_RATE


def from_activations(activations: NDArray[np.float32]) -> int:
    """Return the MIDI pitch of a single note from the activations of all notes."""
    sounding = activations[activations.max(axis=1) > activations.max() / 2]
    strength = sounding.mean(axis=0)
    note = int(strength.argmax())
    stack = strength[note : note + 2 * OCTAVE + 1 : OCTAVE]
    is_stack = len(stack) == 3 and bool((stack > STACKED).all())
    return LOWEST + note + (OCTAVE if is_stack else 0)


class PitchTracker:
    """swift-f0: one fundamental in each frame."""

    def __init__(self) -> None:
        require("pitch", "swift-f0")
        from swift_f0 import SwiftF0

        self._detector = SwiftF0(threads=1)

    def track(self, waveform: Waveform) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Return times, MIDI pitches, and which frames are voiced."""
        found = self._detector.detect(waveform.samples, waveform.rate)
        return found.timestamps, 69 + 12 * np.log2(np.maximum(found.pitch_hz, 1.0) / 440), found.confidence >= 0.5

    def voiced(self, waveform: Waveform) -> NDArray[np.float64]:
        _, pitches, voiced = self.track(waveform)
        if not voiced.any():
            raise InputError("no pitch was found")
        return pitches[voiced]


class MelodySkill:
    def __init__(self) -> None:
        self._network = load_if_installed(NoteNetwork)
        self._tracker = load_if_installed(PitchTracker)
        if self._network is None and self._tracker is None:
            PitchTracker()  # says what is missing

    def answer(self, question: Question) -> str:
        if self._network is not None:
            activations = self._network.activations(clip(question, NOTE_RATE))
            if self._tracker is None or notes_at_once(activations) >= MOST_IN_A_SOLO:
                path = LOWEST + melody_path(activations)
                return str(note_list(np.arange(len(path)) * HOP / NOTE_RATE, path))
        assert self._tracker is not None
        times, pitches, voiced = self._tracker.track(clip(question, F0_RATE))
        return str(note_list(times, np.where(voiced, np.round(pitches), 0).astype(np.int64)))


def load_if_installed(load: type[T]) -> T | None:
    try:
        return load()
    except InputError:
        return None


def notes_at_once(activations: NDArray[np.float32]) -> float:
    """Return the mean number of notes per frame with any note."""
    count = (activations > SOUNDING).sum(axis=1)
    return float(count[count > 0].mean()) if count.any() else 0.0


def melody_path(activations: NDArray[np.float32]) -> NDArray[np.int64]:
    """Find the melody's column in each frame by Viterbi's algorithm: (T, 88) -> (T,)."""
    columns = np.arange(activations.shape[1])
    gains = np.log(activations + FLOOR) + HEIGHT * np.minimum(columns, HIGHEST - LOWEST)
    distance = np.abs(columns[:, None] - columns)
    costs = LEAVING * (distance > 0) + LEAP * np.minimum(distance, 12)
    total, came_from = gains[0], np.zeros(activations.shape, np.int64)
    for frame in range(1, len(gains)):
        ways = total[:, None] - costs
        came_from[frame] = ways.argmax(axis=0)
        total = ways.max(axis=0) + gains[frame]
    path = np.empty(len(gains), np.int64)
    path[-1] = total.argmax()
    for frame in range(len(gains) - 1, 0, -1):
        path[frame - 1] = came_from[frame, path[frame]]
    return path


def note_list(times: NDArray[np.float64], pitches: NDArray[np.int64]) -> list[tuple[float, int]]:
    """Return (seconds, MIDI pitch) at each change of pitch."""
    if not pitches.any():
        raise InputError("no melody was found")
    begins = np.flatnonzero(np.diff(pitches, prepend=-1))
    return [(round(float(times[i]), 3), int(pitches[i])) for i in begins]


class SingingSkill:
    def __init__(self) -> None:
        self._tracker = PitchTracker()

    def answer(self, question: Question) -> str:
        _, pitches, voiced = self._tracker.track(clip(question, F0_RATE))
        if voiced.mean() < VOICED:
            return "breathy"
        return technique(pitches[voiced])


def technique(pitches: NDArray[np.float64]) -> str:
    """Classify by how far the pitch swings about its moving mean."""
    swing = wobble(pitches)
    return "trill" if swing > WIDER else "vibrato" if swing > WIDE else "straight"


def wobble(pitches: NDArray[np.float64]) -> float:
    """Return the standard deviation (semitones) at vibrato speeds, the median over half seconds."""
    if len(pitches) < 2 * SMOOTH:
        return 0.0
    drift = np.convolve(np.pad(pitches, SMOOTH // 2, mode="edge"), np.ones(SMOOTH) / SMOOTH, mode="valid")
    swing = pitches - drift
    spectrum = np.fft.rfft(swing)
    speeds = np.fft.rfftfreq(len(swing), 1 / FRAMES_PER_SECOND)
    swing = np.fft.irfft(np.where((speeds >= SLOWEST) & (speeds <= FASTEST), spectrum, 0), len(swing))
    windows = np.array_split(swing, max(1, len(swing) // SMOOTH))
    return float(np.median([window.std() for window in windows]))

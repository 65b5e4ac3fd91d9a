"""BeatNet's recurrent network (Heydari, Cwitkowitz and Duan, ISMIR 2021), in numpy: is there a beat, a downbeat?

    22,050 Hz audio -> 136 log-frequency bands and how much each has risen, 50 times a second      272 a frame
    convolution over bands, maxima of neighbours, a dense layer                                    150 a frame
    two recurrent layers (LSTM), a dense layer                                                     3 classes a frame

The wheel that holds the weights (licence CC BY 4.0) requires packages that no longer install: it is never installed
(see `cmi._util.wheels`). The weights are read as raw numbers, without unpickling anything.

Each published network was trained without one data set. The questions of GTZAN and ballroom are answered by the one
that has not seen their clips.
"""

import io
import zipfile
from collections.abc import Mapping
from functools import cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from cmi._util.wheels import Wheel, find_wheel, read_wheel

RATE = 22_050
FRAMES_PER_SECOND = 50
HOP, FRAME = 441, 1411  # samples
LOWEST, HIGHEST, PER_OCTAVE, TUNING = 30.0, 17_000.0, 24, 440.0  # hertz, bands, hertz
CHANNELS, UNITS = 2, 150

WHEEL = Wheel(
    "BeatNet", "1.1.3", "1ecfa17bdcbe899975a88bdb6efebd6970d846a4f3b6cfd5c6f320647c641c7e", "BeatNet's weights", 9
)
UNSEEN = {"gtzan": 1, "ballroom": 2}  # by the first word of a data set's name: the network trained without it
# Files of a checkpoint, each with the names and shapes of the arrays it holds.
_FILES: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "0": {"conv": (CHANNELS, 10)},
    "1": {"conv bias": (CHANNELS,)},
    "2": {"dense": (UNITS, CHANNELS * 131)},
    "3": {"dense bias": (UNITS,)},
    "4": {
        **{f"{kind} {layer}": (4 * UNITS, UNITS) for layer in (0, 1) for kind in ("input", "recurrent")},
        **{f"{kind} bias {layer}": (4 * UNITS,) for layer in (0, 1) for kind in ("input", "recurrent")},
    },
    "5": {"classes": (3, UNITS)},
    "6": {"classes bias": (3,)},
}

Array = NDArray[np.float32]


def activations(samples: Array, dataset: str = "") -> Array:
    """Return the probabilities of a beat that is not a downbeat, of a downbeat, and of neither: (T, 3).

    The network is one that has not seen the clips of `dataset`; its weights are downloaded on first use.
    """
    weights = read_weights(UNSEEN.get(dataset.split("_")[0], 1))
    bands = sliding_window_view(log_bands(samples), weights["conv"].shape[1], axis=1)  # (T, 263, 10)
    found = np.maximum(bands @ weights["conv"].T + weights["conv bias"], 0).transpose(0, 2, 1)  # (T, 2, 263)
    half = found.shape[2] // 2
    pairs = found[:, :, : 2 * half].reshape(len(found), CHANNELS, half, 2)
    hidden = (
        pairs.max(axis=3).reshape(len(found), CHANNELS * half) @ weights["dense"].T + weights["dense bias"]
    )  # (T, 150)
    for layer in (0, 1):
        hidden = _recur(hidden, weights, layer)
    scores = hidden @ weights["classes"].T + weights["classes bias"]
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True), np.float32)


@cache
def read_weights(network: int) -> Mapping[str, Array]:
    arrays: dict[str, Array] = {}
    with zipfile.ZipFile(io.BytesIO(read_wheel(WHEEL, find_wheel(WHEEL)))) as wheel:
        checkpoint = io.BytesIO(wheel.read(f"BeatNet/models/model_{network}_weights.pt"))
    with zipfile.ZipFile(checkpoint) as files:
        for name, shapes in _FILES.items():
            numbers = np.frombuffer(files.read(f"archive/data/{name}"), "<f4")
            ends = np.cumsum([np.prod(shape) for shape in shapes.values()])
            for (array, shape), part in zip(shapes.items(), np.split(numbers, ends[:-1]), strict=True):
                arrays[array] = part.reshape(shape)
    return arrays


def _recur(inputs: Array, weights: Mapping[str, Array], layer: int) -> Array:
    """One layer of long short-term memory: (T, 150) -> (T, 150)."""
    given = inputs @ weights[f"input {layer}"].T + weights[f"input bias {layer}"] + weights[f"recurrent bias {layer}"]
    recurrent = np.ascontiguousarray(weights[f"recurrent {layer}"].T)
    state = memory = np.zeros(UNITS, np.float32)
    states = np.empty((len(inputs), UNITS), np.float32)
    for frame, gates in enumerate(given):
        enter, keep, new, leave = np.split(gates + state @ recurrent, 4)
        memory = _sigmoid(keep) * memory + _sigmoid(enter) * np.tanh(new)
        state = states[frame] = _sigmoid(leave) * np.tanh(memory)
    return states


def _sigmoid(x: Array) -> Array:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))


def log_bands(samples: Array) -> Array:
    """Return the logarithmic spectrum and its rises since the last frame: (T, 272)."""
    count = -(-len(samples) // HOP)
    padded = np.zeros(FRAME + count * HOP, np.float32)  # a frame's middle is its time
    padded[FRAME // 2 : FRAME // 2 + len(samples)] = samples
    frames = sliding_window_view(padded, FRAME)[::HOP][:count] * np.hanning(FRAME).astype(np.float32)
    filters = _filters()
    levels = np.log10(np.abs(np.fft.rfft(frames))[:, : len(filters)] @ filters + 1)
    rises = np.maximum(np.diff(levels, axis=0, prepend=levels[:1]), 0)
    return np.hstack([levels, rises]).astype(np.float32)


@cache
def _filters() -> NDArray[np.float64]:
    """Triangles of area 1 between the spectrum's bins that lie next to quarter tones: (705, 136)."""
    bins = np.arange(FRAME // 2) * RATE / (FRAME - 1)  # hertz, as the network was trained: of an even frame
    steps = np.arange(np.floor(PER_OCTAVE * np.log2(LOWEST / TUNING)), PER_OCTAVE * np.log2(HIGHEST / TUNING))
    tones = TUNING * 2 ** (steps / PER_OCTAVE)
    tones = tones[(tones >= LOWEST) & (tones <= HIGHEST)]
    corners = np.unique(np.abs(bins - tones[:, None]).argmin(axis=1))
    filters = np.zeros((len(bins), len(corners) - 2))
    for band, (left, middle, right) in enumerate(zip(corners, corners[1:], corners[2:], strict=False)):
        if right - left < 2:
            filters[left, band] = 1
        else:
            filters[left:middle, band] = np.linspace(0, 1, middle - left, endpoint=False)
            filters[middle:right, band] = np.linspace(1, 0, right - middle, endpoint=False)
    return np.asarray(filters / filters.sum(axis=0))

"""Which notes sound when: basic-pitch's network (Bittner and others, ICASSP 2022), run from its ONNX file.

The package itself asks for TensorFlow and is never imported. Windows of 2 s overlap by 30 frames, of which the outer
halves are dropped, as its authors do.
"""

import importlib.util
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cmi._util.errors import InputError
from cmi.audio import Waveform
from cmi.bench.ask.reference.parts import require

RATE = 22_050
HOP = 256
WINDOW = 43_844  # samples
DROPPED = 15  # frames at either end of a window
LOWEST = 21  # the MIDI pitch of the first of 88 columns
_INPUT, _NOTES = "serving_default_input_2:0", "StatefulPartitionedCall:1"
_FILE = Path("saved_models") / "icassp_2022" / "nmp.onnx"


class NoteNetwork:
    def __init__(self) -> None:
        require("notes", "basic-pitch")
        require("notes", "onnxruntime")
        import onnxruntime

        spec = importlib.util.find_spec("basic_pitch")
        path = Path(spec.origin).parent / _FILE if spec and spec.origin else _FILE
        if not path.is_file():
            raise InputError("basic-pitch is here without its ONNX file: pip install --no-deps basic-pitch==0.4.0")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def activations(self, waveform: Waveform) -> NDArray[np.float32]:
        """How surely each note sounds: (frames, 88), a frame every HOP samples."""
        windows = _windows(waveform.samples)
        found = self._session.run([_NOTES], {_INPUT: windows[..., None]})[0]  # (windows, 172, 88)
        kept = found[:, DROPPED:-DROPPED].reshape(-1, found.shape[2])
        return np.asarray(kept[: waveform.samples.size // HOP + 1], np.float32)


def _windows(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """(windows, WINDOW), the last filled up with zeros."""
    margin = DROPPED * HOP
    step = WINDOW - 2 * margin
    count = -(-(samples.size + margin) // step)
    padded = np.zeros((count - 1) * step + WINDOW, np.float32)
    padded[margin : margin + samples.size] = samples[: padded.size - margin]
    return np.stack([padded[at * step : at * step + WINDOW] for at in range(count)])


def frame_times(count: int) -> NDArray[np.float64]:
    return np.arange(count) * HOP / RATE

"""The sound that a question is about: its span alone, as the authors' first scripts forgot to cut it."""

from pathlib import Path

import numpy as np
import soundfile

from cmi._util.errors import InputError
from cmi.audio import SHORTEST, Waveform, load
from cmi.bench.ask import Question

FULL_SCALE = 32767


def clip(question: Question, rate: int, longest: float | None = None) -> Waveform:
    """The question's clip at `rate`, mono; of clips longer than `longest` seconds their beginning."""
    length = None if question.end is None else question.end - question.start
    if length is not None and length <= 0:
        raise InputError(f"{question.audio}: a span from {question.start:g} to {question.end:g} s holds nothing")
    if longest is not None:
        length = longest if length is None else min(length, longest)
    return load(question.audio, rate, None if length is None else max(length, SHORTEST), question.start)


def write_wav(waveform: Waveform, path: Path) -> None:
    """16-bit PCM, which every reader of sound understands; what goes beyond full scale is scaled down, not clipped."""
    peak = max(1.0, float(np.abs(waveform.samples).max()))
    soundfile.write(path, (waveform.samples / peak * FULL_SCALE).astype(np.int16), waveform.rate, subtype="PCM_16")

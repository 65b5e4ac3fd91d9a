from types import SimpleNamespace

import soundfile
import torch
from stand_in import record


def load(path):
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return torch.from_numpy(samples.T), rate


def fbank(waveform, **settings):
    """Return as many frames as Kaldi's filter bank has, all zero."""
    record("fbank", channels=len(waveform), **settings)
    assert abs(waveform.mean().item()) < 1e-6
    step = settings["sample_frequency"] * settings["frame_shift"] // 1000
    return torch.zeros(1 + (waveform.shape[1] - 400) // step, settings["num_mel_bins"])


compliance = SimpleNamespace(kaldi=SimpleNamespace(fbank=fbank))

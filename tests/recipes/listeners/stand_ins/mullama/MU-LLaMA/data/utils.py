import soundfile
import torch


def load_and_transform_audio_data(audio_paths, sample_rate=24000):
    samples, rate = soundfile.read(audio_paths[0])
    assert rate == sample_rate
    return torch.from_numpy(samples)[None]

"""What a tune is like, in whatever key and by whatever instrument: which intervals follow after how long.

    16 kHz audio -> spectral peaks, ten times a second -> how strong each of twelve pitch classes is
                 -> for each lag from 0.2 to 4.6 s and each interval, how often one pitch class follows another by both

Nothing is trained. The same tune in another key, or begun at another moment, gives the same numbers; at another tempo
it does not.
"""

import torch
from torch import Tensor
from torch.nn import functional

RATE, FRAME, HOP = 16_000, 4096, 1600
LOWEST, SEMITONES, CLASSES = 40, 60, 12  # MIDI numbers: E2, and five octaves from there
OVERTONES = ((12, 0.6), (19, 0.4), (24, 0.3))  # semitones above a note, and how much they speak for it
STEP, LAGS = 2, 23  # frames that are averaged; lags of as many
MELODY = LAGS * CLASSES


def melody(sound: Tensor) -> Tensor:
    """Of one clip (n,) at 16 kHz: (276,), of unit length or 0."""
    strength = functional.avg_pool1d(pitch_classes(sound)[None], STEP)[0]
    strength = strength - strength.mean(dim=1, keepdim=True)
    places = torch.arange(CLASSES, device=sound.device)
    found = sound.new_zeros(LAGS, CLASSES)
    for lag in range(1, min(LAGS + 1, strength.shape[1])):
        together = strength[:, :-lag] @ strength[:, lag:].T / (strength.shape[1] - lag)
        after = together.gather(1, (places[:, None] + places) % CLASSES)  # by interval
        found[lag - 1] = after.sum(dim=0)
    return functional.normalize(found.flatten(), dim=0)


def pitch_classes(sound: Tensor) -> Tensor:
    """(n,) -> (12, frames), each frame of unit length."""
    padded = functional.pad(sound, (0, max(0, FRAME + STEP * HOP - len(sound))))
    window = torch.hann_window(FRAME, device=sound.device)
    size = torch.stft(padded, FRAME, HOP, window=window, return_complex=True, pad_mode="constant").abs()
    left, middle, right = size[:-2], size[1:-1], size[2:]
    logs = (size + 1e-6).log()
    bend = (logs[:-2] - 2 * logs[1:-1] + logs[2:]).clamp(max=-1e-3)
    bins = torch.arange(1, len(size) - 1, device=sound.device)[:, None] + 0.5 * (logs[:-2] - logs[2:]) / bend
    notes = (69 + 12 * (bins.clamp(min=0.1) * (RATE / FRAME / 440)).log2()).round().long() - LOWEST
    heard = (middle > left) & (middle > right) & (notes >= 0) & (notes < SEMITONES)
    peaks = size.new_zeros(SEMITONES, size.shape[1])
    peaks.scatter_add_(0, notes.clamp(0, SEMITONES - 1), torch.where(heard, middle, 0.0))
    salient = peaks.clone()
    for above, share in OVERTONES:
        salient[:-above] += share * peaks[above:]
    salient = (salient / (salient.amax(dim=0, keepdim=True) + 1e-6)).square()
    folded = salient.view(-1, CLASSES, salient.shape[1]).sum(dim=0)
    return folded / (folded.norm(dim=0, keepdim=True) + 1e-6)

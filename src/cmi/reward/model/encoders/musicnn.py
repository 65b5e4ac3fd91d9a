"""musicnn (Pons and Serra): a tagger of music that hears timbre and rhythm apart, from a log-mel spectrogram.

    16 kHz audio -> 96 log-mels, 62.5 per s
    front end   filters of 7 frames x 38 or 67 bands (timbre), of 128, 64 or 32 frames x 1 band (rhythm); of each
                filter the strongest response over bands                                       561 a frame
    mid end     three convolutions over 7 frames, the last two with residuals                  3 x 64 a frame
    back end    maximum and mean over time -> dense layer of 200 -> 50 tags, on patches of 3 s

Built from the published checkpoint's variables, frozen, in float32. The wheel that holds them pins a TensorFlow and a
NumPy that no longer install: it is never installed (see `cmi._util.wheels`), and TensorFlow is not needed to read it.

Front and mid end are convolutions over time with zeros around, so that `frames` runs on clips of any length. Clips of
different lengths share a call with their lengths beside them; a shorter one then gives the frames it gives alone.

The package rounds mel powers to float16; we do not, since a last bit that differs would then be heard. Its tags move
by less than 1e-4.
"""

import io
import json
import math
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from cmi._util import wheels
from cmi.reward.model.encoders.spectrograms import made_once, mirror_ends, slaney_filters
from cmi.reward.model.head import mask_of

RATE = 16_000
HOP, WINDOW, BANDS = 256, 512, 96
SHORTEST = WINDOW // 2 + 1  # samples: half a window is mirrored at each end, so that a clip must be longer than that
PATCH = 187  # frames, 3 s, that the back end was trained on
DIM = 753  # a frame
NORM_EPSILON = 1e-3  # TensorFlow's
CHUNK = 32  # frames computed at a time: what is needed in between then fits a core's cache
AT_ONCE = 32  # filters convolved together on a GPU: all positions of their responses are held
LOUDEST = 10.0  # no normalised log-mel is larger: full scale gives less than 2
UNMOVED = 1e-6  # a feature that no sound moves by more is a constant

WHEEL = wheels.Wheel(
    "musicnn", "0.1.0", "f38a4890c648c1ddbb141c5d96d2b0a8cfcd36746002d896989f7b88beb65cfa", "musicnn's weights", 28
)
# Of the two checkpoints in the wheel: where a variable's bytes begin and its shape, the same in both; and their tags.
PUBLISHED = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
MODELS = tuple(PUBLISHED["tags"])
MTT_TAGS, MSD_TAGS = map(tuple, PUBLISHED["tags"].values())

Variables = Mapping[str, NDArray[np.float32]]


def load_musicnn(model: Literal["MTT_musicnn", "MSD_musicnn"]) -> "Musicnn":
    """The network trained on MagnaTagATune (MTT) or on the Million Song Dataset (MSD), downloaded on first use."""
    return Musicnn(read_checkpoint(wheels.find_wheel(WHEEL), model))


def read_checkpoint(wheel: Path, model: str) -> Variables:
    """The variables of `model`, one of `MODELS`, by name; InputError unless the wheel is the published one."""
    with zipfile.ZipFile(io.BytesIO(wheels.read_wheel(WHEEL, wheel))) as archive:
        data = archive.read(f"musicnn/{model}/.data-00000-of-00001")
    return {
        name: np.frombuffer(data, "<f4", math.prod(shape), start).reshape(shape)
        for name, (start, shape) in PUBLISHED["variables"].items()
    }


# The spectrogram: librosa.feature.melspectrogram as it was at 0.7, with mirrored ends.


def mel(samples: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Log-mel spectrograms of clips (B, n) at 16 kHz, of which the first `lengths` (B,) samples are sound.

    (B, 1 + n // 256, 96), 0 beyond the end of a clip. Clips of at least `SHORTEST` samples.
    """
    window = torch.hann_window(WINDOW, device=samples.device)
    mirrored = mirror_ends(samples.float(), lengths, WINDOW // 2)  # (B, n + 512)
    spectrum = torch.stft(mirrored, WINDOW, HOP, window=window, center=False, return_complex=True)
    power = torch.view_as_real(spectrum).square().sum(3).transpose(1, 2)  # (B, T, 257)
    logarithmic = (10_000 * (power @ mel_filters().to(samples.device)) + 1).log10()  # (B, T, 96)
    return _only_heard(logarithmic, None if lengths is None else lengths // HOP + 1)


@made_once
def mel_filters() -> Tensor:
    """From 0 to 8 kHz: (257, 96)."""
    return slaney_filters(RATE, WINDOW, BANDS, RATE / 2)


def _only_heard(x: Tensor, lengths: Tensor | None) -> Tensor:
    """(B, T, C): 0 beyond the frames that a clip has."""
    mask = mask_of(lengths, x.shape[1])
    return x if mask is None else x.masked_fill(~mask[:, :, None], 0)


class Frozen(nn.Module):
    """Tensors that move with the module and are in no state dict: they come from the wheel."""

    def keep(self, **tensors: Tensor) -> None:
        for name, tensor in tensors.items():
            self.register_buffer(name, tensor, persistent=False)


class MusicnnNorm(Frozen):
    """A batch norm at rest."""

    gain: Tensor
    shift: Tensor

    def __init__(self, gain: Tensor, shift: Tensor) -> None:
        super().__init__()
        self.keep(gain=gain, shift=shift)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gain + self.shift


class Dense(Frozen):
    kernel: Tensor
    bias: Tensor

    def __init__(self, kernel: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.keep(kernel=kernel, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.kernel + self.bias


# The front end. A filter's responses differ only by where it lies, so that bias, rectifier and batch norm keep their
# order (or turn it round, if the norm's gain is negative): the largest (smallest) response is found first, and one
# value a frame goes on. Of the filters, weight decay has left up to 93 % without weights: these are constants.
#
# All convolutions take one clip and CHUNK frames at a time: products then have the same shapes whatever the length and
# the company of a clip, and its frames are the same to the bit.


class Branch(Frozen, ABC):
    """Filters (frames x bands) slid over a spectrogram, each with its strongest response over bands."""

    live: Tensor
    kernel: Tensor
    constant: Tensor
    sign: Tensor
    bias: Tensor

    def __init__(self, kernel: Tensor, bias: Tensor, norm: MusicnnNorm) -> None:
        """Kernel (frames, bands, C), bias (C,)."""
        super().__init__()
        reach = LOUDEST * kernel.abs().sum((0, 1))
        moved = norm.gain.abs() * (functional.relu(bias + reach) - functional.relu(bias - reach))
        live = (moved > UNMOVED).nonzero()[:, 0]  # L of the C
        sign = norm.gain[live].sign()
        self.keep(live=live, constant=norm(functional.relu(bias)), sign=sign, bias=bias[live])
        self.norm = MusicnnNorm(norm.gain[live], norm.shift[live])
        self.keep(kernel=(kernel[:, :, live] * sign).permute(2, 0, 1)[:, None])  # (L, 1, frames, bands)
        self.prepare(kernel[:, :, live] * sign)

    @abstractmethod
    def prepare(self, kernel: Tensor) -> None:
        """Keep the live kernel (frames, bands, L), turned so that the largest response is wanted."""

    @abstractmethod
    def peaks(self, clip: Tensor) -> Tensor:
        """The largest response over bands at each frame of a clip: (T, 96) -> (T, L)."""

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, 96) -> (B, T, C)."""
        peaks = self.peaks_at_once(x) if x.is_cuda else torch.stack([self.peaks(clip) for clip in x])  # (B, T, L)
        moved = self.norm(functional.relu(peaks * self.sign + self.bias))
        return self.constant.expand(*x.shape[:2], -1).index_copy(2, self.live, moved)

    def peaks_at_once(self, x: Tensor) -> Tensor:
        """The same of many clips, plainly: a GPU has time for all positions, but not for small steps."""
        frames = self.kernel.shape[2]
        padded = functional.pad(x[:, None], (0, 0, (frames - 1) // 2, frames // 2))  # (B, 1, T + frames - 1, 96)
        with torch.backends.cudnn.flags(allow_tf32=False):
            parts = [functional.conv2d(padded, kernel).amax(3) for kernel in self.kernel.split(AT_ONCE)]
        return torch.cat(parts, dim=1).transpose(1, 2)  # (B, T, L)


class Timbre(Branch):
    """Filters of few frames and many bands, correlated along bands by a Fourier transform: a third of the time.

    The transform is as long as there are bands, since no position of a filter goes beyond the last one. Positions are
    counted from the middle one: those at a distance d to either side respond with even(d) + odd(d) and even(d) -
    odd(d), the larger of which is even(d) + |odd(d)|. Only half of the inverse transform is then computed.
    """

    analysis: Tensor
    filters: Tensor
    synthesis: Tensor

    def prepare(self, kernel: Tensor) -> None:
        frames, height, live = kernel.shape
        positions = BANDS - height + 1
        middle = (positions - 1) / 2
        waves = 2 * math.pi / BANDS * torch.arange(BANDS // 2 + 1, dtype=torch.float64)  # F = 49 angular frequencies

        angles = torch.arange(BANDS, dtype=torch.float64)[:, None] * waves
        analysis = torch.stack([angles.cos(), -angles.sin()], 2)  # (96, F, 2)

        share = torch.full_like(waves, 2 / BANDS)  # a frequency stands for itself and its negative
        share[0] = share[-1] = 1 / BANDS
        spectrum = torch.fft.rfft(kernel.double(), BANDS, dim=1).conj()  # (frames, F, L)
        spectrum = spectrum * (share * torch.exp(1j * middle * waves))[:, None]
        real, imaginary = spectrum.real, spectrum.imag
        parts = torch.stack([torch.stack([real, -imaginary], 1), torch.stack([imaginary, real], 1)])
        filters = parts.permute(0, 3, 1, 2, 4).reshape(2, len(waves), 2 * frames, live)

        distances = torch.arange(middle % 1, middle + 1, dtype=torch.float64)[:, None] * waves
        synthesis = torch.stack([distances.cos(), -distances.sin()])  # (2, D, F)
        self.keep(analysis=analysis.float(), filters=filters.float(), synthesis=synthesis.float())
        self.frames = frames

    def peaks(self, clip: Tensor) -> Tensor:
        padded = _with_zeros(clip, self.frames)  # (T + frames - 1, 96)
        (real, imaginary), (cosine, sine) = self.filters, self.synthesis
        bins, live = len(real), real.shape[2]
        product = clip.new_empty(bins, CHUNK, live)  # written again and again: fresh memory would cost more than
        even = clip.new_empty(len(cosine), CHUNK * live)  # the arithmetic
        odd, peaks = torch.empty_like(even), clip.new_empty(len(clip), live)
        for start in range(0, len(clip), CHUNK):
            chunk = padded[start : start + CHUNK + self.frames - 1]
            spectrum = torch.einsum("tn,nfc->ftc", chunk, self.analysis)  # (F, CHUNK + frames - 1, 2)
            windows = spectrum.flatten(1).unfold(1, 2 * self.frames, 2).contiguous()  # (F, CHUNK, 2 frames)
            torch.bmm(windows, real, out=product)
            torch.mm(cosine, product.view(bins, -1), out=even)
            torch.bmm(windows, imaginary, out=product)
            torch.mm(sine, product.view(bins, -1), out=odd)
            torch.amax(even.add_(odd.abs_()), 0, out=peaks[start : start + CHUNK].view(-1))
        return peaks


class Rhythm(Branch):
    """Filters of many frames and one band. STEP frames are computed at once, by STEP shifted copies of each filter:
    a window is then copied once for all of them."""

    STEP = 8
    filters: Tensor

    def prepare(self, kernel: Tensor) -> None:
        frames, _, live = kernel.shape
        shifted = [functional.pad(kernel[:, 0], (0, 0, shift, self.STEP - 1 - shift)) for shift in range(self.STEP)]
        filters = torch.stack(shifted, 1).reshape(frames + self.STEP - 1, self.STEP * live)
        self.keep(filters=filters)
        self.frames = frames

    def peaks(self, clip: Tensor) -> Tensor:
        padded = _with_zeros(clip, self.frames)  # (T + frames - 1, 96)
        windows = padded.T.contiguous().unfold(1, len(self.filters), self.STEP)  # (96, T / STEP, frames + STEP - 1)
        steps = CHUNK // self.STEP
        responses = clip.new_empty(BANDS * steps, self.filters.shape[1])
        peaks = clip.new_empty(len(clip) // self.STEP, self.filters.shape[1])
        for start in range(0, len(peaks), steps):
            torch.mm(windows[:, start : start + steps].flatten(0, 1), self.filters, out=responses)
            torch.amax(responses.view(BANDS, -1), 0, out=peaks[start : start + steps].view(-1))
        return peaks.view(len(clip), -1)


def _with_zeros(clip: Tensor, frames: int) -> Tensor:
    """The zeros that TensorFlow's SAME puts around a clip for a filter of that many frames."""
    return functional.pad(clip, (0, 0, (frames - 1) // 2, frames // 2))


class Layer(Frozen):
    """A convolution over 7 frames, a rectifier, a batch norm."""

    kernel: Tensor
    bias: Tensor

    def __init__(self, kernel: Tensor, bias: Tensor, norm: MusicnnNorm) -> None:
        """Kernel (7, C, 64), bias (64,)."""
        super().__init__()
        self.frames = len(kernel)
        self.keep(kernel=kernel.flatten(0, 1), bias=bias)  # (7 C, 64)
        self.norm = norm

    def convolve(self, clip: Tensor) -> Tensor:
        """(T, C) -> (T, 64)."""
        padded = _with_zeros(clip, self.frames).flatten()
        windows = padded.unfold(0, len(self.kernel), clip.shape[1])  # (T, 7 C)
        return torch.cat([chunk @ self.kernel for chunk in windows.split(CHUNK)])

    def convolve_at_once(self, x: Tensor) -> Tensor:
        """The same of many clips: (B, T, C) -> (B, T, 64)."""
        kernel = self.kernel.view(self.frames, -1, self.kernel.shape[1]).permute(2, 1, 0)  # (64, C, 7)
        with torch.backends.cudnn.flags(allow_tf32=False):
            return functional.conv1d(x.transpose(1, 2), kernel, padding=self.frames // 2).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, C) -> (B, T, 64)."""
        convolved = self.convolve_at_once(x) if x.is_cuda else torch.stack([self.convolve(clip) for clip in x])
        return self.norm(functional.relu(convolved + self.bias))


class Musicnn(nn.Module):
    """One of the two networks, from its variables."""

    def __init__(self, variables: Variables) -> None:
        super().__init__()
        convolutions = [_convolution(variables, index) for index in range(8)]
        kinds = (Timbre, Timbre, Rhythm, Rhythm, Rhythm)
        self.input_norm = _norm(variables, 0)
        self.front_end = nn.ModuleList([kind(*found) for kind, found in zip(kinds, convolutions[:5], strict=True)])
        self.mid_end = nn.ModuleList([Layer(*found) for found in convolutions[5:]])
        self.pool_norm = _norm(variables, 9)
        self.dense = _dense(variables, 0)
        self.dense_norm = _norm(variables, 10)
        self.output = _dense(variables, 1)

    @torch.no_grad()
    def frames(self, mel: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Front end (561) and mid end (3 x 64) of log-mels (B, T, 96), of which the first `lengths` (B,) are heard.

        (B, T, 753), 0 beyond the end of a clip.
        """
        batch, count, _ = mel.shape
        lengths = mel.new_full((batch,), count, dtype=torch.long) if lengths is None else lengths
        chunks = functional.pad(mel, (0, 0, 0, -count % CHUNK))
        x = _only_heard(self.input_norm(chunks), lengths)  # (B, T, 96) of whole chunks
        front = _only_heard(torch.cat([branch(x) for branch in self.front_end], 2), lengths)  # (B, T, 561)
        first, second, third = self.mid_end
        mid = [_only_heard(first(front), lengths)]  # (B, T, 64)
        for layer in (second, third):
            mid.append(_only_heard(mid[-1] + layer(mid[-1]), lengths))
        return torch.cat([front, *mid], 2)[:, :count]

    @torch.no_grad()
    def penultimate(self, mel: Tensor) -> Tensor:
        """The dense layer for patches of log-mels, of `PATCH` frames in training: (B, 187, 96) -> (B, 200)."""
        frames = self.frames(mel)
        return self._dense(frames.amax(1), frames.mean(1))

    @torch.no_grad()
    def tags(self, mel: Tensor) -> Tensor:
        """How likely each of `MTT_TAGS` or `MSD_TAGS` is, from 0 to 1: (B, 187, 96) -> (B, 50)."""
        return self.output(self.penultimate(mel)).sigmoid()

    @torch.no_grad()
    def odds(self, frames: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The tags' log-odds in clips of any length, the mean over patches of 3 s, from `frames` (B, T, 753): (B, 50).

        Patches are cut out of frames that know what is around them, so that `tags` of a patch alone differ a little.
        """
        count = -(-frames.shape[1] // PATCH)
        mean, most, weight = windows(frames, PATCH, count, lengths)
        odds = self.output(self._dense(most, mean))  # (B, P, 50)
        return (odds * weight).sum(1) / weight.sum(1)

    def _dense(self, most: Tensor, mean: Tensor) -> Tensor:
        pooled = torch.stack([most, mean], -1).flatten(-2)  # (..., 1506), in pairs
        return self.dense_norm(functional.relu(self.dense(self.pool_norm(pooled))))


def windows(frames: Tensor, size: int, count: int, lengths: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and maximum (B, count, C) of every `size` frames of (B, T, C) that are there, and how many (B, count, 1).

    Where none is there, all are 0.
    """
    batch, length, width = frames.shape
    there = torch.full((batch,), length, device=frames.device) if lengths is None else lengths
    padded = functional.pad(frames[:, : count * size], (0, 0, 0, max(0, count * size - length)))
    mask = mask_of(there, count * size)
    assert mask is not None
    rows, kept = padded.view(batch, count, size, width), mask.view(batch, count, size, 1)
    weight = kept.sum(dim=2)
    mean = (rows * kept).sum(dim=2) / weight.clamp(min=1)
    most = rows.masked_fill(~kept, -torch.inf).amax(dim=2)
    return mean, torch.where(weight > 0, most, 0), weight


# TensorFlow's names: layers of a kind are counted, the first without a number.


def _convolution(variables: Variables, index: int) -> tuple[Tensor, Tensor, MusicnnNorm]:
    kernel, bias = _layer(variables, "conv2d", index, "kernel", "bias")
    return kernel.squeeze(2), bias, _norm(variables, index + 1)  # one channel in: (frames, bands, C)


def _dense(variables: Variables, index: int) -> Dense:
    return Dense(*_layer(variables, "dense", index, "kernel", "bias"))


def _norm(variables: Variables, index: int) -> MusicnnNorm:
    names = ("gamma", "beta", "moving_mean", "moving_variance")
    gamma, beta, mean, variance = _layer(variables, "batch_normalization", index, *names)
    gain = gamma * torch.rsqrt(variance + NORM_EPSILON)
    return MusicnnNorm(gain, beta - mean * gain)


def _layer(variables: Variables, kind: str, index: int, *names: str) -> list[Tensor]:
    number = f"_{index}" if index else ""
    return [torch.tensor(variables[f"{kind}{number}/{name}"]) for name in names]

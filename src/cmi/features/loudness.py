"""Integrated loudness by ITU-R BS.1770-4, block by block.

K-weighting (a shelf and a high-pass), power over 0.4 s every 0.1 s, weighted sum of channels, and two gates: blocks
below -70 LUFS are dropped, then those 10 LU below the mean of the rest. A mono recording counts as two equal channels,
because both loudspeakers play it.

The filters are applied by FFT with a truncated response (MEMORY): importing scipy.signal would take longer than
decoding most uploads.
"""

import math

import numpy as np
from numpy.typing import NDArray

ABSOLUTE_GATE = -70.0  # LUFS
RELATIVE_GATE = -10.0  # LU
OFFSET = -0.691  # makes a full-scale 1 kHz sine in one front channel -3.01 LUFS
STEPS = 4  # of 0.1 s in a block
SHORT_TERM = 30  # of 0.1 s
MEMORY = 0.2  # seconds after which the filters' response has fallen below 1e-15
# (frequency in hertz, Q) of the analogue filters behind the standard's coefficients at 48 kHz
SHELF, SHELF_GAIN, SHELF_BAND = (1681.974450955533, 0.7071752369554196), 3.999843853973347, 0.4996667741545416
HIGH_PASS = (38.13547087602444, 0.5003270373238773)
# left, right, centre, surrounds; the LFE channel of 5.1 does not count
WEIGHTS = {1: (2.0,), 5: (1.0, 1.0, 1.0, 1.41, 1.41), 6: (1.0, 1.0, 1.0, 0.0, 1.41, 1.41)}


class LoudnessMeter:
    def __init__(self, rate: int, channels: int) -> None:
        self._rate = rate
        self._weights = np.array(WEIGHTS.get(channels, (1.0,) * channels))
        self._tail = np.zeros((math.ceil(MEMORY * rate), channels), np.float32)  # of the input
        self._size = 2 ** max(16, math.ceil(math.log2(4 * len(self._tail))))
        self._response = frequency_response(rate, self._size)
        self._heard = 0  # samples
        self._energy = np.zeros(0)  # of each 0.1 s

    def add(self, samples: NDArray[np.float32]) -> None:
        portion = self._size - len(self._tail)
        for start in range(0, len(samples), portion):
            self._add(samples[start : start + portion])

    def _add(self, samples: NDArray[np.float32]) -> None:
        known = np.concatenate([self._tail, samples])
        transformed = np.fft.rfft(known.T.astype(np.float64, order="C"), self._size) * self._response
        weighted = np.fft.irfft(transformed, self._size)[:, len(self._tail) : len(known)]
        self._tail = known[len(samples) :]
        steps = (self._heard + np.arange(len(samples))) * 10 // self._rate
        energy = np.bincount(steps - steps[0], weights=self._weights @ weighted**2)
        grown = np.zeros(int(steps[-1]) + 1)
        grown[: len(self._energy)] = self._energy
        grown[steps[0] :] += energy
        self._energy, self._heard = grown, self._heard + len(samples)

    def short_term(self) -> list[float]:
        """Short-term loudness by EBU Tech 3341 in LUFS: of 3 s, once a second; silence is -70. Empty below 3 s."""
        whole = self._heard * 10 // self._rate
        power = np.convolve(self._energy[:whole], np.ones(SHORT_TERM), "valid") if whole >= SHORT_TERM else np.zeros(0)
        audible = np.maximum(power[::10] / (0.1 * SHORT_TERM * self._rate), _power(ABSOLUTE_GATE))
        return [_lufs(float(value)) for value in audible]

    def integrated(self) -> float | None:
        """In LUFS; None if nothing passes the gates."""
        whole = self._heard * 10 // self._rate  # steps that are complete
        if whole < STEPS:
            return None
        power = np.convolve(self._energy[:whole], np.ones(STEPS), "valid") / (0.1 * STEPS * self._rate)
        audible = power[power > _power(ABSOLUTE_GATE)]
        if not audible.size:
            return None
        kept = audible[audible > _power(_lufs(audible.mean()) + RELATIVE_GATE)]
        return _lufs(kept.mean())


def k_weighting(rate: int) -> NDArray[np.float64]:
    """The two filters as second-order sections."""
    frequency, q = SHELF
    k = math.tan(math.pi * frequency / rate)
    high = 10 ** (SHELF_GAIN / 20)
    band = high**SHELF_BAND
    shelf = [high + band * k / q + k * k, 2 * (k * k - high), high - band * k / q + k * k, *_poles(k, q)]
    frequency, q = HIGH_PASS
    k = math.tan(math.pi * frequency / rate)
    scale = 1 + k / q + k * k  # the standard's high-pass has a numerator of 1, -2, 1 exactly
    high_pass = [scale, -2 * scale, scale, *_poles(k, q)]
    return np.array([[value / section[3] for value in section] for section in (shelf, high_pass)])


def frequency_response(rate: int, size: int) -> NDArray[np.complex128]:
    """Response of both filters at the frequencies of an FFT of `size` samples."""
    back = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)  # by one sample
    powers = np.stack([np.ones_like(back), back, back**2])
    response: NDArray[np.complex128] = np.prod(
        [(section[:3] @ powers) / (section[3:] @ powers) for section in k_weighting(rate)], axis=0
    )
    return response


def _poles(k: float, q: float) -> tuple[float, float, float]:
    return 1 + k / q + k * k, 2 * (k * k - 1), 1 - k / q + k * k


def _lufs(power: float) -> float:
    return OFFSET + 10 * math.log10(power)


def _power(lufs: float) -> float:
    return 10 ** ((lufs - OFFSET) / 10)

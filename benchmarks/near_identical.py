"""How often `cmi pairs` takes two takes for the same sound, and how often it recognises a copy.

    cmi studio generate takes --prompts 20 --candidates 10 --seed 0
    python benchmarks/near_identical.py takes [--copies 60]

Pairs of different takes should not be found: those of one prompt, as the command compares them, and those of two
prompts. Copies should be found: each is a take after one change. The last column is the correlation that is nearest to
the threshold from the wrong side: the highest of different takes, the lowest of copies.
"""

import argparse
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from cmi.audio import Waveform, load, resample
from cmi.features import RATE
from cmi.pairs.fingerprint import SAME, fingerprint, similarities
from cmi.pairs.pool import read_pool
from cmi.stats.intervals import Share

Samples = NDArray[np.float32]
Change = Callable[[Samples], Samples]


def code(samples: Samples, kind: str, subtype: str | None = None) -> Samples:
    file = io.BytesIO()
    soundfile.write(file, samples, RATE, format=kind, subtype=subtype)
    file.seek(0)
    decoded: Samples = soundfile.read(file, dtype="float32")[0]
    return decoded


def at_rate(samples: Samples, rate: int) -> Samples:
    return resample(resample(Waveform(samples, RATE), rate), RATE).samples


def with_noise(samples: Samples, decibels: float) -> Samples:
    noise = np.random.default_rng(0).standard_normal(len(samples))
    return (samples + noise * np.sqrt(np.mean(samples**2)) * 10 ** (decibels / 20)).astype(np.float32)


CHANGES: dict[str, Change] = {
    "12 dB softer": lambda samples: samples * np.float32(0.25),
    "MP3": lambda samples: code(samples, "MP3"),
    "OGG Vorbis": lambda samples: code(samples, "OGG", "VORBIS"),
    "8-bit PCM": lambda samples: code(samples, "WAV", "PCM_U8"),
    "resampled to 16 kHz": lambda samples: at_rate(samples, 16_000),
    "begins 0.31 s later": lambda samples: samples[int(0.31 * RATE) :],
    "begins 1.7 s later": lambda samples: samples[int(1.7 * RATE) :],
    "first 10 s": lambda samples: samples[: 10 * RATE],
    "noise at -30 dB": lambda samples: with_noise(samples, -30),
    "begins 3 s later": lambda samples: samples[3 * RATE :],
}


def show(name: str, values: NDArray[np.float64], nearest: float) -> None:
    found = Share(int((values >= SAME).sum()), len(values))
    low, high = (100 * end for end in found.interval)
    print(f"{name:26} {found.n:7,} {found.hits:7,} {100 * found.value:8.2f} %  {low:6.2f} - {high:6.2f}  {nearest:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("takes", type=Path, nargs="+")
    parser.add_argument("--copies", type=int, default=60)
    given = parser.parse_args()
    pool = read_pool(given.takes)
    sounds = [load(take.path, RATE, 120.0) for take in pool.takes]
    matrix = similarities([fingerprint(sound) for sound in sounds])
    prompts = np.array([take.prompt for take in pool.takes])
    upper = np.triu(np.ones(matrix.shape, bool), 1)
    same = prompts[:, None] == prompts[None, :]
    print(f"threshold {SAME}\n{'':26} {'pairs':>7} {'found':>7} {'share':>10}  {'95 %':>15}  nearest")
    for name, chosen in {"takes of one prompt": upper & same, "takes of two prompts": upper & ~same}.items():
        if chosen.any():
            show(name, matrix[chosen], float(matrix[chosen].max()))
    some = sounds[:: max(1, len(sounds) // given.copies)][: given.copies]
    for name, change in CHANGES.items():
        copies = [fingerprint(Waveform(np.ascontiguousarray(change(sound.samples)), RATE)) for sound in some]
        pairs = zip(map(fingerprint, some), copies, strict=True)
        values = np.array([similarities([one, copy])[0, 1] for one, copy in pairs])
        show(f"copies: {name}", values, float(values.min()))


if __name__ == "__main__":
    main()

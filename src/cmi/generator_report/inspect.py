"""Inspect recordings without a model, several at once, each decoded once: what is wrong, tempo, key, loudness, copies.

Each result is logged as it comes and found again by the file's path, size and time of writing, so that a killed command
loses what it was at. Torch is not imported here: processes start at once.
"""

import base64
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soxr
from numpy.typing import NDArray

from cmi._util.errors import InputError, reason_of
from cmi._util.runlog import RunLog, read_records
from cmi.audio import LONGEST, Waveform, load_channels
from cmi.critic.observe import LOW_RATE, Observation, ObservedSound, observe_sound
from cmi.features import key
from cmi.features.loudness import LoudnessMeter
from cmi.pairs.fingerprint import SECONDS, fingerprint
from cmi.report.players import Outline, outline_of
from cmi.reward.scoring.score_log import file_stamp

VERSION = "1"  # changes with what is measured
KEY_SECONDS = 10.0

Prints = NDArray[np.float32]


@dataclass(frozen=True)
class Inspection:
    """What a recording is like, without a model."""

    seconds: float
    peaks: list[float]  # of the waveform, 0 to 1
    observations: list[Observation]
    loudness: float | None  # LUFS, of all; None for silence
    loudness_over_time: list[float]  # of 3 s, once a second
    tempo: float | None  # beats a minute; None without a pulse
    tempo_over_time: list[tuple[float, float]]  # middle of 8 s in seconds, beats a minute
    key: str | None
    keys: list[str | None]  # of each 10 s
    fingerprint: Prints

    @property
    def outline(self) -> Outline:
        return Outline(self.seconds, self.peaks)

    def record(self) -> dict[str, Any]:
        encoded = base64.b64encode(self.fingerprint.astype("<f4").tobytes()).decode("ascii")
        return {**self.__dict__, "observations": [tuple(one) for one in self.observations], "fingerprint": encoded}

    @staticmethod
    def read(record: dict[str, Any]) -> "Inspection | None":
        """The inspection of a record; None if it is not one."""
        try:
            fields = {name: record[name] for name in Inspection.__dataclass_fields__}
            fields["observations"] = [Observation(*one) for one in record["observations"]]
            fields["tempo_over_time"] = [(at, tempo) for at, tempo in record["tempo_over_time"]]
            fields["fingerprint"] = np.frombuffer(base64.b64decode(record["fingerprint"]), "<f4").astype(np.float32)
        except (KeyError, TypeError, ValueError):
            return None
        return Inspection(**fields)


def inspect_recording(path: Path) -> Inspection:
    """Decode a recording once and measure it; InputError if it cannot be decoded."""
    samples, rate = load_channels(path, LONGEST)
    sound = ObservedSound(samples, rate)
    meter = LoudnessMeter(rate, samples.shape[1])
    meter.add(samples)
    loudness, curve = meter.integrated(), sound.tempo
    whole, keys = find_keys(sound.low)
    return Inspection(
        seconds=sound.seconds,
        peaks=outline_of(samples, rate).peaks,
        observations=observe_sound(sound),
        loudness=None if loudness is None else round(loudness, 2),
        loudness_over_time=[round(value, 1) for value in meter.short_term()],
        tempo=None if curve is None else round(curve.tempo, 1),
        tempo_over_time=[]
        if curve is None
        else [(round(float(at), 2), round(float(one), 1)) for at, one in zip(curve.times, curve.tempos, strict=True)],
        key=whole,
        keys=keys,
        fingerprint=fingerprint(Waveform(sound.low[: round(SECONDS * LOW_RATE)], LOW_RATE))
        if sound.low.size
        else np.zeros(0, np.float32),
    )


def find_keys(samples: Prints) -> tuple[str | None, list[str | None]]:
    """The key of mono sound at LOW_RATE, and of each 10 s; a rest of less than half is left out."""
    low = soxr.resample(samples, LOW_RATE, key.RATE)
    size = round(KEY_SECONDS * key.RATE)
    count = max(1, round(len(low) / size))
    chromas: list[NDArray[np.float64] | None] = []
    for start in range(0, count * size, size):
        try:
            chromas.append(key.chroma(low[start : start + size]))
        except InputError:  # silence, or noise alone
            chromas.append(None)
    heard = [one for one in chromas if one is not None]
    whole = str(key.key_of(np.mean(heard, axis=0))) if heard else None
    return whole, [None if one is None else str(key.key_of(one)) for one in chromas]


@contextmanager
def inspecting(
    pool: ProcessPoolExecutor, paths: Sequence[Path], log: Path, on_inspected: Callable[[], None] = lambda: None
) -> Iterator[Callable[[], dict[Path, Inspection | InputError]]]:
    """Inspect recordings while the block does something else; yields a function that waits for the results.

    Open the pool before anything that holds locks or threads.
    """
    keys = {path: _key(path) for path in paths}
    with RunLog(log) as kept, ThreadPoolExecutor(1) as thread:
        known = {record["id"]: read for record in read_records(log) if (read := Inspection.read(record)) is not None}
        asked = {path: pool.submit(_inspect, path) for path, own in keys.items() if own not in known}

        def collect() -> dict[Path, Inspection | InputError]:
            found: dict[Path, Inspection | InputError] = {}
            for path, own in keys.items():
                found[path] = asked[path].result() if path in asked else known[own]
                if isinstance(result := found[path], Inspection) and own not in kept:
                    kept.append({"id": own, "audio": str(path), **result.record()})
                on_inspected()
            kept.finish()
            return found

        try:
            yield thread.submit(collect).result
        finally:
            for future in asked.values():
                future.cancel()


def _key(path: Path) -> str:
    return hashlib.sha256(os.fsencode(f"{VERSION}\n{file_stamp(path)}")).hexdigest()[:32]


def _inspect(path: Path) -> Inspection | InputError:
    try:
        with np.errstate(over="raise", invalid="raise"):  # samples far beyond full scale
            return inspect_recording(path)
    except InputError as error:
        return error
    except (ArithmeticError, MemoryError, ValueError) as error:  # one odd file does not end the others
        return InputError(f"{path}: cannot be inspected ({reason_of(error)})")

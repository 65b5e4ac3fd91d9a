"""Systems that do what the prompt's text says, well or badly."""

import os
import threading
import time
from pathlib import Path
from types import MappingProxyType

import numpy as np

from cmi.audio import Waveform
from cmi.generate import GeneratedSound, GenerationError, GeneratorStopped

RATE = 8000


def tone(seconds, pitch=440.0, level=0.5):
    return (level * np.sin(2 * np.pi * pitch * np.arange(round(seconds * RATE)) / RATE)).astype(np.float32)


class Odd:
    name, version, licence = "odd", "1", "CC0-1.0"
    accepts = ("text", "lyrics")
    settings = MappingProxyType({"level": 0.5})

    def generate(self, prompt, seed, seconds):
        length = seconds or 2.0
        match prompt.text:
            case "nothing":
                return None
            case "html":
                return b"<html>"
            case "whole numbers":
                return GeneratedSound(np.ones((16_000, 1), np.int16), RATE)
            case "empty":
                return GeneratedSound(np.empty((0, 2), np.float32), RATE)
            case "not a number":
                return GeneratedSound(np.full((16_000, 1), np.nan, np.float32), RATE)
            case "silence":
                return Waveform(np.zeros(16_000, np.float32), RATE)
            case "clipped":
                return Waveform(np.clip(tone(length) * 20, -1, 1), RATE)
            case "short":
                return Waveform(tone(length * 0.6), RATE)
            case "blink":
                return Waveform(tone(0.5), RATE)
            case "endless":
                return Waveform(tone(length * 5), RATE)
            case "refused":
                raise GenerationError("refused", "the lyrics name an artist")
            case "crash":
                raise ZeroDivisionError("a bug")
            case "out of credit":
                raise GeneratorStopped("no credit left")
        return Waveform(tone(length, 200 + 10 * seed), RATE)


class Stereo(Odd):
    name = "stereo"

    def generate(self, prompt, seed, seconds):
        return GeneratedSound(np.stack([tone(2.0), tone(2.0, 220, level=3.0)], axis=1), RATE, cost=0.25)


class Paid(Odd):
    """Counts the calls in flight, and the calls in a file."""

    name, price, concurrency = "paid", 0.1, 4
    most = 0

    def __init__(self):
        self._now, self._lock = 0, threading.Lock()

    def keep_in(self, folder: Path):
        self._folder = folder

    def generate(self, prompt, seed, seconds):
        with self._lock:
            self._now += 1
            Paid.most = max(Paid.most, self._now)
        time.sleep(0.02)
        with self._lock:
            self._now -= 1
            with (self._folder / "calls").open("a") as file:
                file.write(f"{prompt.text} {seed}\n")
        return super().generate(prompt, seed, seconds)


class Slow(Odd):
    """Writes each call into a file before it is made, slowly."""

    name = "slow"

    def generate(self, prompt, seed, seconds):
        time.sleep(0.1)
        with Path(os.environ["CALLS"]).open("a") as file:
            file.write(f"{prompt.text}\n")
        return Waveform(tone(1.5), RATE)


class Bare:
    def generate(self, prompt, seed, seconds):
        return Waveform(tone(2.0), RATE)


class Deaf:
    accepts = ("smell",)

    def generate(self, prompt, seed, seconds): ...


class NotASystem:
    pass

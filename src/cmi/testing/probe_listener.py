"""A listener for a fake endpoint that answers the probe of hearing (`cmi.llm.hearing`) by what it hears of each clip.

with fake_endpoint(partial(answer_probe, seconds=30)) as server:      # a server that cuts recordings
"""

import math

import numpy as np

from cmi.llm.hearing import QUESTION
from cmi.testing.chat_endpoint import Body, sounds_of

LOUD = 0.06  # RMS of a second with more than the soft piano
BRIGHT = 5000.0  # hertz: drums have noise above, the siren has not
NOISY = 0.01  # share of the energy above


def is_probe(body: Body) -> bool:
    """Whether a request is a clip of the probe."""
    contents = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    return any(part.get("text") == QUESTION for parts in contents for part in parts)


def answer_probe(body: Body, seconds: float = math.inf) -> str:
    """Name the sound that is heard in the first `seconds` of the last clip: siren, drums or none."""
    sound = sounds_of(body)[-1]
    heard = sound.samples[: int(min(sound.seconds, seconds) * sound.rate)]
    loud = [second for second in _seconds(heard, sound.rate) if np.sqrt(np.mean(second**2)) > LOUD]
    if not loud:
        return "none"
    spectrum = np.abs(np.fft.rfft(np.concatenate(loud))) ** 2
    high = np.fft.rfftfreq(sum(map(len, loud)), 1 / sound.rate) > BRIGHT
    return "drums" if spectrum[high].sum() > NOISY * spectrum.sum() else "siren"


def _seconds(samples: np.ndarray, rate: int) -> list[np.ndarray]:
    return [samples[start : start + rate] for start in range(0, len(samples) - rate // 2, rate)]

"""A server in this process with a scorer that needs no model: fast, and its scores are known."""

import base64
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import soundfile
from starlette.testclient import TestClient

from cmi._util.errors import InputError
from cmi.audio import Waveform, load
from cmi.reward.scoring.scorers import NamedScorer
from cmi.serve import ScoreQueue, ServeLimits, create_app
from cmi.take import Score

URL = "http://127.0.0.1"


class Loudness:
    """Musicality is how loud a take is, alignment the length of its text."""

    calls: list[int]

    def __init__(self) -> None:
        self.calls = []

    def score(self, takes):
        self.calls.append(len(takes))
        return [Score(self.hear(take.audio), float(len(take.prompt.text))) for take in takes]

    @staticmethod
    def hear(audio) -> float:
        sound = audio if isinstance(audio, Waveform) else load(audio, 16_000)
        if not sound.samples.any():
            raise InputError(f"{audio if not isinstance(audio, Waveform) else 'a waveform'}: silent")
        return float(np.abs(sound.samples).mean())


def encoded(samples) -> str:
    return base64.b64encode(np.asarray(samples, "<f4").tobytes()).decode("ascii")


def sound(level: float = 0.5, rate: int = 16_000, seconds: float = 0.5) -> dict[str, object]:
    return {"samples": encoded(np.full(round(rate * seconds), level)), "rate": rate}


@pytest.fixture
def scorer() -> Loudness:
    return Loudness()


@pytest.fixture
def serving(scorer) -> Iterator[Callable[..., TestClient]]:
    queues = []

    def start(most_waiting: int = 64, name: str = "loudness@1", **options) -> TestClient:
        queues.append(ScoreQueue(NamedScorer(name, scorer), most_waiting))
        return TestClient(create_app(queues[-1], **options), URL, raise_server_exceptions=False)

    yield start
    for queue in queues:
        queue.close()


@pytest.fixture
def client(serving, tmp_path) -> TestClient:
    return serving(limits=ServeLimits(body_bytes=2_000_000, body_seconds=20.0), allowed=[tmp_path / "takes"])


@pytest.fixture
def folder(tmp_path):
    """Three takes below an allowed folder, and one outside of it."""
    takes = tmp_path / "takes"
    takes.mkdir()
    for name, level in {"quiet": 0.1, "loud": 0.6, "silent": 0.0}.items():
        soundfile.write(takes / f"{name}.wav", np.full(8_000, level, np.float32), 16_000, subtype="FLOAT")
    soundfile.write(tmp_path / "secret.wav", np.full(8_000, 0.3, np.float32), 16_000, subtype="FLOAT")
    return takes

"""A local endpoint that judges by a rule anyone can check, to try `cmi judge` without a model, a key or a bill.

    cmi judge endpoint --port 8123 --first 0.1 --faults 0.2

Musicality is tonality, one minus the spectral flatness, so music beats noise and silence; close marks are a tie. It
ignores the prompt: alignment is always 'both'. A share `first` of its answers names the first recording, drawn from
the audio, so the same request always gets the same answer.
"""

import hashlib
import json
import random
import time
from functools import partial

import numpy as np

from cmi.audio import Waveform
from cmi.judge.prompt_file import DEFAULT, Role, read_role
from cmi.testing.chat_endpoint import Body, fake_endpoint, sounds_of
from cmi.testing.probe_listener import answer_probe, is_probe

WINDOW = 1024  # samples of a spectrum
CLOSE = 0.2  # difference of marks that is a tie


def tonality(sound: Waveform) -> float:
    """From 0 (silence, white noise) to 1 (pure tones)."""
    frames = sound.samples[: sound.samples.size // WINDOW * WINDOW].reshape(-1, WINDOW)
    if not frames.size or not np.abs(frames).max() > 0:
        return 0.0
    power = (np.abs(np.fft.rfft(frames * np.hanning(WINDOW))[:, 1:]) ** 2).mean(axis=0) + 1e-12
    return float(1 - np.exp(np.log(power).mean()) / power.mean())


def judge_by_rule(body: Body, role: Role, first: float = 0.0, seed: int = 0) -> str:
    """Answer a request in a role with marks for musicality, alignment or both; the probe of hearing is heard whole."""
    if is_probe(body):
        return answer_probe(body)
    *_, a, b = sounds_of(body)
    low, high = role.scale
    marks = [round(low + (high - low) * tonality(sound), 1) for sound in (a, b)]
    heard = hashlib.sha256(a.samples.tobytes() + b.samples.tobytes()).hexdigest()
    if random.Random(f"cmi.rule {seed} {heard}").random() < first:  # noqa: S311
        choice = "model_a"
    elif abs(marks[0] - marks[1]) <= CLOSE:
        choice = "both"
    else:
        choice = "model_a" if marks[0] > marks[1] else "model_b"
    answer: dict[str, object] = {}
    for axis, keys in role.axes.items():
        values = ("both", high, high) if axis == "alignment" else (choice, *marks)
        answer |= dict(zip((keys.choice, keys.score_a, keys.score_b), values, strict=True))
    return json.dumps(answer | ({role.reason: "by rule"} if role.reason else {}))


def serve_rule(port: int, prompt: str = DEFAULT, first: float = 0.0, faults: float = 0.0) -> None:
    """Serve until the process is stopped; the address is printed."""
    answer = partial(judge_by_rule, role=read_role(prompt), first=first)
    with fake_endpoint(answer, port, faults=faults) as server:
        print(server.url, flush=True)
        while True:
            time.sleep(3600)

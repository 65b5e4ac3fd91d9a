"""Sounds as an endpoint takes them: clipped, mono, encoded, base64; and what was cut, on record."""

import base64
import io
from pathlib import Path
from typing import Any, NamedTuple

import soundfile

from cmi._util.errors import InputError
from cmi.audio import LONGEST, Waveform, content_hash, duration, load, resample
from cmi.llm.endpoint import Sending
from cmi.llm.message import Heard
from cmi.take import Audio

BYTES_A_SECOND = {"mp3": 24_000}  # at most: libsndfile's encoder at its best quality has 192 kbit/s for one channel
BASE64 = 4 / 3
SHORTEST_SENT = 1.0  # seconds; a clip cut below that tells nothing


class Encoded(NamedTuple):
    data: str  # base64
    heard: Heard


def seconds_of(audio: Audio) -> float:
    return audio.seconds if isinstance(audio, Waveform) else duration(audio)


def clip_seconds(sending: Sending, sounds: int) -> float:
    """The most seconds of each of so many sounds that the endpoint's limits allow."""
    bytes_a_second = BYTES_A_SECOND.get(sending.format, 2 * sending.rate)
    by_size = sending.megabytes * 1e6 / BASE64 / max(1, sounds) / bytes_a_second
    allowed = min(by_size, LONGEST if sending.seconds is None else sending.seconds)
    if allowed < SHORTEST_SENT and (sending.seconds is None or by_size < sending.seconds):
        raise InputError(
            f"{sounds} sounds in {sending.megabytes:g} MB leave {allowed:.2f} s of each; send mp3, or allow more"
        )
    return allowed


def encode(audio: Audio, sending: Sending, seconds: float) -> Encoded:
    """At most the first `seconds` of a sound, as the endpoint takes it."""
    whole = seconds_of(audio)
    if isinstance(audio, Path):
        clip = load(audio, sending.rate, seconds) if whole > seconds else load(audio, sending.rate)
    else:
        clip = resample(audio, sending.rate)
        clip = Waveform(clip.samples[: max(1, round(seconds * sending.rate))], sending.rate)
    buffer = io.BytesIO()
    soundfile.write(buffer, clip.samples, clip.rate, format=sending.format.upper())
    heard = Heard(content_hash(audio), round(whole, 3), round(clip.seconds, 3), sending.format, sending.rate)
    return Encoded(base64.b64encode(buffer.getvalue()).decode("ascii"), heard)


def sound_part(encoded: Encoded, sending: Sending) -> dict[str, Any]:
    """The part of a message that carries a sound."""
    if sending.sound_as == "audio_url":
        kind = "mpeg" if sending.format == "mp3" else sending.format
        return {"type": "audio_url", "audio_url": {"url": f"data:audio/{kind};base64,{encoded.data}"}}
    prefix = "data:;base64," if sending.sound_as == "input_audio_uri" else ""
    return {"type": "input_audio", "input_audio": {"data": prefix + encoded.data, "format": sending.format}}

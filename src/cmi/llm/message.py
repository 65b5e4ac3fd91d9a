"""What a model is sent and what comes back: requests made of text and sound, answers and failures."""

import base64
import hashlib
import io
import json
import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import soundfile

from cmi._util.errors import InputError
from cmi.audio import LONGEST, SHORTEST, Waveform, content_hash, duration, load, resample
from cmi.llm.endpoint import Sending
from cmi.take import Audio

MessageRole = Literal["system", "user", "assistant"]
BYTES_A_SECOND = {"mp3": 24_000}  # at most: libsndfile's encoder at its best quality has 192 kbit/s for one channel
BASE64 = 4 / 3
SHORTEST_SENT = 1.0  # seconds; a clip cut below that tells nothing
SLACK = 0.05  # seconds that may be missing from a sound that counts as whole


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Sound:
    """A recording, or its part from `start` to `end` in seconds; None: to its end."""

    audio: Audio
    start: float = 0.0
    end: float | None = None


Part = Text | Sound


@dataclass(frozen=True)
class Message:
    role: MessageRole
    parts: tuple[Part, ...]


def system(text: str) -> Message:
    """A message that tells the model its role."""
    return Message("system", (Text(text),))


def user(*parts: str | Part) -> Message:
    """A message of texts and sounds."""
    return Message("user", tuple(Text(part) if isinstance(part, str) else part for part in parts))


@dataclass(frozen=True)
class Schema:
    """The JSON that an answer must be, as a JSON schema."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """A question. Without a schema the answer is free text."""

    key: str
    messages: tuple[Message, ...]
    schema: Schema | None = None

    @property
    def sounds(self) -> list[Sound]:
        return [part for message in self.messages for part in message.parts if isinstance(part, Sound)]

    @property
    def texts(self) -> list[str]:
        return [part.text for message in self.messages for part in message.parts if isinstance(part, Text)]


@dataclass(frozen=True)
class SentAudio:
    """What the model got of a sound: the first `sent` of its `seconds`."""

    seconds: float
    sent: float
    sha256: str = ""
    format: str = ""
    rate: int = 0


@dataclass(frozen=True)
class Answer:
    """What the model said. `why` tells why it cannot be used, '' if it can. `tries` counts all calls it took.

    `reasoning` is what a reasoning model wrote before its answer. `raw` is the body of a response that gave no text, as
    it came; '' for all others.
    """

    text: str
    why: str = ""
    raw: str = ""
    finish: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    tries: int = 1
    format: str = "plain"
    heard: tuple[SentAudio, ...] = ()
    reasoning: str = ""

    @property
    def cut(self) -> str:
        """Which sounds the model did not get whole, in words; '' if it got all of them."""
        short = [(number, sound) for number, sound in enumerate(self.heard, 1) if sound.sent < sound.seconds - SLACK]
        return "; ".join(f"recording {n}: the first {sound.sent:.1f} of {sound.seconds:.1f} s" for n, sound in short)


@dataclass(frozen=True)
class Failure:
    """No answer, and why: one sentence."""

    reason: str


Accept = Callable[[str], str | None]  # why an answer's text cannot be used, or None
Result = tuple[str, Answer | Failure]


def checked(answer: Answer, accept: Accept | None) -> Answer:
    """The answer with why it cannot be used."""
    return replace(answer, why=answer.why or (accept(answer.text) if accept else None) or "")


class AudioLLM(Protocol):
    """A model that is asked about sounds: behind an endpoint (`Chat`), or in this process (`LocalModel`)."""

    @property
    def name(self) -> str: ...

    def ask_all(self, requests: Iterable[Request], accept: Accept | None = None) -> Generator[Result, None, None]:
        """Each request's key with its answer or failure, as they are ready."""


def digest(request: Request, about: Mapping[str, Any], hash_of: Callable[[Audio], str]) -> str:
    """The request's identity: its key, what the endpoint is told, its words, and the content of its sounds."""
    said = {
        "key": request.key,
        "about": dict(about),
        "messages": plain_messages(request, hash_of),
        "schema": dict(request.schema.schema) if request.schema else None,
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def plain_messages(request: Request, hash_of: Callable[[Audio], str]) -> list[dict[str, Any]]:
    """The messages as plain data, sounds by the hash of their content."""
    return [{"role": m.role, "parts": [_plain(part, hash_of) for part in m.parts]} for m in request.messages]


def _plain(part: Part, hash_of: Callable[[Audio], str]) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"text": part.text}
    span = {"span": [part.start, part.end]} if part.start or part.end is not None else {}
    return {"sound": hash_of(part.audio), **span}


def sound_seconds(sound: Sound) -> float:
    """How long a sound is, by the header of its file."""
    whole = sound.audio.seconds if isinstance(sound.audio, Waveform) else duration(sound.audio)
    return (whole if sound.end is None else min(whole, sound.end)) - sound.start


class LoadedAudio(NamedTuple):
    """The beginning of a sound, and how long the whole of it is."""

    waveform: Waveform
    seconds: float

    @property
    def sent(self) -> SentAudio:
        return SentAudio(round(self.seconds, 3), round(self.waveform.seconds, 3), rate=self.waveform.rate)


def load_sound(sound: Sound, rate: int, longest: float = math.inf) -> LoadedAudio:
    """At most the first `longest` seconds of a sound, mono, at `rate`."""
    audio, start = sound.audio, sound.start
    length = math.inf if sound.end is None else sound.end - start
    if length <= 0:
        raise InputError(f"{audio}: a span from {start:g} to {sound.end:g} s holds nothing")
    if isinstance(audio, Waveform):
        samples = resample(audio, rate).samples[round(start * rate) :]
        clip = Waveform(samples if math.isinf(length) else samples[: round(length * rate)], rate, audio.stated)
    else:
        if (whole := _stated_seconds(sound)) > longest:
            return LoadedAudio(load(audio, rate, max(longest, SHORTEST), start), whole)
        clip = load(audio, rate, None if math.isinf(length) else max(length, SHORTEST), start)
    whole = clip.seconds if clip.stated is None else min(clip.stated - start, length)
    most = clip.samples.size if math.isinf(longest) else max(1, round(longest * rate))
    return LoadedAudio(Waveform(clip.samples[:most], rate), whole)


def _stated_seconds(sound: Sound) -> float:
    """How long a sound is by its file's header; 0 if that does not say, so that loading all of it tells."""
    try:
        return sound_seconds(sound)
    except InputError:
        return 0.0


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


class EncodedAudio(NamedTuple):
    data: str  # base64
    sent: SentAudio


def encode(sound: Sound, sending: Sending, seconds: float) -> EncodedAudio:
    """At most the first `seconds` of a sound, as the endpoint takes it."""
    loaded = load_sound(sound, sending.rate, seconds)
    buffer = io.BytesIO()
    soundfile.write(buffer, loaded.waveform.samples, sending.rate, format=sending.format.upper())
    record = replace(loaded.sent, sha256=content_hash(sound.audio), format=sending.format)
    return EncodedAudio(base64.b64encode(buffer.getvalue()).decode("ascii"), record)


def sound_part(encoded: EncodedAudio, sending: Sending) -> dict[str, Any]:
    """The part of a message that carries a sound."""
    if sending.sound_as == "audio_url":
        kind = "mpeg" if sending.format == "mp3" else sending.format
        return {"type": "audio_url", "audio_url": {"url": f"data:audio/{kind};base64,{encoded.data}"}}
    prefix = "data:;base64," if sending.sound_as == "input_audio_uri" else ""
    return {"type": "input_audio", "input_audio": {"data": prefix + encoded.data, "format": sending.format}}


def require_sendable(recordings: Iterable[tuple[str, Audio | None]], folders: Sequence[Path]) -> None:
    """InputError for the first recording, each named by its place, that exists and is in none of the folders.

    A file of pairs or questions may come from anybody. It cannot make us read a recording elsewhere on the machine and
    send it away, neither by an absolute path, nor by '..', nor by a link.
    """
    allowed = [folder.resolve() for folder in folders]
    for where, audio in recordings:
        if not isinstance(audio, Path):
            continue
        try:
            place = audio.resolve()
            exists = place.exists()
        except (OSError, RuntimeError, ValueError) as error:  # a circle of links, a name with a zero byte
            raise InputError(f"{where}: {str(audio)!r} is not a usable path ({error})") from error
        if exists and not any(place.is_relative_to(folder) for folder in allowed):
            inside = " or ".join(map(str, allowed)) or "any folder of the data"
            raise InputError(
                f"{where}: {place} is not in {inside}; recordings from elsewhere are sent to an endpoint only if you "
                f"allow their folder: --audio-from {place.parent}"
            )

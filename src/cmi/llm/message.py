"""Requests made of text and sound, and the answers or failures that come back."""

import base64
import hashlib
import io
import json
import math
import re
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
BYTES_A_SECOND = {"mp3": 24_000}  # upper bound: 192 kbit/s, libsndfile's best quality for one channel
BASE64 = 4 / 3
SHORTEST_SENT = 1.0  # seconds; a shorter clip is useless
SLACK = 0.05  # seconds that may be missing before a sound counts as truncated
UNFINISHED = "it ends in the middle of the model's reasoning, before an answer; allow more tokens"
_THINK_TAG = re.compile(r"<(/?)think>", re.IGNORECASE)


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Sound:
    """A recording, or the part of it from `start` to `end` in seconds."""

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


def fenced(text: str) -> str:
    """Fence a user's words as data; control characters, which could hide something, become spaces.

    The marks carry the hash of the words, so no text can forge its end mark.
    """
    clean = "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)
    mark = hashlib.sha256(clean.encode()).hexdigest()[:12]
    return f"<<<DATA {mark}>>>\n{clean}\n<<<END {mark}>>>"


@dataclass(frozen=True)
class Schema:
    """A JSON schema that the answer must satisfy."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """A question; without a schema the answer is free text."""

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
    """How much of a sound the model got: the first `sent` of its `seconds`."""

    seconds: float
    sent: float
    sha256: str = ""
    format: str = ""
    rate: int = 0


@dataclass(frozen=True)
class Answer:
    """A model's answer. `why` says why it cannot be used, '' if it can; `tries` counts the calls.

    `reasoning` is what a reasoning model wrote before its answer; `raw` is the body of a response without text.
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
        """Name the sounds that the model did not get whole; '' if there are none."""
        short = [(number, sound) for number, sound in enumerate(self.heard, 1) if sound.sent < sound.seconds - SLACK]
        return "; ".join(f"recording {n}: the first {sound.sent:.1f} of {sound.seconds:.1f} s" for n, sound in short)


@dataclass(frozen=True)
class Failure:
    reason: str  # one sentence


Accept = Callable[[str], str | None]  # why an answer's text cannot be used, or None
Result = tuple[str, Answer | Failure]


def checked(answer: Answer, accept: Accept | None) -> Answer:
    """Set `why` on an answer that `accept` does not accept."""
    return replace(answer, why=answer.why or (accept(answer.text) if accept else None) or "")


class AudioLLM(Protocol):
    """An audio language model: behind an endpoint (`Chat`) or in this process (`LocalModel`)."""

    @property
    def name(self) -> str: ...

    @property
    def seconds(self) -> float:
        """How much of a sound it is sent at most."""

    def ask_all(self, requests: Iterable[Request], accept: Accept | None = None) -> Generator[Result, None, None]:
        """Yield each request's key with its answer or failure, as they are ready."""


def separate_reasoning(text: str) -> tuple[str, str]:
    """Split a text into the answer and the reasoning of its <think> blocks.

    If a block is never closed, there is no answer. A closing tag without an opening one ends reasoning that began with
    the text: some chat templates open the block in the prompt.

    >>> separate_reasoning("<think>It sounds sad.</think>A minor")
    ('A minor', 'It sounds sad.')
    >>> separate_reasoning("It sounds sad.</think>A minor")
    ('A minor', 'It sounds sad.')
    >>> separate_reasoning("<think>It sounds")
    ('', 'It sounds')
    """
    if not _THINK_TAG.search(text):
        return text, ""
    answer: list[str] = []
    reasoning: list[str] = []
    is_thinking, position = False, 0
    for tag in _THINK_TAG.finditer(text):
        (reasoning if is_thinking else answer).append(text[position : tag.start()])
        position, is_closing = tag.end(), bool(tag[1])
        if is_closing and not is_thinking:
            reasoning, answer = [*reasoning, *answer], []
        is_thinking = not is_closing
    (reasoning if is_thinking else answer).append(text[position:])
    return "".join(answer).strip(), "\n".join(filter(None, map(str.strip, reasoning)))


def digest(request: Request, about: Mapping[str, Any], hash_of: Callable[[Audio], str]) -> str:
    """Hash a request's key, words and sounds, and the endpoint's settings `about`."""
    said = {
        "key": request.key,
        "about": dict(about),
        "messages": plain_messages(request, hash_of),
        "schema": dict(request.schema.schema) if request.schema else None,
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def plain_messages(request: Request, hash_of: Callable[[Audio], str]) -> list[dict[str, Any]]:
    """The messages as plain data, with hashes for sounds."""
    return [{"role": m.role, "parts": [_plain(part, hash_of) for part in m.parts]} for m in request.messages]


def _plain(part: Part, hash_of: Callable[[Audio], str]) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"text": part.text}
    span = {"span": [part.start, part.end]} if part.start or part.end is not None else {}
    return {"sound": hash_of(part.audio), **span}


def sound_seconds(sound: Sound) -> float:
    """A sound's duration, by the header of its file."""
    whole = sound.audio.seconds if isinstance(sound.audio, Waveform) else duration(sound.audio)
    return (whole if sound.end is None else min(whole, sound.end)) - sound.start


class LoadedAudio(NamedTuple):
    waveform: Waveform
    seconds: float  # of the whole sound

    @property
    def sent(self) -> SentAudio:
        return SentAudio(round(self.seconds, 3), round(self.waveform.seconds, 3), rate=self.waveform.rate)


def load_sound(sound: Sound, rate: int, longest: float = math.inf) -> LoadedAudio:
    """Load at most the first `longest` seconds of a sound, mono, at `rate`."""
    audio, start = sound.audio, sound.start
    length = math.inf if sound.end is None else sound.end - start
    if length <= 0:
        raise InputError(f"{audio}: the span from {start:g} to {sound.end:g} s is empty")
    if isinstance(audio, Waveform):
        samples = resample(audio, rate).samples[round(start * rate) :]
        clip = Waveform(samples if math.isinf(length) else samples[: round(length * rate)], rate, audio.stated)
    else:
        if (whole := stated_seconds(sound)) > longest:
            return LoadedAudio(load(audio, rate, max(longest, SHORTEST), start), whole)
        clip = load(audio, rate, None if math.isinf(length) else max(length, SHORTEST), start)
    whole = clip.seconds if clip.stated is None else min(clip.stated - start, length)
    most = clip.samples.size if math.isinf(longest) else max(1, round(longest * rate))
    return LoadedAudio(Waveform(clip.samples[:most], rate), whole)


def stated_seconds(sound: Sound) -> float:
    """A sound's duration by its file's header; 0 if it is unknown before the sound is loaded."""
    try:
        return sound_seconds(sound)
    except InputError:
        return 0.0


def clip_seconds(sending: Sending, sounds: int) -> float:
    """Seconds of each sound that the endpoint's limits allow for this many sounds."""
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
    """Encode at most the first `seconds` of a sound in the endpoint's format."""
    loaded = load_sound(sound, sending.rate, seconds)
    buffer = io.BytesIO()
    soundfile.write(buffer, loaded.waveform.samples, sending.rate, format=sending.format.upper())
    record = replace(loaded.sent, sha256=content_hash(sound.audio), format=sending.format)
    return EncodedAudio(base64.b64encode(buffer.getvalue()).decode("ascii"), record)


def sound_part(encoded: EncodedAudio, sending: Sending) -> dict[str, Any]:
    """Write the message part that carries a sound."""
    if sending.sound_as == "audio_url":
        kind = "mpeg" if sending.format == "mp3" else sending.format
        return {"type": "audio_url", "audio_url": {"url": f"data:audio/{kind};base64,{encoded.data}"}}
    prefix = "data:;base64," if sending.sound_as == "input_audio_uri" else ""
    return {"type": "input_audio", "input_audio": {"data": prefix + encoded.data, "format": sending.format}}


def require_sendable(recordings: Iterable[tuple[str, Audio | None]], folders: Sequence[Path]) -> None:
    """InputError for the first (where, recording) that exists but is in none of the folders.

    A file of pairs or questions may come from anybody. It must not be able to make us send out a recording from
    elsewhere on the machine, be it by an absolute path, '..' or a link.
    """
    allowed = [folder.resolve() for folder in folders]
    for where, audio in recordings:
        if not isinstance(audio, Path):
            continue
        try:
            place = audio.resolve()
            exists = place.exists()
        except (OSError, RuntimeError, ValueError) as error:  # circular links, a NUL byte
            raise InputError(f"{where}: {str(audio)!r} is not a usable path ({error})") from error
        if exists and not any(place.is_relative_to(folder) for folder in allowed):
            inside = " or ".join(map(str, allowed)) or "any folder of the data"
            raise InputError(
                f"{where}: {place} is not in {inside}; recordings from elsewhere are sent to an endpoint only if you "
                f"allow their folder: --audio-from {place.parent}"
            )

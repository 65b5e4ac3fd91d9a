"""What is sent and what comes back: requests made of messages made of text and sound, answers and failures."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cmi.take import Audio

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Sound:
    audio: Audio


Part = Text | Sound


@dataclass(frozen=True)
class Message:
    role: Role
    parts: tuple[Part, ...]


def system(text: str) -> Message:
    return Message("system", (Text(text),))


def user(*parts: str | Part) -> Message:
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
    def sounds(self) -> list[Audio]:
        return [part.audio for message in self.messages for part in message.parts if isinstance(part, Sound)]

    @property
    def texts(self) -> list[str]:
        return [part.text for message in self.messages for part in message.parts if isinstance(part, Text)]


@dataclass(frozen=True)
class Heard:
    """What the endpoint got of a sound: `sent` of its `seconds`."""

    sha256: str
    seconds: float
    sent: float
    format: str
    rate: int


@dataclass(frozen=True)
class Answer:
    """What the endpoint said. `why` tells why it cannot be used, '' if it can. `tries` counts all calls it took.

    `raw` is the body of a response that gave no text, as it came; '' for all others.
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
    heard: tuple[Heard, ...] = field(default=())


@dataclass(frozen=True)
class Failure:
    """No answer, and why: one sentence."""

    reason: str


Accept = Callable[[str], str | None]  # why an answer's text can't be used, or None


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


def _plain(part: Part, hash_of: Callable[[Audio], str]) -> dict[str, str]:
    return {"text": part.text} if isinstance(part, Text) else {"sound": hash_of(part.audio)}

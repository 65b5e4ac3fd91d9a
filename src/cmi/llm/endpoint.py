"""An endpoint: where it is, what it is told, and what it takes."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from cmi._util.errors import InputError
from cmi.llm.redact import shown_url, url_secrets

Format = Literal["json_schema", "json_object", "plain"]
FORMATS: tuple[Format, ...] = ("json_schema", "json_object", "plain")  # from the strictest down
SoundFormat = Literal["wav", "mp3"]
SoundAs = Literal["input_audio", "input_audio_uri", "audio_url"]
OPENAI_KEY, OPENAI_HOST = "OPENAI_API_KEY", "api.openai.com"


@dataclass(frozen=True)
class Sending:
    """How sounds are sent: mono, at `rate` hertz, as `format`.

    seconds      of each sound, from its beginning; None: all of it
    megabytes    of all sounds of a request together, as encoded (base64)
    sound_as     `input_audio` parts (OpenAI, Gemini, vLLM), those with a data URI in them (DashScope), or `audio_url`
                 parts (vLLM)
    """

    format: SoundFormat = "wav"
    rate: int = 16_000
    seconds: float | None = None
    megabytes: float = 18.0  # Gemini takes 20 inline, and the words need some
    sound_as: SoundAs = "input_audio"

    def __post_init__(self) -> None:
        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"sounds of {self.seconds} s, expected more than 0")
        if not self.megabytes > 0:
            raise InputError(f"{self.megabytes} megabytes a request, expected more than 0")


@dataclass(frozen=True)
class Endpoint:
    """A chat endpoint and how it is asked.

    key_env        the environment variable that holds the API key; '' is OPENAI_API_KEY for OpenAI's own addresses, and
                   no key for all others
    temperature    None: the endpoint's own
    stream         answers come in pieces, as endpoints want that give no others (DashScope's Qwen-Omni)
    extra          whatever else the request's body should say, such as {"modalities": ["text"]}
    concurrency    the most requests in flight
    timeout        seconds for one try
    tries          of a request that meets faults; 429s are not counted
    patience       seconds that a request waits in a row of 429s
    repairs        times that a request is repeated whose answer can't be used
    """

    url: str
    model: str
    key_env: str = ""
    sending: Sending = field(default_factory=Sending)
    temperature: float | None = 0.0
    max_tokens: int | None = None
    stream: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    concurrency: int = 64
    timeout: float = 120.0
    tries: int = 10
    patience: float = 900.0
    repairs: int = 2

    def __post_init__(self) -> None:
        if not _is_address(self.url):
            raise InputError(f"endpoint {_shown(self.url)!r}, expected an address such as http://localhost:8000/v1")
        if not self.model:
            raise InputError("the endpoint's model has no name")
        if self.concurrency < 1 or self.tries < 1 or self.repairs < 0 or not self.timeout > 0:
            raise InputError("an endpoint needs a concurrency and tries of 1 or more, repairs of 0 or more, a time-out")

    @property
    def shown_url(self) -> str:
        """The address without whatever may be a secret: user, password, query."""
        return shown_url(self.url)

    @property
    def identity(self) -> dict[str, Any]:
        """What an answer depends on, apart from the request; a server that moved is still the same."""
        return {
            "model": self.model,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "extra": dict(self.extra),
            "sound": [self.sending.format, self.sending.rate, self.sending.seconds, self.sending.megabytes],
        }

    def key(self) -> str:
        """The API key, '' if none is to be sent."""
        key = os.environ.get(self._key_variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise InputError(f"{self._key_variable} holds characters that no API key has; set it again")
        return key

    def key_advice(self) -> str:
        """What to do about a refusal, if no key was sent."""
        if self.key():
            return ""
        if self._key_variable:
            return f"; no key was sent: {self._key_variable} is not set"
        return "; no key was sent: name the variable that holds it by --key-env, or by key_env in the endpoint's file"

    @property
    def _key_variable(self) -> str:
        if self.key_env:
            return self.key_env
        parts = urlsplit(self.url)
        host = (parts.hostname or "").rstrip(".")
        is_openai = host == OPENAI_HOST or host.endswith(f".{OPENAI_HOST}")
        return OPENAI_KEY if is_openai and parts.scheme == "https" else ""

    def secrets(self) -> tuple[str, ...]:
        """What must never be shown: the key, and what the address carries."""
        return tuple(filter(None, (self.key(), *url_secrets(self.url))))


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not a number, or brackets around what is not an IPv6 address
        return False


def _shown(url: str) -> str:
    try:
        return shown_url(url)
    except ValueError:
        return "(unreadable)"

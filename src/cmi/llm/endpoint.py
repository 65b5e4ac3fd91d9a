"""An endpoint's address, request settings and limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from cmi._util.errors import InputError
from cmi._util.redaction import is_address, read_key, shown_address, shown_url, url_secrets

Format = Literal["json_schema", "json_object", "plain"]
FORMATS: tuple[Format, ...] = ("json_schema", "json_object", "plain")  # from the strictest down
SoundFormat = Literal["wav", "mp3"]
SoundAs = Literal["input_audio", "input_audio_uri", "audio_url"]
OPENAI_KEY, OPENAI_HOST = "OPENAI_API_KEY", "api.openai.com"


@dataclass(frozen=True)
class Sending:
    """How sounds are sent: mono, at `rate` hertz, as `format`.

    seconds      at most so much of each sound, from its start; None: all of it
    megabytes    limit for all sounds of a request together, base64-encoded
    sound_as     `input_audio` parts (OpenAI, Gemini, vLLM), the same with a data URI (DashScope), or `audio_url` (vLLM)
    """

    format: SoundFormat = "wav"
    rate: int = 16_000
    seconds: float | None = None
    megabytes: float = 18.0  # Gemini accepts 20 inline, words included
    sound_as: SoundAs = "input_audio"

    def __post_init__(self) -> None:
        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"sounds of {self.seconds} s, expected more than 0")
        if not self.megabytes > 0:
            raise InputError(f"{self.megabytes} megabytes a request, expected more than 0")


@dataclass(frozen=True)
class Endpoint:
    """A chat endpoint and its request settings.

    key_env        the environment variable with the API key; '': OPENAI_API_KEY for OpenAI's addresses, else no key
    temperature    None: the endpoint's default
    stream         ask for streamed answers; some endpoints give no others (DashScope's Qwen-Omni)
    extra          further fields of the request body, such as {"modalities": ["text"]}
    concurrency    maximum number of requests in flight
    timeout        seconds per try
    tries          tries per request; 429s do not count
    patience       seconds that a request keeps retrying 429s
    repairs        how often a request is repeated if its answer cannot be used
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
        if not is_address(self.url):
            raise InputError(
                f"endpoint {shown_address(self.url)!r}, expected an address such as http://localhost:8000/v1"
            )
        if not self.model:
            raise InputError("the endpoint's model has no name")
        if self.concurrency < 1 or self.tries < 1 or self.repairs < 0 or not self.timeout > 0:
            raise InputError("an endpoint needs concurrency and tries >= 1, repairs >= 0 and a timeout > 0")

    @property
    def shown_url(self) -> str:
        return shown_url(self.url)

    @property
    def identity(self) -> dict[str, Any]:
        """The settings that an answer depends on; the address is not one of them."""
        return {
            "model": self.model,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "extra": dict(self.extra),
            "sound": [self.sending.format, self.sending.rate, self.sending.seconds, self.sending.megabytes],
        }

    def key(self) -> str:
        """Return the API key, '' if none is to be sent."""
        return read_key(self._key_variable)

    def key_advice(self) -> str:
        """Say what to do about a refusal if no key was sent."""
        if self.key():
            return ""
        if self._key_variable:
            return f"; no key was sent because {self._key_variable} is not set"
        return "; no key was sent: name its environment variable with --key-env, or key_env in the endpoint's file"

    @property
    def _key_variable(self) -> str:
        if self.key_env:
            return self.key_env
        parts = urlsplit(self.url)
        host = (parts.hostname or "").rstrip(".")
        is_openai = host == OPENAI_HOST or host.endswith(f".{OPENAI_HOST}")
        return OPENAI_KEY if is_openai and parts.scheme == "https" else ""

    def secrets(self) -> tuple[str, ...]:
        """The key and the secrets in the address."""
        return tuple(filter(None, (self.key(), *url_secrets(self.url))))

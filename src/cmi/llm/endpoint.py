"""An endpoint: where it is, what it is told, what it takes, and which of its secrets nobody may see."""

import base64
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from cmi._util.errors import InputError

Format = Literal["json_schema", "json_object", "plain"]
FORMATS: tuple[Format, ...] = ("json_schema", "json_object", "plain")  # from the strictest down
SoundFormat = Literal["wav", "mp3"]
SoundAs = Literal["input_audio", "input_audio_uri", "audio_url"]
OPENAI_KEY, OPENAI_HOST = "OPENAI_API_KEY", "api.openai.com"
HIDDEN = "[key]"
SHORTEST = 6  # characters; a shorter one would take ordinary words along
RUN = 12  # characters of a secret in a row that are hidden too: servers quote keys in part
Redact = Callable[[Any], Any]


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


def redactor(secrets: Iterable[str]) -> Redact:
    """A function that replaces the secrets, and any run of RUN of their characters, in any plain data."""
    found = sorted({secret for secret in secrets if len(secret) >= SHORTEST}, key=len, reverse=True)

    def redact(value: Any) -> Any:
        if isinstance(value, str):
            for secret in found:
                value = _without(value, secret)
            return value
        if isinstance(value, dict):
            return {redact(name): redact(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [redact(item) for item in value]
        return value

    return redact


def _without(text: str, secret: str) -> str:
    """`text` without the secret and without its parts."""
    text = text.replace(secret, HIDDEN)
    for start in range(len(secret) - RUN + 1):
        run = secret[start : start + RUN]
        while (at := text.find(run)) >= 0:
            length = RUN
            while start + length < len(secret) and text[at + length : at + length + 1] == secret[start + length]:
                length += 1
            text = f"{text[:at]}{HIDDEN}{text[at + length :]}"
    return text


def url_secrets(url: str) -> list[str]:
    """What in an address may be a secret: user, password, the values of its query; as they are sent, and plain."""
    parts = urlsplit(url)
    user, password = parts.username or "", parts.password or ""
    values = [parts.query, *(value for _, _, value in (item.partition("=") for item in parts.query.split("&")))]
    basic = base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode() if user or password else ""
    spelled = [form for value in (password, *values) for form in (value, unquote(value), quote(unquote(value)))]
    return [secret for secret in (*spelled, basic) if secret]


def shown_url(url: str) -> str:
    """An address without whatever may be a secret: user, password, query, fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

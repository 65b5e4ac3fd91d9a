"""Secrets out of whatever is kept, said or raised."""

import base64
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

HIDDEN = "[key]"
SHORTEST = 6  # characters; a shorter one would take ordinary words along
RUN = 12  # characters of a secret in a row that are hidden too: servers quote keys in part


Redact = Callable[[Any], Any]


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

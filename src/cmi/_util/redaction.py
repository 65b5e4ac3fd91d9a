"""Keep keys out of messages and files: redaction, and addresses without their secret parts."""

import base64
import os
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from cmi._util.errors import InputError

HIDDEN = "[key]"
SHORTEST = 6  # characters of a secret; redacting shorter ones would hit ordinary words
RUN = 12  # this many characters of a secret in a row are redacted too: servers quote keys in part
Redact = Callable[[Any], Any]


def read_key(variable: str) -> str:
    """Return the API key in an environment variable, '' if it is not set."""
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"{variable} contains characters that cannot be part of an API key; set it again")
    return key


def redactor(secrets: Iterable[str]) -> Redact:
    """Return a function that redacts the secrets, and any RUN characters of them in a row, in plain data."""
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
    """Possible secrets in an address: user, password and query values, both encoded and plain."""
    parts = urlsplit(url)
    user, password = parts.username or "", parts.password or ""
    values = [parts.query, *(value for _, _, value in (item.partition("=") for item in parts.query.split("&")))]
    basic = base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode() if user or password else ""
    spelled = [form for value in (password, *values) for form in (value, unquote(value), quote(unquote(value)))]
    return [secret for secret in (*spelled, basic) if secret]


def shown_url(url: str) -> str:
    """An address without its user, password, query and fragment, which may be secret."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a bad port or IPv6 address
        return False


def shown_address(url: str) -> str:
    try:
        return shown_url(url)
    except ValueError:
        return "(unreadable)"

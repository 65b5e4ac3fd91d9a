"""Secrets out of whatever is kept, said or raised."""

from collections.abc import Callable, Iterable
from typing import Any

HIDDEN = "[key]"
SHORTEST = 6  # characters; a shorter one would take ordinary words along
_LOOSE = 12  # characters of a key that some servers quote as its beginning


Redact = Callable[[Any], Any]


def redactor(secrets: Iterable[str]) -> Redact:
    """A function that replaces the secrets, and the beginnings that servers quote of them, in any plain data."""
    whole = sorted({secret for secret in secrets if len(secret) >= SHORTEST}, key=len, reverse=True)
    found = [*whole, *(secret[:_LOOSE] for secret in whole if len(secret) >= 2 * _LOOSE)]

    def redact(value: Any) -> Any:
        if isinstance(value, str):
            for secret in found:
                value = value.replace(secret, HIDDEN)
            return value
        if isinstance(value, dict):
            return {redact(name): redact(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [redact(item) for item in value]
        return value

    return redact

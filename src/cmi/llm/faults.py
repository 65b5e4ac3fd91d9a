"""What can go wrong with a call, told apart by what helps: waiting, trying again, another format, or nothing.

refused       429: too many requests; wait (as long as Retry-After says) and send fewer
broken        500 and the like, time-outs, connections and bodies cut off, what is not JSON: try again
unreachable   no connection: refused, unknown host, TLS failure; try again if the endpoint ever answered, else give up
rejected      400, 413, 422: this request is not taken; perhaps its response format is not
oversized     a response beyond the limits on size: this request has failed, because the same may come again
hopeless      401, 403, 404, a redirect, a quota that is used up: no request will be taken
"""

import email.utils
import json
import time
from dataclasses import dataclass
from typing import Any, Literal

from cmi.llm.redact import Redact

Kind = Literal["refused", "broken", "unreachable", "rejected", "oversized", "hopeless"]
HOPELESS = {401, 402, 403, 404}
REJECTED = {400, 405, 413, 415, 422}
LONGEST_REASON = 300  # characters
LONGEST_WAIT = 300.0  # seconds of a Retry-After that is believed


@dataclass(eq=False)
class Fault(Exception):
    """A call that gave no answer. `billed`: the endpoint may have done the work all the same."""

    kind: Kind
    reason: str
    retry_after: float | None = None
    billed: bool = False


def status_fault(status: int, content: bytes, wait: str | None, redact: Redact) -> Fault:
    """What a status of 400 or more means; `wait` is the Retry-After header."""
    error = _error_of(content)
    reason = f"status {status} ({short(redact(str(error.get('message') or '')) or 'no reason given')})"
    if status == 429:
        if error.get("code") == "insufficient_quota":
            return Fault("hopeless", reason)
        return Fault("refused", reason, retry_after(wait))
    if status in HOPELESS:
        return Fault("hopeless", reason)
    if status in REJECTED:
        return Fault("rejected", reason)
    return Fault("broken", reason, retry_after(wait))


def _error_of(content: bytes) -> dict[str, Any]:
    """The error object of a body, as OpenAI's has it; of any other body its text as the message."""
    text = content.decode("utf-8", "replace")
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return {"message": text}
    error = said.get("error", said) if isinstance(said, dict) else said
    if isinstance(error, dict):
        return error if isinstance(error.get("message"), str) else {**error, "message": text}
    return {"message": error if isinstance(error, str) else text}


def retry_after(value: str | None) -> float | None:
    """Seconds to wait, by a Retry-After header in seconds or with a date; None if it says nothing usable."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return min(max(0.0, seconds), LONGEST_WAIT) if seconds == seconds else None


def short(text: str) -> str:
    """The beginning of a text, on one line. Secrets must be out of it: a cut leaves parts that nobody would find."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_REASON else line[:LONGEST_REASON] + "..."

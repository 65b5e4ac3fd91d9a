"""What can go wrong with a call, told apart by what helps: waiting, trying again, another format, or nothing.

refused     429: too many requests; wait (as long as Retry-After says) and send fewer
broken      500 and the like, time-outs, connections and bodies cut off, what is no chat completion: try again
rejected    400, 413, 422: this request is not taken; perhaps its response format is not
hopeless    401, 403, 404, a quota that is used up: no request will be taken
"""

import email.utils
import time
from dataclasses import dataclass
from typing import Any, Literal

import openai

Kind = Literal["refused", "broken", "rejected", "hopeless"]
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


def fault_of(error: Exception) -> Fault:
    """What an exception of the client's means."""
    if isinstance(error, openai.APIStatusError):
        return _status_fault(error)
    if isinstance(error, openai.APITimeoutError):
        return Fault("broken", "no answer within the time-out", billed=True)
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__
        return Fault("broken", f"no connection ({_short(cause or error)})", billed=_was_sent(cause))
    return Fault("broken", f"a body that is no chat completion ({_short(error)})", billed=True)


def _status_fault(error: openai.APIStatusError) -> Fault:
    status, reason = error.status_code, f"status {error.status_code} ({_short(error)})"
    if status == 429:
        if error.code == "insufficient_quota":
            return Fault("hopeless", reason)
        return Fault("refused", reason, retry_after(error.response.headers.get("retry-after")))
    if status in HOPELESS:
        return Fault("hopeless", reason)
    if status in REJECTED:
        return Fault("rejected", reason)
    return Fault("broken", reason, retry_after(error.response.headers.get("retry-after")))


def retry_after(value: str | None) -> float | None:
    """Seconds to wait, by a Retry-After header in seconds or with a date; None if it says nothing usable."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return min(max(0.0, seconds), LONGEST_WAIT) if seconds == seconds else None


def completion_text(completion: Any) -> tuple[str, str]:
    """The text of a chat completion and why it ended there; a Fault if it is no such thing, or empty."""
    try:
        choice = completion.choices[0]
        text, refusal = choice.message.content, getattr(choice.message, "refusal", None)
    except (AttributeError, IndexError, TypeError):
        kind = type(completion).__name__
        raise Fault("broken", f"a body that is no chat completion ({kind})", billed=True) from None
    if not isinstance(text, str) or not text.strip():
        if isinstance(refusal, str) and refusal:
            return refusal, "refusal"
        raise Fault("broken", "an empty answer", billed=True)
    return text, str(choice.finish_reason or "")


def _was_sent(cause: BaseException | None) -> bool:
    """Whether the endpoint may have got the request: not if no connection was made."""
    return cause is not None and "Connect" not in type(cause).__name__


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= LONGEST_REASON else text[:LONGEST_REASON] + "..."

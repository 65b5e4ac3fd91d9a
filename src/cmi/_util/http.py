"""One HTTP call, limited in bytes and time, without redirects. Its faults are classified by what can be done:

refused       429: wait (as long as Retry-After says) and send fewer requests
broken        5xx, timeout, connection or body cut off, invalid JSON: try again
unreachable   connection refused, unknown host, TLS failure: try again if the server ever answered, else give up
rejected      400, 413, 422: this request fails, unless another form of it helps
oversized     a response beyond the size limits: this request fails
hopeless      401, 403, 404, redirect, exhausted quota: every request would fail
"""

import asyncio
import email.utils
import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple
from urllib.parse import urljoin

import httpx

from cmi import __version__
from cmi._util.errors import LONGEST_REASON
from cmi._util.json_text import parse_json
from cmi._util.redaction import Redact, shown_url

FaultKind = Literal["refused", "broken", "unreachable", "rejected", "oversized", "hopeless"]
HOPELESS = {401, 402, 403, 404}
REJECTED = {400, 405, 413, 415, 422}
LONGEST_WAIT = 300.0  # seconds; a longer Retry-After is cut to this
CONNECT_SECONDS = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0  # seconds between two tries


@dataclass(eq=False)
class Fault(Exception):
    """A call without an answer. `billed`: the server may have done the work anyway."""

    kind: FaultKind
    reason: str
    retry_after: float | None = None
    billed: bool = False
    status: int = 0  # of the response, if there was one


class HttpAnswer(NamedTuple):
    content: bytes
    media_type: str  # without parameters, in lower case


class Tries:
    """The failed tries of one request; decides when to give up, by the number of faults or the seconds of 429s."""

    def __init__(self, most: int, patience: float) -> None:
        self.count = 0
        self.billed = 0
        self._most = most
        self._patience = patience
        self._broken = 0
        self._refused = 0  # in a row
        self._refused_since: float | None = None

    def pause_after(self, fault: Fault) -> float:
        """Return the seconds until the next try, doubling with each fault in a row; raise the fault to give up."""
        self.count += 1
        self.billed += fault.billed
        if fault.kind in ("rejected", "oversized"):
            raise fault
        if fault.kind == "refused":
            self._refused += 1
            self._refused_since = self._refused_since or time.monotonic()
            if time.monotonic() - self._refused_since > self._patience:
                raise fault
        else:
            self._refused, self._refused_since = 0, None
            self._broken += 1
            if self._broken >= self._most:
                raise Fault(fault.kind, f"{fault.reason}, in the last of {self._broken} tries", status=fault.status)
        doublings = self._refused if fault.kind == "refused" else self._broken
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** max(0, doublings - 1))
        jittered = longest * random.uniform(0.5, 1.0)  # noqa: S311
        return jittered if fault.retry_after is None else fault.retry_after + random.uniform(0, FIRST_PAUSE)  # noqa: S311


def make_client(
    headers: Mapping[str, str], concurrency: int, connect_seconds: float, redirects: int = 0
) -> httpx.AsyncClient:
    """Return a client that follows no redirects by default, so that the key is sent to the given address only."""
    return httpx.AsyncClient(
        headers={"user-agent": f"cmi/{__version__}", "accept-encoding": "identity", **headers},
        timeout=httpx.Timeout(None, connect=min(CONNECT_SECONDS, connect_seconds)),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=concurrency),
        follow_redirects=redirects > 0,
        max_redirects=redirects,
    )


async def send_request(
    client: httpx.AsyncClient,
    request: httpx.Request,
    redact: Redact,
    timeout: float,
    most_bytes: int,
    on_contact: Callable[[], object] = lambda: None,
    is_end: Callable[[bytes], bool] = lambda part: False,
) -> HttpAnswer:
    """Return the body of a response, complete or up to the part that `is_end`; Fault if there is none."""
    try:
        async with asyncio.timeout(timeout):
            response = await client.send(request, stream=True)
            try:
                on_contact()
                content = await _read(response, most_bytes, is_end)
            finally:
                await response.aclose()
    except TimeoutError:
        raise Fault("broken", "no answer within the time-out", billed=True) from None
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise Fault("unreachable", f"no connection ({_words(error, redact)})") from None
    except (httpx.HTTPError, httpx.StreamError) as error:
        raise Fault("broken", f"the connection was cut ({_words(error, redact)})", billed=True) from None
    if response.is_redirect:
        to = shown_url(urljoin(str(request.url), response.headers.get("location", "")))
        reason = f"it redirects to {short(redact(to))}; name that address if you trust it"
        raise Fault("hopeless", reason, status=response.status_code)
    if not response.is_success:
        raise status_fault(response.status_code, content, response.headers.get("retry-after"), redact)
    return HttpAnswer(content, response.headers.get("content-type", "").partition(";")[0].strip().lower())


def status_fault(status: int, content: bytes, wait: str | None, redact: Redact) -> Fault:
    """Classify a status of 400 or more; `wait` is the Retry-After header."""
    error = _error_of(content)
    reason = f"status {status} ({short(redact(str(error.get('message') or '')) or 'no reason given')})"
    if status == 429:
        if error.get("code") == "insufficient_quota":
            return Fault("hopeless", reason, status=status)
        return Fault("refused", reason, retry_after(wait), status=status)
    if status in HOPELESS:
        return Fault("hopeless", reason, status=status)
    if status in REJECTED:
        return Fault("rejected", reason, status=status)
    return Fault("broken", reason, retry_after(wait), status=status)


def _error_of(content: bytes) -> dict[str, Any]:
    """The OpenAI-style error object of a body; for any other body, its text as the message."""
    text = content.decode("utf-8", "replace")
    try:
        said = parse_json(text)
    except ValueError:
        return {"message": text}
    error = said.get("error", said) if isinstance(said, dict) else said
    if isinstance(error, dict):
        return error if isinstance(error.get("message"), str) else {**error, "message": text}
    return {"message": error if isinstance(error, str) else text}


def retry_after(value: str | None) -> float | None:
    """Parse a Retry-After header (seconds or a date) into seconds; None if it cannot be parsed."""
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
    """Shorten a text to one line. Redact it first: truncation may leave a part of a secret that no search finds."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_REASON else line[:LONGEST_REASON] + "..."


async def _read(response: httpx.Response, most_bytes: int, is_end: Callable[[bytes], bool]) -> bytes:
    encoding = response.headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        raise Fault("broken", f"a response encoded as {short(encoding)}, which was not requested", billed=True)
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_raw():
        size += len(part)
        if size > most_bytes:
            raise Fault("oversized", f"a response of more than {most_bytes:,} bytes", billed=True)
        parts.append(part)
        if is_end(part):
            break
    return b"".join(parts)


def _words(error: Exception, redact: Redact) -> str:
    return short(redact(_reason(error))) or type(error).__name__


def _reason(error: BaseException) -> str:
    """Find the system's message, such as 'Connection refused', below those of the libraries."""
    cause: BaseException | None = error
    said = str(error)
    while cause is not None:
        if isinstance(cause, ConnectionError) and cause.errno:
            said = os.strerror(cause.errno)  # asyncio's message leaves out the reason
        elif isinstance(cause, OSError) and cause.strerror:
            said = cause.strerror
        cause = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause.__cause__ or cause.__context__
    return said

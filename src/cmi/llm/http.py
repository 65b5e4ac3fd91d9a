"""One HTTP call, limited in bytes and time, without redirects. Its faults are classified by what can be done:

refused       429: wait (as long as Retry-After says) and send fewer requests
broken        5xx, timeout, connection or body cut off, invalid JSON: try again
unreachable   connection refused, unknown host, TLS failure: try again if the endpoint ever answered, else give up
rejected      400, 413, 422: this request fails, unless another response format helps
oversized     a response beyond the size limits: this request fails
hopeless      401, 403, 404, redirect, exhausted quota: every request would fail
"""

import asyncio
import email.utils
import json
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self
from urllib.parse import urljoin, urlsplit, urlunsplit

import httpx

from cmi import __version__
from cmi._util.errors import LONGEST_REASON, InputError
from cmi.llm.endpoint import Endpoint, Redact, shown_url

FaultKind = Literal["refused", "broken", "unreachable", "rejected", "oversized", "hopeless"]
HOPELESS = {401, 402, 403, 404}
REJECTED = {400, 405, 413, 415, 422}
LONGEST_WAIT = 300.0  # seconds; a longer Retry-After is cut to this
MOST_BYTES = 8 * 2**20  # of a response, whole or streamed
LONGEST_LINE = 2**20  # bytes of one line of a stream
CONNECT_SECONDS = 10.0
DONE = b"[DONE]"  # how most streams end


@dataclass(eq=False)
class Fault(Exception):
    """A call without an answer. `billed`: the endpoint may have done the work anyway."""

    kind: FaultKind
    reason: str
    retry_after: float | None = None
    billed: bool = False


def status_fault(status: int, content: bytes, wait: str | None, redact: Redact) -> Fault:
    """Classify a status of 400 or more; `wait` is the Retry-After header."""
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
    """The OpenAI-style error object of a body; for any other body, its text as the message."""
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


class HttpClient:
    def __init__(self, endpoint: Endpoint, redact: Redact, contact: threading.Event) -> None:
        self.contact = contact
        self._endpoint = endpoint
        self._redact = redact
        headers = {"user-agent": f"cmi/{__version__}", "accept-encoding": "identity"}
        if key := endpoint.key():
            headers["authorization"] = f"Bearer {key}"
        parts = urlsplit(endpoint.url)
        try:
            self._url = httpx.URL(urlunsplit(parts._replace(path=parts.path.rstrip("/") + "/chat/completions")))
        except httpx.InvalidURL as error:
            raise InputError(f"endpoint {endpoint.shown_url!r} is not an address ({error})") from None
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(None, connect=min(CONNECT_SECONDS, endpoint.timeout)),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=endpoint.concurrency),
            follow_redirects=False,  # the key and the sounds go to the named address only
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def post(self, name: str, body: Mapping[str, Any]) -> bytes:
        """Return the complete body of a response. `name` identifies the request across retries."""
        content = json.dumps(body).encode("ascii")
        headers = {"content-type": "application/json", "idempotency-key": name}
        try:
            async with (
                asyncio.timeout(self._endpoint.timeout),
                self._client.stream("POST", self._url, content=content, headers=headers) as response,
            ):
                self.contact.set()
                said = await _read(response, bool(body.get("stream")))
        except TimeoutError:
            raise Fault("broken", "no answer within the time-out", billed=True) from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Fault("unreachable", f"no connection ({self._words(error)})") from None
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise Fault("broken", f"the connection was cut ({self._words(error)})", billed=True) from None
        if response.is_redirect:
            to = shown_url(urljoin(str(self._url), response.headers.get("location", "")))
            raise Fault("hopeless", f"it redirects to {short(self._redact(to))}; name that address if you trust it")
        if not response.is_success:
            raise status_fault(response.status_code, said, response.headers.get("retry-after"), self._redact)
        return said

    def _words(self, error: Exception) -> str:
        return short(self._redact(_reason(error))) or type(error).__name__


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


async def _read(response: httpx.Response, is_stream: bool) -> bytes:
    """Read the whole body, or a stream up to its end mark; Fault if it exceeds the size limits."""
    encoding = response.headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        raise Fault("broken", f"a response encoded as {short(encoding)}, which was not asked for", billed=True)
    parts: list[bytes] = []
    size, line = 0, b""
    async for part in response.aiter_raw():
        size += len(part)
        if size > MOST_BYTES:
            raise Fault("oversized", f"a response of more than {MOST_BYTES:,} bytes", billed=True)
        parts.append(part)
        if is_stream:
            *whole, line = (line + part).split(b"\n")
            if max(map(len, [*whole, line])) > LONGEST_LINE:
                raise Fault("oversized", f"a stream with a line of more than {LONGEST_LINE:,} bytes", billed=True)
            if any(one.startswith(b"data:") and one[5:].strip() == DONE for one in whole):
                break
    return b"".join(parts)

"""One call over HTTP: limited in bytes and in time, never redirected, with no header but those named here."""

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import urljoin, urlsplit, urlunsplit

import httpx

from cmi import __version__
from cmi._util.errors import InputError
from cmi.llm.endpoint import Endpoint
from cmi.llm.faults import Fault, short, status_fault
from cmi.llm.redact import Redact, shown_url

MOST_BYTES = 8 * 2**20  # of a response, whole or streamed
LONGEST_LINE = 2**20  # bytes of one line of a stream
CONNECT_SECONDS = 10.0
DONE = b"[DONE]"  # how most streams end


@dataclass
class Contact:
    """Whether the endpoint ever answered: one that did and is gone may come back."""

    made: bool = False


class HttpClient:
    """Posts chat requests to one endpoint."""

    def __init__(self, endpoint: Endpoint, redact: Redact, contact: Contact) -> None:
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
            follow_redirects=False,  # neither the key nor the sounds go where nobody sent them
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def post(self, name: str, body: Mapping[str, Any]) -> bytes:
        """The body of a response that came whole. `name` is the same whenever a request is sent again."""
        content = json.dumps(body).encode("ascii")
        headers = {"content-type": "application/json", "idempotency-key": name}
        try:
            async with (
                asyncio.timeout(self._endpoint.timeout),
                self._client.stream("POST", self._url, content=content, headers=headers) as response,
            ):
                self.contact.made = True
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
    """What the system said, such as 'Connection refused', which the libraries wrap in words of their own."""
    cause: BaseException | None = error
    said = str(error)
    while cause is not None:
        if isinstance(cause, ConnectionError) and cause.errno:
            said = os.strerror(cause.errno)  # asyncio's own words leave out why
        elif isinstance(cause, OSError) and cause.strerror:
            said = cause.strerror
        cause = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause.__cause__ or cause.__context__
    return said


async def _read(response: httpx.Response, is_stream: bool) -> bytes:
    """The whole body, of a stream up to its end mark. Fault if it is longer than any answer should be."""
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

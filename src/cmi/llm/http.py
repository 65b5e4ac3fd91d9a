"""Calls to a chat endpoint; `cmi._util.http` limits them and classifies their faults."""

import json
import threading
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

import httpx

from cmi._util.errors import InputError
from cmi._util.http import Fault, make_client, send_request
from cmi._util.redaction import Redact
from cmi.llm.endpoint import Endpoint

MOST_BYTES = 8 * 2**20  # of a response, whole or streamed
LONGEST_LINE = 2**20  # bytes of one line of a stream
DONE = b"[DONE]"  # how most streams end


class HttpClient:
    def __init__(self, endpoint: Endpoint, redact: Redact, contact: threading.Event) -> None:
        self.contact = contact
        self._endpoint = endpoint
        self._redact = redact
        key = endpoint.key()
        parts = urlsplit(endpoint.url)
        try:
            self._url = httpx.URL(urlunsplit(parts._replace(path=parts.path.rstrip("/") + "/chat/completions")))
        except httpx.InvalidURL as error:
            raise InputError(f"endpoint {endpoint.shown_url!r} is not an address ({error})") from None
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._client = make_client(headers, endpoint.concurrency, endpoint.timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def post(self, name: str, body: Mapping[str, Any]) -> bytes:
        """Return the complete body of a response. `name` identifies the request across retries."""
        headers = {"content-type": "application/json", "idempotency-key": name}
        content = json.dumps(body).encode("ascii")
        answer = await send_request(
            self._client,
            self._client.build_request("POST", self._url, content=content, headers=headers),
            self._redact,
            self._endpoint.timeout,
            MOST_BYTES,
            self.contact.set,
            *([_StreamEnd()] if body.get("stream") else []),
        )
        return answer.content


class _StreamEnd:
    """Finds the end mark of a stream; Fault if a line exceeds the limit."""

    def __init__(self) -> None:
        self._line = b""

    def __call__(self, part: bytes) -> bool:
        *whole, self._line = (self._line + part).split(b"\n")
        if max(map(len, [*whole, self._line])) > LONGEST_LINE:
            raise Fault("oversized", f"a stream with a line of more than {LONGEST_LINE:,} bytes", billed=True)
        return any(one.startswith(b"data:") and one[5:].strip() == DONE for one in whole)

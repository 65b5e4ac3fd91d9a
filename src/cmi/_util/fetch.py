"""Download one file from a web server, resumably."""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from cmi import __version__
from cmi._util.errors import InputError
from cmi._util.files import DISK_FULL, cannot_write, move_into_place

ATTEMPTS = 5  # without progress
TIMEOUT = 60.0  # seconds without a byte
CHUNK = 2**18
PASSING = {408, 425, 429, 500, 502, 503, 504}  # worth a retry

OnBytes = Callable[[int, int | None], None]


class _State(NamedTuple):
    """The length and the version (ETag or date) of a file that is being downloaded."""

    total: int | None
    version: str


def length_of(url: str, by_hand: str) -> int | None:
    """Ask a server for the size of a file in bytes; None if it does not say."""
    try:
        with _open(url, {}, by_hand, "HEAD") as response:
            return _number(response.headers.get("Content-Length"))
    except (OSError, http.client.HTTPException) as error:
        raise InputError(f"{url}: {_reason(error)}; {by_hand}") from error


def fetch(url: str, path: Path, by_hand: str, on_bytes: OnBytes = lambda done, total: None, wait: float = 1.0) -> None:
    """Download to `path`.part, which is renamed to `path` when it is complete.

    After a lost connection, or if this is called again, only the rest is requested unless the server's file changed.
    """
    part = path.with_name(f"{path.name}.part")
    state_file = path.with_name(f"{path.name}.part.json")
    if path.exists():
        return
    idle = 0
    while True:
        before = part.stat().st_size if part.exists() else 0
        try:
            state = _continue(url, part, state_file, by_hand, on_bytes)
            size = part.stat().st_size
            if state.total is None or size == state.total:
                break
            problem = f"ended after {size:,} of {state.total:,} bytes"
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, OSError) and error.errno in DISK_FULL:
                raise cannot_write(part, error) from error  # no reason to retry
            problem = _reason(error)
        idle = 0 if part.exists() and part.stat().st_size > before else idle + 1
        if idle == ATTEMPTS:
            raise InputError(f"{url}: {problem}; run this again to resume, or {by_hand}")
        time.sleep(wait * 2**idle)
    move_into_place(part, path)
    state_file.unlink(missing_ok=True)


def _continue(url: str, part: Path, state_file: Path, by_hand: str, on_bytes: OnBytes) -> _State:
    """Append missing bytes while the connection lasts; start over if the server does not resume."""
    begun, state = part.stat().st_size if part.exists() else 0, _read_state(state_file)
    if not state.version or begun > (state.total or begun):
        begun = 0  # the server's file may have changed
    if begun and begun == state.total:
        return state
    headers = {"Range": f"bytes={begun}-", "If-Range": state.version} if begun else {}
    with _open(url, headers, by_hand) as response:
        resumed = response.status == http.client.PARTIAL_CONTENT
        if resumed and not response.headers.get("Content-Range", "").startswith(f"bytes {begun}-"):
            part.unlink()
            raise OSError("the server sent another part of the file than it was asked for")
        done = begun if resumed else 0
        length = _number(response.headers.get("Content-Length"))
        state = _State(None if length is None else done + length, _version(response))
        state_file.write_text(json.dumps(state), encoding="utf-8")
        with part.open("ab" if resumed else "wb") as file:
            while chunk := response.read(CHUNK):
                file.write(chunk)
                done += len(chunk)
                on_bytes(done, state.total)
    return state


def _read_state(path: Path) -> _State:
    try:
        total, version = json.loads(path.read_text(encoding="utf-8"))
        return _State(total, version)
    except (OSError, ValueError, TypeError):
        return _State(None, "")


def _open(url: str, headers: dict[str, str], by_hand: str, method: str = "GET") -> http.client.HTTPResponse:
    """Send a request; OSError if a retry may help, InputError if not."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise InputError(f"{url}: expected an address that begins with http:// or https://")
    asked = {"User-Agent": f"cmi/{__version__}", "Accept-Encoding": "identity", **headers}
    request = urllib.request.Request(url, headers=asked, method=method)  # noqa: S310 (the scheme was checked)
    try:
        return urllib.request.urlopen(request, timeout=TIMEOUT)  # noqa: S310
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in PASSING:
            raise OSError(f"the server says {error.code} {error.reason}") from error
        raise InputError(f"{url}: the server says {error.code} {error.reason}; {by_hand}") from error


def _version(response: http.client.HTTPResponse) -> str:
    """Return the version of the file, its strong ETag or its date; '' if it has neither."""
    etag = response.headers.get("ETag") or ""
    return response.headers.get("Last-Modified") or "" if not etag or etag.startswith("W/") else etag


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", None) or error) or type(error).__name__


def _number(value: str | None) -> int | None:
    return int(value) if value is not None and value.isdigit() else None

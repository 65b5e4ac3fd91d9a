"""HTTP calls to a music service: paced, repeated where that cannot be billed twice, and checked."""

import asyncio
import base64
import binascii
import json
import mimetypes
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import httpx

from cmi._util.errors import InputError
from cmi._util.http import FIRST_PAUSE, Fault, HttpAnswer, Tries, make_client, send_request, short
from cmi._util.json_text import parse_json
from cmi._util.redaction import is_address, read_key, redactor, url_secrets
from cmi.generate import GenerationError, GeneratorStopped
from cmi.generate.service_file import AnswerErrors, ServiceFile, fill_path, find_field

TRIES = 8
PATIENCE = 900.0  # seconds of refusals (429)
START_SECONDS = 2.0  # how long a service that never answered is tried
POLL_SECONDS = 60.0  # for the answer to a question after a job
DOWNLOAD_SECONDS = 600.0
MOST_BYTES = 8 * 2**20  # of an answer without audio in it
GATEWAY_TIMEOUT = 504  # the service behind the gateway may have done the work


class LostAnswer(Exception):
    """A submission whose answer did not come; it may be billed, and repeating it may be billed again."""


class ServiceAnswer:
    """An answer, and its JSON object if it has one."""

    def __init__(self, answer: HttpAnswer) -> None:
        self.content, self.media_type = answer

    @cached_property
    def fields(self) -> dict[str, Any]:
        """The JSON object; Fault if the answer is something else, such as a page of HTML."""
        try:
            found = parse_json(self.content)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            begins = short(self.content[:60].decode("utf-8", "replace"))
            raise Fault("broken", f"an answer that is not a JSON object but begins with {begins!r}", billed=True)
        return found


class RequestPace:
    """Spreads calls evenly, and holds all of them back while the service refuses them."""

    def __init__(self, per_minute: float | None) -> None:
        self._gap = 60 / per_minute if per_minute else 0.0
        self._next = 0.0

    async def wait(self) -> None:
        now = time.monotonic()
        start = max(now, self._next)
        self._next = start + self._gap
        await asyncio.sleep(start - now)

    def hold(self, seconds: float) -> None:
        self._next = max(self._next, time.monotonic() + seconds)


class ServiceCalls:
    """The client of one service; the key is sent to the service's own address only, and shown nowhere."""

    def __init__(self, service: ServiceFile) -> None:
        self._service = service
        self._audio = service.download.audio
        self._environment = {name: _require(service, variable) for name, variable in service.environment.items()}
        self.url = fill_path(service.url, self._environment).rstrip("/")
        headers, secrets = {"accept": "*/*"}, url_secrets(self.url)
        if service.auth:
            key = _require(service, service.auth.key_env)
            headers[service.auth.header] = service.auth.value.replace("{key}", key)
            secrets.append(key)
        self.redact = redactor(secrets)
        concurrency = service.limits.concurrency
        self._client = make_client(headers, concurrency, service.submit.timeout)
        self._downloads = make_client({}, concurrency, DOWNLOAD_SECONDS, redirects=3)  # without the key
        self._pace = RequestPace(service.limits.requests_per_minute)
        self._has_answered = False
        self._began = time.monotonic()

    @property
    def environment(self) -> Mapping[str, str]:
        return self._environment

    async def close(self) -> None:
        await self._client.aclose()
        await self._downloads.aclose()

    async def submit(self, body: dict[str, Any], name: str) -> ServiceAnswer:
        """Send a request for a take; `name` identifies it across tries. LostAnswer if it may be billed."""
        step = self._service.submit
        headers = dict(step.headers)
        if step.idempotency_header:
            headers[step.idempotency_header] = name
        content: dict[str, Any] = {"json": body} if step.send_as == "json" else {"files": _form(body)}
        url = self._address(step.path)

        async def once() -> ServiceAnswer:
            request = self._client.build_request(step.method, url, headers=headers, **content)
            return await self._send(request, step.timeout, is_json=bool(step.job) or self._audio != "body")

        return await self._repeat(once, may_repeat=bool(step.idempotency_header))

    async def get_state(self, job: str) -> ServiceAnswer:
        """Ask after a job."""
        assert self._service.poll is not None
        return await self._get(self._service.poll.path, job, is_json=True)

    async def get_result(self, job: str) -> ServiceAnswer:
        """Ask for the take of a job that is done."""
        assert self._service.poll is not None
        return await self._get(self._service.poll.result, job, is_json=self._audio != "body")

    async def _get(self, path: str, job: str, is_json: bool) -> ServiceAnswer:
        url = self._address(path, job=job)
        return await self._repeat(lambda: self._send(self._client.build_request("GET", url), POLL_SECONDS, is_json))

    async def audio_of(self, answer: ServiceAnswer) -> bytes:
        """Return the audio that an answer holds or names, as it comes; Fault or GenerationError if there is none."""
        step = self._service.download
        if step.audio == "body":
            return answer.content
        said = find_field(answer.fields, step.field)
        if not isinstance(said, str) or not said:
            raise GenerationError("missing", f"the answer has no audio in its field {step.field!r}")
        if step.audio == "url":
            return await self._download(said)
        try:
            digits = said.rpartition(",")[2] if said.startswith("data:") else said
            return base64.b64decode(digits, validate=True) if step.audio == "base64" else bytes.fromhex(digits)
        except (ValueError, binascii.Error):
            raise GenerationError("not audio", f"the field {step.field!r} is not {step.audio}") from None

    async def _download(self, url: str) -> bytes:
        step = self._service.download
        if not is_address(url):
            raise GenerationError("missing", f"the field {step.field!r} is not an address")
        if step.send_key and urlsplit(url)[:2] != urlsplit(self.url)[:2]:
            raise GenerationError("missing", "the audio is on another host, which must not see the key")
        client = self._client if step.send_key else self._downloads

        async def once() -> ServiceAnswer:
            most = round(step.megabytes * 1e6)
            request = client.build_request("GET", url)
            return ServiceAnswer(await send_request(client, request, self.redact, DOWNLOAD_SECONDS, most))

        try:
            return (await self._repeat(once)).content
        except httpx.InvalidURL:
            raise GenerationError("missing", f"the field {step.field!r} is not an address") from None
        except Fault as fault:
            if fault.kind != "hopeless":
                raise
            raise GenerationError("expired", f"the audio cannot be downloaded: {fault.reason}") from None

    async def _send(self, request: httpx.Request, timeout: float, is_json: bool) -> ServiceAnswer:
        download = self._service.download
        most = MOST_BYTES if self._audio == "url" else round(download.megabytes * 2.1e6)  # hex doubles it

        def note() -> None:
            self._has_answered = True

        await self._pace.wait()
        answer = ServiceAnswer(await send_request(self._client, request, self.redact, timeout, most, note))
        if is_json:
            fields = answer.fields  # here, so that a page of HTML is asked for again
            if self._service.errors:
                check_answer(fields, self._service.errors)
        return answer

    async def _repeat(self, once: Callable[[], Awaitable[ServiceAnswer]], may_repeat: bool = True) -> ServiceAnswer:
        tries = Tries(TRIES, PATIENCE)
        while True:
            try:
                return await once()
            except Fault as fault:
                fault.reason = short(self.redact(fault.reason))
                if fault.kind == "hopeless":
                    raise
                if not may_repeat and (fault.billed or fault.status == GATEWAY_TIMEOUT):
                    raise LostAnswer(fault.reason) from None
                if fault.kind == "unreachable" and not self._has_answered:
                    if time.monotonic() - self._began > START_SECONDS:
                        raise GeneratorStopped(f"{self._service.name}: {fault.reason}; check the address") from None
                    await asyncio.sleep(FIRST_PAUSE)
                    continue
                pause = tries.pause_after(fault)
                if fault.kind == "refused":
                    self._pace.hold(pause)
                await asyncio.sleep(pause)

    def _address(self, path: str, **values: str) -> str:
        return self.url + fill_path(path, {**self._environment, **values})


def _require(service: ServiceFile, variable: str) -> str:
    if value := read_key(variable):
        return value
    raise InputError(f"{service.name}: the environment variable {variable} is not set; see {service.documentation}")


def _form(body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a multipart form; a file is a pair of its name and content."""
    return {
        name: (value[0], value[1], media_type(value[0])) if isinstance(value, tuple) else (None, _form_text(value))
        for name, value in body.items()
    }


def _form_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def media_type(name: str) -> str:
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


def check_answer(said: Mapping[str, Any], errors: AnswerErrors) -> None:
    """Fault if an answer with status 200 says that there was an error."""
    found = find_field(said, errors.field)
    if found in errors.ok:
        return
    reason = f"{errors.field} is {found!r} ({find_field(said, errors.message) or 'no reason given'})"
    if found in errors.wait:
        raise Fault("refused", reason)
    raise Fault("hopeless" if found in errors.stop else "rejected", reason)

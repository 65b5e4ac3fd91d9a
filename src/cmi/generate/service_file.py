"""The description of a music service: a TOML file, so that a new service needs no code.

    url = "https://api.example.com/v1"
    documentation = "https://example.com/docs"
    version = "model-2"
    licence = "terms of Example, https://example.com/terms"
    price = 0.05                            # of a take, at most
    accepts = ["text", "lyrics"]
    auth = {header = "Authorization", value = "Bearer {key}", key_env = "EXAMPLE_API_KEY"}
    submit = {path = "/songs", body = {prompt = "{text}", lyrics = "{lyrics}", length = "{seconds}"}, job = "id"}
    poll = {path = "/songs/{job}", state = "status", done = ["succeeded"], failed = ["failed"]}
    download = {audio = "url", field = "song.url"}

Strings of the body may hold {text}, {lyrics}, {reference}, {seed}, {seconds}, {milliseconds}, {instrumental} (true if
there are no lyrics), and names of [environment]. A field that is nothing but one of these gets the value itself, a
number for {seed}, and is left out if there is none. A dotted path such as `choices.0.url` names a field of an answer.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from cmi._util.config import check_config, read_table
from cmi._util.errors import InputError
from cmi._util.redaction import is_address, shown_address
from cmi.generate import PARTS, Part

VALUES = (*PARTS, "seed", "seconds", "milliseconds", "instrumental")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_LOCAL = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True)
class KeyHeader:
    """The header that carries the key: `value` holds {key}, which is read from the variable `key_env`."""

    header: str
    value: str
    key_env: str

    def __post_init__(self) -> None:
        if "{key}" not in self.value:
            raise InputError(f"auth.value is {self.value!r}, expected a text with {{key}}")


@dataclass(frozen=True)
class SubmitStep:
    """The request for a take.

    job                  where the job's id is in the answer; '': the answer has the take
    send_as              the body as JSON or as a form (multipart)
    idempotency_header   a header by which the service recognises a repeated request; '': it has none, and a request
                         whose answer is lost is not repeated
    refused              statuses by which the service refuses a prompt, beside 400, 413 and 422
    timeout              seconds for the answer
    """

    path: str
    body: Mapping[str, Any]
    job: str = ""
    method: Literal["POST", "PUT"] = "POST"
    send_as: Literal["json", "form"] = "json"
    headers: Mapping[str, str] = field(default_factory=dict)
    idempotency_header: str = ""
    refused: tuple[int, ...] = ()
    timeout: float = 120.0


@dataclass(frozen=True)
class PollStep:
    """How to poll a job: while the field `state` of the answer is neither in `done` nor in `failed`, it is running.

    result     a path to ask when the job is done, if the take is not in the answer of `path`
    message    where an answer says why a job failed
    interval   seconds between two questions
    timeout    seconds until we give up; the job is kept, and asked after again by `--retry-failed`
    """

    path: str
    state: str
    done: tuple[str | int, ...]
    failed: tuple[str | int, ...]
    result: str = ""
    message: str = ""
    interval: float = 5.0
    timeout: float = 1800.0


@dataclass(frozen=True)
class DownloadStep:
    """Where the take is: an address, base64 or hexadecimal digits in `field` of the last answer, or its whole body.

    field      its dotted path; of a list of paths, the first that is there
    send_key   the address needs the key; it must then be on the service's own host
    """

    audio: Literal["url", "base64", "hex", "body"]
    field: str | tuple[str, ...] = ""
    send_key: bool = False
    megabytes: float = 200.0


@dataclass(frozen=True)
class AnswerErrors:
    """Errors that come with status 200: `field` is one of `ok` in a good answer.

    wait   values that mean: too many requests        stop   values that mean: no other request would do better
    """

    field: str
    ok: tuple[str | int, ...]
    message: str = ""
    wait: tuple[str | int, ...] = ()
    stop: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class ServiceLimits:
    """What the service allows; characters of text and lyrics, seconds of sound. A request beyond it is not sent.

    seconds   the length to ask for if the user asks for none, so that a take costs what `price` says
    """

    concurrency: int = 4  # jobs at once
    requests_per_minute: float | None = None  # submitting and polling
    text: int | None = None
    lyrics: int | None = None
    shortest: float = 0.0
    longest: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class ReferenceSending:
    """How a reference is sent: as base64, a data URI, a file of a form, or the address where you serve it ({name}).

    Its sound is encoded anew, mono at 44.1 kHz, at most the first `seconds`: a file that is not audio is never sent.
    """

    send_as: Literal["base64", "data_uri", "file", "url"]
    format: Literal["wav", "mp3"] = "mp3"
    seconds: float | None = None
    megabytes: float = 20.0
    url: str = ""


@dataclass(frozen=True)
class ServiceFile:
    """A service as its file describes it.

    written       when the file was written, from which pages, and whether it was run
    licence       the licence or the terms that its takes come under
    price         of a take, at most, in `currency`
    requires      parts without which the service takes no prompt
    environment   names for use in paths and the body, and the environment variables that hold their values
    """

    url: str
    documentation: str
    version: str
    licence: str
    price: float
    accepts: tuple[Part, ...]
    submit: SubmitStep
    download: DownloadStep
    name: str = ""
    written: str = ""
    currency: str = "USD"
    requires: tuple[Part, ...] = ()
    auth: KeyHeader | None = None
    poll: PollStep | None = None
    errors: AnswerErrors | None = None
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    reference: ReferenceSending | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not is_address(self.url):
            raise InputError(f"'url' is {shown_address(self.url)!r}, expected an address such as https://example.com")
        parts = urlsplit(self.url)
        if self.auth and parts.scheme != "https" and parts.hostname not in _LOCAL:
            raise InputError("'url' is not https, and the key would be readable on its way")
        if not self.price >= 0:
            raise InputError(f"'price' is {self.price:g}, expected at least 0")
        if self.limits.concurrency < 1:
            raise InputError(f"'limits.concurrency' is {self.limits.concurrency}, expected at least 1")
        if (self.limits.requests_per_minute or 1) <= 0:
            raise InputError("'limits.requests_per_minute' must be more than 0")
        _check_steps(self)
        _check_placeholders(self)

    @property
    def uses(self) -> set[str]:
        """The placeholders in the body."""
        return set(_placeholders(self.submit.body))


def read_service(name: str | Path) -> ServiceFile:
    """Read the description NAME.toml that comes with cmi, or the file at a path."""
    path = Path(name)
    shipped = files("cmi.generate") / "services" / f"{name}.toml"
    is_file = isinstance(name, Path) or path.suffix == ".toml"
    if not is_file and not shipped.is_file():
        raise InputError(f"{name!r} is not a service: choose from {', '.join(list_services())}, or name a TOML file")
    source, shown = (path, str(path)) if is_file else (shipped, f"{name}.toml")
    table = read_table(source, shown)
    table.setdefault("name", path.stem if is_file else name)
    return check_config(table, ServiceFile, shown)


def list_services() -> list[str]:
    """The services that come with cmi."""
    folder = files("cmi.generate") / "services"
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def fill_template(template: Any, values: Mapping[str, Any]) -> Any:
    """Put values into a template; a field whose value is None is left out.

    >>> fill_template({"prompt": "{text}", "seed": "{seed}", "n": 1, "lyrics": "{lyrics}"}, {"text": "{x}", "seed": 7})
    {'prompt': '{x}', 'seed': 7, 'n': 1}
    """
    if isinstance(template, dict):
        filled = {name: fill_template(item, values) for name, item in template.items()}
        return {name: item for name, item in filled.items() if item is not None}
    if isinstance(template, list):
        return [item for item in (fill_template(one, values) for one in template) if item is not None]
    if not isinstance(template, str):
        return template
    if whole := _PLACEHOLDER.fullmatch(template):
        return values.get(whole[1])
    return _PLACEHOLDER.sub(lambda found: _as_text(values.get(found[1])), template)


def fill_path(template: str, values: Mapping[str, str]) -> str:
    """Put quoted values into a path."""
    return _PLACEHOLDER.sub(lambda found: quote(values.get(found[1], ""), safe=""), template)


def find_field(answer: Any, path: str | tuple[str, ...]) -> Any:
    """Return the field at a dotted path, or at the first of several that is there; None if there is none.

    >>> find_field({"choices": [{"url": "x"}]}, "choices.0.url")
    'x'
    """
    if isinstance(path, tuple):
        return next((found for one in path if (found := find_field(answer, one)) is not None), None)
    for part in path.split("."):
        if isinstance(answer, dict):
            answer = answer.get(part)
        elif isinstance(answer, list) and part.isdecimal() and int(part) < len(answer):
            answer = answer[int(part)]
        else:
            return None
    return answer


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _placeholders(template: Any) -> Iterator[str]:
    if isinstance(template, str):
        yield from _PLACEHOLDER.findall(template)
    elif isinstance(template, Mapping | list):
        for item in template.values() if isinstance(template, Mapping) else template:
            yield from _placeholders(item)


def _check_steps(service: ServiceFile) -> None:
    if service.poll and not service.submit.job:
        raise InputError("'submit.job' is missing: 'poll' needs to know where the job's id is")
    if service.submit.job and not service.poll:
        raise InputError("'poll' is missing: 'submit.job' says that the service has jobs")
    if (service.download.audio == "body") == bool(service.download.field):
        raise InputError("'download' needs a field for url, base64 and hex, and none for body")
    if service.poll and service.download.audio == "body" and not service.poll.result:
        raise InputError("'poll.result' is missing: say where the audio of a job is")
    if "reference" in service.accepts:
        if service.reference is None:
            raise InputError("'reference' is missing: say how it is sent, as base64, data_uri, file or url")
        if service.reference.send_as == "file" and service.submit.send_as != "form":
            raise InputError("'reference.send_as' is file, which only a form can carry: set submit.send_as")
        if service.reference.send_as == "url" and "{name}" not in service.reference.url:
            raise InputError("'reference.url' needs {name}, in whose place the file's name is put")


def _check_placeholders(service: ServiceFile) -> None:
    for part in set(service.requires) - set(service.accepts):
        raise InputError(f"'requires' names {part}, which 'accepts' does not")
    for part in set(service.accepts) - service.uses:
        raise InputError(f"'accepts' names {part}, but the body of 'submit' does not use {{{part}}}")
    named = set(service.environment)
    jobs = [service.poll.path, service.poll.result] if service.poll else []
    for where, found, known in (
        ("submit.body", service.uses, {*VALUES, *named}),
        ("url", set(_placeholders(service.url)), named),
        ("submit.path", set(_placeholders(service.submit.path)), named),
        ("poll", set(_placeholders(jobs)), {"job", *named}),
    ):
        if unknown := sorted(found - known):
            raise InputError(f"'{where}' has {{{unknown[0]}}}, expected one of {', '.join(sorted(known)) or 'none'}")

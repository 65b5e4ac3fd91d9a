"""Takes in a request: from JSON, or from the files of a multipart form, which are kept until the answer is sent."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from cmi._util.errors import HttpRefusal, InputError
from cmi._util.web_requests import SHOWN_DETAIL
from cmi.audio import Waveform
from cmi.serve.bodies import MOST_CHARACTERS, MOST_TAKES, PromptBody, ScoreBody, SoundBody, decode_samples
from cmi.take import Audio, Prompt, Take

FORM = "multipart/form-data"
FIELDS = {"audio", "reference", "text", "lyrics", "generator"}
Body = TypeVar("Body", bound=BaseModel)


class SentTake(NamedTuple):
    """A take with its id, and what messages call its files: clients need not know where the server keeps them."""

    take: Take
    id: str | None
    shown: dict[str, str]
    generator: str = ""

    def explain(self, error: InputError) -> str:
        sentence = str(error)
        for path, name in self.shown.items():
            sentence = sentence.replace(path, name)
        return sentence


class Folders:
    """The folders that clients may name files in."""

    def __init__(self, allowed: Sequence[Path]) -> None:
        self._allowed = [folder.resolve() for folder in allowed]

    def find(self, name: str, where: str) -> Path:
        """HttpRefusal for a path elsewhere, links and '..' followed; it does not tell what is there."""
        if not self._allowed:
            raise HttpRefusal(
                "path",
                f"{where}: this server does not read paths: send the audio, or start the server with --allow",
                403,
            )
        for folder in self._allowed:
            try:
                path = (folder / name).resolve()
            except (OSError, RuntimeError, ValueError):  # a loop of links, a name too long, a null byte
                continue
            if path.is_relative_to(folder):
                return path
        raise HttpRefusal("path", f"{where}: outside the folders that this server may read", 403)


def read_body(raw: bytes, kind: type[Body]) -> Body:
    """A JSON body; HttpRefusal with its first fault, without echoing what was sent."""
    try:
        return kind.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the request"
        raise HttpRefusal("request", f"{where}: {first['msg']}"[:SHOWN_DETAIL], 422) from error


def read_takes(raw: bytes, folders: Folders) -> list[SentTake]:
    """One take, or several under `takes`."""
    bodies = read_body(raw, ScoreBody).all_takes()
    return [make_take(body, body.audio, folders, f"take {i}", body.id) for i, body in enumerate(bodies, 1)]


def make_take(
    prompt: PromptBody, sound: SoundBody, folders: Folders, where: str, take_id: str | None = None
) -> SentTake:
    shown: dict[str, str] = {}
    reference = None
    if prompt.reference is not None:
        reference = _sound(prompt.reference, folders, f"{where}: reference", shown)
    take = Take(Prompt(prompt.text, prompt.lyrics, reference), _sound(sound, folders, where, shown))
    return SentTake(take, take_id, shown, sound.generator)


def _sound(body: SoundBody, folders: Folders, where: str, shown: dict[str, str]) -> Audio:
    if body.path is not None:
        path = folders.find(body.path, where)
        shown[str(path)] = body.path
        return path
    assert body.samples is not None and body.rate is not None
    return named_waveform(body.samples, body.rate, where)


def named_waveform(encoded: str, rate: int, where: str) -> Waveform:
    try:
        return decode_samples(encoded, rate, where)
    except HttpRefusal:
        raise
    except InputError as error:
        raise HttpRefusal("sound", f"{where}: {error}", 422) from error


@asynccontextmanager
async def sent_takes(request: Request, folders: Folders) -> AsyncIterator[list[SentTake]]:
    """The takes of a request for scores."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == FORM:
        with tempfile.TemporaryDirectory(prefix="cmi-serve-") as folder:
            yield await _form_takes(request, Path(folder))
    else:  # whatever it says, as `curl -d` says that it sends a form
        yield await run_in_threadpool(read_takes, await request.body(), folders)


async def _form_takes(request: Request, folder: Path) -> list[SentTake]:
    """Takes of one prompt and generator: files `audio`; `text`, `lyrics`, `generator`, a file `reference` if given."""
    try:
        async with request.form(max_files=MOST_TAKES + 1, max_fields=8, max_part_size=4 * MOST_CHARACTERS) as form:
            return await run_in_threadpool(_keep_files, form, folder)
    except MultiPartException as error:
        raise HttpRefusal("request", "this is not a multipart form that can be read", 400) from error


def _keep_files(form: FormData, folder: Path) -> list[SentTake]:
    if unknown := set(form) - FIELDS:
        raise HttpRefusal(
            "request", f"a field that is none of {', '.join(sorted(FIELDS))}: {len(unknown)} of them", 422
        )
    text, lyrics, generator = (_text(form, name) for name in ("text", "lyrics", "generator"))
    shown: dict[str, str] = {}
    references = [_keep(part, folder, "reference", shown) for part in form.getlist("reference")]
    if len(references) > 1:
        raise HttpRefusal("request", "reference: more than one", 422)
    prompt = Prompt(text, lyrics, references[0] if references else None)
    takes = [
        SentTake(Take(prompt, _keep(part, folder, f"audio {i}", shown)), None, shown, generator)
        for i, part in enumerate(form.getlist("audio"), 1)
    ]
    if not takes:
        raise HttpRefusal("request", "audio: send at least one file under this name", 422)
    return takes


def _text(form: FormData, name: str) -> str:
    values: list[Any] = form.getlist(name)
    if len(values) > 1 or not all(isinstance(value, str) for value in values):
        raise HttpRefusal("request", f"{name}: expected one text", 422)
    if values and len(values[0]) > MOST_CHARACTERS:
        raise HttpRefusal("request", f"{name}: longer than {MOST_CHARACTERS:,} characters", 422)
    return values[0] if values else ""


def _keep(part: UploadFile | str, folder: Path, name: str, shown: dict[str, str]) -> Path:
    if isinstance(part, str):
        raise HttpRefusal("request", f"{name}: expected a file", 422)
    path = folder / str(len(shown))
    with path.open("xb") as file:
        shutil.copyfileobj(part.file, file)
    shown[str(path)] = name
    return path

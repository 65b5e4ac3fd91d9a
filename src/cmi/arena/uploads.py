"""Sounds that an owner uploads: streamed to a file, decoded in a process of its own, kept under a random name.

The client's file name is never looked at. Of an upload that is refused, or whose decoder is killed, nothing stays.
"""

import asyncio
import json
import os
import secrets
import shutil
import sys
from pathlib import Path
from typing import IO

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from cmi.arena import sounds
from cmi.arena.refusals import Refusal, too_slow
from cmi.arena.settings import Limits
from cmi.errors import InputError
from cmi.folders import make_folder

WALL_SECONDS = 90.0  # decoding; ten minutes of sound take about one
PASSED_ON = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "TMPDIR", "LANG")  # not the database's password


class Uploads:
    """The folder of uploaded sounds, and the few decoders that may run at once."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._folder = folder
        self._limits = limits
        self._decoders = asyncio.Semaphore(limits.uploads_at_once)

    async def keep(self, request: Request) -> tuple[Path, sounds.Measured]:
        """Where the sound in the request's field `file` now lies, and what it is; Refusal if it is not kept."""
        await asyncio.to_thread(make_folder, self._folder)
        name = secrets.token_urlsafe(16)
        upload, result = self._folder / f"{name}.upload", self._folder / f"{name}.flac"
        try:
            try:
                async with asyncio.timeout(self._limits.upload_transfer_seconds):
                    await _receive(request, upload)
            except TimeoutError as error:
                raise too_slow() from error
            async with self._decoders:
                measured = await _decode(upload, result, self._limits.upload_sound_seconds)
        except BaseException:
            result.unlink(missing_ok=True)
            raise
        finally:
            upload.unlink(missing_ok=True)
        return result, measured


async def _receive(request: Request, target: Path) -> None:
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise Refusal(415, "media type", "Send the sound as the field 'file' of a multipart form.")
    try:
        async with request.form(max_files=1, max_fields=4) as form:
            part = form.get("file")
            if not isinstance(part, UploadFile):
                raise Refusal(422, "request", "Send the sound as the field 'file' of a multipart form.")
            await asyncio.to_thread(_copy, part.file, target)
    except MultiPartException as error:
        raise Refusal(400, "request", "This is not a multipart form that can be read.") from error


def _copy(source: IO[bytes], target: Path) -> None:
    with target.open("xb") as file:
        shutil.copyfileobj(source, file)


async def _decode(upload: Path, result: Path, most_seconds: float) -> sounds.Measured:
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cmi.arena.decode", str(upload), str(result), str(most_seconds)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment | {"OPENBLAS_NUM_THREADS": "1"},  # each further thread would take address space
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), WALL_SECONDS)
    except TimeoutError:
        said = b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        answer = json.loads(said)
    except ValueError as error:  # killed at one of its limits
        raise Refusal(422, "sound", "The file could not be decoded within the limits for uploads.") from error
    if "refused" in answer:
        raise Refusal(422, "sound", _sentence(answer["refused"]))
    try:
        return sounds.Measured(**answer["measured"])
    except (KeyError, TypeError) as error:
        raise InputError("the decoder of uploads gave no measurement") from error


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:]}."

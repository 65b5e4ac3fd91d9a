"""Receive an owner's uploads: stream each to a file, decode it in a separate process, store it under a random name.

The client's file name is ignored. A refused upload leaves no files behind.

    NAME.upload        the uploaded bytes
    NAME.unfinished    the decoded sound
    NAME.flac          the same, once it is in the database

A killed server may leave the first two. The next server removes them when it starts, unless another one uses the
folder too: all of them share the lock FOLDER.lock.
"""

import asyncio
import errno
import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO

from sqlalchemy import select
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from cmi._util.errors import InputError
from cmi._util.files import UNFINISHED, lock_file, make_folder, move_into_place
from cmi._util.web_requests import arriving_within
from cmi.arena.audio import sounds
from cmi.arena.audio.measure import SoundMeasurement
from cmi.arena.store.database import Database
from cmi.arena.store.errors import Refused
from cmi.arena.store.schema import note
from cmi.arena.store.schema import sounds as sounds_table
from cmi.arena.web.limits import Limits

WALL_SECONDS = 90.0  # decoding; ten minutes of sound take about five
UPLOAD = ".upload"
EXPECTED = "send the sound as the field 'file' of a multipart form"
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "TMPDIR", "LANG")  # not the database's password


class Uploads:
    """The folder of uploaded sounds, and the few decoders that may run at once."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._folder = folder
        self._limits = limits
        self._decoders = asyncio.Semaphore(limits.uploads_at_once)
        self._lock: IO[bytes] | None = None

    @asynccontextmanager
    async def receive(self, request: Request) -> AsyncIterator[tuple[Path, SoundMeasurement]]:
        """Decode the request's field `file` to an unfinished file, which is removed after the block; or Refused."""
        await asyncio.to_thread(self.claim)
        name = secrets.token_urlsafe(16)
        upload, decoded = self._folder / f"{name}{UPLOAD}", self._folder / f"{name}{UNFINISHED}"
        try:
            async with arriving_within(self._limits.upload_transfer_seconds):
                await _receive(request, upload)
            async with self._decoders:
                measured = await _decode(upload, decoded, self._limits.upload_sound_seconds)
            yield decoded, measured
        finally:
            upload.unlink(missing_ok=True)
            decoded.unlink(missing_ok=True)

    def claim(self) -> None:
        """Remove what a killed server left behind, and keep other servers from removing our files."""
        if self._lock is not None:
            return
        make_folder(self._folder)
        if (alone := lock_file(self._folder, alone=True)) is not None:
            with alone:
                for left in self._folder.rglob("*"):
                    if left.suffix in (UPLOAD, UNFINISHED):
                        with suppress(OSError):
                            left.unlink()
        while (lock := lock_file(self._folder, alone=False)) is None:
            time.sleep(0.01)  # another server is removing leftovers
        self._lock = lock


def keep(database: Database, project: str, decoded: Path, measured: SoundMeasurement) -> str:
    """Store a decoded upload and return its sound's id; the same bytes are stored once."""
    path = decoded.with_suffix(".flac").resolve()
    try:
        with database.writing() as connection:
            sound = sounds.register(connection, project, path, measured)
            note(connection, database.now(), project, "sound uploaded", sound, {})
            if connection.scalar(select(sounds_table.c.path).where(sounds_table.c.id == sound)) == str(path):
                move_into_place(decoded, path)  # last, right before the commit
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return sound


async def _receive(request: Request, target: Path) -> None:
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise Refused("media type", EXPECTED, 415)
    try:
        async with request.form(max_files=1, max_fields=4) as form:
            part = form.get("file")
            if not isinstance(part, UploadFile):
                raise Refused("request", EXPECTED, 422)
            await asyncio.to_thread(_copy, part.file, target)
    except MultiPartException as error:
        raise Refused("request", "this is not a multipart form that can be read", 400) from error


def _copy(source: IO[bytes], target: Path) -> None:
    with target.open("xb") as file:
        shutil.copyfileobj(source, file)


async def _decode(upload: Path, decoded: Path, most_seconds: float) -> SoundMeasurement:
    process = await asyncio.create_subprocess_exec(
        # -P: do not import from the server's working folder
        *(sys.executable, "-P", "-m", "cmi.arena.audio.decode", str(upload), str(decoded), str(most_seconds)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=decoder_environment(),
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
        raise Refused("sound", "the file could not be decoded within the limits for uploads", 422) from error
    if "refused" in answer:
        raise Refused("sound", answer["refused"], 422)
    if "disk_full" in answer:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(decoded))
    try:
        return SoundMeasurement(**answer["measured"])
    except (KeyError, TypeError) as error:
        raise InputError("the decoder of uploads gave no measurement") from error


def decoder_environment() -> dict[str, str]:
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    # an empty entry would mean the current folder
    paths = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    # each thread takes address space
    return passed | {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}

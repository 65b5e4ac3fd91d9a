"""Workers: models in their authors' own environment, run as a process that reads prompts and writes takes.

The protocol, one JSON object per line (`cmi._util.worker_process` says what happens if a worker fails)
    worker  {"ready": true, "name": "yue", "version": "1.0", "accepts": ["text", "lyrics"], "licence": "Apache-2.0",
             "settings": {"steps": 50}}                   when its model is loaded; only `ready` is required
    cmi     {"id": 7, "text": "...", "lyrics": "...", "reference": "/data/like.wav", "seed": 0, "seconds": 30.0,
             "audio": "/a/folder/7.wav"}                  reference and seconds may be null
    worker  {"id": 7, "audio": "/a/folder/7.wav"}    or    {"id": 7, "error": "..."}    and with it a "kind" if known
    The worker writes its take to `audio`, as WAV or FLAC, or names another file, which is left alone.

`worker_skeleton.py` in this folder is a worker without a model.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cmi._util.worker_process import Message, RestartedWorker, WorkerFault, WorkerGone
from cmi.audio import Waveform, write_wav
from cmi.generate import GeneratedSound, GenerationError, GeneratorStopped, Part
from cmi.generate.sound_file import read_sound
from cmi.take import Prompt

START_TIMEOUT = 3600.0  # seconds; a worker may download its model


class WorkerGenerator:
    """Gives a worker one prompt at a time; its attributes are what the worker says when it is ready."""

    def __init__(self, command: Sequence[str], timeout: float, start_timeout: float = START_TIMEOUT) -> None:
        called = Path(next((word for word in reversed(command) if word.endswith((".py", ".sh"))), command[0])).stem
        self._worker = RestartedWorker(command, called, timeout, start_timeout, called="takes")
        try:
            ready = self._worker.ready()
        except WorkerGone as error:
            raise GeneratorStopped(str(error)) from error
        self.name: str = ready.get("name", called)
        self.version: str = ready.get("version", "unknown")
        self.accepts: tuple[Part, ...] = tuple(ready.get("accepts", ("text",)))
        self.licence: str = ready.get("licence", "unknown")
        self.settings: Mapping[str, Any] = ready.get("settings", {})
        self._folder = tempfile.TemporaryDirectory(prefix="cmi-worker-")
        self._made = 0

    def generate(self, prompt: Prompt, seed: int, seconds: float | None) -> GeneratedSound:
        self._made += 1
        path = Path(self._folder.name) / f"{self._made}.wav"
        reference = prompt.reference
        if isinstance(reference, Waveform):
            write_wav(reference, path.with_name("reference.wav"))
            reference = path.with_name("reference.wav")
        try:
            said = self._ask(
                {
                    "text": prompt.text,
                    "lyrics": prompt.lyrics,
                    "reference": None if reference is None else str(reference.resolve()),
                    "seed": seed,
                    "seconds": seconds,
                    "audio": str(path),
                }
            )
            return read_sound(Path(str(said.get("audio") or path)))
        finally:
            path.unlink(missing_ok=True)

    def close(self) -> None:
        self._worker.close()
        self._folder.cleanup()

    def _ask(self, request: Message) -> Message:
        try:
            said = self._worker.ask(request)
        except WorkerGone as error:
            raise GeneratorStopped(str(error)) from error
        except WorkerFault as error:
            raise GenerationError("worker failed", str(error)) from error
        if said.get("error"):
            raise GenerationError(str(said.get("kind") or "error"), str(said["error"]))
        return said

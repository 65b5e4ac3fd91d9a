"""Load a listener by its name on the command line.

reference                        supervised MIR models (`cmi.bench.ask.reference`)
null:empty, null:example, ...    answers without the audio (`cmi.bench.ask.nulls`)
openai                           a model behind an OpenAI-compatible endpoint: --url, --model
qwen2-audio, qwen2.5-omni, qwen3-omni, audio-flamingo-3, music-flamingo
                                 transformers models in this process; --model names a folder or another hub id
qwen-audio, musilingo            models with remote code: --trust-remote-code and --revision
my_module:MyListener             your own class, called without arguments
"env/bin/python worker.py"       a command that follows the worker protocol (`cmi.bench.ask.worker`)
"""

import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cmi._util.errors import InputError, MissingExtra
from cmi._util.plugins import load_own
from cmi.bench.ask import Listener
from cmi.bench.ask.nulls import NULLS, NullListener
from cmi.bench.ask.run import model_name

_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
ENDPOINT = "openai"
LOCAL = ("qwen2-audio", "qwen2.5-omni", "qwen3-omni", "audio-flamingo-3", "music-flamingo")
IN_PROCESS = (*LOCAL, "qwen-audio", "musilingo")


@dataclass(frozen=True)
class Options:
    """The options of all listeners; each uses those that concern it."""

    out: Path = Path()  # a folder for a listener's own files
    shard: str = ""  # in a sharded run
    model: str = ""
    revision: str | None = None
    trust_remote_code: bool = False
    device: str = "auto"
    batch: int | None = None
    max_tokens: int = 512
    temperature: float = 0.0
    timeout: float = 300.0
    url: str = ""
    key_env: str = ""
    concurrency: int = 16
    seconds: float | None = None
    sound: str = "wav"
    sound_as: str = "input_audio"
    stream: bool = False
    max_calls: int | None = None
    max_total_tokens: int | None = None
    max_cost: float | None = None
    prices: tuple[float, float] = (0.0, 0.0)  # per million tokens in, out


@dataclass(frozen=True)
class Named:
    """A listener, the short name of its answer files, and the full name that identifies it."""

    listener: Listener
    short: str
    full: str


def load_listener(spec: str, options: Options) -> Named:
    listener, full = _loader(spec).load(spec, options)
    return Named(listener, short_name(spec, options), full or str(getattr(listener, "name", spec)))


def short_name(spec: str, options: Options) -> str:
    """Return the name for a listener's answer files without loading it."""
    return model_name(_loader(spec).short(spec, options))


def _loader(spec: str) -> "_Loader":
    for loader in _LOADERS:
        if loader.knows(spec):
            return loader
    raise InputError(
        f"--listener {spec!r} is not a listener: choose from reference, {', '.join(NULLS)}, {ENDPOINT}, "
        f"{', '.join(IN_PROCESS)}, module:Class, or a command"
    )


def load_for_plan(spec: str, options: Options) -> Named:
    """Load a listener for a dry run; in-process models are only named, because they load slowly."""
    if spec in IN_PROCESS:
        return Named(NullListener("null:empty"), short_name(spec, options), f"{options.model or spec}, not loaded")
    return load_listener(spec, options)


Loaded = tuple[Listener, str]  # its full name, or "" if it has a `name`


def _load_reference(spec: str, options: Options) -> Loaded:
    from cmi.bench.ask.reference import ReferenceListener

    return ReferenceListener(), ""


def _load_language_model(spec: str, options: Options) -> Loaded:
    try:
        from cmi.bench.ask import language_models

        return language_models.load(spec, options), ""
    except ModuleNotFoundError as error:
        raise MissingExtra(f"listener {spec}", "api" if spec == ENDPOINT else "reward") from error


def _load_class(spec: str, options: Options) -> Loaded:
    """Load a user's class; its full name includes the file's hash and the listener's own name."""
    listener, full = load_own(spec)
    if not callable(getattr(listener, "answer", None)):
        raise InputError(f"--listener {spec} has no method answer(questions)")
    said = getattr(listener, "name", "")
    return listener, f"{full}: {said}" if said else full


def _load_worker(spec: str, options: Options) -> Loaded:
    from cmi.bench.ask.worker import WorkerListener

    command = _command(spec)
    return WorkerListener(command, shlex.join(command), options.timeout), ""


def _script(command: list[str]) -> str:
    return Path(next((word for word in reversed(command) if word.endswith((".py", ".sh"))), command[0])).stem


def _command(spec: str) -> list[str]:
    """Split a command into words; empty if its program does not exist."""
    try:
        words = shlex.split(spec)
    except ValueError:
        return []
    return words if words and shutil.which(words[0]) else []


class _Loader(NamedTuple):
    knows: Callable[[str], bool]
    load: Callable[[str, Options], Loaded]
    short: Callable[[str, Options], str] = lambda spec, _: spec


_LOADERS = (
    _Loader(lambda spec: spec in NULLS, lambda spec, _: (NullListener(spec), "")),
    _Loader(lambda spec: spec == "reference", _load_reference),
    _Loader(lambda spec: spec == ENDPOINT, _load_language_model, lambda _, options: options.model.rpartition("/")[2]),
    _Loader(lambda spec: spec in IN_PROCESS, _load_language_model),
    _Loader(lambda spec: bool(_CLASS.fullmatch(spec)), _load_class, lambda spec, _: spec.partition(":")[2]),
    _Loader(lambda spec: bool(_command(spec)), _load_worker, lambda spec, _: _script(_command(spec))),
)

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
from dataclasses import dataclass
from pathlib import Path

from cmi._util.errors import InputError, require_extra
from cmi._util.plugins import load_own
from cmi.bench.ask import Listener
from cmi.bench.ask.nulls import NULLS, NullListener
from cmi.bench.ask.run import model_name

_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
REFERENCE = "reference"
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
    probes: bool = True  # find out how much of a clip a language model hears


@dataclass(frozen=True)
class Named:
    """A listener, the short name of its answer files, and the full name that identifies it."""

    listener: Listener
    short: str
    full: str


def load_listener(spec: str, options: Options) -> Named:
    short, full = short_name(spec, options), ""
    listener: Listener
    if spec in NULLS:
        listener = NullListener(spec)
    elif spec == REFERENCE:
        from cmi.bench.ask.reference import ReferenceListener

        listener = ReferenceListener()
    elif spec in (ENDPOINT, *IN_PROCESS):
        with require_extra(f"listener {spec}", "api" if spec == ENDPOINT else "reward"):
            from cmi.bench.ask import language_models

            listener = language_models.load(spec, options)
    elif _CLASS.fullmatch(spec):
        listener, full = load_own(spec)
        if not callable(getattr(listener, "answer", None)):
            raise InputError(f"--listener {spec} has no method answer(questions)")
        said = getattr(listener, "name", "")
        full += f": {said}" if said else ""
    else:
        from cmi.bench.ask.worker import WorkerListener

        command = _command(spec)
        listener = WorkerListener(command, shlex.join(command), options.timeout, probes=options.probes)
    return Named(listener, short, full or str(getattr(listener, "name", spec)))


def load_for_plan(spec: str, options: Options) -> Named:
    """Load a listener for a dry run; in-process models are only named, because they load slowly."""
    if spec in IN_PROCESS:
        return Named(NullListener("null:empty"), short_name(spec, options), f"{options.model or spec}, not loaded")
    return load_listener(spec, options)


def short_name(spec: str, options: Options) -> str:
    """Return the name for a listener's answer files without loading it; InputError if there is no such listener."""
    if spec in (REFERENCE, *NULLS, *IN_PROCESS):
        return model_name(spec)
    if spec == ENDPOINT:
        return model_name(options.model.rpartition("/")[2])
    if _CLASS.fullmatch(spec):
        return model_name(spec.partition(":")[2])
    if command := _command(spec):
        script = next((word for word in reversed(command) if word.endswith((".py", ".sh"))), command[0])
        path = Path(script)
        return model_name((path.stem == "worker" and path.parent.name) or path.stem)
    raise InputError(
        f"--listener {spec!r} is not a listener: choose from {REFERENCE}, {', '.join(NULLS)}, {ENDPOINT}, "
        f"{', '.join(IN_PROCESS)}, module:Class, or a command"
    )


def _command(spec: str) -> list[str]:
    """Split a command into words; empty if its program does not exist."""
    try:
        words = shlex.split(spec)
    except ValueError:
        return []
    return words if words and shutil.which(words[0]) else []

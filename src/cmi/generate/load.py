"""Load a music generator by its name on the command line.

studio, studio:flaws=0.5         a system of `cmi.generate.systems`, with settings if any
musicgen:FOLDER,guidance=4       one whose model is a checkpoint: a hub id or a folder
NAME                             a service that `cmi/generate/services/NAME.toml` describes
my_module:MyGenerator            your own class, called without arguments
worker:COMMAND                   a process in its own environment (`cmi.generate.worker`)
"""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.plugins import load_own
from cmi.audio import Waveform
from cmi.generate import PARTS, GeneratedSound, Generator, Part
from cmi.generate.systems import bind_settings, find_system, list_systems
from cmi.take import Prompt

WORKER = "worker:"
TIMEOUT = 1800.0  # seconds for a worker's take
_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class AboutGenerator(NamedTuple):
    """The attributes of a generator, which may be loaded in another process."""

    name: str
    version: str
    accepts: tuple[Part, ...]
    licence: str
    settings: dict[str, Any]
    concurrency: int
    price: float


def load_generator(name: str, timeout: float = TIMEOUT) -> Generator:
    """Load a system (`studio:flaws=0.5`), a service (its name or TOML file), `module:Class` or `worker:COMMAND`."""
    return find_generator(name, timeout)()


def find_generator(name: str, timeout: float = TIMEOUT) -> Callable[[], Generator]:
    """Return the function that loads a generator; InputError if there is none of that name."""
    system, _, settings = name.partition(":")
    if name.startswith(WORKER):
        words = _words(name.removeprefix(WORKER))
        return lambda: _load_worker(words, timeout)
    if (make := find_system(system)) is not None:
        load = bind_settings(settings, make, system)
        return lambda: check_generator(load(), name)
    if is_service(name):
        return lambda: _load_service(name)
    if _CLASS.fullmatch(name):
        return lambda: _load_class(name)
    raise InputError(
        f"--system {name!r} is not a generator: choose from {', '.join([*list_systems(), *_services()])}, "
        "module:Class, worker:COMMAND, or the TOML file of a service"
    )


def is_service(name: str) -> bool:
    """Whether it names a description of a service that comes with cmi, or a TOML file."""
    is_name = re.fullmatch(r"[\w.-]+", name) is not None
    return name.endswith(".toml") or (is_name and (files("cmi.generate") / "services" / f"{name}.toml").is_file())


def check_generator(generator: Any, spec: str) -> Generator:
    """InputError unless the attributes of a generator are as the contract says."""
    for attribute in ("name", "version", "licence"):
        value = getattr(generator, attribute, None)
        if not isinstance(value, str) or not value:
            raise InputError(f"{spec}: its {attribute} is {value!r}, expected some text")
    accepts = getattr(generator, "accepts", ())
    if isinstance(accepts, str) or not accepts or not set(accepts) <= set(PARTS):
        raise InputError(f"{spec}: accepts is {accepts!r}, expected some of {', '.join(PARTS)}")
    try:
        json.dumps(dict(generator.settings), allow_nan=False)
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"{spec}: its settings cannot be written as a JSON object ({error})") from error
    concurrency = getattr(generator, "concurrency", 1)
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
        raise InputError(f"{spec}: its concurrency is {concurrency!r}, expected a whole number from 1 on")
    price = getattr(generator, "price", 0.0)
    if isinstance(price, bool) or not isinstance(price, int | float) or not price >= 0:
        raise InputError(f"{spec}: its price is {price!r}, expected a number from 0 on")
    return generator


def describe_generator(generator: Generator) -> AboutGenerator:
    return AboutGenerator(
        generator.name,
        generator.version,
        tuple(generator.accepts),
        generator.licence,
        dict(generator.settings),
        getattr(generator, "concurrency", 1),
        float(getattr(generator, "price", 0.0)),
    )


class OwnGenerator:
    """A user's class, with defaults for attributes that it lacks."""

    def __init__(self, spec: str) -> None:
        made, full_name = load_own(spec)
        if not callable(getattr(made, "generate", None)):
            raise InputError(f"--system {spec} has no method generate(prompt, seed, seconds)")
        self._made = made
        self.name: str = getattr(made, "name", spec.partition(":")[2])
        self.version: str = getattr(made, "version", full_name.rpartition("@")[2])
        self.accepts: tuple[Part, ...] = getattr(made, "accepts", ("text",))
        self.licence: str = getattr(made, "licence", "unknown")
        self.settings: Mapping[str, Any] = getattr(made, "settings", {})

    def generate(self, prompt: Prompt, seed: int, seconds: float | None) -> Waveform | GeneratedSound:
        return self._made.generate(prompt, seed, seconds)

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return getattr(self._made, attribute)


def _load_class(spec: str) -> Generator:
    return check_generator(OwnGenerator(spec), spec)


def _load_worker(words: list[str], timeout: float) -> Generator:
    from cmi.generate.worker import WorkerGenerator

    generator = WorkerGenerator(words, timeout)
    try:
        return check_generator(generator, f"{WORKER}{shlex.join(words)}")
    except InputError:
        generator.close()
        raise


def _load_service(name: str) -> Generator:
    from cmi.generate.service import load_service

    return check_generator(load_service(name), name)


def _services() -> list[str]:
    folder = files("cmi.generate") / "services"
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir()) if folder.is_dir() else []


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"--system {WORKER}{command}: not a command ({error})") from error
    if not words:
        raise InputError(f"--system {WORKER} needs the command of a worker, such as 'worker:env/bin/python yue.py'")
    return words

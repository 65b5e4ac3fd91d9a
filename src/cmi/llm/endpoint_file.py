"""An endpoint in a file, for whatever an address and a model's name do not say.

    url = "https://example.com/v1"      model = "some-audio-model"      key_env = "EXAMPLE_KEY"
    concurrency = 32                    timeout = 120                   extra = {modalities = ["text"]}
    stream = true
    [sending]                           # format, rate, seconds, megabytes, sound_as
    format = "mp3"
    seconds = 60
    [prices]                            # money for a million tokens
    input = 0.3
    output = 2.5

Names are the fields of Endpoint, Sending and Prices. A key itself has no place in it.
"""

from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from cmi._util.errors import InputError
from cmi._util.toml_files import parse_toml
from cmi.llm.budget import Prices
from cmi.llm.endpoint import Endpoint, Sending, SoundAs, SoundFormat

_NUMBERS = (int, float)
_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("url", "model", "key_env", "format", "sound_as"), (str,)),
    **dict.fromkeys(("max_tokens", "concurrency", "tries", "repairs", "rate"), (int,)),
    **dict.fromkeys(("temperature", "timeout", "patience", "seconds", "megabytes", "input", "output"), _NUMBERS),
    "stream": (bool,),
    "extra": (dict,),
}


def read_endpoint(path: Path) -> tuple[Endpoint, Prices]:
    """InputError for what is unknown, missing or of the wrong kind."""
    try:
        table = parse_toml(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    sending = _fields(table.pop("sending", {}), Sending, f"{path} [sending]")
    prices = _fields(table.pop("prices", {}), Prices, f"{path} [prices]")
    for name, allowed in (("format", get_args(SoundFormat)), ("sound_as", get_args(SoundAs))):
        if name in sending and sending[name] not in allowed:
            raise InputError(f"{path} [sending]: {name!r} is {sending[name]!r}, expected {' or '.join(allowed)}")
    found = _fields(table, Endpoint, str(path))
    for name in ("url", "model"):
        if name not in found:
            raise InputError(f"{path}: {name!r} is missing")
    try:
        return Endpoint(**found, sending=Sending(**sending)), Prices(**prices)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _fields(table: Any, kind: type, where: str) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise InputError(f"{where}: expected a table")
    known = [field.name for field in fields(kind) if field.name in _KINDS]
    for name, value in table.items():
        if name not in known:
            raise InputError(f"{where}: {name!r} is unknown, expected some of {', '.join(known)}")
        if not isinstance(value, _KINDS[name]) or (isinstance(value, bool) and bool not in _KINDS[name]):
            raise InputError(f"{where}: {name!r} is {type(value).__name__}, expected {_KINDS[name][0].__name__}")
    return table

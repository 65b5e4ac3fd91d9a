"""Load transformers models safely: no remote code, no pickles, no randomly initialised weights.

transformers replaces missing fields of a configuration by defaults, often the sizes of a 7B model, and missing weights
by random numbers. We first build the model on torch's meta device, without memory, and compare it with the headers of
the weight files; it is loaded only if they match.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError, reason_of
from cmi._util.hub import quiet_transformers
from cmi._util.records import read_json

# Arguments for every `from_pretrained`.
SAFE: Mapping[str, Any] = {"local_files_only": True, "trust_remote_code": False}
MOST_LAYERS = 1_000  # in one part of a model; each takes time to build, even without memory
ROOM = 1.25  # model size / file size: tied weights are stored once and may count twice in the model
PACKED = 2  # weights per byte of a quantized tensor
NAMED = 3  # missing weights that an error lists


def load_pretrained(kind: Any, folder: Path, may_lack: Sequence[str] = (), config: Any = None, **how: Any) -> Any:
    """Load a model of a transformers class (or Auto class) from a folder; `how` goes to its `from_pretrained`.

    Weights whose names begin with one of `may_lack` may be missing.
    """
    from safetensors import SafetensorError

    config = read_model_config(kind, folder) if config is None else config
    try:
        with quiet_transformers():
            _require_weights(kind, folder, config)
            model, report = kind.from_pretrained(
                folder, config=config, use_safetensors=True, output_loading_info=True, **SAFE, **how
            )
    except InputError:
        raise
    except SafetensorError as error:
        raise InputError(f"{folder}: its weights cannot be read ({reason_of(error)})") from error
    except Exception as error:  # a broken model may raise anything
        raise InputError(f"{folder}: not a model that transformers can load ({reason_of(error)})") from error
    require_all_weights(folder, [name for name in report["missing_keys"] if not name.startswith(tuple(may_lack))])
    return model


def require_all_weights(folder: Path, missing: Sequence[str]) -> None:
    """InputError if some weights of the model in `folder` are `missing`."""
    if missing:
        named = _some(sorted(missing))
        raise InputError(f"{folder}: {len(missing)} of the model's weights are missing ({named}); get its files again")


def read_model_config(kind: Any, folder: Path) -> Any:
    """Read the configuration in a folder with a transformers class or Auto class."""
    from transformers import AutoConfig

    require_layers(folder)
    try:
        with quiet_transformers():
            return (getattr(kind, "config_class", None) or AutoConfig).from_pretrained(folder, **SAFE)
    except Exception as error:
        raise InputError(f"{folder}: not a model that transformers can load ({reason_of(error)})") from error


def require_layers(folder: Path) -> None:
    """InputError if config.json is missing or asks for more layers than any model has."""
    path = folder / "config.json"
    if not path.exists():
        raise InputError(f"{path}: No such file or directory; expected the folder of a model")
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: {type(content).__name__}, expected an object")
    parts = [content]
    while parts:
        part = parts.pop()
        parts += [value for value in part.values() if isinstance(value, dict)]
        for name, value in part.items():
            if ("layer" in name or name == "depth") and isinstance(value, int) and value > MOST_LAYERS:
                raise InputError(f"{path}: {name!r} is {value:,}, expected {MOST_LAYERS:,} at most")


def _require_weights(kind: Any, folder: Path, config: Any) -> None:
    """InputError if the configuration describes a much larger model than the folder has weights for."""
    import torch

    weights = {name: count for path in sorted(folder.glob("*.safetensors")) for name, count in _counts(path).items()}
    if not weights:
        raise InputError(f"{folder}: no .safetensors file in it; weights in other formats are not opened")
    build = getattr(kind, "from_config", None) or kind._from_config
    with torch.device("meta"):
        described = {name: parameter.numel() for name, parameter in build(config).named_parameters()}
    wanted, held = sum(described.values()), sum(weights.values())
    if wanted > ROOM * held:
        missing = [name for name in described if not any(other.endswith(name) for other in weights)]
        why = f"missing are {_some(missing)}" if missing else "it does not state its sizes"
        raise InputError(
            f"{folder}: config.json describes a model of {wanted:,} numbers, but the weights hold {held:,}: {why}"
        )


def _counts(path: Path) -> dict[str, int]:
    """Return how many weights each tensor of a file may encode, from the file's header alone."""
    from safetensors import safe_open

    found = {}
    with safe_open(path, "pt") as file:
        for name in file.keys():  # noqa: SIM118  not a dict
            tensor = file.get_slice(name)
            count, kind = math.prod(tensor.get_shape()), tensor.get_dtype()
            bits = int("".join(filter(str.isdigit, kind)) or 8)  # of a kind such as I32 or U8
            found[name] = count if kind.startswith(("F", "BF")) else PACKED * count * max(1, bits // 8)
    return found


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")

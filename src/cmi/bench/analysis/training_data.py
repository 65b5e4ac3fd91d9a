"""What is known of the data that models were trained on: a small file of facts, ours or the user's.

The file is `training_data.toml` beside this module, or one in its layout; it opens with what the words mean.
"""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS

STATED, IMPLIED, NONE, UNKNOWN = "stated", "implied", "none", "unknown"


class Fact(NamedTuple):
    overlap: str  # STATED, IMPLIED or NONE
    why: str


Facts = dict[tuple[str, str], Fact]  # by model and data set; what is not in it is unknown


def read_facts(path: Path | None = None) -> Facts:
    """The facts of a file, or ours. InputError says which entry is wrong."""
    name = str(path or "training_data.toml")
    try:
        source = path or files("cmi.bench.analysis").joinpath("training_data.toml")
        data = tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{name}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: not TOML ({error})") from error
    facts: Facts = {}
    for model, table in data.items():
        if not isinstance(table, dict):
            raise InputError(f"{name}: {model!r} is no table of data sets")
        for dataset, entry in table.items():
            if dataset not in DATASETS:
                raise InputError(f"{name}: [{model}.{dataset}] names no data set; there are {', '.join(DATASETS)}")
            facts[model, dataset] = _fact(entry, f"{name}: [{model}.{dataset}]")
    if not facts:
        raise InputError(f"{name}: empty, expected tables such as [qwen2.MTG_genre]")
    return facts


def _fact(entry: Any, where: str) -> Fact:
    overlap = entry.get("overlap") if isinstance(entry, dict) else None
    why = entry.get("why", "") if isinstance(entry, dict) else None
    if overlap not in (STATED, IMPLIED, NONE) or not isinstance(why, str):
        raise InputError(f"{where} needs overlap = {STATED!r}, {IMPLIED!r} or {NONE!r}, and may say 'why'")
    return Fact(overlap, why)

"""What is known of the data that models were trained on: a small file of facts, ours or the user's.

The file is `training_data.toml` beside this module, or one in its layout; it opens with what the words mean.
"""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from cmi._util.config import read_config
from cmi._util.errors import InputError
from cmi.bench.catalog import DATASETS

STATED, IMPLIED, NONE, UNKNOWN = "stated", "implied", "none", "unknown"


@dataclass(frozen=True)
class Fact:
    overlap: Literal["stated", "implied", "none"]
    why: str = ""


Facts = dict[tuple[str, str], Fact]  # by model and data set; what is not in it is unknown


def read_facts(path: Path | None = None) -> Facts:
    """The facts of a file, or ours. InputError says which entry is wrong."""
    name = str(path or "training_data.toml")
    source = path or files("cmi.bench.analysis").joinpath("training_data.toml")
    tables = read_config(source, dict[str, dict[str, Fact]], name)
    facts = {(model, dataset): fact for model, table in tables.items() for dataset, fact in table.items()}
    for model, dataset in facts:
        if dataset not in DATASETS:
            raise InputError(f"{name}: [{model}.{dataset}] names no data set; there are {', '.join(DATASETS)}")
    if not facts:
        raise InputError(f"{name}: empty, expected tables such as [qwen2.MTG_genre]")
    return facts

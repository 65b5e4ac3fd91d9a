"""Table 3 of the CMI-Bench paper: what it printed for eleven models, and for the best supervised systems."""

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

MODELS = {
    "qwen2": "Qwen2-Audio",
    "qwen": "Qwen-Audio",
    "salmonn": "SALMONN",
    "musilingo": "MusiLingo",
    "ltu": "LTU",
    "ltu_as": "LTU-AS",
    "mullama": "MU-LLaMA",
    "flamingo": "Audio-Flamingo",
    "gama": "GAMA",
    "gama_it": "GAMA-IT",
    "pengi": "Pengi",
}


class PublishedRow(NamedTuple):
    row: str
    metric: str
    better: str
    by_model: dict[str, str]  # as printed
    sota: str  # as printed; empty where the paper gives none


@cache
def published_rows() -> tuple[PublishedRow, ...]:
    text = files("cmi.bench").joinpath("table3.csv").read_text(encoding="utf-8")
    return tuple(
        PublishedRow(
            line["row"], line["metric"], line["better"], {model: line[model] for model in MODELS}, line["sota"]
        )
        for line in csv.DictReader(text.splitlines())
    )

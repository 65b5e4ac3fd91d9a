"""MusicEval: clips of 31 text-to-music models, each rated by five experts.

Layout (parquet on the hub, BAAI/MusicEval)
    data/SPLIT-*.parquet    audio, overall quality, textual alignment; SPLIT is train, validation or test

`overall quality`, the experts' impression, is the paper's musicality. Alignment is left out as in the paper, because
the published prompts do not match the recordings; so no item has a prompt. A recording's name tells its model and the
number of its prompt ('...S012_P044.wav').
"""

import re
from collections.abc import Iterator
from pathlib import Path

from cmi._util.errors import InputError
from cmi._util.fields import number_field, text_field
from cmi._util.records import read_records
from cmi.rewardbench.data import HUB, DataSet
from cmi.rewardbench.data.parquet import prepare
from cmi.rewardbench.data.rows import LeftOut, inside, present, required
from cmi.rewardbench.items import RatedItem
from cmi.take import Prompt

NAME = "musiceval"
DATA_SET = DataSet(
    NAME,
    "MusicEval: clips rated by experts",
    "CC BY-NC 4.0",
    f"{HUB}/datasets/BAAI/MusicEval",
    hub="BAAI/MusicEval",
    files=("data/*.parquet", "README.md"),
    size=1_903_173_150,
    samples=2748,
    tested=413,
)
RATED = "overall quality"
RECORDING = re.compile(r"(?P<model>S\d+)_(?P<prompt>P\d+)")


def rows(folder: Path) -> Iterator[RatedItem | LeftOut]:
    prepared = prepare(folder)
    for file in sorted(prepared.glob("*.jsonl")):
        for place, row in read_records(file):
            where, split = f"{file} {place}", file.stem
            for column in ("audio", RATED):
                if column not in row:
                    raise InputError(f"{where}: no column {column!r} ({', '.join(row)})")
            rating = number_field(row, RATED, where)
            if rating is None:
                yield LeftOut("no rating", split)
                continue
            audio = row["audio"]
            if not isinstance(audio, dict):
                raise InputError(f"{where}: 'audio' is {type(audio).__name__}, expected a recording")
            take = inside(prepared, required(audio, "file", where), where)
            found = RECORDING.search(text_field(audio, "name", where))
            about = present(
                split=split, **({"generator": found["model"], "prompt_id": found["prompt"]} if found else {})
            )
            yield RatedItem(
                f"{split}-{place.split()[-1]}", NAME, Prompt(), (take,), {"musicality": rating}, about=about
            )

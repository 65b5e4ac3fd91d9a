"""Music Arena: two systems answer a visitor's prompt, and the visitor says which answer is better.

Layout (files on the hub, music-arena/music-arena-dataset)
    battle_data/PERIOD/*.json      one battle each; PERIOD is '01-2025JULAUG', '02-2025SEP', ...
    audio_files/PERIOD/*.mp3

Visitors are asked one question, so a vote is `overall`; the paper counts it as musicality. Left out as in the paper:
ties, 'both bad', and battles of which a recording is missing, because its generation failed or its system is not
public. The paper's battles are those until December 2025, split 'test'; later ones, which a new release adds each
month, are split 'later'.

Read from: gclef-cmu/music-arena@799dcd7 components/leaderboard/ma_leaderboard/preprocess.py, which writes the data set:
names of periods, fields, words. A field that it does not write is an error. No file of the set was at hand.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cmi._util.config import read_table
from cmi._util.errors import InputError
from cmi._util.fields import label_field, text_field
from cmi._util.records import Columns
from cmi.rewardbench.data import HUB, DataSet
from cmi.rewardbench.data.rows import LeftOut, first_of, inside, present, required
from cmi.rewardbench.items import RatedItem, Vote
from cmi.take import Prompt

NAME = "music-arena"
DATA_SET = DataSet(
    NAME,
    "Music Arena: visitors' votes on pairs",
    "CC BY 4.0",
    f"{HUB}/datasets/music-arena/music-arena-dataset",
    hub="music-arena/music-arena-dataset",
    files=("battle_data/*", "audio_files/*", "README.md"),
    samples=2800,
    tested=1340,
)
SIDED = (
    "audio",
    "system",
    "total_listening_time",
    "hardware",
    "system_time",
    "gateway_time",
    "duration",
    "sample_rate",
)
FIELDS = Columns(
    ("battle_uuid", "date", "prompt", "lyrics", "audio_a", "audio_b", "system_a", "system_b", "preference"),
    (
        *(
            "is_instrumental",
            "is_prebaked",
            "user_pseudonym",
            "feedback",
            "timestamp",
            "listen_data_a",
            "listen_data_b",
        ),
        *(f"{what}_{side}" for what in SIDED for side in "ab"),
    ),
)
LAST_MONTH = "2025-12"  # of the paper
WORDS = {"a": "a", "b": "b", "tie": "tie", "both_bad": "both bad"}


def rows(folder: Path) -> Iterator[RatedItem | LeftOut]:
    files = sorted(first_of(folder, "battle_data").glob("*/*.json"))
    return (_battle(read_table(file), str(file), folder, file.parent.name) for file in files)


def _battle(row: dict[str, Any], where: str, folder: Path, period: str) -> RatedItem | LeftOut:
    FIELDS.require_known(row, where, "field")
    for field in ("preference", "audio_a", "audio_b"):
        if field not in row:
            raise InputError(f"{where}: no {field!r} ({', '.join(row)})")
    month = _month(row, where)
    split = "later" if month > LAST_MONTH else "test"
    choice = label_field(row, "preference", where, WORDS)
    takes = [inside(folder, path, where) for side in "ab" if (path := text_field(row, f"audio_{side}", where))]
    if choice not in ("a", "b"):
        return LeftOut(choice or "no vote", split)
    if len(takes) < 2:
        return LeftOut("a recording is missing", split)
    about = present(
        month=month,
        voted=text_field(row, "date", where),
        period=period,
        generator_a=text_field(row, "system_a", where),
        generator_b=text_field(row, "system_b", where),
        rater=text_field(row, "user_pseudonym", where),
        split=split,
    )
    vote = Vote("a" if choice == "a" else "b")
    prompt = Prompt(text_field(row, "prompt", where), text_field(row, "lyrics", where))
    return RatedItem(
        required(row, "battle_uuid", where), NAME, prompt, tuple(takes), votes={"overall": vote}, about=about
    )


def _month(row: dict[str, Any], where: str) -> str:
    """Return the month, such as '2025-08'; '' if the battle has no date."""
    date = text_field(row, "date", where)
    if date and not re.match(r"\d{4}-\d{2}-\d{2}", date):
        raise InputError(f"{where}: 'date' is {date!r}, expected one such as 2025-08-13T10:00:00-04:00")
    return date[:7]

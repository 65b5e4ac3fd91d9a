"""PAM: takes of four models and a real recording for 100 prompts of MusicCaps, rated by listeners.

Layout (the archive human_eval.zip)
    human_eval/music/scores.csv               Model, File Name, Text, OVL, REL
    human_eval/music/MODEL/FILE NAME.wav

OVL, the quality of the recording, is the paper's musicality, and REL its alignment to the text. The archive's other
half, human_eval/audio, is about sound effects and is not read.
"""

from collections.abc import Iterator
from pathlib import Path

from cmi._util.fields import number_field
from cmi._util.records import csv_records
from cmi.rewardbench.data import DataSet
from cmi.rewardbench.data.rows import LeftOut, first_of, inside, present, required
from cmi.rewardbench.items import RatedItem
from cmi.take import Axis, Prompt

NAME = "pam"
DATA_SET = DataSet(
    NAME,
    "PAM, its music: clips rated by listeners",
    "see its page",
    "https://zenodo.org/records/10737388",
    url="https://zenodo.org/records/10737388/files/human_eval.zip?download=1",
    files=("human_eval/music/*",),
    samples=500,
    tested=500,
)
COLUMNS: dict[Axis, str] = {"musicality": "OVL", "alignment": "REL"}


def rows(folder: Path) -> Iterator[RatedItem | LeftOut]:
    scores = first_of(folder, "human_eval/music/scores.csv", "music/scores.csv", "scores.csv")
    for place, row in csv_records(scores, ("Model", "File Name", "Text", *COLUMNS.values())):
        where = f"{scores} {place}"
        model, file = required(row, "Model", where), required(row, "File Name", where)
        ratings = {
            axis: value for axis, column in COLUMNS.items() if (value := number_field(row, column, where)) is not None
        }
        if not ratings:
            yield LeftOut("no rating", "test")
            continue
        audio = inside(scores.parent, f"{model}/{file}.wav", where)
        about = present(generator=model, split="test")
        yield RatedItem(f"{model}/{file}", NAME, Prompt(required(row, "Text", where)), (audio,), ratings, about=about)

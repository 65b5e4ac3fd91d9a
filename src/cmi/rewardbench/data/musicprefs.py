"""MusicPrefs: pairs of clips of seven text-to-music systems, compared on fidelity and on musicality.

Layout (the hub, i-need-sleep/musicprefs)
    data/train-*.parquet      audio; its path is the name that the table uses
    human_preference.csv      prompt, system_a, system_b, audio_a, audio_b, fidelity, musicality

`musicality` is the vote: a_wins, b_wins or tie. Fidelity, the quality of the recording, is neither of our axes and is
kept in `Item.about`. Left out: ties, and pairs of which a recording is missing.

Read from: the README of i-need-sleep/mad@7e47324, which names the set; code that reads its two files,
YoEv/noiseloss@68c9bfa phase7_release/scripts/data/fit_pairwise_manifests.py and a later version of it (all columns but
prompt, and the words). No file of the set was at hand; that the column of prompts is called prompt is not verified.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from cmi._util.errors import InputError
from cmi._util.fields import label_field, text_field
from cmi._util.records import Columns, csv_records, read_records
from cmi.rewardbench.data import ALL, HUB, DataSet
from cmi.rewardbench.data.parquet import prepare
from cmi.rewardbench.data.rows import LeftOut, first_of, inside, present, required
from cmi.rewardbench.data.rows import with_splits as with_splits
from cmi.rewardbench.items import RatedItem, Vote
from cmi.take import Prompt

NAME = "musicprefs"
DATA_SET = DataSet(
    NAME,
    "MusicPrefs: listeners' votes on pairs",
    "none stated",
    f"{HUB}/datasets/i-need-sleep/musicprefs",
    hub="i-need-sleep/musicprefs",
    files=("data/*.parquet", "human_preference.csv", "README.md"),
    split=ALL,
    draws_split=True,
)
REQUIRED = ("audio_a", "audio_b", "musicality")
COLUMNS = Columns((*REQUIRED, "system_a", "system_b", "fidelity", "prompt"))
WORDS = {"a_wins": "a", "b_wins": "b", "tie": "tie"}


def rows(folder: Path) -> Iterator[RatedItem | LeftOut]:
    table = first_of(folder, "human_preference.csv")
    recordings = _recordings(prepare(folder))
    for place, row in csv_records(table, REQUIRED, COLUMNS):
        yield _pair(row, f"{table} {place}", place.split()[-1], recordings)


def _recordings(prepared: Path) -> dict[str, Path]:
    """Return the recordings by their names."""
    found: dict[str, Path] = {}
    for file in sorted(prepared.glob("*.jsonl")):
        for place, row in read_records(file):
            where = f"{file} {place}"
            if not isinstance(row.get("audio"), dict):
                raise InputError(f"{where}: no recording in 'audio' ({', '.join(row)})")
            name = PurePosixPath(text_field(row["audio"], "name", where)).name
            recording = inside(prepared, required(row["audio"], "file", where), where)
            if found.setdefault(name, recording) != recording:
                raise InputError(
                    f"{where}: another recording is called {name!r} too, so that votes on it are ambiguous"
                )
    return found


def _pair(row: dict[str, Any], where: str, number: str, recordings: dict[str, Path]) -> RatedItem | LeftOut:
    choice = label_field(row, "musicality", where, WORDS)
    if choice not in ("a", "b"):
        return LeftOut(choice or "no vote")
    names = [PurePosixPath(required(row, f"audio_{side}", where)).name for side in "ab"]
    if not all(name in recordings for name in names):
        return LeftOut("a recording is missing")
    about = present(
        generator_a=text_field(row, "system_a", where),
        generator_b=text_field(row, "system_b", where),
        fidelity=label_field(row, "fidelity", where, WORDS) or "",
    )
    takes = tuple(recordings[name] for name in names)
    vote = Vote("a" if choice == "a" else "b")
    prompt = Prompt(text_field(row, "prompt", where))
    return RatedItem(f"line-{number}", NAME, prompt, takes, votes={"musicality": vote}, about=about)

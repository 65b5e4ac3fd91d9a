"""The authors' list of all test rows, all_test.jsonl, from which the published numbers were computed.

Fields: source, split, audio-path, audio2, ref-audio-path, prompt, lyrics, modality; labels musicality and 'text-music
alignment' (PAM, MusicEval), preference (Music Arena), preference-musicality, preference-alignment and their confidences
(CMI-Pref). `source` tells the data set of each item.

Recordings are searched for in the list's folder, under the names of the authors' download script, and then in the
folders of `cmi data get` beside it. `Item.about` has the groups of the released evaluator: `month` (a part of Music
Arena's paths) and `modality`, in which a null counts as present.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import cast

from cmi._util.fields import label_field, number_field, text_field
from cmi._util.records import read_records
from cmi.rewardbench.data import DataSet, cmi_pref, music_arena, musiceval, pam
from cmi.rewardbench.data.parquet import PREPARED
from cmi.rewardbench.data.rows import WORDS, LeftOut, Row, first_of, inside, present, required
from cmi.rewardbench.items import RatedItem, Vote
from cmi.take import Axis, Choice, Prompt

DATA_SET = DataSet(
    "released",
    "the authors' list of all tested rows, without audio",
    "CC BY-NC-SA 4.0",
    "https://github.com/Haiwen-Xia/CMI-RewardBench",
    url="https://raw.githubusercontent.com/Haiwen-Xia/CMI-RewardBench/main/data/all_test.jsonl",
    samples=2753,
    tested=2753,
)

FILE, ARENA_FOLDER = "all_test.jsonl", "MusicArena_data"
# the folders of the authors' script, and ours
PLACES = {"human_eval": "pam/human_eval", ARENA_FOLDER: "music-arena", "cmi-pref": "cmi-pref"}
CLIPS = PurePosixPath("MusicEval_data/test_audio")  # MusicEval's test clips by row, from 0
RATED: dict[Axis, str] = {"musicality": "musicality", "alignment": "text-music alignment"}


def rows(folder: Path) -> Iterator[RatedItem | LeftOut]:
    file = first_of(folder, FILE, f"data/{FILE}")
    for place, row in read_records(file):
        yield _item(row, f"{file} {place}", place.split()[-1], file.parent)


def _item(row: Row, where: str, name: str, folder: Path) -> RatedItem | LeftOut:
    split, source = text_field(row, "split", where), text_field(row, "source", where)
    locate = partial(_locate, folder, where)
    about = present(modality=modality(row), split=split)
    if source == "cmi-arena-annotation":
        found = cmi_pref.pair_item(row, where, cmi_pref.NAME, name, split, locate)
        return found if isinstance(found, LeftOut) else replace(found, about={**found.about, **about})
    prompt = Prompt(text_field(row, "prompt", where), text_field(row, "lyrics", where))
    if "Music Arena" in source:
        choice = label_field(row, "preference", where, music_arena.WORDS | WORDS)
        if choice not in ("a", "b", "both", "neither"):
            return LeftOut(choice or "tie or no vote", split)
        paths = [required(row, field, where) for field in ("audio-path", "audio2")]
        votes: dict[Axis, Vote] = {"overall": Vote(cast(Choice, choice))}
        about |= present(month=month(paths))
        return RatedItem(name, music_arena.NAME, prompt, tuple(map(locate, paths)), votes=votes, about=about)
    if "PAM" not in source and source not in ("MusicEval", "SongEval"):
        return LeftOut(f"source {source!r}", split)
    dataset = pam.NAME if "PAM" in source else musiceval.NAME
    axes: tuple[Axis, ...] = ("musicality", "alignment") if "PAM" in source else ("musicality",)
    ratings = {axis: value for axis in axes if (value := number_field(row, RATED[axis], where)) is not None}
    if not ratings:
        return LeftOut("no rating", split)
    return RatedItem(name, dataset, prompt, (locate(required(row, "audio-path", where)),), ratings, about=about)


def modality(row: Row) -> str:
    """Return the released evaluator's modality."""
    stated = str(row.get("modality") or "").strip()
    if stated and stated != "nan":
        return stated
    return "text" + "+lyrics" * is_present(row, "lyrics") + "+ref" * is_present(row, "ref-audio-path")


def is_present(row: Row, field: str) -> bool:
    """Tell whether the released evaluator counts a field as present, which it does if it is null: as 'None'."""
    return bool(str(row.get(field)).strip())


def month(paths: Sequence[str]) -> str:
    """Return the released evaluator's month: the second path part after ARENA_FOLDER, or ''."""
    for path in paths:
        parts = PurePosixPath(path).parts
        if ARENA_FOLDER in parts[:-2]:
            return parts[parts.index(ARENA_FOLDER) + 2]
    return ""


def _locate(folder: Path, where: str, path: str) -> Path:
    given = inside(folder, path, where)
    if given.exists():
        return given
    first, *rest = given.relative_to(folder).parts
    if PurePosixPath(path).parent == CLIPS:
        clips = _clips(folder.parent / musiceval.NAME / PREPARED)
        return clips.get(PurePosixPath(path).stem, given)
    beside = folder.parent.joinpath(PLACES[first], *rest) if first in PLACES else given
    return beside if beside.exists() else given


@cache
def _clips(prepared: Path) -> dict[str, Path]:
    """Return MusicEval's test clips by row, from 0; empty if the data set is missing."""
    rows = prepared / "test.jsonl"
    if not rows.exists():
        return {}
    return {str(i): prepared / row["audio"]["file"] for i, (_, row) in enumerate(read_records(rows))}

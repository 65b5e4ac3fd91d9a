"""AIME: tracks of twelve generators and MTG-Jamendo, compared two at a time by the participants of a survey.

Layout (two data sets on the hub, each downloaded into a folder of its own)
    AIME/data/train-*.parquet           id, model, description (three tags of MTG-Jamendo), audio
    AIME-survey/data/train-*.parquet    question-type, description, answer, and for both tracks
                                        model-1, track-1-id, track-1-begin, track-1-end (hours:minutes:seconds)

A row of the survey is one participant's answer to one question: 'Music Quality' is a vote on musicality, 'Text-Audio
Alignment' on alignment; answer 1 is a, 2 is b. `id` is '04501' in one set and 4501 in the other.

People heard an excerpt of ten seconds, not the track. It is cut once, into `heard`, without changing its rate.

Read from: the card of disco-eth/AIME (its fields); code that reads both sets, YoEv/noiseloss@68c9bfa
phase7_release/scripts/data/aime_join_survey.py and fit_pairwise_manifests.py (columns of the survey, ids, questions,
answers). No file of the sets was at hand; whether the description is a text or a list is not verified (both are read).
"""

import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import soundfile

from cmi._util.errors import InputError
from cmi._util.fields import label_field, text_field
from cmi._util.files import make_folder, write_whole
from cmi._util.records import Columns, parquet_records, read_records
from cmi.rewardbench.data import ALL, HUB, DataSet
from cmi.rewardbench.data.parquet import prepare
from cmi.rewardbench.data.rows import LeftOut, first_of, identifier, inside, present, required
from cmi.rewardbench.data.rows import with_splits as with_splits
from cmi.rewardbench.items import RatedItem, Vote
from cmi.take import Axis, Prompt

NAME = "aime"
DATA_SET = DataSet(
    NAME,
    "AIME: a survey's votes on pairs of excerpts",
    "CC BY 4.0",
    f"get both sets: 'hf download disco-eth/AIME --repo-type dataset --local-dir {NAME}/AIME' and the same with "
    f"disco-eth/AIME-survey and {NAME}/AIME-survey; {HUB}/datasets/disco-eth/AIME",
    split=ALL,
    draws_split=True,
)
TRACK_COLUMNS = Columns(("id", "model", "description", "audio"))
SIDES = tuple(f"track-{side}-{what}" for side in "12" for what in ("id", "begin", "end"))
SURVEY_COLUMNS = Columns(("question-type", "description", "model-1", "model-2", *SIDES, "answer"))
QUESTIONS: dict[str, str] = {"music quality": "musicality", "text-audio alignment": "alignment"}
ANSWERS = {"1": "a", "2": "b"}
Cut = Callable[[Path, float, float], Path | None]
TIME = re.compile(r"(?:(?P<hours>\d{1,3}):)?(?P<minutes>\d{1,2}):(?P<seconds>\d{1,2}(?:\.\d{1,6})?)", re.ASCII)


def rows(folder: Path) -> Iterator[RatedItem | LeftOut]:
    survey = first_of(folder, "AIME-survey/data")
    tracks = _tracks(prepare(first_of(folder, "AIME")))
    shards = sorted(survey.glob("*.parquet"))
    if not shards:
        raise InputError(f"{survey}: no *.parquet in it, expected the answers of AIME-survey")
    cut = partial(_cut, folder / "heard")
    for shard in shards:
        for place, row in parquet_records(shard, SURVEY_COLUMNS.main, SURVEY_COLUMNS):
            yield _answer(row, f"{shard} {place}", f"{shard.stem}-{place.split()[-1]}", tracks, cut)


def parse_time(text: str) -> float | None:
    """Return the seconds of a time such as 00:00:53 or 1:03.5; None if it is not one.

    >>> parse_time("00:01:03"), parse_time("1:03.5"), parse_time("63")
    (63.0, 63.5, None)
    """
    found = TIME.fullmatch(text.strip())
    if found is None:
        return None
    return int(found["hours"] or 0) * 3600 + int(found["minutes"]) * 60 + float(found["seconds"])


def _tracks(prepared: Path) -> dict[str, Path]:
    """Return the recordings by their ids, without leading zeros."""
    found: dict[str, Path] = {}
    for file in sorted(prepared.glob("*.jsonl")):
        for place, row in read_records(file, TRACK_COLUMNS):
            where = f"{file} {place}"
            if not isinstance(row.get("audio"), dict):
                raise InputError(f"{where}: 'audio' is {type(row.get('audio')).__name__}, expected a recording")
            track = _track_id(row, "id", where)
            if track in found:
                raise InputError(f"{where}: 'id' is {row['id']!r}, the id of an earlier track")
            found[track] = inside(prepared, required(row["audio"], "file", where), where)
    return found


def _track_id(row: dict[str, Any], field: str, where: str) -> str:
    given = identifier(row, field, where).strip()
    if not (given.isascii() and given.isdigit()):
        raise InputError(f"{where}: {field!r} is {given!r}, expected the number of a track")
    return given.lstrip("0") or "0"


def _answer(row: dict[str, Any], where: str, name: str, tracks: dict[str, Path], cut: Cut) -> RatedItem | LeftOut:
    axis = cast(Axis | None, label_field(row, "question-type", where, QUESTIONS))
    choice = label_field({"answer": identifier(row, "answer", where)}, "answer", where, ANSWERS)
    if axis is None or choice is None:
        return LeftOut("no question or no answer")
    heard = []
    for side in "12":
        track = tracks.get(_track_id(row, f"track-{side}-id", where))
        times = [_time(row, f"track-{side}-{end}", where) for end in ("begin", "end")]
        if times[0] >= times[1]:
            raise InputError(
                f"{where}: the excerpt of track {side} ends before it begins ({times[0]:g} to {times[1]:g} s)"
            )
        if track is None:
            return LeftOut("a recording is missing")
        excerpt = cut(track, *times)
        if excerpt is None:
            return LeftOut("an excerpt lies beyond the end of its recording")
        heard.append(excerpt)
    about = present(
        generator_a=text_field(row, "model-1", where),
        generator_b=text_field(row, "model-2", where),
        question=required(row, "question-type", where),
    )
    votes = {axis: Vote("a" if choice == "a" else "b")}
    return RatedItem(name, NAME, Prompt(_tags(row, where)), tuple(heard), votes=votes, about=about)


def _tags(row: dict[str, Any], where: str) -> str:
    """Return the description, which is a text or a list of tags."""
    tags = row.get("description")
    if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags):
        return ", ".join(tags)
    return text_field(row, "description", where)


def _time(row: dict[str, Any], field: str, where: str) -> float:
    written = required(row, field, where)
    seconds = parse_time(written)
    if seconds is None:
        raise InputError(f"{where}: {field!r} is {written!r}, expected a time such as 00:00:53")
    return seconds


def _cut(folder: Path, track: Path, begin: float, end: float) -> Path | None:
    """Return the file of an excerpt, cutting it if that was not done; None if the recording ends before it begins.

    A recording that is missing or cannot be decoded is returned itself: whoever scores it says what is wrong.
    """
    target = folder / f"{track.stem}-{begin:g}-{end:g}.flac"
    if target.exists() or not track.exists():
        return target if target.exists() else track
    try:
        rate = soundfile.info(track).samplerate
        sound, rate = soundfile.read(track, round((end - begin) * rate), round(begin * rate), always_2d=True)
    except (soundfile.LibsndfileError, OSError, RuntimeError):
        return track
    if not len(sound):
        return None
    make_folder(folder)
    excerpt = io.BytesIO()
    soundfile.write(excerpt, sound, rate, format="FLAC", subtype="PCM_24")
    write_whole(target, excerpt.getvalue())
    return target

"""SongEval: complete songs of five generators, each rated by several musicians on five aspects.

Layout (the hub, ASLP-lab/SongEval)
    metadata.jsonl    file_name (mp3/0.mp3), gender of the voice, annotation: a list with one object for each rater,
                      Coherence, Musicality, Memorability, Clarity, Naturalness, each from 1 to 5
    mp3/NUMBER.mp3

The raters' mean of Musicality is the rating. No prompt, no lyrics and no generator was published, so no item has any;
the other four aspects are kept in `Item.about`, as means.

Read from: the file list and the card of ASLP-lab/SongEval; code that reads the file, YoEv/noiseloss@0712050
phase7_release/scripts/data/gen_full_splits.py (file_name, annotation, the aspects) and yonghyunk1m/TuneJury@e28474e
data/prepare_songeval_pairs.py (annotator, gender). No file of the set was at hand.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.fields import number_field, text_field
from cmi._util.records import Columns, read_records
from cmi.rewardbench.data import ALL, HUB, DataSet
from cmi.rewardbench.data.rows import LeftOut, first_of, inside, present, required
from cmi.rewardbench.data.rows import with_splits as with_splits
from cmi.rewardbench.items import RatedItem
from cmi.take import Prompt

NAME = "songeval"
DATA_SET = DataSet(
    NAME,
    "SongEval: songs rated by musicians",
    "CC BY-NC-SA 4.0",
    f"{HUB}/datasets/ASLP-lab/SongEval",
    hub="ASLP-lab/SongEval",
    files=("metadata.jsonl", "mp3/*", "README.md"),
    size=11_100_000_000,
    split=ALL,
    draws_split=True,
)
RATED = "Musicality"
OTHERS = ("Coherence", "Memorability", "Clarity", "Naturalness")
COLUMNS = Columns(("file_name", "gender", "annotation"))
RATER_COLUMNS = Columns((RATED, *OTHERS), ("annotator",))


def rows(folder: Path) -> Iterator[RatedItem | LeftOut]:
    path = first_of(folder, "metadata.jsonl")
    for place, row in read_records(path, COLUMNS):
        where = f"{path} {place}"
        name = required(row, "file_name", where)
        means = _means(row, where)
        if RATED not in means:
            yield LeftOut("no rating")
            continue
        aspects = {aspect.lower(): f"{means[aspect]:g}" for aspect in OTHERS if aspect in means}
        about = present(gender=text_field(row, "gender", where), **aspects)
        take = inside(folder, name, where)
        yield RatedItem(name, NAME, Prompt(), (take,), {"musicality": means[RATED]}, about=about)


def _means(row: dict[str, Any], where: str) -> dict[str, float]:
    """Return the raters' mean of each aspect that one of them rated."""
    ratings = row.get("annotation") or []
    if not isinstance(ratings, list) or not all(isinstance(one, dict) for one in ratings):
        raise InputError(f"{where}: 'annotation' is not a list of ratings, expected one object for each rater")
    given: dict[str, list[float]] = {}
    for one in ratings:
        RATER_COLUMNS.require_known(one, f"{where}, annotation", "field")
        for aspect in (RATED, *OTHERS):
            value = number_field(one, aspect, where)
            if value is not None:
                given.setdefault(aspect, []).append(value)
    return {aspect: sum(values) / len(values) for aspect, values in given.items()}

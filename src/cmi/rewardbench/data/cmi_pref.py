"""CMI-Pref: experts compare two takes for a prompt of text, lyrics and reference audio on two axes.

Layout (files on the hub, HaiwenXia/cmi-pref)
    cmi_train.jsonl, cmi_test.jsonl    one vote per line; cmi_data.jsonl repeats both and is not read
    gen-audio/, ref-audio/

Fields: audio-path, audio2, prompt, lyrics, ref-audio-path, preference-musicality, preference-alignment,
confidence_preference-*, model_a, model_b, user id, prompt id, split. Paths may start with 'cmi-pref/', the folder
itself. Several experts may have voted on a pair: each vote is an item.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from cmi._util.errors import InputError
from cmi._util.fields import text_field
from cmi._util.records import read_records
from cmi.rewardbench.data import HUB, DataSet
from cmi.rewardbench.data.rows import LeftOut, Row, identifier, inside, present, required, votes
from cmi.rewardbench.items import RatedItem
from cmi.take import Prompt

NAME = "cmi-pref"
DATA_SET = DataSet(
    NAME,
    "CMI-Pref: experts' votes on pairs",
    "CC BY-NC-SA 4.0",
    f"{HUB}/datasets/HaiwenXia/cmi-pref",
    hub="HaiwenXia/cmi-pref",
    size=15_000_000_000,
    samples=4027,
    tested=500,
)


def rows(folder: Path) -> Iterator[RatedItem | LeftOut]:
    files = {split: folder / f"cmi_{split}.jsonl" for split in ("train", "test")}
    if not any(file.exists() for file in files.values()):
        raise InputError(f"{folder}: no cmi_test.jsonl in it, expected a data set as it was published")
    for split, file in files.items():
        for place, row in read_records(file) if file.exists() else ():
            where = f"{file} {place}"
            yield pair_item(row, where, NAME, f"{split}-{place.split()[-1]}", split, path_in(folder, NAME, where))


def path_in(folder: Path, name: str, where: str) -> Callable[[str], Path]:
    """Return a function that resolves a row's paths, which may begin with the data set's `name`."""
    return lambda path: inside(folder, path.removeprefix(f"{name}/"), where)


def pair_item(
    row: Row, where: str, dataset: str, name: str, split: str, locate: Callable[[str], Path]
) -> RatedItem | LeftOut:
    """Read a vote in the layout of CMI-Pref; `locate` finds its recordings."""
    for field in ("audio-path", "audio2", "preference-musicality", "preference-alignment"):
        if field not in row:
            raise InputError(f"{where}: no {field!r} ({', '.join(row)})")
    voted = votes(row, where)
    if not voted:
        return LeftOut("no preference", split)
    takes = tuple(locate(required(row, field, where)) for field in ("audio-path", "audio2"))
    reference = text_field(row, "ref-audio-path", where)
    prompt = Prompt(
        text_field(row, "prompt", where), text_field(row, "lyrics", where), locate(reference) if reference else None
    )
    about = present(
        generator_a=text_field(row, "model_a", where),
        generator_b=text_field(row, "model_b", where),
        rater=identifier(row, "user id", where) or identifier(row, "user_id", where),
        prompt_id=identifier(row, "prompt id", where),
        split=split,
    )
    return RatedItem(name, dataset, prompt, takes, votes=voted, about=about)

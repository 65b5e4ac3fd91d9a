"""CMI-Pref-Pseudo: pairs that a language model judged alike in both orders; for training, not for the benchmark.

Layout (files on the hub, HaiwenXia/cmi-pref-pseudo)
    *.jsonl    one pair per line with the fields of CMI-Pref, without rater and feedback; the split is the end of the
               name: _train, _val or _test

Only the fields are documented, not the names of the files: all JSON-lines files in the folder are read. Pairs that
are ties on both axes are left out.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from cmi._util.errors import InputError
from cmi._util.records import read_records
from cmi.rewardbench.data import ALL, HUB, DataSet
from cmi.rewardbench.data.cmi_pref import pair_item, path_in
from cmi.rewardbench.data.rows import LeftOut
from cmi.rewardbench.items import RatedItem

NAME = "cmi-pref-pseudo"
DATA_SET = DataSet(
    NAME,
    "CMI-Pref-Pseudo: a language model's votes on pairs",
    "CC BY-NC-SA 4.0",
    f"{HUB}/datasets/HaiwenXia/cmi-pref-pseudo",
    hub="HaiwenXia/cmi-pref-pseudo",
    samples=110_000,
    split=ALL,
)
SPLIT = re.compile(r".*_(train|val|test)")


def rows(folder: Path) -> Iterator[RatedItem | LeftOut]:
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise InputError(f"{folder}: no *.jsonl in it, expected a data set as it was published")
    for file in files:
        named = SPLIT.fullmatch(file.stem)
        for place, row in read_records(file):
            where, name = f"{file} {place}", f"{file.stem}-{place.split()[-1]}"
            yield pair_item(row, where, NAME, name, named[1] if named else "", path_in(folder, NAME, where))

"""Folds that hold a generator out: does a reward model agree with people about a generator it was not trained on?

For each generator, a fold tests on all pairs with a take of it, and trains on pairs without one. No prompt, lyrics or
recording is in both: training rows that share one with a test row are left out. If every generator has every prompt,
this leaves no training rows; `parts` then divides each generator's pairs into parts, each tested by a model that is
trained on the prompts of the other parts.

Ordinary folds, for comparison, divide all pairs by prompt: the model was trained on every generator, but not on the
prompt.

The folder
    preferences.jsonl         all rows
    folds.json                the folds: name, generator, numbers of pairs
    NAME/preferences.jsonl    the rows of a fold, with `split` train, valid (a tenth of the prompts to train on) or
                              test, as `cmi train` and others read them
    NAME/train.yaml           a configuration with the fold's data, if one was given
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.files import claim, make_folder, write_whole
from cmi._util.records import read_json
from cmi.pairs.leaks import Trait, prompt_traits
from cmi.pairs.splits import group_prompts
from cmi.preferences import Preference, draw_number, prompt_key, write_preferences
from cmi.report.numbers import count
from cmi.report.tables import Table, to_json
from cmi.rewardbench.data import find
from cmi.rewardbench.data.labels import read_labels

ROWS, FOLDS, CONFIG = "preferences.jsonl", "folds.json", "train.yaml"
ORDINARY = "ordinary"
VALIDATION = 0.1  # of the prompts to train on


class Fold(NamedTuple):
    """Rows by split, as their places among all rows. Ordinary folds hold no generator out."""

    name: str
    generator: str
    train: list[int]
    valid: list[int]
    test: list[int]
    left_out: int  # rows that could be trained on, but share something with a test row


class FoldSummary(NamedTuple):
    """A fold as folds.json describes it, in pairs."""

    name: str
    generator: str
    train: int
    valid: int
    test: int
    left_out: int


def read_fold_rows(spec: str, split: str = "") -> tuple[list[Preference], list[str]]:
    """Return preferences whose generators are known, and a sentence about each kind of row that is not used.

    `spec` is a file of preferences, or a data set by its name. Rows of a stated test split are used only if `split`
    names it.
    """
    rows: list[Preference] = []
    unused: dict[str, int] = {}
    for label in read_labels(find(spec)):
        if not isinstance(label, Preference):
            why = "are not preferences"
        elif (stated := str(label.about.get("split", ""))) and (stated != split if split else stated == "test"):
            why = f"belong to the split {stated}"
        elif not all(_generators(label)):
            why = "do not say which generators made their takes"
        else:
            rows.append(label)
            continue
        unused[why] = unused.get(why, 0) + 1
    if not rows:
        reasons = "; ".join(f"{number} rows {why}" for why, number in unused.items())
        raise InputError(f"{spec}: no preferences with generator_a and generator_b to make folds of; {reasons}")
    return rows, [f"{spec}: {number} rows {why} and are not used" for why, number in unused.items()]


def _generators(row: Preference) -> tuple[str, str]:
    return str(row.about.get("generator_a", "")), str(row.about.get("generator_b", ""))


def make_folds(rows: Sequence[Preference], parts: int = 1, ordinary: int = 5) -> list[Fold]:
    """Return the folds of each generator, then the ordinary ones. InputError if a fold has nothing to train on."""
    groups = group_prompts([list(_traits(row)) for row in rows])
    names = sorted({name for row in rows for name in _generators(row)})
    if len(names) < 3:
        raise InputError(
            f"{len(names)} generators, expected 3 or more: with one held out, two must remain for training"
        )
    folds = []
    for generator in names:
        own = [place for place, row in enumerate(rows) if generator in _generators(row)]
        others = sorted(set(range(len(rows))) - set(own))
        for part, test in enumerate(_deal(own, groups, parts), 1):
            name = _folder_name(generator) + (f"-{part}" if parts > 1 else "")
            folds.append(_fold(name, generator, others, test, groups))
    for part, test in enumerate(_deal(range(len(rows)), groups, ordinary), 1):
        folds.append(_fold(f"{ORDINARY}-{part}", "", range(len(rows)), test, groups))
    for fold in folds:
        if not fold.train:
            more = "more --parts" if fold.generator else "fewer --ordinary folds"
            raise InputError(
                f"fold {fold.name}: no training pairs are left, because all others share a prompt or a recording "
                f"with its {len(fold.test)} test pairs; try {more}"
            )
    return folds


def _deal(places: Iterable[int], groups: Sequence[int], parts: int) -> list[list[int]]:
    """Divide rows by group into parts with nearly equal numbers of groups; empty parts are left out."""
    drawn = sorted({groups[i] for i in places}, key=lambda group: draw_number(f"part {group}"))
    part_of = {group: rank % parts for rank, group in enumerate(drawn)} if parts else {}
    dealt = [[i for i in places if part_of[groups[i]] == part] for part in range(parts)]
    return [part for part in dealt if part]


def _fold(name: str, generator: str, candidates: Iterable[int], test: list[int], groups: Sequence[int]) -> Fold:
    tested, held_out = set(test), {groups[i] for i in test}
    others = [i for i in candidates if i not in tested]
    usable = [i for i in others if groups[i] not in held_out]
    drawn = sorted({groups[i] for i in usable}, key=lambda group: draw_number(f"valid {group}"))
    valid = set(drawn[: max(1, round(VALIDATION * len(drawn)))] if len(drawn) > 1 else ())
    train = [i for i in usable if groups[i] not in valid]
    left_out = len(others) - len(usable) if generator else 0
    return Fold(name, generator, train, [i for i in usable if groups[i] in valid], test, left_out)


def _traits(row: Preference) -> Iterable[Trait]:
    """Yield what only one side of a fold may contain; recordings are identified by their paths."""
    yield Trait("text", prompt_key(row))
    yield from prompt_traits(row.prompt)
    for sound in (row.pair.a, row.pair.b, row.prompt.reference):
        if isinstance(sound, Path):
            yield Trait("recording", str(sound.absolute()))


def _folder_name(generator: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", generator)
    digest = hashlib.sha256(generator.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"without-{plain[:60]}" + ("" if plain == generator and len(plain) <= 60 else f"-{digest}")


def write_folds(
    rows: Sequence[Preference], folds: Sequence[Fold], out: Path, config: str = "", settings: Mapping[str, Any] = {}
) -> list[FoldSummary]:
    """Write the folds to a folder that is new, or was created by the same command on the same rows."""
    content = hashlib.sha256(repr([(row.id, row.axis, row.choice, prompt_key(row)) for row in rows]).encode())
    template = _template(config) if config else None
    claim(out, {**settings, "rows": content.hexdigest()[:16]}, "cmi mirex folds")
    bare = [replace(row, about={k: v for k, v in row.about.items() if k != "split"}) for row in rows]
    write_preferences(bare, out / ROWS)
    for fold in folds:
        make_folder(out / fold.name)
        split = {place: name for name in ("train", "valid", "test") for place in getattr(fold, name)}
        stated = (replace(bare[i], about={**bare[i].about, "split": split[i]}) for i in sorted(split))
        write_preferences(stated, out / fold.name / ROWS)
        if template is not None:
            write_whole(out / fold.name / CONFIG, template)

    def pairs(places: list[int]) -> int:
        return len({rows[place].pair for place in places})

    summaries = [
        FoldSummary(one.name, one.generator, pairs(one.train), pairs(one.valid), pairs(one.test), one.left_out)
        for one in folds
    ]
    write_whole(out / FOLDS, to_json([one._asdict() for one in summaries]))
    return summaries


def _template(config: str) -> str:
    """Return a configuration of `cmi train` with a fold's data in place of its own."""
    import yaml

    from cmi.reward.train.config import load_config

    table = json.loads(json.dumps(asdict(load_config(config)), default=str))
    del table["data"]
    table["train"] = [{"preferences": ROWS, "split": "train"}]
    table["validation"] = [{"preferences": ROWS, "split": "valid"}]
    return yaml.safe_dump(table, sort_keys=False, allow_unicode=True)


def read_folds(folder: Path) -> list[FoldSummary]:
    """Read folds.json."""
    path = folder / FOLDS
    if not path.is_file():
        raise InputError(f"{folder}: no {FOLDS} in it, expected a folder of `cmi mirex folds`")
    found = read_json(path)
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) for one in found):
        raise InputError(f"{path}: expected the list of folds that `cmi mirex folds` wrote")
    try:
        return [FoldSummary(**one) for one in found]
    except TypeError as error:
        raise InputError(f"{path}: not the folds of `cmi mirex folds` ({error})") from error


def folds_table(folds: Sequence[FoldSummary], title: str) -> Table:
    rows = [
        [one.name, one.generator or "none", *map(count, (one.train, one.valid, one.test, one.left_out))]
        for one in folds
    ]
    notes = [
        "Pairs. Left out: rows without the generator that share a prompt, lyrics or a recording with a test row; they "
        "are neither trained nor tested on."
    ]
    return Table(title, ["fold", "held out", "train", "valid", "test", "rows left out"], rows, labels=2, notes=notes)

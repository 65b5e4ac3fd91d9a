"""A listening study of best-of-N: the picks from N takes and the real recordings, as pairs for `cmi arena`.

Conditions
    'N=1', 'N=3', ... and 'ground truth', if the real recording is known. Each prompt's takes are put into a random
    order that depends on their names; the condition N is the take with the highest score among the first N. The samples
    are therefore nested, N=1 is a random take, and the same takes give the same study.

Pairs
    Every two conditions of a prompt, unless both are the same take: such a pair is not asked. If one take stands for
    several conditions, a pair with it is asked once and counts for all of them ('N=3, N=10').

Files
    preferences.jsonl    the pairs, for `cmi arena import`; which take is a is random
    study.json           each prompt's take in each condition, for `cmi arena matrix`

Prompts with fewer scored takes than the largest N are left out.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.files import make_folder, write_whole
from cmi._util.printable import ESCAPE
from cmi._util.records import read_json
from cmi.preferences import NAME, draw_number, write_rows
from cmi.report.numbers import count
from cmi.report.tables import Table, to_json
from cmi.take import Prompt, relative_path

if TYPE_CHECKING:
    from cmi.reward.pick.pick import Pick

PAIRS, STUDY = f"{NAME}.jsonl", "study.json"
GROUND_TRUTH = "ground truth"
JOINED = ", "  # conditions with the same take
PROMPT = "x_prompt"  # the column of a pair that names its prompt

Conditions = Mapping[str, str]  # the take of each condition, by its path relative to the study's folder


class PickStudy(NamedTuple):
    """The takes of each prompt, by condition; `left_out` are prompts with too few takes."""

    model: str
    conditions: tuple[str, ...]
    prompts: Mapping[str, Conditions]
    left_out: tuple[str, ...] = ()

    def same(self, one: str, other: str) -> list[str]:
        """Return the prompts whose two conditions are the same take."""
        return [name for name, takes in self.prompts.items() if one in takes and takes[one] == takes.get(other)]

    def asked(self, one: str, other: str) -> list[str]:
        """Return the prompts whose two conditions are different takes."""
        return [
            name for name, takes in self.prompts.items() if {one, other} <= takes.keys() and takes[one] != takes[other]
        ]


def make_study(model: str, picks: "Sequence[Pick]", sizes: Sequence[int], folder: Path) -> PickStudy:
    """Write the pairs and the study into a folder; raise InputError if it contains another study."""
    taken = {pick.group.name: found for pick in picks if (found := _takes(pick, sizes))}
    if not taken:
        raise InputError(f"no prompt has {sizes[-1]} takes that could be scored, so there is nothing to compare")
    names = [_condition(size) for size in sizes]
    names += [GROUND_TRUTH] if any(GROUND_TRUTH in takes for takes in taken.values()) else []
    left_out = tuple(pick.group.name for pick in picks if pick.group.name not in taken)
    paths = {name: {one: relative_path(audio, folder) for one, audio in takes.items()} for name, takes in taken.items()}
    prompts = {pick.group.name: pick.prompt for pick in picks if pick.group.name in taken}
    study = PickStudy(model, tuple(names), paths, left_out)
    content = to_json({**study._asdict(), "left_out": list(left_out), "conditions": names})
    make_folder(folder)
    if (folder / STUDY).exists() and (folder / STUDY).read_bytes() != content.encode("utf-8", ESCAPE):
        raise InputError(f"{folder / STUDY}: another study, whose votes would be lost; choose another folder")
    write_rows(_rows(study, prompts, folder), folder / PAIRS)
    write_whole(folder / STUDY, content)
    return study


def _takes(pick: "Pick", sizes: Sequence[int]) -> dict[str, Path]:
    """Return the take of each condition; none if there are too few takes."""
    ranking = list(pick.ranking)
    if len(ranking) < sizes[-1]:
        return {}
    drawn = sorted(ranking, key=lambda one: draw_number(json.dumps([pick.group.name, one.candidate.name])))
    takes = {_condition(size): min(drawn[:size], key=ranking.index).audio for size in sizes}
    return takes | ({} if pick.group.real is None else {GROUND_TRUTH: pick.group.real})


def _condition(size: int) -> str:
    return f"N={size}"


def _rows(study: PickStudy, prompts: Mapping[str, Prompt], folder: Path) -> Iterator[dict[str, Any]]:
    for name, takes in study.prompts.items():
        by_take: dict[str, list[str]] = {}
        for condition, audio in takes.items():
            by_take.setdefault(audio, []).append(condition)
        prompt = prompts[name]
        reference = "" if prompt.reference is None else relative_path(prompt.reference, folder)
        for (a, of_a), (b, of_b) in combinations(by_take.items(), 2):
            pair_id = f"{name}/{of_a[0]} v {of_b[0]}"
            sides = [(a, JOINED.join(of_a)), (b, JOINED.join(of_b))]
            (a, system_a), (b, system_b) = sides if draw_number(pair_id) < 0.5 else sides[::-1]
            yield {
                **{"id": pair_id, "text": prompt.text, "lyrics": prompt.lyrics, "reference": reference},
                **{"a": a, "b": b, "generator_a": system_a, "generator_b": system_b, PROMPT: name},
            }


def read_study(folder: Path) -> PickStudy:
    """Read the study that `cmi pick --arena` wrote."""
    path = folder / STUDY if folder.is_dir() else folder
    if not path.exists():
        raise InputError(f"{path}: no such file, expected a folder that `cmi pick --arena` wrote")
    record = read_json(path)
    try:
        model, names, prompts = record["model"], record["conditions"], record["prompts"]
        words = [
            model,
            *names,
            *prompts,
            *(word for takes in prompts.values() for pair in takes.items() for word in pair),
        ]
        if not all(isinstance(word, str) for word in words):
            raise TypeError
        return PickStudy(model, tuple(names), prompts, tuple(record.get("left_out", ())))
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a study that `cmi pick --arena` wrote") from error


def study_table(study: PickStudy, folder: Path) -> Table:
    """Return how many pairs of each two conditions are asked, and how many are the same take."""
    rows = [
        [one, other, count(len(study.asked(one, other))), count(len(study.same(one, other)))]
        for one, other in combinations(study.conditions, 2)
    ]
    notes = ["Same take: not asked; counts as a tie. A pair that stands for several rows is asked once."]
    if study.left_out:
        notes.append(f"Left out: {count(len(study.left_out))} prompts with fewer scored takes than the largest N.")
    notes.append(f"Next: cmi arena import {folder}, and after the votes cmi arena matrix VOTES --study {folder}")
    title = f"Pairs in {folder}, {count(len(study.prompts))} prompts"
    return Table(title, ["condition", "against", "asked", "same take"], rows, labels=2, notes=notes)

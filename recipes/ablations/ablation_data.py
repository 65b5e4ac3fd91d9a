"""The data of the ablations: a studio's pairs, as a simulated judge and simulated experts label them.

    pseudo.jsonl             the judge's labels of most pairs to train on (`train`), and of all to validate (`valid`)
    pseudo-500.jsonl         500 of those to train on, no ties; a larger file holds all of a smaller one
    experts.jsonl            the experts' labels of other pairs to train on, and of all to validate
    ratings.jsonl            the experts' ratings of the takes of yet others, and of `test` and `heldout`
    unprompted-pseudo.jsonl  and so on: the same as if nothing had been asked for

What is tested on is the studio's own file: the truth. The same pairs, seeds and sizes give the same bytes.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulated_labels import Experts, judged, preferred, rated, without_prompt

from cmi._util.errors import InputError
from cmi.preferences import Preference, preference_row, read_preferences, write_preferences, write_rows
from cmi.reward.train.data import RATED
from cmi.testing.simulated_judge import NoisyJudge, truth_of

PREFERENCES = "preferences.jsonl"
UNPROMPTED = "unprompted-"
TESTED = ("test", "heldout")
EXPERTS, RATERS = 0.1, 0.05  # of the pairs to train on; each pair rated gives two ratings. The paper: 3 % and 3 %

Row = dict[str, Any]


@dataclass(frozen=True)
class AblationData:
    """Where the files are, how many labels of the judge there are to learn from, the smaller sizes, and all counts."""

    folder: Path
    truth: Path
    pseudo: int
    sizes: tuple[int, ...]
    counts: dict[str, Any]

    def file(self, name: str, prompted: bool = True) -> Path:
        return self.folder / f"{'' if prompted else UNPROMPTED}{name}.jsonl"


def make_data(
    studio: Path, folder: Path, judge: NoisyJudge, experts: Experts, sizes: Sequence[int] = ()
) -> AblationData:
    """Write the files. `sizes` are numbers of labels of the judge, by default a quarter and a half of all."""
    rows = list(read_preferences(studio / PREFERENCES))
    by_split = {name: [row for row in rows if row.about.get("split") == name] for name in ("train", "valid", *TESTED)}
    for name, group in by_split.items():
        if not group:
            raise InputError(f"{studio / PREFERENCES}: no pair of split {name!r}; make more with cmi studio make")
    for_experts, for_raters, for_judge = _shared_out(by_split["train"], judge.seed)
    pseudo = list(judged([*for_judge, *by_split["valid"]], judge))
    learnable = [row for row in pseudo if row.about["split"] == "train" and row.choice in ("a", "b")]
    sizes = _checked(sizes, len(learnable)) if sizes else (len(learnable) // 4, len(learnable) // 2)
    expert_rows = list(preferred([*for_experts, *by_split["valid"]], experts))
    to_rate = [*for_raters, *(row for name in TESTED for row in by_split[name])]

    files: dict[str, list[Row]] = {
        "pseudo": [preference_row(row, folder) for row in pseudo],
        "experts": [preference_row(row, folder) for row in expert_rows],
        "ratings": list(rated(to_rate, experts, folder)),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_rows(content, folder / f"{name}.jsonl")
        write_rows(map(without_prompt, content), folder / f"{UNPROMPTED}{name}.jsonl")
    by_draw = sorted(learnable, key=lambda row: _draw("size", judge.seed, row.id))
    for size in sizes:
        write_preferences(by_draw[:size], folder / f"pseudo-{size}.jsonl")
    counts = {
        "judge": _counts(for_judge, [row for row in pseudo if row.about["split"] == "train"]),
        "experts": _counts(for_experts, expert_rows[: len(for_experts)]),
        "rated takes": 2 * len(for_raters),
    }
    return AblationData(folder, studio / PREFERENCES, len(learnable), tuple(sizes), counts)


def _shared_out(rows: Sequence[Preference], seed: int) -> tuple[list[Preference], list[Preference], list[Preference]]:
    """The pairs for experts to compare, for experts to rate, and for the judge: each pair by a draw of its own."""
    drawn = sorted(rows, key=lambda row: _draw("share", seed, row.id))
    compared, rated_too = (max(1, round(share * len(rows))) for share in (EXPERTS, EXPERTS + RATERS))
    rated_too = max(rated_too, compared + 1)
    if len(rows) < rated_too + 4:
        raise InputError(f"{len(rows)} pairs to train on are too few to share out; make more with cmi studio make")
    return drawn[:compared], drawn[compared:rated_too], drawn[rated_too:]


def _draw(purpose: str, seed: int, name: str) -> float:
    return random.Random(f"cmi.ablations {purpose} {seed} {name}").random()  # noqa: S311


def _checked(sizes: Sequence[int], most: int) -> tuple[int, ...]:
    for size in sizes:
        if not 1 <= size < most:
            raise InputError(f"size {size}, expected 1 to {most - 1}: the judge's labels to train on are {most}")
    return tuple(sorted(set(sizes)))


def _counts(asked: Sequence[Preference], labels: Sequence[Preference]) -> Row:
    """By axis: pairs asked about, labels kept, ties among them, and how many of the others are right."""
    truth = {row.id: truth_of(row).better for row in asked}
    found: Row = {}
    for axis in RATED:
        mine = [row for row in labels if row.axis == axis]
        decided = [row for row in mine if row.choice in ("a", "b")]
        found[axis] = {
            "asked": sum(row.axis == axis for row in asked),
            "kept": len(mine),
            "tied": len(mine) - len(decided),
            "right": sum(row.choice == truth[row.id] for row in decided),
        }
    return found

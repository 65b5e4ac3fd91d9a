"""Labels for the ablations on the studio's music: its pairs, as a simulated judge and simulated experts label them.

    python recipes/ablations/make_labels.py pairs/ labels/
    cmi ablate base.yaml --matrix labels/matrix.toml --out runs/ablations

pairs/ is a folder made by `cmi studio make`. The folder labels/:

    pseudo.jsonl     the judge's labels of most pairs to train on (`train`), and of all to validate (`valid`)
    experts.jsonl    the experts' labels of other pairs to train on, and of all to validate
    ratings.jsonl    the experts' ratings of the takes of yet others, and of `test` and `heldout`
    truth.jsonl      the true labels of `test` and `heldout`, on which variants are tested
    matrix.toml      the variants: `studio-ablations`, which comes with cmi

The same pairs and seed give the same bytes.
"""

import argparse
import random
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from simulated_labels import Experts, judged, preferred, rated

from cmi._util.errors import InputError
from cmi._util.files import make_folder, write_whole
from cmi.cli import run_plainly
from cmi.preferences import Preference, read_preferences, write_preferences, write_rows
from cmi.report.tables import Table, print_tables
from cmi.reward.train.data import RATED
from cmi.testing.simulated_judge import NoisyJudge, truth_of

PREFERENCES = "preferences.jsonl"
TESTED = ("test", "heldout")
EXPERTS, RATERS = 0.1, 0.05  # of the pairs to train on; each pair rated gives two ratings. The paper: 3 % and 3 %

Counts = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Label the studio's pairs by a simulated judge and simulated experts.")
    parser.add_argument("pairs", type=Path, help="a folder made by `cmi studio make`")
    parser.add_argument("out", type=Path, help="where labels and the matrix go")
    parser.add_argument("--seed", type=int, default=0, help="of the judge and the experts")
    options = parser.parse_args(arguments)
    counts = make_labels(options.pairs, options.out, NoisyJudge(options.seed), Experts(options.seed))
    print_tables([labels_table(counts)])


def make_labels(studio: Path, folder: Path, judge: NoisyJudge, experts: Experts) -> Counts:
    """Write the files, and count the labels of each rater."""
    source = studio / PREFERENCES
    if not source.is_file():
        raise InputError(f"{source}: no such file; expected a folder made by cmi studio make")
    by_split: dict[str, list[Preference]] = {name: [] for name in ("train", "valid", *TESTED)}
    for row in read_preferences(source):
        by_split.setdefault(str(row.about.get("split")), []).append(row)
    for name in ("train", "valid", *TESTED):
        if not by_split[name]:
            raise InputError(f"{source}: no pair of split {name!r}; make more with cmi studio make")
    for_experts, for_raters, for_judge = _shared_out(by_split["train"], judge.seed)
    tested = [row for name in TESTED for row in by_split[name]]
    pseudo = list(judged([*for_judge, *by_split["valid"]], judge))
    by_experts = list(preferred([*for_experts, *by_split["valid"]], experts))
    make_folder(folder)
    write_preferences(pseudo, folder / "pseudo.jsonl")
    write_preferences(by_experts, folder / "experts.jsonl")
    write_rows(rated([*for_raters, *tested], experts, folder), folder / "ratings.jsonl")
    write_preferences(tested, folder / "truth.jsonl")
    matrix = files("cmi.ablate") / "matrices" / "studio-ablations.toml"
    write_whole(folder / "matrix.toml", matrix.read_text(encoding="utf-8"))
    return {
        "judge": _counts(for_judge, [row for row in pseudo if row.about["split"] == "train"]),
        "experts": _counts(for_experts, by_experts[: len(for_experts)]),
        "rated takes": 2 * len(for_raters),
    }


def _shared_out(rows: Sequence[Preference], seed: int) -> tuple[list[Preference], list[Preference], list[Preference]]:
    """The pairs for experts to compare, for experts to rate, and for the judge: each pair by a draw of its own."""
    drawn = sorted(rows, key=lambda row: random.Random(f"cmi.ablations share {seed} {row.id}").random())  # noqa: S311
    compared, rated_too = (max(1, round(share * len(rows))) for share in (EXPERTS, EXPERTS + RATERS))
    rated_too = max(rated_too, compared + 1)
    if len(rows) < rated_too + 4:
        raise InputError(f"{len(rows)} pairs to train on are too few to share out; make more with cmi studio make")
    return drawn[:compared], drawn[compared:rated_too], drawn[rated_too:]


def _counts(asked: Sequence[Preference], labels: Sequence[Preference]) -> Counts:
    """By axis: pairs asked about, labels kept, ties among them, and how many of the others are right."""
    truth = {row.id: truth_of(row).better for row in asked}
    found: Counts = {}
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


def labels_table(counts: Counts) -> Table:
    """How many labels there are to learn from, and how many of them are right."""
    rows = [
        [rater, axis, *(str(one[name]) for name in ("asked", "kept", "tied")), _share(one)]
        for rater in ("judge", "experts")
        for axis, one in counts[rater].items()
    ]
    notes = [f"Experts rated {counts['rated takes']} other takes."]
    return Table("Simulated labels", ["rater", "axis", "asked", "kept", "tied", "right %"], rows, labels=2, notes=notes)


def _share(one: Counts) -> str:
    decided = one["kept"] - one["tied"]
    return f"{100 * one['right'] / decided:.1f}" if decided else "-"


if __name__ == "__main__":
    run_plainly(main)

"""Do annotators agree with each other, and do the two axes agree with each other? Tables 6 and 7 of the paper.

Pairs with the same prompt and takes are the same in either order; votes on a reversed pair are reversed. Votes of
several raters on one pair are compared within each axis, votes of one rater between the axes.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from cmi.report.numbers import interval, number
from cmi.report.tables import Table
from cmi.rewardbench.items import RatedItem
from cmi.stats import rater_agreement
from cmi.take import Axis, Choice

AXES: tuple[Axis, ...] = ("alignment", "musicality", "overall")
TURNED: dict[Choice, Choice] = {"a": "b", "b": "a", "both": "both", "neither": "neither"}


def between_raters(items: Iterable[RatedItem]) -> list[dict[str, Any]]:
    """Measure agreement on each axis of each data set with several raters per pair (Table 6)."""
    units: dict[tuple[str, Axis], dict[tuple[object, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        if item.other_prompt is not None:
            continue
        names = [str(audio) for audio in item.takes]
        turned = names != sorted(names)
        for axis, vote in item.votes.items():
            choice = TURNED[vote.choice] if turned else vote.choice
            units[item.dataset, axis][item.prompt, *sorted(names)].append(choice)
    found = []
    for (dataset, axis), pairs in sorted(units.items()):
        one = rater_agreement(list(pairs.values()))
        if one.units:
            values = {name: value for name, value in one._asdict().items() if not name.endswith("_interval")}
            spans = {"rate_95": list(one.rate_interval), "alpha_95": list(one.alpha_interval)}
            found.append({"dataset": dataset, "axis": axis, **values, **spans})
    return found


def between_axes(items: Iterable[RatedItem]) -> list[dict[str, Any]]:
    """Measure how often a rater prefers the same take on both axes, with the mean confidences (Table 7)."""
    by_dataset: dict[str, list[RatedItem]] = defaultdict(list)
    for item in items:
        if {"musicality", "alignment"} <= set(item.votes):
            by_dataset[item.dataset].append(item)
    found = []
    for dataset, voted in by_dataset.items():
        same = [item for item in voted if item.votes["musicality"].choice == item.votes["alignment"].choice]
        other = [item for item in voted if item.votes["musicality"].choice != item.votes["alignment"].choice]
        about: dict[str, Any] = {"dataset": dataset, "same": len(same), "different": len(other)}
        about["rate"] = len(same) / len(voted)
        for name, group in (("same", same), ("different", other)):
            for axis in AXES[:2]:
                about[f"confidence_{axis}_{name}"] = _mean_confidence(group, axis)
        found.append(about)
    return found


def _mean_confidence(items: Sequence[RatedItem], axis: Axis) -> float | None:
    sure = [vote.confidence for item in items if (vote := item.votes[axis]).confidence is not None]
    return sum(sure) / len(sure) if sure else None


def raters_table(found: Sequence[dict[str, Any]]) -> Table:
    rows = [
        [
            *(one["dataset"], one["axis"], str(one["units"]), str(one["votes"]), str(one["pairs"])),
            *(
                number(one["rate"], 3),
                interval(one["rate_95"], 3),
                number(one["alpha"], 3),
                interval(one["alpha_95"], 3),
            ),
        ]
        for one in found
    ]
    rows.append(["(paper, Table 6)", "alignment", "492", "1056", "644", "0.691", "", "0.382", ""])
    rows.append(["(paper, Table 6)", "musicality", "492", "1056", "644", "0.724", "", "0.447", ""])
    headers = ["data set", "axis", "pairs", "votes", "vote pairs", "agreement", "95 %", "alpha", "95 %"]
    notes = ["Pairs with two votes or more. Alpha: Krippendorff's, nominal; 0 is chance. 95 %: bootstrap over pairs."]
    return Table("Agreement of raters", headers, rows, labels=2, notes=notes)


def axes_table(found: Sequence[dict[str, Any]]) -> Table:
    rows = []
    for one in found:
        sure = [
            " / ".join(number(one[f"confidence_{axis}_{group}"]) for axis in ("alignment", "musicality"))
            for group in ("same", "different")
        ]
        rows.append([one["dataset"], str(one["same"]), str(one["different"]), number(one["rate"], 3), *sure])
    rows.append(["(paper, Table 7)", "3309", "718", "0.822", "3.67 / 3.73", "3.17 / 3.31"])
    headers = ["data set", "same", "different", "agreement", "confidence, same", "confidence, different"]
    notes = ["Whether the same take is preferred on both axes; mean confidence on alignment / musicality."]
    return Table("Agreement of the axes", headers, rows, notes=notes)

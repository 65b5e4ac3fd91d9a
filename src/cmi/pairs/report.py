"""Report on a set of pairs: its counts, and what null scorers that do not use the music could exploit.

The nulls    louder, longer, brighter, denser (`cmi.features`): the share of pairs whose takes differ by at least
             AUDIBLE, and of those, how often a is the louder (longer, ...) take. It should be half: otherwise a judge
             with a bias to one side and one that prefers loud takes cannot be distinguished.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from cmi.features import TakeFeatures
from cmi.pairs.filters import REASONS
from cmi.pairs.make import MadePairs
from cmi.pairs.splits import MODALITIES
from cmi.preferences import SPLITS
from cmi.report.numbers import count, interval, percent
from cmi.report.tables import Table
from cmi.stats.intervals import Share

# (by how much it must differ, how it is measured)
AUDIBLE: dict[str, tuple[str, Callable[[TakeFeatures, TakeFeatures], float]]] = {
    "louder": ("1 dB", lambda a, b: a.loudness - b.loudness),
    "longer": ("1 s", lambda a, b: a.seconds - b.seconds),
    "brighter": ("10 %", lambda a, b: _tenths(a.brightness, b.brightness)),
    "denser": ("10 %", lambda a, b: _tenths(a.density, b.density)),
}
NO_NAME = "(no name)"
WIDEST = 12  # systems up to which every two have a cell


def summarise(made: MadePairs) -> dict[str, Any]:
    """Count what is in the pairs, as JSON."""
    left_out = Counter(one.reason for one in made.left_out)
    cells = Counter((pair.split, pair.prompt.modality) for pair in made.pairs)
    prompts: dict[str, set[int]] = {}
    for pair in made.pairs:
        prompts.setdefault(pair.split, set()).add(pair.a.prompt)
    matches = Counter((pair.a.take.system, pair.b.take.system) for pair in made.pairs)
    order = {split: place for place, split in enumerate(SPLITS)}
    return {
        "takes": {
            "read": made.takes,
            "left_out": {reason: left_out[reason] for reason in REASONS if left_out[reason]},
            "kept": made.takes - len(made.left_out),
        },
        "pairs": {
            "asked": made.settings.pairs,
            "possible": made.possible,
            "would_leak": made.would_leak,
            "made": len(made.pairs),
            "prompts": made.prompts,
        },
        "splits": [
            {
                "split": split,
                "prompts": len(prompts[split]),
                "pairs": {modality: cells[split, modality] for modality in MODALITIES},
            }
            for split in sorted(prompts, key=lambda split: (order.get(split, len(order)), split))
        ],
        "systems": [{"a": a, "b": b, "pairs": n} for (a, b), n in sorted(matches.items())],
        "nulls": [_null(name, made) for name in AUDIBLE],
    }


def tables(report: dict[str, Any]) -> list[Table]:
    """Lay out what `summarise` counted."""
    return [_takes_table(report), _splits_table(report), _systems_table(report), _nulls_table(report)]


def _tenths(a: float, b: float) -> float:
    """By how many tenths of the smaller one a is greater than b."""
    least = max(min(a, b), 1e-9)
    return 10 * (a - b) / least


def _null(name: str, made: MadePairs) -> dict[str, Any]:
    _, measure = AUDIBLE[name]
    differences = [measure(pair.a.check.features, pair.b.check.features) for pair in made.pairs]
    heard = [one for one in differences if abs(one) >= 1]
    is_a = Share(sum(one > 0 for one in heard), len(heard))
    return {
        "null": name,
        "pairs": len(heard),
        "share": len(heard) / len(differences) if differences else None,
        "a": is_a.value if heard else None,
        "low": is_a.interval.low if heard else None,
        "high": is_a.interval.high if heard else None,
    }


def _takes_table(report: dict[str, Any]) -> Table:
    takes, pairs = report["takes"], report["pairs"]
    rows = [["read", count(takes["read"])]]
    rows += [[f"left out: {reason}", count(n)] for reason, n in takes["left_out"].items()]
    rows.append(["kept", count(takes["kept"])])
    notes = [f"{count(pairs['possible'])} pairs of them are possible."]
    if pairs["would_leak"]:
        notes.append(f"{count(pairs['would_leak'])} would bring a prompt or a held-out system into two splits.")
    if pairs["asked"] and pairs["made"] < pairs["asked"]:
        notes.append(f"{count(pairs['asked'])} pairs were asked for; there are not enough takes.")
    return Table("Takes", ["", "takes"], rows, notes=notes)


def _splits_table(report: dict[str, Any]) -> Table:
    found = [
        [row["split"], count(row["prompts"]), *map(count, row["pairs"].values()), count(sum(row["pairs"].values()))]
        for row in report["splits"]
    ]
    sums = (sum(row["pairs"][modality] for row in report["splits"]) for modality in MODALITIES)
    found.append(["all", count(report["pairs"]["prompts"]), *map(count, sums), count(report["pairs"]["made"])])
    return Table("Pairs by split and modality", ["split", "prompts", *MODALITIES, "pairs"], found)


def _systems_table(report: dict[str, Any]) -> Table:
    pairs = {(row["a"], row["b"]): row["pairs"] for row in report["systems"]}
    names = sorted({name for match in pairs for name in match})
    is_matrix = len(names) <= WIDEST
    rows = []
    for name in names:
        as_a, as_b = ([pairs.get(match, 0) for match in matches] for matches in _matches(name, names))
        both = [a + b for other, a, b in zip(names, as_a, as_b, strict=True) if other != name] or [0]
        cells = as_a if is_matrix else [min(both), max(both)]
        rows.append([name or NO_NAME, *map(count, [*cells, sum(as_a), sum(as_b)])])
    if is_matrix:
        headers = ["a \\ b", *(name or NO_NAME for name in names), "as a", "as b"]
        return Table("Pairs by system", headers, rows, notes=["A row's system is a, a column's is b."])
    note = "fewest, most: pairs with one other system; report.json has them all."
    return Table("Pairs by system", ["system", "fewest", "most", "as a", "as b"], rows, notes=[note])


def _matches(name: str, names: list[str]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    return [(name, other) for other in names], [(other, name) for other in names]


def _nulls_table(report: dict[str, Any]) -> Table:
    rows = [
        [
            row["null"],
            f"at least {AUDIBLE[row['null']][0]}",
            count(row["pairs"]),
            percent(row["share"]),
            percent(row["a"]),
            interval((row["low"], row["high"]), 1, 100),
        ]
        for row in report["nulls"]
    ]
    headers = ["null", "differ by", "pairs", "% of pairs", "a is it %", "95 %"]
    return Table("What nulls know", headers, rows, labels=2)

"""The tables of `cmi data stats`, from the records of `cmi.publish.statistics`."""

from collections.abc import Mapping, Sequence
from typing import Any

from cmi.publish.counts import CHOICES, MODALITIES
from cmi.publish.statistics import QUANTILES, Record
from cmi.report import numbers
from cmi.report.tables import Table

SHOWN = 12  # systems and languages in a table
ON_PAPER = " (paper)"
# Table 1: hours of takes and of references, prompts, systems. Its numbers of samples are in `DataSet`.
PAPER: dict[str, dict[str, float]] = {
    "pam": {"samples": 500, "tested": 500, "hours": 0.83, "prompts": 100, "systems": 5},
    "musiceval": {"samples": 2748, "tested": 413, "hours": 16.62, "prompts": 384, "systems": 31},
    "music-arena": {"samples": 2800, "tested": 1340, "hours": 88.30, "prompts": 883, "systems": 17},
    "cmi-pref-pseudo": {
        "samples": 110_000, "hours": 797.34, "reference_hours": 123.95, "prompts": 10_213, "systems": 23,
    },
    "cmi-pref": {
        "samples": 4027, "tested": 500, "hours": 133.80, "reference_hours": 48.56, "prompts": 2632, "systems": 23,
    },
}  # fmt: skip

# Tables 6 and 7, which are about one data set.
PAPER_AGREEMENT = {
    "cmi-pref": "The paper: 492 pairs, rate 0.724 and alpha 0.447 on musicality, 0.691 and 0.382 on alignment.",
}
PAPER_AXES = {"cmi-pref": "The paper: 3,309 same, 718 different, 0.822; confidence 3.734, 3.674 and 3.311, 3.171."}


def all_tables(records: Sequence[Record]) -> list[Table]:
    """Return the overview of all data sets, and the tables of each."""
    return [
        overview_table(records),
        modality_table(records),
        *(table for each in records for table in set_tables(each)),
    ]


def set_tables(record: Record) -> list[Table]:
    """Return the tables of one data set that have something to say."""
    makers = (
        split_table, length_table, language_table, system_table, choice_table, confidence_table, rating_table,
        agreement_table, axes_table,
    )  # fmt: skip
    return [table for make in makers if (table := make(record)).rows]


def overview_table(records: Sequence[Record]) -> Table:
    """Return the paper's Table 1, with its own numbers beside data sets that are in it."""
    columns: dict[str, Mapping[str, Any]] = {}
    for record in records:
        tested = {"tested": record["splits"].get("test", {}).get("samples")}
        columns[record["name"]] = {**record, **tested, "systems": len(record["systems"]) or None}
        if record["name"] in PAPER:
            columns[record["name"] + ON_PAPER] = PAPER[record["name"]]
    rows = [
        ["samples", *(_count(each.get("samples")) for each in columns.values())],
        ["in split test", *(_count(each.get("tested")) for each in columns.values())],
        ["hours of takes", *(numbers.number(each.get("hours")) for each in columns.values())],
        ["hours of references", *(numbers.number(each.get("reference_hours") or None) for each in columns.values())],
        ["takes", *(_count(each.get("takes")) for each in columns.values())],
        ["unique prompts", *(_count(each.get("prompts")) for each in columns.values())],
        ["systems", *(_count(each.get("systems")) for each in columns.values())],
        ["raters", *(_count(each.get("raters") or None) for each in columns.values())],
        ["with lyrics, %", *(_share(each.get("has_lyrics"), each.get("samples")) for each in columns.values())],
    ]
    return Table("Overview (Table 1)", ["", *columns], rows, notes=_remarks(records))


def _remarks(records: Sequence[Record]) -> list[str]:
    found = []
    for record in records:
        for key, what in (("missing", "are missing"), ("unreadable", "cannot be read")):
            if record[key]:
                found.append(
                    f"{record['name']}: {record[key]:,} recordings {what}; they are not included in the hours."
                )
        for reason, number in record["left_out"].items():
            found.append(f"{record['name']}: {number:,} rows were left out: {reason}.")
        if record["hours"] is None:
            found.append(f"{record['name']}: recordings were not opened (--no-audio).")
    return found


def modality_table(records: Sequence[Record]) -> Table:
    rows = [
        [name, *(_share(record["modalities"].get(name, 0), record["samples"]) for record in records)]
        for name in MODALITIES
    ]
    return Table("Prompts, % of samples", ["", *(record["name"] for record in records)], rows)


def split_table(record: Record) -> Table:
    units = "pairs" if record["is_paired"] else "units"
    rows = [
        [
            name,
            *(_count(split[key]) for key in ("samples", "units", "prompts", "takes")),
            _count(split["systems"] or None),
            *(_share(split["modalities"].get(each, 0), split["samples"]) for each in MODALITIES),
        ]
        for name, split in record["splits"].items()
    ]
    shares = [f"{name}, %" for name in MODALITIES]
    headers = ["split", "samples", units, "prompts", "takes", "systems", *shares]
    return Table(f"{record['name']}: splits", headers, rows, notes=_leak_notes(record["leaks"]))


def _leak_notes(leaks: Record | None) -> list[str]:
    if leaks is None:
        return []
    if not leaks["counts"]:
        return ["No text, lyrics or recording is in two splits."]
    counted = ", ".join(f"{kind} {number:,}" for kind, number in leaks["counts"].items())
    return [f"In several splits: {counted}. For example:", *(f"{one}." for one in leaks["examples"].values())]


def length_table(record: Record) -> Table:
    return _summary_table(f"{record['name']}: lengths", record["lengths"], 1)


def rating_table(record: Record) -> Table:
    return _summary_table(f"{record['name']}: ratings", record["ratings"], 2)


def _summary_table(title: str, summaries: Mapping[str, Record], digits: int) -> Table:
    rows = [
        [name, _count(one["n"]), *(numbers.number(one[key], digits) for key in ("mean", *QUANTILES))]
        for name, one in summaries.items()
    ]
    return Table(title, ["", "n", "mean", *QUANTILES], rows)


def language_table(record: Record) -> Table:
    found = record["languages"]
    totals = {name: sum(languages.values()) for name, languages in found.items()}
    names = list(dict.fromkeys(language for languages in found.values() for language in languages))
    rows = [
        [language, *(cell for name in found for cell in _count_and_share(found[name].get(language, 0), totals[name]))]
        for language in names[:SHOWN]
    ]
    more = [f"... and {len(names) - SHOWN} more."] if len(names) > SHOWN else []
    notes = [*more, "Distinct prompts and lyrics; guessed from script and common words unless a column says it."]
    headers = ["language", *(header for name in found for header in (name, "%"))]
    return Table(f"{record['name']}: languages", headers, rows, notes=notes)


def system_table(record: Record) -> Table:
    by_size = sorted(record["systems"].items(), key=lambda one: (-one[1], one[0]))
    rows = [[name, *_count_and_share(number, record["takes"])] for name, number in by_size[:SHOWN]]
    more = [f"... and {len(by_size) - SHOWN} more."] if len(by_size) > SHOWN else []
    return Table(f"{record['name']}: systems", ["system", "takes", "%"], rows, notes=more)


def choice_table(record: Record) -> Table:
    rows = [
        [axis, _count(sum(choices.values())), *(_share(choices[name], sum(choices.values())) for name in CHOICES)]
        for axis, choices in record["choices"].items()
    ]
    headers = ["axis", "votes", *(f"{name}, %" for name in CHOICES)]
    return Table(f"{record['name']}: choices", headers, rows)


def confidence_table(record: Record) -> Table:
    rows = [
        [axis, _count(one["n"]), numbers.number(one["mean"], 3), *(_share(n, one["n"]) for n in one["counts"].values())]
        for axis, one in record["confidence"].items()
    ]
    headers = ["axis", "votes", "mean", *(f"{level}, %" for level in range(1, 6))]
    return Table(f"{record['name']}: confidence (figure 4)", headers, rows)


def agreement_table(record: Record) -> Table:
    rows = [
        [
            axis,
            *(_count(one[key]) for key in ("units", "votes", "agreeing")),
            _count(one["pairs"] - one["agreeing"]),
            *(numbers.number(one["rate"], 3), numbers.interval(one["rate_interval"], 3)),
            *(numbers.number(one["alpha"], 3), numbers.interval(one["alpha_interval"], 3)),
        ]
        for axis, one in record["agreement"].items()
    ]
    headers = ["axis", "judged twice", "votes", "agree", "disagree", "rate", "95 %", "alpha", "95 %"]
    notes = ["Every two raters of the same pair or take are compared; alpha is Krippendorff's."]
    notes += [PAPER_AGREEMENT[record["name"]]] if record["name"] in PAPER_AGREEMENT else []
    return Table(f"{record['name']}: agreement of raters (Table 6)", headers, rows, notes=notes)


def axes_table(record: Record) -> Table:
    rows = []
    for axes, one in record["axes"].items():
        sure = [_confidences(one[key]) for key in ("confidence_same", "confidence_different")]
        rows.append([axes, _count(one["same"]), _count(one["different"]), numbers.number(one["rate"], 3), *sure])
    headers = ["axes", "same choice", "different", "rate", "confidence if same", "if different"]
    notes = [PAPER_AXES[record["name"]]] if record["name"] in PAPER_AXES else []
    return Table(f"{record['name']}: agreement of axes (Table 7)", headers, rows, notes=notes)


def _confidences(means: Mapping[str, float | None]) -> str:
    return ", ".join(numbers.number(mean, 3) for mean in means.values())


def _count(value: float | None) -> str:
    return numbers.count(None if value is None else int(value))


def _share(part: int | None, whole: int | None) -> str:
    return numbers.percent(part / whole if part is not None and whole else None)


def _count_and_share(part: int, whole: int) -> tuple[str, str]:
    return numbers.count(part), _share(part, whole)

"""The tables and the record of a pool."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, astuple
from itertools import accumulate
from typing import Any

from cmi.prompts.pool import PoolReport
from cmi.report.numbers import count, percent
from cmi.report.tables import Table

QUANTILES = {"shortest": 0.0, "median": 0.5, "95 %": 0.95, "longest": 1.0}
GUESSED = "By the column language, or else guessed from script and common words."
UNKNOWN = "not told"  # a language


def pool_tables(report: PoolReport) -> list[Table]:
    """What was read, what was written, languages and lengths."""
    total = sum(one.written for one in report.modalities.values())
    sources = [[name, *map(count, astuple(one))] for name, one in report.sources.items()]
    modalities = [
        [name, *map(count, astuple(one)), percent(_share(one.written, total))]
        for name, one in report.modalities.items()
    ]
    headers = ["modality", "wanted", "written", "composed", "vocal", "instrumental", "%"]
    lengths = [
        [what, *(count(quantile(words, share)) for share in QUANTILES.values())]
        for what, words in (("text", report.text_words), ("lyrics", report.lyrics_words))
        if words
    ]
    languages = [
        [name or UNKNOWN, count(number), percent(_share(number, total))]
        for name, number in report.languages.most_common()
    ]
    tables = [Table("Sources", ["source", "read", "repeats", "near repeats", "written"], sources)]
    tables.append(Table(f"Prompts in {report.out}", headers, modalities, notes=_notes(report)))
    if total:
        tables.append(Table("Words", ["", *QUANTILES], lengths))
        tables.append(Table("Languages", ["language", "prompts", "%"], languages, notes=[GUESSED]))
    return tables


def pool_record(report: PoolReport) -> dict[str, Any]:
    """The report for machines."""
    return {
        "out": str(report.out),
        "prompts": sum(one.written for one in report.modalities.values()),
        "sources": {name: asdict(one) for name, one in report.sources.items()},
        "modalities": {name: asdict(one) for name, one in report.modalities.items()},
        "not_met": report.short,
        "languages": {name or "unknown": number for name, number in report.languages.most_common()},
        "words": {
            what: {name: quantile(words, share) for name, share in QUANTILES.items()}
            for what, words in (("text", report.text_words), ("lyrics", report.lyrics_words))
            if words
        },
        "asked": {
            what: {
                "model": one.model,
                "written": len(one.texts),
                "failed": dict(Counter(one.failures.values()).most_common()),
                "calls": one.usage.calls,
                "tokens": one.usage.tokens,
                "cost": round(one.cost, 6),
            }
            for what, one in report.asked.items()
        },
    }


def quantile(counts: Mapping[int, int], share: float) -> int:
    """Return the least value that `share` of the counted values do not exceed.

    >>> quantile({3: 1, 5: 8, 40: 1}, 0.5)
    5
    """
    values = sorted(counts)
    reached = accumulate(counts[value] for value in values)
    needed = share * sum(counts.values())
    return next(value for value, total in zip(values, reached, strict=True) if total >= needed)


def _notes(report: PoolReport) -> list[str]:
    notes = [f"Not met: {sentence}." for sentence in report.short]
    for what, one in report.asked.items():
        cost = f", cost {one.cost:.2f}" if one.cost else ""
        calls = f"; {one.usage.calls:,} calls, {one.usage.tokens:,} tokens{cost}" if one.usage.calls else ""
        notes.append(f"{len(one.texts):,} {what} by {one.model}{calls}.")
        for reason, number in Counter(one.failures.values()).most_common(3):
            notes.append(f"{number:,} {what} failed: {reason}. The same command asks for them again.")
    return notes


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None

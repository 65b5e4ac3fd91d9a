"""Judges' runs, labels and audits as tables and as records."""

from collections.abc import Sequence
from typing import Any

from cmi._util.printable import printable
from cmi.judge.audit import Audit
from cmi.judge.labels import Outcomes, axes_of
from cmi.judge.labels import count as count_labels
from cmi.judge.run import Judged
from cmi.report.numbers import count, interval, number, percent
from cmi.report.tables import Table
from cmi.stats import Interval, Share
from cmi.stats.comparison import finite

SHOWN = 10  # failures that a table names


def run_table(judged: Judged) -> Table:
    """Outcomes of a run by axis and order."""
    rows = []
    for axis in axes_of(judged):
        for order in ("forward", "reverse"):
            said = [
                v.opinions[axis].choice
                for asking, v in judged.verdicts.items()
                if asking.order == order and axis in v.opinions
            ]
            if said:
                outcomes = Outcomes(said.count("a"), said.count("b"), said.count("both") + said.count("neither"))
                rows.append([axis, order, *_outcome_cells(outcomes)])
    return Table("Verdicts", ["axis", "order", "n", "a %", "b %", "tie %"], rows, labels=2, notes=_notes(judged))


def label_table(judged: Judged) -> Table:
    """Table 8 of the paper: win rates in both orders and of the labels kept."""
    rows = []
    for axis in axes_of(judged):
        found = count_labels(judged, axis)
        for name, outcomes in (("original", found.original), ("reversed", found.reversed), ("agreed", found.agreed)):
            rows.append([axis, name, *_outcome_cells(outcomes)])
    return Table(
        "Win rates by order", ["axis", "order", "n", "a %", "b %", "tie %"], rows, labels=2, notes=_notes(judged)
    )


def filter_table(judged: Judged, written: int) -> Table:
    """How many pairs the filter kept, and why it dropped the others."""
    rows = []
    for axis in axes_of(judged):
        found = count_labels(judged, axis)
        cells = [found.kept, found.contradicted, found.first_both_times, found.second_both_times, found.missing]
        rows.append([axis, *map(count, (found.asked, *cells)), _with_interval(Share(found.kept, found.asked))])
    headers = ["axis", "asked", "kept", "contradicted", "first twice", "second twice", "no verdict", "kept %"]
    return Table("Position-consistent labels", headers, rows, notes=[f"{written:,} labels written"])


def label_record(judged: Judged) -> dict[str, Any]:
    return {
        "judge": judged.judge,
        "failed": len(judged.failures),
        "unparsed": sum(not verdict.opinions for verdict in judged.verdicts.values()),
        "axes": {
            found.axis: {
                "asked": found.asked,
                "kept": found.kept,
                "contradicted": found.contradicted,
                "first_both_times": found.first_both_times,
                "second_both_times": found.second_both_times,
                "missing": found.missing,
                **{name: vars(getattr(found, name)) for name in ("original", "reversed", "agreed")},
            }
            for found in (count_labels(judged, axis) for axis in axes_of(judged))
        },
    }


def audit_table(audit: Audit) -> Table:
    rows = [
        ["position: first named", b.axis, count(b.decided), *_percent_cells(b.value, b.interval)]
        for b in audit.position
    ]
    for name, shares in (
        ("same in both orders", audit.consistency),
        ("same when repeated", audit.self_consistency),
        ("ties", audit.ties),
        ("marks at odds with choice", audit.at_odds),
    ):
        rows += [[name, axis, *_share_cells(share)] for axis, share in shares.items() if share.n]
    rows.append(["no verdict in the answer", "", *_share_cells(audit.unparsed)])
    if audit.failed.hits:
        rows.append(["failed", "", *_share_cells(audit.failed)])
    rows += [["specificity: same clip", axis, *_share_cells(share)] for axis, share in audit.specificity.items()]
    for one in audit.hearing:
        rows.append([f"sensitivity: {one.kind}", one.axis, *_share_cells(one.sensitivity)])
        rows.append([f"J: {one.kind}", one.axis, "", number(one.youden), interval(one.interval)])
    verdict = ["UNFIT: " + "; ".join(audit.faults) + "."] if audit.faults else ["Fit: no test failed."]
    return Table(f"Audit of {audit.judge}", ["measure", "axis", "n", "value", "95 %"], rows, labels=2, notes=verdict)


def audit_record(audit: Audit) -> dict[str, Any]:
    def shares(found: dict[Any, Share]) -> dict[str, Any]:
        return {axis: _share_record(share) for axis, share in found.items()}

    return {
        "judge": audit.judge,
        "fit": not audit.faults,
        "faults": audit.faults,
        "position": [
            {"axis": b.axis, "n": b.decided, "value": b.value, "interval": list(b.interval)} for b in audit.position
        ],
        "consistency": shares(audit.consistency),
        "self_consistency": shares(audit.self_consistency),
        "ties": shares(audit.ties),
        "at_odds": shares(audit.at_odds),
        "unparsed": _share_record(audit.unparsed),
        "failed": _share_record(audit.failed),
        "specificity": shares(audit.specificity),
        "hearing": [
            {
                "kind": one.kind,
                "axis": one.axis,
                "sensitivity": _share_record(one.sensitivity),
                "youden": finite(one.youden),
                "interval": [finite(end) for end in one.interval],
            }
            for one in audit.hearing
        ],
    }


def _notes(judged: Judged) -> list[str]:
    unparsed = [verdict.why for verdict in judged.verdicts.values() if not verdict.opinions]
    notes = [f"judge: {judged.judge}"]
    if unparsed:
        notes.append(
            f"{len(unparsed):,} of {len(judged.verdicts):,} answers are not a verdict; they are kept as they came"
        )
    failed = list(judged.failures.items())
    notes += [printable(f"failed: {asking.key}: {why}") for asking, why in failed[:SHOWN]]
    if len(failed) > SHOWN:
        notes.append(f"and {len(failed) - SHOWN:,} more failed; the same command asks again")
    return notes


def _outcome_cells(outcomes: Outcomes) -> list[str]:
    shares = (outcomes.a, outcomes.b, outcomes.tie)
    return [count(outcomes.n), *(percent(k / outcomes.n, 2) if outcomes.n else "" for k in shares)]


def _share_cells(share: Share) -> Sequence[str]:
    return [count(share.n), *(_percent_cells(share.value, share.interval) if share.n else ("", ""))]


def _percent_cells(value: float, ends: Interval) -> Sequence[str]:
    """With a percent sign, because J in the same column has none."""
    return [f"{percent(value)}%", f"{interval(ends, 1, 100)}%"]


def _with_interval(share: Share) -> str:
    return f"{percent(share.value)} ({interval(share.interval, 1, 100)})" if share.n else ""


def _share_record(share: Share) -> dict[str, Any]:
    return {"k": share.hits, "n": share.n, "value": finite(share.value), "interval": list(share.interval)}

"""Judges' runs, labels and audits as tables and as records."""

from collections.abc import Sequence
from dataclasses import is_dataclass
from statistics import fmean, pstdev
from typing import Any

from cmi._util.printable import printable
from cmi.judge.audit import Audit
from cmi.judge.labels import Outcomes, outcomes
from cmi.judge.labels import count as count_labels
from cmi.judge.run import ORDERS, Judged
from cmi.report.numbers import count, interval, number, percent
from cmi.report.tables import Table, to_plain
from cmi.reward.model.validation import validation_notes
from cmi.stats import Interval, Share

SHOWN = 10  # failures that a table names


def run_table(judged: Judged) -> Table:
    """Outcomes of a run by axis and order, or the marks it gave."""
    if any(verdict.marks for verdict in judged.verdicts.values()):
        return _marks_table(judged)
    rows = []
    for axis in judged.axes:
        for order in ORDERS:
            verdicts = [verdict for asking, verdict in judged.verdicts.items() if asking.order == order]
            said = [verdict.opinions[axis].choice for verdict in verdicts if axis in verdict.opinions]
            rows += [(axis, order, outcomes(said))] if said else []
    return _outcome_table("Verdicts", rows, judged)


def _marks_table(judged: Judged) -> Table:
    given = [verdict.marks for verdict in judged.verdicts.values() if verdict.marks]
    rows = []
    for axis in given[0]:
        marks = [one[axis] for one in given]
        rows.append(
            [
                axis,
                count(len(marks)),
                number(fmean(marks)),
                number(pstdev(marks)),
                *map(number, (min(marks), max(marks))),
            ]
        )
    return Table("Marks", ["axis", "n", "mean", "sd", "least", "greatest"], rows, notes=_notes(judged))


def label_table(judged: Judged) -> Table:
    """Table 8 of the paper: win rates in both orders and of the labels kept."""
    found = {axis: count_labels(judged, axis) for axis in judged.axes}
    orders = ("original", "reversed", "agreed")
    rows = [(axis, order, getattr(counts, order)) for axis, counts in found.items() for order in orders]
    return _outcome_table("Win rates by order", rows, judged)


def _outcome_table(title: str, rows: Sequence[tuple[str, str, Outcomes]], judged: Judged) -> Table:
    cells = []
    for axis, order, found in rows:
        shares = [percent(k / found.n, 2) if found.n else "" for k in (found.a, found.b, found.tie)]
        cells.append([axis, order, count(found.n), *shares])
    return Table(title, ["axis", "order", "n", "a %", "b %", "tie %"], cells, labels=2, notes=_notes(judged))


def filter_table(judged: Judged, written: int) -> Table:
    """How many pairs the filter kept, and why it dropped the others."""
    rows = []
    for axis in judged.axes:
        found = count_labels(judged, axis)
        cells = [found.kept, found.contradicted, found.first_both_times, found.second_both_times, found.missing]
        rows.append([axis, *map(count, (found.asked, *cells)), _with_interval(Share(found.kept, found.asked))])
    headers = ["axis", "asked", "kept", "contradicted", "first twice", "second twice", "no verdict", "kept %"]
    return Table("Position-consistent labels", headers, rows, notes=[f"{written:,} labels written"])


def audit_table(audit: Audit) -> Table:
    rows = [["position: first named", b.axis, count(b.n), *_percent_cells(b.value, b.interval)] for b in audit.position]
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
    def plain(value: Any) -> Any:
        if isinstance(value, Share):
            return {"k": value.hits, "n": value.n, "value": value.value, "interval": value.interval}
        if isinstance(value, list):
            return [plain(one) for one in value]
        fields = vars(value) if is_dataclass(value) else value
        return {name: plain(one) for name, one in fields.items()} if isinstance(fields, dict) else value

    found: dict[str, Any] = {"judge": audit.judge, "fit": not audit.faults, "faults": audit.faults}
    return {name: to_plain(value) for name, value in (found | plain(audit)).items()}


def _notes(judged: Judged) -> list[str]:
    unparsed = [verdict.why for verdict in judged.verdicts.values() if not verdict.opinions and not verdict.marks]
    notes = [f"judge: {judged.judge}", *validation_notes(judged.judge), *judged.cut_notes]
    if unparsed:
        notes.append(
            f"{len(unparsed):,} of {len(judged.verdicts):,} answers are not a verdict; they are kept as they came"
        )
    failed = list(judged.failures.items())
    notes += [printable(f"failed: {asking.key}: {why}") for asking, why in failed[:SHOWN]]
    if len(failed) > SHOWN:
        notes.append(f"and {len(failed) - SHOWN:,} more failed; the same command asks again")
    return notes


def _share_cells(share: Share) -> Sequence[str]:
    return [count(share.n), *(_percent_cells(share.value, share.interval) if share.n else ("", ""))]


def _percent_cells(value: float, ends: Interval) -> Sequence[str]:
    """With a percent sign, because J in the same column has none."""
    return [f"{percent(value)}%", f"{interval(ends, 1, 100)}%"]


def _with_interval(share: Share) -> str:
    return f"{percent(share.value)} ({interval(share.interval, 1, 100)})" if share.n else ""

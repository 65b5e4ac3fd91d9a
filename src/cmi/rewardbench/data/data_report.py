"""The tables and records of `cmi data`: known data sets, planned downloads, results of checks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cmi.report import numbers
from cmi.report.tables import Table
from cmi.rewardbench.data import Counts, DataSet, Found, count, counts_table, data_sets
from cmi.rewardbench.data.download import Checked, Plan, check


def list_records(root: Path) -> list[dict[str, Any]]:
    """Return every data set, and whether it is in `root`."""
    return [
        {
            "name": dataset.name,
            "title": dataset.title,
            "licence": dataset.licence,
            "bytes": dataset.size,
            "samples": dataset.samples,
            "tested": dataset.tested,
            "on_disk": _state(root / dataset.name),
            "origin": dataset.origin,
        }
        for dataset in data_sets().values()
    ]


def _state(folder: Path) -> str:
    if folder.exists():
        return "yes"
    return "begun" if folder.with_name(f"{folder.name}.partial").exists() else "no"


def list_table(records: Sequence[dict[str, Any]], root: Path) -> Table:
    headers = ["data set", "what", "licence", "on disk", "size", "rows", "tested"]
    rows = [
        [
            *(record["name"], record["title"], record["licence"], record["on_disk"]),
            "-" if record["licence"] == "yours" else numbers.file_size(record["bytes"]),
            *(numbers.count(record[name]) for name in ("samples", "tested")),
        ]
        for record in records
    ]
    notes = [
        f"On disk: in {root}. Rows and tested: the paper's Table 1.",
        "Sizes as stated by their publishers ('-': not stated); `cmi data get` shows what the server says.",
    ]
    return Table("Data sets", headers, rows, labels=4, notes=notes)


def plan_table(plans: Sequence[tuple[DataSet, Plan]], root: Path) -> Table:
    """Return the planned downloads."""
    rows = [[dataset.name, dataset.licence, dataset.origin, numbers.file_size(plan.size)] for dataset, plan in plans]
    return Table(f"To be downloaded to {root}", ["data set", "licence", "from", "size"], rows, labels=3)


@dataclass(frozen=True)
class DataCheck:
    """The result of checking a data set; files are checked only if they can be downloaded."""

    found: Found
    counts: Counts
    files: Checked | None

    @property
    def problems(self) -> list[str]:
        if self.files is None:
            return []
        named = (("missing", self.files.missing), ("changed since it was recorded", self.files.changed))
        return [_few(self.found.folder, paths, what) for what, paths in named if paths]


def _few(folder: Path, paths: Sequence[str], what: str) -> str:
    others = f" and {len(paths) - 1:,} others" if len(paths) > 1 else ""
    return f"{folder / paths[0]}{others}: {what}"


def check_data(found: Found) -> DataCheck:
    """Read every row, and compare every file with the manifest."""
    counts = count(found.dataset.survey(found.folder))
    return DataCheck(found, counts, check(found.dataset, found.folder) if found.dataset.is_downloadable else None)


def check_table(checked: DataCheck) -> Table:
    table = counts_table(checked.found.dataset, checked.counts)
    return replace(table, notes=[*table.notes, *([] if checked.files is None else [_files_note(checked.files)])])


def _files_note(files: Checked) -> str:
    number, size = len(files.manifest.files), sum(summed.size for summed in files.manifest.files.values())
    if files.is_first:
        return f"{number:,} files, {numbers.file_size(size)}: checksums recorded now, to be verified from now on."
    right = number - len(files.missing) - len(files.changed)
    unlisted = f"; {len(files.unlisted):,} files are not in the record" if files.unlisted else ""
    return f"{right:,} of {number:,} files, {numbers.file_size(size)}, are as recorded{unlisted}."


def check_record(checked: DataCheck) -> dict[str, Any]:
    """Return a check as a JSON record."""
    files, counts = checked.files, checked.counts
    record: dict[str, Any] = {"name": checked.found.dataset.name, "folder": str(checked.found.folder)}
    record |= {"rows": counts.rows, "kept": counts.kept, "left_out": counts.left_out, "absent_audio": counts.absent}
    record |= {"paper_rows": checked.found.dataset.samples, "paper_tested": checked.found.dataset.tested}
    if files is not None:
        record |= {
            "revision": files.manifest.revision,
            "files": len(files.manifest.files),
            "recorded_now": files.is_first,
        }
        record |= {"missing": files.missing, "changed": files.changed, "unlisted": files.unlisted}
    return record

"""Which system made a recording, in which version, and under which terms.

A manifest of `cmi generate` states it: the row itself if takes are published, otherwise takes.jsonl in a folder above
the recording, or a manifest that is named, whose recordings are recognised by their content. Terms may also be given
for a system, for references and for everything else.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.records import read_records
from cmi.publish.sources import MANIFEST, DataRow
from cmi.take import PROVENANCE

REFERENCE, ALL_OTHERS = "reference", "*"
LEVELS = 3  # audio/SYSTEM/PROMPT-SEED.flac lies two folders below its manifest
KEPT = ("version", "seed", "settings", "made", "licence")  # of PROVENANCE; lengths and hashes are measured anew
assert set(KEPT) <= set(PROVENANCE)


@dataclass
class TracedRecording:
    """A recording to be published."""

    path: Path
    system: str
    is_reference: bool
    cells: dict[str, Any]  # of KEPT
    licence: str = ""

    def learn(self, stated: Mapping[str, Any]) -> None:
        """Take over what a manifest's row states and is not known yet."""
        self.system = self.system or str(stated.get("generator") or "")
        known = {name: stated[name] for name in KEPT if stated.get(name) not in (None, "")}
        self.cells = {**known, **self.cells}


class Unlicensed(NamedTuple):
    system: str
    recordings: int


def parse_terms(given: Sequence[str]) -> dict[str, str]:
    """Read SYSTEM=TERMS; 'reference' stands for references, '*' for all others."""
    found = {}
    for each in given:
        system, equals, terms = each.partition("=")
        if not (system.strip() and equals and terms.strip()):
            raise InputError(f"--terms {each!r}: expected SYSTEM=TERMS, such as musicgen='CC BY-NC 4.0'")
        found[system.strip()] = terms.strip()
    return found


def manifest_of(path: Path) -> Path:
    """Return the manifest in a folder of takes, or the path itself."""
    return path / MANIFEST if path.is_dir() else path


class ProvenanceRecords:
    """The recordings of a data set by path, each with its provenance."""

    def __init__(self, terms: Mapping[str, str]) -> None:
        self._terms = terms
        self._manifests: dict[Path, dict[Path, dict[str, Any]]] = {}
        self.found: dict[Path, TracedRecording] = {}

    def add(self, row: DataRow) -> None:
        """Add the recordings that a row names."""
        for column, path in row.takes.items():
            self._add(path, row.systems[column], row.cells if column == "audio" else {})
        if isinstance(row.prompt.reference, Path):
            self._add(row.prompt.reference, "", {}, is_reference=True)

    def _add(self, path: Path, system: str, cells: Mapping[str, Any], is_reference: bool = False) -> None:
        known = self.found.get(path)
        if known is None:
            known = self.found[path] = TracedRecording(path, system, is_reference, {})
            if not is_reference:
                known.learn({**self._manifest_row(path), **cells})
        known.is_reference = known.is_reference and is_reference
        known.system = known.system or system

    def _manifest_row(self, path: Path) -> dict[str, Any]:
        path = path.resolve()
        for folder in path.parents[:LEVELS]:
            if folder not in self._manifests:
                rows = _read_manifest(folder / MANIFEST) if (folder / MANIFEST).is_file() else ()
                self._manifests[folder] = {(folder / str(row["audio"])).resolve(): row for row in rows}
            if row := self._manifests[folder].get(path):
                return row
        return {}

    def learn_by_content(self, manifests: Sequence[Path], hashes: Sequence[str]) -> None:
        """Take over what manifests state about recordings of the same content; `hashes` are those of `found`."""
        stated = {row["sha256"]: row for file in manifests for row in _read_manifest(file) if row.get("sha256")}
        for one, digest in zip(self.found.values(), hashes, strict=True):
            if digest in stated and not one.is_reference:
                one.learn(stated[digest])

    def set_licences(self) -> list[Unlicensed]:
        """Give each recording its terms; return what has none, by system."""
        without: dict[str, int] = {}
        for one in self.found.values():
            system = REFERENCE if one.is_reference else one.system
            stated = self._terms.get(system) or str(one.cells.get("licence", ""))
            one.licence = stated or self._terms.get(ALL_OTHERS, "")
            if not one.licence:
                without[system] = without.get(system, 0) + 1
        return [Unlicensed(system, number) for system, number in sorted(without.items())]


def _read_manifest(file: Path) -> Iterator[dict[str, Any]]:
    """Yield what a manifest says about each recording."""
    for _, row in read_records(file):
        if isinstance(row.get("audio"), str):
            yield {name: row[name] for name in (*KEPT, "generator", "audio", "sha256") if name in row}


def require_licences(without: Sequence[Unlicensed]) -> None:
    """InputError if recordings have no stated licence."""
    if without:
        named = ", ".join(f"{one.system or 'systems that are not stated'} ({one.recordings:,})" for one in without)
        system = without[0].system or ALL_OTHERS
        raise InputError(
            f"no licence or terms are stated for the recordings of {named}; state them with --terms "
            f"'{system}=TERMS', or publish them without with --allow-unlicensed"
        )

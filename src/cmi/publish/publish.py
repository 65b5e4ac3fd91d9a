"""Put together a folder that is ready to publish.

    OUT.partial/       while it is being written; the same command resumes there
    OUT/               when it is complete: README.md, SHA256SUMS, data/*.parquet
    OUT.raters.json    the pseudonyms of raters; private

Recordings are stored once for each content. Their hashes are cached, and complete files of recordings are not written
again.
"""

import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.files import UNFINISHED, cannot_write, locked, make_folder, move_into_place, write_whole
from cmi._util.hub import require_packages
from cmi._util.records import OWN
from cmi.preferences import FIELDS, normalise_text
from cmi.publish.card import CardFacts, CardText, write_card
from cmi.publish.provenance import REFERENCE, ProvenanceRecords, TracedRecording, require_licences
from cmi.publish.raters import pseudonyms
from cmi.publish.recordings import read_hashes, read_lengths
from cmi.publish.shards import (
    LARGEST_SHARD,
    CellTypes,
    StoredRecording,
    plan_recordings,
    split_file,
    write_recordings,
    write_rows,
)
from cmi.publish.sources import DataRow, DataSource
from cmi.publish.statistics import describe
from cmi.take import TAKES, Prompt

SUMS, CARD, DATA, WORK = "SHA256SUMS", "README.md", "data", ".cmi"
ASKED = ("text", "lyrics", "reference", "a", "b", "audio")
STUDIO = "studio"  # the rater of `cmi studio make`, which is not a person
PRIVATE = ("feedback", "voted")  # may identify people: left out unless requested, like users' own columns
RECORDING_COLUMNS = (
    "role",
    "generator",
    "version",
    "licence",
    "seed",
    "settings",
    "made",
    "seconds",
    "bytes",
    "sha256",
)
_SUFFIX = re.compile(r"\.[a-z0-9]{1,5}")

Report = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class PublishPlan:
    """What to publish, and how."""

    source: DataSource
    out: Path
    text: CardText
    terms: dict[str, str] = field(default_factory=dict)  # by system
    manifests: tuple[Path, ...] = ()  # of takes, for their provenance
    allow_unlicensed: bool = False
    columns: tuple[str, ...] = ()  # private ones to publish all the same
    raters: Path | None = None  # the file of pseudonyms
    kept_raters: tuple[str, ...] = ()  # models, whose names are published
    shard_bytes: int = LARGEST_SHARD

    @property
    def raters_file(self) -> Path:
        return self.raters or self.out.with_name(f"{self.out.name}.raters.json")


class Published(NamedTuple):
    folder: Path
    rows: int
    recordings: int
    size: int  # bytes
    reused: int  # files of recordings that a stopped command had written
    dropped: tuple[str, ...]  # columns


@dataclass
class _Survey:
    """What one pass over the rows finds."""

    recordings: ProvenanceRecords
    rows: Counter[str] = field(default_factory=Counter)  # by the split's name in file names
    types: CellTypes = field(default_factory=CellTypes)
    raters: Counter[str] = field(default_factory=Counter)
    splits_of_prompt: dict[bytes, str] = field(default_factory=dict)
    shared_prompts: set[bytes] = field(default_factory=set)
    is_paired: bool = False


def is_complete(folder: Path) -> bool:
    """Tell whether a folder is one that `publish` finished; InputError if a file of it is missing or changed."""
    if not folder.exists():
        return False
    sums = folder / SUMS
    if not sums.is_file():
        raise InputError(f"{folder}: exists, and was not written by `cmi data publish`; choose another folder")
    for line in sums.read_text(encoding="utf-8").splitlines():
        digest, _, name = line.partition("  ")
        if not (folder / name).is_file() or _digest(folder / name) != digest:
            raise InputError(f"{folder / name}: missing, or changed since it was published; remove {folder}")
    return True


def publish(plan: PublishPlan, report: Report = lambda what, done, total: None) -> Published:
    """Write the folder. After an InputError or a kill, the same call resumes."""
    if plan.source.dataset is not None:
        name = plan.source.dataset.name
        raise InputError(
            f"{name} is published already; to publish a version of yours, write it to a folder with "
            f"`cmi data export {name} FOLDER`, and publish that folder"
        )
    require_packages("publishing data", "rewardbench", "pyarrow", "yaml")
    partial = plan.out.with_name(f"{plan.out.name}.partial")
    make_folder(partial / WORK)
    make_folder(partial / DATA)
    try:
        with locked(partial / WORK / "lock", waits=False):
            for left in partial.rglob(f"*{UNFINISHED}"):  # by a killed process
                left.unlink()
            done = _write_all(plan, partial, report)
            shutil.rmtree(partial / WORK)
            move_into_place(partial, plan.out)
    except OSError as error:
        raise cannot_write(error.filename or partial, error) from error
    return done


def _write_all(plan: PublishPlan, folder: Path, report: Report) -> Published:
    survey = _survey(plan)
    found = list(survey.recordings.found.values())
    hashes = read_hashes([one.path for one in found], _stepper(report, "recordings hashed", len(found)))
    survey.recordings.learn_by_content(plan.manifests, hashes)
    without = survey.recordings.set_licences()
    if not plan.allow_unlicensed:
        require_licences(without)
    stored, names = _store(found, hashes, report)
    shards = plan_recordings(stored, plan.shard_bytes)
    _remove_others(folder / DATA, len(shards))
    types = CellTypes()
    for one in stored:
        types.add(one.cells)
    columns = {name: types.of(name) for name in RECORDING_COLUMNS if name in types}
    done = reused = 0
    for number, was_there in write_recordings(shards, columns, folder / DATA):
        done, reused = done + number, reused + was_there
        report("recordings written", done, len(stored))
    people = _people(plan, survey)
    aliases = pseudonyms(people, plan.raters_file) if people else {}
    row_columns = _row_columns(plan, survey)
    rows = ((split_file(str(row.cells.get("split", ""))), _cells(row, names, aliases, survey)) for row in _rows(plan))
    write_rows(rows, survey.rows, row_columns, folder / DATA)
    statistics = {**describe(plan.source), "name": plan.out.name}
    dropped = tuple(name for name in survey.types if name not in row_columns)
    facts = CardFacts(
        statistics=statistics,
        splits=list(survey.rows),
        columns=list(row_columns),
        recording_columns=list(columns),
        recordings=[one.cells for one in stored],
        raters=len(people),
        judges=[name for name in survey.raters if name not in people],
        shared_prompts=len(survey.shared_prompts),
        repeated=len(names) - len(stored),
        dropped=dropped,
    )
    write_whole(folder / CARD, write_card(plan.text, facts))
    size = _write_sums(folder)
    return Published(plan.out, survey.rows.total(), len(stored), size, reused, dropped)


def _rows(plan: PublishPlan) -> Iterator[DataRow]:
    return (row for row in plan.source.rows() if isinstance(row, DataRow))


def _survey(plan: PublishPlan) -> _Survey:
    survey = _Survey(ProvenanceRecords(plan.terms))
    for row in _rows(plan):
        if not row.takes:
            raise InputError(f"{plan.source.path}: prompts without takes, expected recordings to publish")
        survey.recordings.add(row)
        split = str(row.cells.get("split", ""))
        survey.rows[split_file(split)] += 1
        survey.types.add(row.cells)
        if rater := row.cells.get("rater"):
            survey.raters[str(rater)] += 1
        survey.is_paired = "a" in row.takes
        prompt = _prompt_key(row.prompt)
        if prompt and survey.splits_of_prompt.setdefault(prompt, split) != split:
            survey.shared_prompts.add(prompt)
    return survey


def _prompt_key(prompt: Prompt) -> bytes:
    words = normalise_text(f"{prompt.text} {prompt.lyrics}")
    return hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).digest() if words else b""


def _people(plan: PublishPlan, survey: _Survey) -> list[str]:
    """Return the raters whose names are replaced: all but models."""
    if plan.source.is_judged:
        return []
    return [name for name in survey.raters if name not in (STUDIO, *plan.kept_raters)]


def _row_columns(plan: PublishPlan, survey: _Survey) -> dict[str, str]:
    """Return the columns of the rows, those of the format first, with their types."""
    first = FIELDS if survey.is_paired else TAKES.main
    public = [
        name for name in survey.types if name in plan.columns or (name not in PRIVATE and not name.startswith(OWN))
    ]
    wanted = [name for name in dict.fromkeys((*first, *public)) if name in ("id", *ASKED) or name in public]
    return {name: survey.types.of(name) for name in wanted}


def _cells(row: DataRow, names: dict[Path, str], aliases: dict[str, str], survey: _Survey) -> dict[str, Any]:
    """Return a row as it is published: recordings by their content, raters by their pseudonyms."""
    prompt = row.prompt
    cells = {**row.cells, "id": row.id, "text": prompt.text or None, "lyrics": prompt.lyrics or None}
    cells |= {column: names[path] for column, path in row.takes.items()}
    cells["reference"] = names[prompt.reference] if isinstance(prompt.reference, Path) else None
    if (rater := str(cells.get("rater", ""))) in aliases:
        cells |= {name: _without_name(cell, rater, aliases[rater]) for name, cell in cells.items() if name not in ASKED}
    if "audio" in row.takes and (licence := survey.recordings.found[row.takes["audio"]].licence):
        cells["licence"] = licence
    return cells


def _without_name(cell: Any, rater: str, alias: str) -> Any:
    """Replace a rater's name in a cell, such as an id that was made from it."""
    is_named = isinstance(cell, str) and rater in cell
    return re.sub(rf"(?<!\w){re.escape(rater)}(?!\w)", alias, cell) if is_named else cell


def _stepper(report: Report, what: str, total: int) -> Callable[[int], None]:
    done = 0

    def advance(number: int) -> None:
        nonlocal done
        done += number
        report(what, done, total)

    return advance


def _store(
    found: Sequence[TracedRecording], hashes: Sequence[str], report: Report
) -> tuple[list[StoredRecording], dict[Path, str]]:
    """Measure recordings; return one for each content, and the name of each path."""
    lengths = read_lengths([one.path for one in found], _stepper(report, "recordings measured", len(found)))
    stored: dict[str, StoredRecording] = {}
    names: dict[Path, str] = {}
    for one, digest, seconds in zip(found, hashes, lengths.seconds, strict=True):
        suffix = one.path.suffix.lower() if _SUFFIX.fullmatch(one.path.suffix.lower()) else ".audio"
        names[one.path] = f"audio/{digest}{suffix}"
        if digest not in stored:
            cells = {
                **one.cells,
                "role": REFERENCE if one.is_reference else "take",
                "generator": one.system or None,
                "licence": one.licence or None,
                "seconds": round(float(seconds), 3) if seconds == seconds else None,
                "bytes": (size := one.path.stat().st_size),
                "sha256": digest,
            }
            stored[digest] = StoredRecording(one.path, names[one.path], size, cells)
        names[one.path] = stored[digest].name  # one name for one content, whatever the files are called
    return list(stored.values()), names


def _remove_others(folder: Path, shards: int) -> None:
    """Remove the files of a stopped command that had divided the data otherwise."""
    for path in folder.glob("*.parquet"):
        if not path.stem.startswith("recordings-") or not path.stem.endswith(f"-of-{shards:05d}"):
            path.unlink()


def _write_sums(folder: Path) -> int:
    """Write the checksum of every file; return their size in bytes."""
    paths = sorted(path for path in (folder / CARD, *(folder / DATA).iterdir()))
    lines = [f"{_digest(path)}  {path.relative_to(folder).as_posix()}\n" for path in paths]
    write_whole(folder / SUMS, "".join(lines))
    return sum(path.stat().st_size for path in paths)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

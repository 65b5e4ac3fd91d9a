"""Turn a data set into one folder in the common format (`cmi.preferences`).

    preferences.jsonl    pairs, one row per axis and rater     } with the columns `split` (train, valid, test)
    ratings.jsonl        rated takes                           } and `source`; whichever the data set has
    audio/...            links to the recordings, or copies, under their paths in the data set
    settings.json        what the folder was made from

The files of rows appear when they are complete, after their recordings. A stopped command resumes with the missing
recordings.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError
from cmi._util.files import SETTINGS, UNFINISHED, cannot_write, claim, copy_whole, locked, make_folder
from cmi.preferences import FILES, RATING_FILES, Preference, Rating, preference_row, rating_row, write_rows
from cmi.report.tables import Table
from cmi.rewardbench.data import Found
from cmi.rewardbench.data.labels import read_labels, split_of, stated_splits
from cmi.rewardbench.data.rows import LeftOut
from cmi.take import Audio, Pair, Take

COMMAND = "cmi data export"
AUDIO = "audio"
MISSING = "a recording is missing"
SPLITS = ("train", "valid", "test")

Label = Preference | Rating


class SetExport(NamedTuple):
    """Rows by kind, split and modality, rows left out by reason, and the number of recordings."""

    rows: Counter[tuple[str, str, str]]
    left_out: Counter[str]
    recordings: int


class AudioFolder:
    """The recordings of an export: links, or copies."""

    def __init__(self, folder: Path, origin: Path, copies: bool) -> None:
        self.placed: dict[Path, Path | None] = {}  # None: missing
        self.folder, self._origin, self._copies = folder, origin, copies
        self._taken: set[Path] = set()

    def place(self, source: Path) -> Path | None:
        """Put a recording into the folder unless it is there; return its place, or None if it is missing."""
        if source not in self.placed:
            self.placed[source] = self._put(source) if source.is_file() else None
        return self.placed[source]

    def _put(self, source: Path) -> Path:
        target = self._name(source)
        self._taken.add(target)
        make_folder(target.parent)
        try:
            if self._copies:
                if target.is_symlink():
                    target.unlink()  # a copy would be written through it
                if not target.exists() or target.stat().st_size != source.stat().st_size:
                    copy_whole(source, target)
            elif not target.exists() or not target.samefile(source):
                target.unlink(missing_ok=True)
                target.symlink_to(source.resolve())
        except OSError as error:
            raise cannot_write(target, error) from error
        return target

    def _name(self, source: Path) -> Path:
        """The path in the data set; of a recording elsewhere, or if it is taken, one with a hash in it."""
        digest = hashlib.sha256(os.fsencode(source.absolute())).hexdigest()[:12]
        if not source.is_relative_to(self._origin):
            return self.folder / digest / source.name
        inside = source.relative_to(self._origin)
        parts = inside.parts[1:] if inside.parts[0] == AUDIO and len(inside.parts) > 1 else inside.parts
        target = self.folder.joinpath(*parts)
        return target.with_name(f"{digest}-{target.name}") if target in self._taken else target


def export_set(
    found: Found, out: Path, copies: bool = False, on_rows: Callable[[int], None] = lambda count: None
) -> SetExport:
    """Write a data set to the folder `out`; `on_rows` is called with the number of rows written."""
    claim(out, {"command": COMMAND, "dataset": found.dataset.name, "folder": str(found.folder.resolve())}, COMMAND)
    with locked(out / SETTINGS, waits=False):
        for torn in out.glob(f"*{UNFINISHED}"):
            torn.unlink()
        stated, kinds, left_out = _survey(found)
        origin = found.folder if found.folder.is_dir() else found.folder.parent
        audio = AudioFolder(out / AUDIO, origin, copies)
        rows: Counter[tuple[str, str, str]] = Counter()
        for kind, names in ((Preference, FILES), (Rating, RATING_FILES)):
            if kind in kinds:
                write_rows(_rows(found, kind, stated, audio, rows, on_rows), out / names[0])
        left_out[MISSING] = sum(kinds.values()) - rows.total()
    present = sum(place is not None for place in audio.placed.values())
    return SetExport(rows, +left_out, present)


def _survey(found: Found) -> tuple[set[str], Counter[type], Counter[str]]:
    """The splits that the rows state, how many rows there are of each kind, and those left out by reason."""
    kinds: Counter[type] = Counter()
    left_out: Counter[str] = Counter()

    def counted() -> Iterator[Label]:
        for each in read_labels(found):
            if isinstance(each, LeftOut):
                left_out[each.reason] += 1
            else:
                kinds[type(each)] += 1
                yield each

    stated = stated_splits(counted())
    if not kinds:
        raise InputError(f"{found.folder}: no preference and no rating in it")
    return stated, kinds, left_out


def _rows(
    found: Found,
    kind: type[Label],
    stated: Set[str],
    audio: AudioFolder,
    rows: Counter[tuple[str, str, str]],
    on_rows: Callable[[int], None],
) -> Iterator[Mapping[str, Any]]:
    for label in read_labels(found):
        if not isinstance(label, Preference | Rating) or type(label) is not kind:
            continue
        on_rows(1)
        split = split_of(label, stated)
        moved = _moved(label, split, audio)
        if moved is None:
            continue
        folder = audio.folder.parent
        pairs = isinstance(moved, Preference)
        rows["preferences" if pairs else "ratings", split, moved.prompt.modality] += 1
        yield preference_row(moved, folder) if isinstance(moved, Preference) else rating_row(moved, folder)


def _moved(label: Label, split: str, audio: AudioFolder) -> Label | None:
    """The label with its recordings in the export; None if one of them is missing."""
    about = {**label.about, **({"split": split} if split else {})}
    reference = None if label.prompt.reference is None else audio.place(_file(label.prompt.reference))
    if label.prompt.reference is not None and reference is None:
        return None
    prompt = replace(label.prompt, reference=reference)
    if isinstance(label, Rating):
        take = audio.place(_file(label.take.audio))
        return None if take is None else label._replace(take=Take(prompt, take), about=about)
    a, b = (audio.place(_file(take)) for take in (label.pair.a, label.pair.b))
    return None if a is None or b is None else replace(label, pair=Pair(prompt, a, b), about=about)


def _file(audio: Audio) -> Path:
    assert isinstance(audio, Path)
    return audio


def export_record(found: Found, out: Path, done: SetExport) -> dict[str, Any]:
    """An export as a JSON record."""
    rows = [
        {"kind": kind, "split": split, "modality": modality, "rows": number}
        for (kind, split, modality), number in sorted(done.rows.items(), key=lambda one: _order(one[0]))
    ]
    about = {"name": found.dataset.name, "folder": str(out), "recordings": done.recordings}
    return {**about, "rows": rows, "left_out": dict(done.left_out)}


def export_table(found: Found, out: Path, done: SetExport) -> Table:
    """Rows by kind and split, with a column for each modality."""
    modalities = sorted({modality for _, _, modality in done.rows})
    rows = []
    for kind, split in dict.fromkeys((kind, split) for kind, split, _ in sorted(done.rows, key=_order)):
        numbers = [done.rows[kind, split, modality] for modality in modalities]
        rows.append([kind, split or "not stated", *(f"{number:,}" for number in numbers), f"{sum(numbers):,}"])
    notes = [f"{done.recordings:,} recordings are in {out / AUDIO}."]
    notes += [f"Left out: {number:,} rows ({reason})." for reason, number in sorted(done.left_out.items())]
    return Table(f"{found.dataset.name} in {out}", ["kind", "split", *modalities, "rows"], rows, labels=2, notes=notes)


def _order(row: tuple[str, str, str]) -> tuple[str, int, str, str]:
    kind, split, modality = row
    return kind, SPLITS.index(split) if split in SPLITS else len(SPLITS), split, modality

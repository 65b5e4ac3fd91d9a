"""Export votes in the common preference format (`cmi.preferences`), for `cmi train` and `cmi rewardbench`.

Each vote gives one row per axis, with these fields:

    pair, modality       the pair's id in the imported file, and the parts of its prompt
    generator_a, _b      the systems
    first                the take that was shown first, a or b
    feedback, seconds    the annotator's comment, and the time the vote took
    voted, corrections   time in UTC, and how often the vote was changed
    kind, repeat         ordinary or gold, and whether it is a hidden repeat; by default only ordinary first votes
    and the extra fields of the imported file

`rater` is an opaque id; names are never exported, nor votes of people who withdrew.
"""

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sqlalchemy import Row

from cmi._util.errors import InputError
from cmi._util.files import cannot_write, copy_whole, make_folder
from cmi.arena.store.database import Database, require_sound, storable
from cmi.arena.store.votes import latest_votes
from cmi.audio import content_hash
from cmi.preferences import COLUMNS, FIELDS, NAME, RATED, Preference, preference_row, write_preferences
from cmi.take import Pair, Prompt

Format = Literal["jsonl", "csv", "parquet"]
Audio = Literal["copy", "link", "leave"]
SUFFIXES = {"audio/wav": ".wav", "audio/flac": ".flac", "audio/mpeg": ".mp3", "audio/ogg": ".ogg"}
PARTS = ("reference", "a", "b")


class Exported(NamedTuple):
    path: Path
    votes: int
    sounds: int


def rows(database: Database, project: str, gold: bool = False, repeats: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the rows of an export in order of time; sounds are called audio/NAME."""
    for row in _votes(database, project, gold, repeats):
        sounds = {part: Path("audio", name) for part, name in _name_sounds(row).items()}
        yield from (preference_row(preference, Path()) for preference in _preferences(row, sounds))


def export(
    database: Database,
    project: str,
    folder: Path,
    format_: Format = "jsonl",
    audio: Audio = "copy",
    gold: bool = False,
    repeats: bool = False,
) -> Exported:
    """Write preferences.jsonl (or .csv, .parquet) into a folder, with the sounds copied, linked or left in place.

    The same call again rewrites the file and copies missing sounds. A damaged database is an InputError, because it
    might silently return only some of the votes.
    """
    require_sound(database, thoroughly=True)
    make_folder(folder)
    kept: dict[str, Path] = {}
    found: list[Preference] = []
    votes = 0
    for row in _votes(database, project, gold, repeats):
        names = _name_sounds(row)
        paths = {part: Path(getattr(row, f"{part}_path")) for part in names}
        kept |= {name: paths[part] for part, name in names.items()}
        sounds = paths if audio == "leave" else {part: folder / "audio" / name for part, name in names.items()}
        found.extend(_preferences(row, sounds))
        votes += 1
    _require_unchanged(kept, None if audio == "leave" else folder / "audio")
    if audio != "leave":
        _collect(kept, folder / "audio", audio)
    path = folder / f"{NAME}.{format_}"
    write_preferences(found, path)
    return Exported(path, votes, len(kept))


def _votes(database: Database, project: str, gold: bool, repeats: bool) -> Iterator[Row[Any]]:
    with database.reading() as connection:
        for row in connection.execute(latest_votes(project)):
            if (gold or row.kind != "gold") and (repeats or row.repeat_of is None):
                yield row


def _preferences(row: Row[Any], sounds: Mapping[str, Path]) -> Iterator[Preference]:
    pair = Pair(Prompt(row.text, row.lyrics, sounds.get("reference")), sounds["a"], sounds["b"])
    ours = {
        "pair": row.source_id,
        "modality": row.modality,
        "generator_a": row.system_a,
        "generator_b": row.system_b,
        "first": "b" if row.swapped else "a",
        "feedback": row.feedback,
        "seconds": round(row.seconds, 3),
        "voted": datetime.fromtimestamp(row.created, UTC).isoformat(timespec="milliseconds"),
        "corrections": row.number - 1,
        "kind": row.kind,
        "repeat": row.repeat_of is not None,
    }
    others = {COLUMNS.own(key): value for key, value in _as_json(row.about).items() if key not in (*FIELDS, *ours)}
    for axis in RATED:
        choice, confidence = getattr(row, axis), getattr(row, f"{axis}_confidence")
        yield Preference(pair, axis, choice, confidence, row.person, f"{row.id}-{axis}", {**ours, **others})


def _as_json(value: Any) -> Any:
    """Replace non-JSON numbers by null and characters by U+FFFD, in pairs imported before imports refused them."""
    if isinstance(value, dict):
        return {storable(key): _as_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_as_json(one) for one in value]
    if isinstance(value, str):
        return storable(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _name_sounds(row: Row[Any]) -> dict[str, str]:
    """Name the sounds of a pair by their content."""
    parts = {part: (getattr(row, f"{part}_digest"), getattr(row, f"{part}_media_type")) for part in PARTS}
    return {part: f"{digest[:24]}{SUFFIXES[kind]}" for part, (digest, kind) in parts.items() if digest}


def _require_unchanged(sounds: dict[str, Path], exported: Path | None) -> None:
    """InputError if a file that exists, exported or original, is not what people voted on."""
    for name, source in sounds.items():
        path = exported / name if exported is not None and (exported / name).exists() else source
        if path.is_file() and not content_hash(path).startswith(name.partition(".")[0]):
            now = "restore the imported file" if path == source else "delete it and export again"
            raise InputError(f"{path}: changed since people voted on it; {now}")


def _collect(sounds: dict[str, Path], folder: Path, audio: Audio) -> None:
    """Copy or link the missing sounds."""
    make_folder(folder)
    for name, source in sounds.items():
        target = folder / name
        if target.exists():
            continue
        if not source.is_file():
            raise InputError(f"{source}: No such file; bring it back, or export with --audio leave")
        if audio == "copy":
            copy_whole(source, target)
            continue
        try:
            target.unlink(missing_ok=True)  # a broken link
            target.symlink_to(source)
        except OSError as error:
            raise cannot_write(target, error) from error

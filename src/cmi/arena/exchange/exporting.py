"""Export votes in the common preference format (`cmi.preferences`), for `cmi train` and `cmi rewardbench`.

Each vote gives one row per axis, with these fields:

    pair, modality       the pair's id in the imported file, and the parts of its prompt
    generator_a, _b      the systems
    first                the take that was shown first, a or b
    shown_as_a, _b       the take of this row, a or b, that the annotator saw as A, and as B: the letters in `feedback`
    confidence_touched   whether the annotator set the confidence: 3, the protocol's default, if not; null if unknown
    feedback, seconds    the annotator's comment, and the time the vote took
    voted, corrections   time in UTC, and how often the vote was changed
    kind, repeat         ordinary or gold, and whether it is a hidden repeat; by default only ordinary first votes
    hidden               why the owner hid the pair; such votes are left out by default
    split                only with `shares`: by prompt, see `find_splits`
    and the extra fields of the imported file

`rater` is an opaque id; names are never exported, nor votes of people who withdrew.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from sqlalchemy import Row, select

from cmi._util.errors import InputError
from cmi._util.files import cannot_write, copy_whole, make_folder
from cmi.arena.store import projects
from cmi.arena.store.database import Database, require_sound, storable
from cmi.arena.store.schema import pairs, sounds
from cmi.arena.store.study import modality_of
from cmi.arena.store.views import turned
from cmi.arena.store.votes import latest_votes
from cmi.audio import content_hash
from cmi.pairs.leaks import Trait, prompt_traits
from cmi.pairs.splits import SplitPrompt, assign_splits
from cmi.preferences import COLUMNS, FIELDS, NAME, RATED, Preference, preference_row, split_name, write_preferences
from cmi.take import Modality, Pair, Prompt

Format = Literal["jsonl", "csv", "parquet"]
Audio = Literal["copy", "link", "leave"]
SUFFIXES = {"audio/wav": ".wav", "audio/flac": ".flac", "audio/mpeg": ".mp3", "audio/ogg": ".ogg"}
PARTS = ("reference", "a", "b")


@dataclass(frozen=True)
class Selection:
    """Which votes to export, and with which splits.

    gold, repeats, hidden    also votes on gold pairs, on hidden repeats and on pairs that the owner hid
    shares                   of splits, such as {"train": 0.8, "test": 0.2}; None: rows keep the split of the import
    """

    gold: bool = False
    repeats: bool = False
    hidden: bool = False
    shares: Mapping[str, float] | None = None


ORDINARY = Selection()


class Exported(NamedTuple):
    path: Path
    votes: int
    sounds: int
    hidden: int  # votes left out because their pairs are hidden
    leaking: int  # votes left out because two splits would share their prompt or a recording


def rows(database: Database, project: str, selection: Selection = ORDINARY) -> Iterator[dict[str, Any]]:
    """Yield the rows of an export in order of time; sounds are called audio/NAME."""
    splits = find_splits(database, project, selection.shares)
    for row in _votes(database, project, selection, splits, Counter()):
        names = {part: Path("audio", name) for part, name in _name_sounds(row).items()}
        yield from (preference_row(preference, Path()) for preference in _preferences(row, names, splits))


def export(
    database: Database,
    project: str,
    folder: Path,
    format_: Format = "jsonl",
    audio: Audio = "copy",
    selection: Selection = ORDINARY,
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
    left_out: Counter[str] = Counter()
    splits = find_splits(database, project, selection.shares)
    for row in _votes(database, project, selection, splits, left_out):
        names = _name_sounds(row)
        paths = {part: Path(getattr(row, f"{part}_path")) for part in names}
        kept |= {name: paths[part] for part, name in names.items()}
        files = paths if audio == "leave" else {part: folder / "audio" / name for part, name in names.items()}
        found.extend(_preferences(row, files, splits))
        votes += 1
    require_unchanged(kept, None if audio == "leave" else folder / "audio")
    if audio != "leave":
        collect_sounds(kept, folder / "audio", audio)
    path = folder / f"{NAME}.{format_}"
    write_preferences(found, path)
    return Exported(path, votes, len(kept), left_out["hidden"], left_out["leaking"])


class SplitItem(NamedTuple):
    """What decides the split of a pair or a trial."""

    id: str
    text: str
    lyrics: str
    reference: str | None  # digest
    stated: object
    digests: frozenset[str]  # of all its recordings


def find_splits(database: Database, project: str, shares: Mapping[str, float] | None) -> dict[str, str] | None:
    """The split of each pair, '' for one that would leak; see `draw_splits`."""
    if shares is None:
        return None
    parts = {part: sounds.alias() for part in PARTS}
    asked = select(pairs, *(sound.c.digest.label(f"{part}_digest") for part, sound in parts.items()))
    for part, sound in parts.items():
        asked = asked.outerjoin(sound, sound.c.id == pairs.c[part])
    with database.reading() as connection:
        rows = connection.execute(asked.where(pairs.c.project == project).order_by(pairs.c.position))
        items = [_split_item(row) for row in rows]
    return draw_splits(items, shares, projects.get(database, project).settings.seed)


def _split_item(row: Row[Any]) -> SplitItem:
    digests = frozenset(filter(None, (getattr(row, f"{part}_digest") for part in PARTS)))
    return SplitItem(row.id, row.text, row.lyrics, row.reference_digest, row.about.get("split"), digests)


def draw_splits(items: Iterable[SplitItem], shares: Mapping[str, float], seed: int) -> dict[str, str]:
    """The split of each item, '' for one that would leak: no text, lyrics or recording is in two splits.

    All items of a project count, voted on or not, so later votes change no split. A split that an item states is kept
    if it can be. The seed draws the others.
    """
    groups: dict[tuple[str, ...], list[SplitItem]] = defaultdict(list)
    for item in items:
        stated, modality = split_name(str(item.stated or "")), modality_of(item.lyrics, item.reference)
        groups[modality, item.text, item.lyrics, item.reference or "", stated].append(item)
    prompts = [
        SplitPrompt(cast(Modality, modality), _find_traits(text, lyrics, group), len(group), stated)
        for (modality, text, lyrics, _, stated), group in groups.items()
    ]
    drawn = assign_splits(prompts, shares, random.Random(seed))  # noqa: S311
    return {item.id: split for group, split in zip(groups.values(), drawn, strict=True) for item in group}


def _find_traits(text: str, lyrics: str, group: Iterable[SplitItem]) -> frozenset[Trait]:
    digests = {digest for item in group for digest in item.digests}
    return frozenset({*prompt_traits(Prompt(text, lyrics)), *(Trait("recording", digest) for digest in digests)})


def _votes(
    database: Database,
    project: str,
    selection: Selection,
    splits: Mapping[str, str] | None,
    left_out: Counter[str],
) -> Iterator[Row[Any]]:
    """The selected votes; `left_out` counts those of hidden pairs and those that would leak."""
    with database.reading() as connection:
        for row in connection.execute(latest_votes(project, hidden=True)):
            if (row.kind == "gold" and not selection.gold) or (row.repeat_of is not None and not selection.repeats):
                continue
            if row.hidden is not None and not selection.hidden:
                left_out["hidden"] += 1
            elif splits is not None and not splits[row.pair]:
                left_out["leaking"] += 1
            else:
                yield row


def _preferences(row: Row[Any], sounds: Mapping[str, Path], splits: Mapping[str, str] | None) -> Iterator[Preference]:
    pair = Pair(Prompt(row.text, row.lyrics, sounds.get("reference")), sounds["a"], sounds["b"])
    ours = {
        "pair": row.source_id,
        "modality": row.modality,
        "generator_a": row.system_a,
        "generator_b": row.system_b,
        "first": "b" if row.swapped else "a",
        "shown_as_a": turned("a", row.swapped),
        "shown_as_b": turned("b", row.swapped),
        "feedback": row.feedback,
        "seconds": round(row.seconds, 3),
        "voted": as_time(row.created),
        "corrections": row.number - 1,
        "kind": row.kind,
        "repeat": row.repeat_of is not None,
        "hidden": row.hidden or "",
    }
    if splits is not None:
        ours["split"] = splits[row.pair]
    others = {
        COLUMNS.own(key): value
        for key, value in as_json(row.about).items()
        if key not in (*FIELDS, *ours, "confidence_touched")
    }
    for axis in RATED:
        choice, confidence = getattr(row, axis), getattr(row, f"{axis}_confidence")
        about = {**ours, "confidence_touched": getattr(row, f"{axis}_touched"), **others}
        yield Preference(pair, axis, choice, confidence, row.person, f"{row.id}-{axis}", about)


def as_json(value: Any) -> Any:
    """Replace non-JSON numbers by null and characters by U+FFFD, in pairs imported before imports refused them."""
    if isinstance(value, dict):
        return {storable(key): as_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [as_json(one) for one in value]
    if isinstance(value, str):
        return storable(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _name_sounds(row: Row[Any]) -> dict[str, str]:
    """Name the sounds of a pair by their content."""
    parts = {part: (getattr(row, f"{part}_digest"), getattr(row, f"{part}_media_type")) for part in PARTS}
    return {part: name_sound(digest, kind) for part, (digest, kind) in parts.items() if digest}


def name_sound(digest: str, media_type: str) -> str:
    return f"{digest[:24]}{SUFFIXES[media_type]}"


def as_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def require_unchanged(sounds: dict[str, Path], exported: Path | None) -> None:
    """InputError if a file that exists, exported or original, is not what people voted on."""
    for name, source in sounds.items():
        path = exported / name if exported is not None and (exported / name).exists() else source
        if path.is_file() and not content_hash(path).startswith(name.partition(".")[0]):
            now = "restore the imported file" if path == source else "delete it and export again"
            raise InputError(f"{path}: changed since people voted on it; {now}")


def collect_sounds(sounds: dict[str, Path], folder: Path, audio: Audio) -> None:
    """Copy or link the missing sounds."""
    make_folder(folder)
    for name, source in sounds.items():
        target = folder / name
        if target.exists():
            continue
        if not source.is_file():
            raise InputError(f"{source}: No such file; restore it, or export with --audio leave")
        if audio == "copy":
            copy_whole(source, target)
            continue
        try:
            target.unlink(missing_ok=True)  # a broken link
            target.symlink_to(source)
        except OSError as error:
            raise cannot_write(target, error) from error

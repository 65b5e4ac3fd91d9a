"""Pairs: a prompt, two takes, the systems that made them, and the number of votes wanted.

Within each modality, a share `overlap_share` of the ordinary pairs, evenly spread in their order, wants `overlap_votes`
votes and the others want one. Gold pairs want none: every annotator may get every one of them.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Integer, Row, bindparam, exists, func, insert, or_, select, update

from cmi._util.errors import InputError
from cmi.arena.store.database import Database, storable
from cmi.arena.store.errors import NotFound
from cmi.arena.store.schema import BEGUN, BROKEN, FULL, UNTOUCHED, new_id, pairs, projects, sounds, stage_of
from cmi.arena.store.study import Study

Kind = Literal["ordinary", "gold"]
AXES = ("musicality", "alignment")
SAME = ("text", "lyrics", "reference", "a", "b")  # what a pair is
LONGEST_TEXT = 20_000  # characters of a prompt's text, and of its lyrics
LONGEST_NAME = 200
DEEPEST = 50  # levels of lists and objects in an extra field


@dataclass(frozen=True)
class NewPair:
    """A pair to be added; `reference`, `a` and `b` are ids of sounds of the same project."""

    source_id: str
    text: str
    a: str
    b: str
    lyrics: str = ""
    reference: str | None = None
    system_a: str = ""
    system_b: str = ""
    gold: dict[str, str] | None = None  # known winners by axis make a gold pair
    about: dict[str, Any] = field(default_factory=dict)  # extra fields for the export
    where: str = ""  # begins messages about it

    @property
    def modality(self) -> str:
        return "+".join(["text", *["lyrics"] * bool(self.lyrics), *["audio"] * bool(self.reference)])


def add(connection: Connection, project: str, study: Study, new: NewPair) -> str:
    """Add a pair and return its id; see `add_all`."""
    return add_all(connection, project, study, [new])[0]


def add_all(connection: Connection, project: str, study: Study, new: Sequence[NewPair]) -> list[str]:
    """Add many pairs, or none and an InputError; the project's row is locked against simultaneous imports.

    An existing pair with the same source id stays as it is; InputError if its prompt or takes are others.
    """
    connection.execute(select(projects.c.id).where(projects.c.id == project).with_for_update(key_share=True))
    columns = (pairs.c[name] for name in ("source_id", "id", "kind", "modality", "position", *SAME))
    there = connection.execute(select(*columns).where(pairs.c.project == project)).all()
    known = {row.source_id: row for row in there}
    ids = {row.source_id: row.id for row in there}
    ranks = Counter((row.kind, row.modality) for row in there)
    position = max((row.position for row in there), default=-1)
    sounds_there = select(sounds.c.id, sounds.c.problem.is_not(None)).where(sounds.c.project == project)
    ours: dict[str, bool] = {row[0]: row[1] for row in connection.execute(sounds_there)}
    rows = []
    for pair in new:
        row = {name: storable(value) if isinstance(value, str) else value for name, value in vars(pair).items()}
        source_id = row["source_id"]
        try:
            if source_id in known:
                _require_same(row, known[source_id])
            if source_id in ids:
                continue
            _check(pair, ours)
        except InputError as error:
            raise type(error)(f"{pair.where}{error}") from error
        broken = any(ours[sound] for sound in (pair.a, pair.b, pair.reference) if sound)
        ids[source_id], position = new_id(), position + 1
        kind: Kind = "gold" if pair.gold else "ordinary"
        votes = _wanted(ranks[kind, pair.modality], kind, pair.modality, study)
        ranks[kind, pair.modality] += 1
        del row["where"]
        row |= {"id": ids[source_id], "project": project, "modality": pair.modality, "kind": kind}
        row |= {"gold": pair.gold or None, "position": position, "lot": chance(study.seed, "lot", source_id)}
        stage = BROKEN if broken else UNTOUCHED if votes else FULL
        rows.append({**row, "wanted": votes, "taken": 0, "stage": stage, "broken": broken})
    if rows:
        connection.execute(insert(pairs), rows)
    return [ids[storable(pair.source_id)] for pair in new]


def count(database: Database, project: str) -> int:
    with database.reading() as connection:
        return connection.scalar(select(func.count()).select_from(pairs).where(pairs.c.project == project)) or 0


def wanted(database: Database, project: str) -> list[tuple[str, str, str, int]]:
    """(id, modality, kind, votes wanted) of all pairs that are not hidden, in order, for the statistics."""
    columns = pairs.c.id, pairs.c.modality, pairs.c.kind, pairs.c.wanted
    shown = (pairs.c.project == project) & pairs.c.hidden.is_(None)
    with database.reading() as connection:
        rows = connection.execute(select(*columns).where(shown).order_by(pairs.c.position))
        return [(row.id, row.modality, row.kind, row.wanted) for row in rows]


def overlap(study: Study) -> tuple[float, int, int]:
    """The settings that determine how many votes pairs want."""
    return study.overlap_share, study.overlap_votes, study.seed


def set_wanted(connection: Connection, project: str, study: Study) -> None:
    """Recompute how many votes the existing pairs want."""
    columns = pairs.c.id, pairs.c.modality, pairs.c.kind, pairs.c.wanted
    ours = select(*columns).where(pairs.c.project == project)
    connection.execute(ours.order_by(pairs.c.id).with_for_update(key_share=True))
    ranks: Counter[tuple[str, str]] = Counter()
    changes = []
    for row in connection.execute(ours.order_by(pairs.c.position)):
        now = _wanted(ranks[row.kind, row.modality], row.kind, row.modality, study)
        ranks[row.kind, row.modality] += 1
        if now != row.wanted:
            changes.append({"pair": row.id, "now": now})
    if changes:
        now_wanted = bindparam("now", type_=pairs.c.wanted.type)
        changed = update(pairs).where(pairs.c.id == bindparam("pair"))
        connection.execute(changed.values(wanted=now_wanted), changes)
        connection.execute(
            update(pairs)
            .where(pairs.c.project == project)
            .values(stage=stage_of(pairs.c.taken, pairs.c.wanted, pairs.c.broken))
        )


_TAKEN = pairs.c.taken + bindparam("more", type_=Integer)
_TAKE = (
    update(pairs)
    .where(pairs.c.id == bindparam("pair"))
    .values(taken=_TAKEN, stage=stage_of(_TAKEN, pairs.c.wanted, pairs.c.broken))
)
_BROKEN = select(pairs.c.broken).where(pairs.c.id == bindparam("pair"))


def take(connection: Connection, pair: str, more: int) -> None:
    """Add `more`, possibly negative, to the pair's first showings."""
    connection.execute(_TAKE, {"pair": pair, "more": more})


def mark_broken(connection: Connection, project: str, sound: str) -> None:
    """Update which pairs of a sound are broken after its `problem` has changed."""
    its = or_(*(part == sound for part in (pairs.c.a, pairs.c.b, pairs.c.reference)))
    update_broken(connection, (pairs.c.project == project) & its)


def update_broken(connection: Connection, which: ColumnElement[bool]) -> None:
    """Update which of these pairs are not to be assigned, because of a sound or because they are hidden."""
    connection.execute(select(pairs.c.id).where(which).order_by(pairs.c.id).with_for_update(key_share=True))
    parts = pairs.c.a, pairs.c.b, pairs.c.reference
    has_problem = exists().where(sounds.c.id.in_(parts) & sounds.c.problem.is_not(None))
    broken = pairs.c.hidden.is_not(None) | has_problem
    connection.execute(
        update(pairs).where(which).values(broken=broken, stage=stage_of(pairs.c.taken, pairs.c.wanted, broken))
    )


def is_broken(connection: Connection, pair: str) -> bool:
    return bool(connection.scalar(_BROKEN, {"pair": pair}))


def has_room(connection: Connection, pair: str) -> bool:
    """Whether the pair wants more first showings than it has; its row stays locked for the transaction."""
    asked = select(pairs.c.stage, pairs.c.kind).where(pairs.c.id == pair).with_for_update(key_share=True)
    row = connection.execute(asked).one()
    return row.stage in (BEGUN, UNTOUCHED) or (row.kind == "gold" and row.stage != BROKEN)


def _wanted(rank: int, kind: str, modality: str, study: Study) -> int:
    """Votes wanted by the `rank`-th pair of its modality."""
    if kind == "gold":
        return 0
    share, start = study.overlap_share, chance(study.seed, "overlap", modality)
    several = math.floor((rank + 1) * share + start) > math.floor(rank * share + start)
    return study.overlap_votes if several else 1


def _require_same(new: Mapping[str, Any], known: Row[Any]) -> None:
    if any(new[name] != getattr(known, name) for name in SAME):
        raise InputError(f"the project has another pair called {new['source_id']!r}; give this one an 'id' of its own")


def _check(new: NewPair, sounds_there: Collection[str]) -> None:
    for name, text, longest in (
        ("the id", new.source_id, LONGEST_NAME),
        ("the name of system a", new.system_a, LONGEST_NAME),
        ("the name of system b", new.system_b, LONGEST_NAME),
        ("the text", new.text, LONGEST_TEXT),
        ("the lyrics", new.lyrics, LONGEST_TEXT),
    ):
        if len(text) > longest:
            raise InputError(f"{name} has {len(text)} characters, expected {longest} at most")
    for name, value in new.about.items():
        if wrong := _find_fault({name: value}, DEEPEST):
            raise InputError(f"the field {storable(name)!r} {wrong}; fix it or leave it out")
    if not (new.text.strip() or new.lyrics.strip() or new.reference):
        raise InputError("the prompt is empty: give a text, lyrics or a reference")
    for axis, winner in (new.gold or {}).items():
        if axis not in AXES or winner not in ("a", "b"):
            raise InputError(f"gold says {axis!r}: {winner!r}, expected musicality or alignment, each a or b")
    if new.a == new.b:
        raise InputError("both takes are the same recording")
    if any(sound and sound not in sounds_there for sound in (new.a, new.b, new.reference)):
        raise NotFound("there is no such sound in this project")


def _find_fault(value: Any, levels: int) -> str | None:
    """What is not JSON; Python's allows NaN, infinity and lone surrogates, which PostgreSQL and others refuse."""
    if isinstance(value, dict | list):
        if not levels:
            return f"is nested more than {DEEPEST} levels deep"
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        return next((wrong for part in parts if (wrong := _find_fault(part, levels - 1))), None)
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        return "has half of a character (a lone surrogate), which is not text"
    if isinstance(value, float) and not math.isfinite(value):
        return f"has {value!r}, which is not a number in JSON"
    return None


def chance(seed: int, *names: object) -> float:
    """A pseudo-random number in [0, 1) for these names."""
    text = "\x1f".join(map(str, ("cmi.arena", seed, *names)))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:6]) / 2**48

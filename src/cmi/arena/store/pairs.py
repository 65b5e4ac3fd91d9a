"""Pairs: a prompt, two takes, the systems that made them, and the number of votes wanted.

Within each modality, a share `overlap_share` of the ordinary pairs, evenly spread in their order, wants `overlap_votes`
votes and the others want one. Gold pairs want none: every annotator may get every one of them.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Row,
    bindparam,
    exists,
    func,
    insert,
    or_,
    select,
    true,
    update,
)

from cmi._util.errors import InputError
from cmi.arena.store.database import Database, storable
from cmi.arena.store.errors import NotFound
from cmi.arena.store.schema import BEGUN, BROKEN, FULL, UNTOUCHED, new_id, pairs, projects, sounds, stage_of
from cmi.arena.store.study import Study, modality_of

Kind = Literal["ordinary", "gold"]
AXES = ("musicality", "alignment")
SAME = ("text", "lyrics", "reference", "a", "b")  # what a pair is
LONGEST_TEXT = 20_000  # characters of a prompt's text, and of its lyrics
LONGEST_NAME = 200
SAME_LOT = 1e-9
AT_ONCE = 100  # pairs that are reordered in one transaction
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
        return modality_of(self.lyrics, self.reference)


def add(connection: Connection, project: str, study: Study, new: NewPair) -> str:
    """Add a pair and return its id; see `add_all`."""
    return add_all(connection, project, study, [new])[0]


def add_all(connection: Connection, project: str, study: Study, new: Sequence[NewPair]) -> list[str]:
    """Add many pairs, or none and an InputError.

    An existing pair with the same source id stays as it is; InputError if its prompt or takes are others.
    """
    lock_project(connection, project, "pairs")
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
        row |= {"gold": pair.gold or None, "position": position, "lot": draw_lot(study.seed, source_id)}
        stage = BROKEN if broken else UNTOUCHED if votes else FULL
        rows.append({**row, "wanted": votes, "taken": 0, "stage": stage, "broken": broken})
    if rows:
        connection.execute(insert(pairs), rows)
    return [ids[storable(pair.source_id)] for pair in new]


def lock_project(connection: Connection, project: str, *kinds: str) -> str:
    """Lock a project's row against simultaneous imports and return its kind; InputError if it is not one of `kinds`."""
    locked = select(projects.c.kind).where(projects.c.id == project).with_for_update(key_share=True)
    kind = connection.scalar(locked)
    if kind not in kinds:
        raise InputError(f"this project is of the kind {kind}, expected {' or '.join(kinds)}; use another project")
    return str(kind)


def count(database: Database, project: str) -> int:
    with database.reading() as connection:
        return connection.scalar(select(func.count()).select_from(pairs).where(pairs.c.project == project)) or 0


def wanted(database: Database, project: str, hidden: bool = False) -> list[tuple[str, str, str, int]]:
    """(id, modality, kind, votes wanted) of all pairs, in order, for the statistics; hidden ones only if asked for."""
    columns = pairs.c.id, pairs.c.modality, pairs.c.kind, pairs.c.wanted
    shown = true() if hidden else pairs.c.hidden.is_(None)
    with database.reading() as connection:
        asked = select(*columns).where((pairs.c.project == project) & shown)
        rows = connection.execute(asked.order_by(pairs.c.position))
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


def systems_left(database: Database, project: str) -> list[tuple[str, str]]:
    """The two systems of each ordinary pair that wants votes."""
    asked = select(pairs.c.system_a, pairs.c.system_b).where(_wants_votes(project))
    with database.reading() as connection:
        return [(row.system_a, row.system_b) for row in connection.execute(asked)]


def set_order(database: Database, project: str, study: Study, weights: Mapping[tuple[str, str], float]) -> int:
    """Draw the lots of pairs that want votes anew, by the weight of their systems in alphabetical order, else 1.

    Few pairs at a time, because nobody is given a pair while it is being changed. Returns how many have changed.
    """
    asked = select(pairs.c.id, pairs.c.source_id, pairs.c.system_a, pairs.c.system_b, pairs.c.lot)
    with database.reading() as connection:
        rows = connection.execute(asked.where(_wants_votes(project)).order_by(pairs.c.id)).all()
    changes = []
    for row in rows:
        first, last = sorted((row.system_a, row.system_b))
        lot = draw_lot(study.seed, row.source_id, weights.get((first, last), 1.0))
        if abs(lot - row.lot) > SAME_LOT:
            changes.append({"pair": row.id, "drawn": lot})
    change = update(pairs).where(pairs.c.id == bindparam("pair")).values(lot=bindparam("drawn"))
    for start in range(0, len(changes), AT_ONCE):
        with database.writing(lasting=False) as connection:
            connection.execute(change, changes[start : start + AT_ONCE])
    return len(changes)


def _wants_votes(project: str) -> ColumnElement[bool]:
    return (pairs.c.project == project) & (pairs.c.kind == "ordinary") & (pairs.c.stage < FULL)


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


class Prompted(Protocol):
    """What pairs and trials have in common."""

    @property
    def source_id(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def lyrics(self) -> str: ...
    @property
    def reference(self) -> str | None: ...
    @property
    def about(self) -> dict[str, Any]: ...


def check_prompt(new: Prompted, systems: Mapping[str, str]) -> None:
    """InputError if the prompt is empty, a text or the name of one of the `systems` too long, or a field not JSON."""
    names = {f"the name of {which}": name for which, name in systems.items()}
    for name, text in {"the id": new.source_id, **names}.items():
        if len(text) > LONGEST_NAME:
            raise InputError(f"{name} has {len(text)} characters, expected {LONGEST_NAME} at most")
    for name, text in (("the text", new.text), ("the lyrics", new.lyrics)):
        if len(text) > LONGEST_TEXT:
            raise InputError(f"{name} has {len(text)} characters, expected {LONGEST_TEXT} at most")
    for name, value in new.about.items():
        if wrong := _find_fault({name: value}, DEEPEST):
            raise InputError(f"the field {storable(name)!r} {wrong}; fix it or leave it out")
    if not (new.text.strip() or new.lyrics.strip() or new.reference):
        raise InputError("the prompt is empty: give a text, lyrics or a reference")


def _check(new: NewPair, sounds_there: Collection[str]) -> None:
    check_prompt(new, {"system a": new.system_a, "system b": new.system_b})
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
        return "contains an incomplete character (a lone surrogate)"
    if isinstance(value, float) and not math.isfinite(value):
        return f"has {value!r}, which is not a number in JSON"
    return None


def draw_lot(seed: int, source_id: str, weight: float = 1.0) -> float:
    """Draw a pair's place in the order, 0 to 1: by chance and, of two pairs, the first by their weights.

    The smallest of lots that are drawn so has the weight of its pair as its probability (Efraimidis and Spirakis 2006).
    """
    return float(1 - (1 - chance(seed, "lot", source_id)) ** (1 / weight))


def chance(seed: int, *names: object) -> float:
    """A pseudo-random number in [0, 1) for these names."""
    text = chance_text(seed, *names).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:6]) / 2**48


def chance_text(seed: int, *names: object) -> str:
    """The text by which the number is drawn; assign.py hashes it in the database, too."""
    return "\x1f".join(map(str, ("cmi.arena", seed, *names)))

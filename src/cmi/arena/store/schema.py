"""The arena's tables, the same in SQLite and PostgreSQL.

Times are UTC in seconds since 1970. Ids are random. The only personal datum is `people.name`, which is optional.
Choices are stored in terms of the pair's own a and b, whichever take was shown first.

A project of the kind `pairs` has pairs, views and votes. The other kinds have trials, each with one or more stimuli;
sittings (a trial as shown to a person) and ratings then take the place of views and votes.

Redundant columns, so that assigning a pair reads few rows:
    pairs.taken     first showings of the pair that have a vote or are held for one
    pairs.stage     begun, untouched, full or broken, from `taken`, `wanted` and `broken` (see `stage_of`)
    pairs.broken    one of its sounds has a problem, or the owner has hidden it: not assigned until that changes
    views.votes     rows in `votes`; the last of them counts, the earlier ones were corrected
    views.held      until when the view counts as in flight; empty once it is voted on or abandoned
"""

import secrets
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Column, ColumnElement, Double, Index, Integer, String, Table, Text

ID_LENGTH = 64  # characters; ours have 22
BEGUN, UNTOUCHED, FULL, BROKEN = 0, 1, 2, 3  # stages of a pair, in the order in which pairs are given out

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def new_id() -> str:
    return secrets.token_urlsafe(16)


def stage_of(taken: ColumnElement[int], wanted: ColumnElement[int], broken: ColumnElement[bool]) -> ColumnElement[int]:
    """SQL expression for a pair's stage."""
    return sa.case((broken, BROKEN), (taken >= wanted, FULL), (taken > 0, BEGUN), else_=UNTOUCHED)


def _id(name: str, to: str | None = None, nullable: bool = False, key: bool = False) -> Column[str]:
    foreign = [sa.ForeignKey(to)] if to else []
    return Column(name, String(ID_LENGTH), *foreign, nullable=nullable, primary_key=key)


def _one_of(name: str, *values: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"{name} IN ({', '.join(repr(value) for value in values)})", name=name)


servers = Table(
    "servers",
    metadata,
    Column("id", String(16), primary_key=True),  # one row: distinguishes this arena's cookies from another's
    Column("url", Text),  # the address under which it was last served
)

projects = Table(
    "projects",
    metadata,
    _id("id", key=True),
    Column("title", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("settings", sa.JSON, nullable=False),
    Column("consent", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("kind", String(16), nullable=False, server_default="pairs"),  # pairs, mos, mushra or ranking
    _one_of("state", "open", "paused", "closed"),
)

people = Table(
    "people",
    metadata,
    _id("id", key=True),
    _id("project", "projects.id"),
    Column("role", String(16), nullable=False),
    Column("name", Text),
    Column("quota", Integer),
    Column("state", String(16), nullable=False),
    Column("consented", Double),
    Column("created", Double, nullable=False),
    Column("checked", Double),  # when the last sound check that the study asks for was passed
    Column("qualified", Double),  # when the qualification was passed
    Column("screened_out", String(16)),  # by which check: device, headphones or qualification
    Column("outcome", String(16)),  # the exit that they were last shown: complete, screened out or returned
    _one_of("role", "owner", "observer", "annotator"),
    _one_of("state", "active", "paused", "withdrawn"),
    Index(None, "project"),
)

recruiting = Table(
    "recruiting",
    metadata,
    Column("project", String(ID_LENGTH), sa.ForeignKey("projects.id"), primary_key=True),
    Column("token", String(64), nullable=False, unique=True),  # in the link that a recruiting platform has
    Column("key", String(64), nullable=False),  # signs the links of single participants
)

participants = Table(
    "participants",
    metadata,
    Column("person", String(ID_LENGTH), sa.ForeignKey("people.id"), primary_key=True),
    _id("project", "projects.id"),
    Column("digest", String(64), nullable=False),  # of the platform's id; it stays after a withdrawal
    Column("participant", Text),  # the platform's id
    Column("parameters", sa.JSON, nullable=False),  # all that the study stores of the link
    sa.UniqueConstraint("project", "digest"),
)

sound_checks = Table(
    "sound_checks",
    metadata,
    _id("id", key=True),
    _id("project", "projects.id"),
    _id("person", "people.id"),
    Column("kind", String(16), nullable=False),
    Column("number", Integer, nullable=False),  # of the attempt, from 1
    Column("plan", sa.JSON, nullable=False),  # what the trials play
    Column("answers", sa.JSON(none_as_null=True)),
    Column("right", Integer),
    Column("volume", Double),  # of the page, 0 to 1
    Column("created", Double, nullable=False),
    Column("finished", Double),
    _one_of("kind", "device", "headphones"),
    sa.UniqueConstraint("person", "kind", "number"),
    Index(None, "project"),
)

invites = Table(
    "invites",
    metadata,
    _id("id", key=True),
    _id("project", "projects.id"),
    Column("role", String(16), nullable=False),
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("expires", Double, nullable=False),
    Column("quota", Integer),
    _id("bound_to", "people.id", nullable=True),  # the returning person; empty for a new one
    _id("used_by", "people.id", nullable=True),
    Column("used_at", Double),
    Column("revoked", sa.Boolean, nullable=False),
    Column("created", Double, nullable=False),
    _one_of("role", "owner", "observer", "annotator"),
    Index(None, "project"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("token_hash", String(64), primary_key=True),
    _id("person", "people.id"),
    Column("csrf", String(64), nullable=False),
    Column("created", Double, nullable=False),
    Column("seen", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Index(None, "person"),
)

sounds = Table(
    "sounds",
    metadata,
    _id("id", key=True),
    _id("project", "projects.id"),
    Column("path", Text, nullable=False),  # absolute, never shown
    Column("digest", String(64), nullable=False),
    Column("seconds", Double, nullable=False),
    Column("rate", Integer, nullable=False),
    Column("channels", Integer, nullable=False),
    Column("lufs", Double),
    Column("gain_db", Double, nullable=False),
    Column("peaks", sa.JSON, nullable=False),
    Column("media_type", String(32), nullable=False),
    Column("size", sa.BigInteger),  # of the file in bytes, when it last had this digest
    Column("modified", sa.BigInteger),  # its time then, in nanoseconds
    Column("problem", String(16)),  # `missing`, `changed` or empty
    sa.UniqueConstraint("project", "digest"),
)

pairs = Table(
    "pairs",
    metadata,
    _id("id", key=True),
    _id("project", "projects.id"),
    Column("source_id", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("lyrics", Text, nullable=False),
    _id("reference", "sounds.id", nullable=True),
    _id("a", "sounds.id"),
    _id("b", "sounds.id"),
    Column("system_a", Text, nullable=False),
    Column("system_b", Text, nullable=False),
    Column("modality", String(32), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("gold", sa.JSON(none_as_null=True)),
    Column("position", Integer, nullable=False),
    Column("lot", Double, nullable=False),  # 0 to 1: the order in which pairs are given out
    Column("wanted", Integer, nullable=False),
    Column("taken", Integer, nullable=False),
    Column("stage", Integer, nullable=False),
    Column("broken", sa.Boolean, nullable=False),
    Column("about", sa.JSON, nullable=False),
    Column("hidden", Text),  # why the owner hid it; empty if it is shown
    _id("replaces", nullable=True),  # the hidden pair in the place of which it was added
    _one_of("kind", "ordinary", "gold"),
    sa.UniqueConstraint("project", "source_id"),
    Index(None, "project", "position", unique=True),
    Index("ix_pairs_next", "project", "kind", "modality", "stage", "lot"),
)

views = Table(
    "views",
    metadata,
    _id("key", key=True),
    _id("project", "projects.id"),
    _id("pair", "pairs.id"),
    _id("person", "people.id"),
    Column("swapped", sa.Boolean, nullable=False),
    _id("repeat_of", "views.key", nullable=True),
    Column("created", Double, nullable=False),
    Column("begun", Double),
    Column("closed", Double),  # voted on, or abandoned because its pair was full or broken
    Column("held", Double),
    Column("votes", Integer, nullable=False),
    Column("qualifying", sa.Boolean),  # true if it is part of the qualification, else empty
    sa.UniqueConstraint("repeat_of"),
    Index(None, "person", "created"),
    Index(None, "project", "held"),
)
for _name, _columns, _where in (
    ("ix_views_first", (views.c.pair, views.c.person), views.c.repeat_of.is_(None)),
    ("ix_views_open", (views.c.person,), views.c.closed.is_(None)),
):
    Index(_name, *_columns, unique=True, sqlite_where=_where, postgresql_where=_where)

votes = Table(
    "votes",
    metadata,
    _id("id", key=True),
    _id("project", "projects.id"),
    _id("view", "views.key"),
    _id("person", "people.id"),
    _id("pair", "pairs.id"),
    Column("number", Integer, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("alignment", String(1), nullable=False),
    Column("alignment_confidence", Integer, nullable=False),
    Column("musicality", String(1), nullable=False),
    Column("musicality_confidence", Integer, nullable=False),
    Column("alignment_touched", sa.Boolean),  # whether the voter set the confidence; empty in votes from before 0003
    Column("musicality_touched", sa.Boolean),
    Column("feedback", Text, nullable=False),
    Column("heard", sa.JSON, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("created", Double, nullable=False),
    _one_of("alignment", "a", "b"),
    _one_of("musicality", "a", "b"),
    sa.CheckConstraint("alignment_confidence BETWEEN 1 AND 5", name="alignment_confidence"),
    sa.CheckConstraint("musicality_confidence BETWEEN 1 AND 5", name="musicality_confidence"),
    sa.UniqueConstraint("view", "number"),
    Index(None, "project"),
    Index(None, "person"),
)

trials = Table(
    "trials",
    metadata,
    _id("id", key=True),
    _id("project", "projects.id"),
    Column("source_id", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("lyrics", Text, nullable=False),
    _id("reference", "sounds.id", nullable=True),
    Column("position", Integer, nullable=False),
    Column("about", sa.JSON, nullable=False),
    Column("hidden", Text),  # why the owner hid it; empty if it is shown
    sa.UniqueConstraint("project", "source_id"),
)

stimuli = Table(
    "stimuli",
    metadata,
    _id("trial", "trials.id", key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),  # from 0, as imported
    _id("sound", "sounds.id"),
    Column("system", Text, nullable=False),
    Column("role", String(16), nullable=False),
    _one_of("role", "take", "reference", "anchor35", "anchor70"),
    Index(None, "sound"),
)

sittings = Table(
    "sittings",
    metadata,
    _id("key", key=True),
    _id("project", "projects.id"),
    _id("trial", "trials.id"),
    _id("person", "people.id"),
    Column("shown", sa.JSON, nullable=False),  # positions of the stimuli, in the order shown
    Column("created", Double, nullable=False),
    Column("begun", Double),
    Column("closed", Double),  # rated, or put aside because a sound is missing or the trial is hidden
    Column("votes", Integer, nullable=False),  # rows in `ratings`; the last of them counts
    sa.UniqueConstraint("trial", "person"),
    Index(None, "project"),
)
_open = sittings.c.closed.is_(None)
Index("ix_sittings_open", sittings.c.person, unique=True, sqlite_where=_open, postgresql_where=_open)

ratings = Table(
    "ratings",
    metadata,
    _id("id", key=True),
    _id("project", "projects.id"),
    _id("sitting", "sittings.key"),
    _id("person", "people.id"),
    _id("trial", "trials.id"),
    Column("number", Integer, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("answers", sa.JSON, nullable=False),  # by axis, one number for each stimulus by position
    Column("feedback", Text, nullable=False),
    Column("heard", sa.JSON, nullable=False),  # seconds by position, and of the reference
    Column("seconds", Double, nullable=False),
    Column("created", Double, nullable=False),
    sa.UniqueConstraint("sitting", "number"),
    Index(None, "project"),
    Index(None, "person"),
)

audit = Table(
    "audit",
    metadata,
    _id("id", key=True),
    Column("time", Double, nullable=False),
    _id("project", "projects.id", nullable=True),
    Column("action", String(64), nullable=False),
    Column("subject", String(ID_LENGTH), nullable=False),
    Column("detail", sa.JSON, nullable=False),
    Index(None, "project", "time"),
)


def note(
    connection: sa.Connection, time: float, project: str | None, action: str, subject: str, detail: Mapping[str, Any]
) -> None:
    """Add a line to the audit log; `detail` holds counts, states, ids and owners' reasons, never personal data."""
    row = {"id": new_id(), "time": time, "project": project, "action": action, "subject": subject}
    connection.execute(sa.insert(audit).values(**row, detail=dict(detail)))

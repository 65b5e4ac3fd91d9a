"""Kinds of projects; trials, their stimuli, sittings and ratings."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("projects", sa.Column("kind", sa.String(length=16), nullable=False, server_default="pairs"))
    op.create_table(
        "trials",
        _id("id"),
        _id("project"),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("lyrics", sa.Text(), nullable=False),
        _id("reference", nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("about", sa.JSON(), nullable=False),
        *_keys("trials", project="projects.id", reference="sounds.id"),
        sa.PrimaryKeyConstraint("id", name="pk_trials"),
        sa.UniqueConstraint("project", "source_id", name="uq_trials_project_source_id"),
    )
    op.create_table(
        "stimuli",
        _id("trial"),
        sa.Column("position", sa.Integer(), nullable=False, autoincrement=False),
        _id("sound"),
        sa.Column("system", sa.Text(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.CheckConstraint("role IN ('take', 'reference', 'anchor35', 'anchor70')", name="ck_stimuli_role"),
        *_keys("stimuli", trial="trials.id", sound="sounds.id"),
        sa.PrimaryKeyConstraint("trial", "position", name="pk_stimuli"),
    )
    op.create_index("ix_stimuli_sound", "stimuli", ["sound"])
    op.create_table(
        "sittings",
        _id("key"),
        _id("project"),
        _id("trial"),
        _id("person"),
        sa.Column("shown", sa.JSON(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("begun", sa.Double(), nullable=True),
        sa.Column("closed", sa.Double(), nullable=True),
        sa.Column("votes", sa.Integer(), nullable=False),
        *_keys("sittings", project="projects.id", trial="trials.id", person="people.id"),
        sa.PrimaryKeyConstraint("key", name="pk_sittings"),
        sa.UniqueConstraint("trial", "person", name="uq_sittings_trial_person"),
    )
    op.create_index("ix_sittings_project", "sittings", ["project"])
    is_open = sa.text("closed IS NULL")
    op.create_index(
        "ix_sittings_open", "sittings", ["person"], unique=True, sqlite_where=is_open, postgresql_where=is_open
    )
    op.create_table(
        "ratings",
        _id("id"),
        _id("project"),
        _id("sitting"),
        _id("person"),
        _id("trial"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("answers", sa.JSON(), nullable=False),
        sa.Column("feedback", sa.Text(), nullable=False),
        sa.Column("heard", sa.JSON(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        *_keys("ratings", project="projects.id", sitting="sittings.key", person="people.id", trial="trials.id"),
        sa.PrimaryKeyConstraint("id", name="pk_ratings"),
        sa.UniqueConstraint("sitting", "number", name="uq_ratings_sitting_number"),
    )
    op.create_index("ix_ratings_project", "ratings", ["project"])
    op.create_index("ix_ratings_person", "ratings", ["person"])


def _id(name: str, nullable: bool = False) -> "sa.Column[str]":
    return sa.Column(name, sa.String(length=64), nullable=nullable)


def _keys(table: str, **columns: str) -> list[sa.ForeignKeyConstraint]:
    return [sa.ForeignKeyConstraint([name], [to], name=f"fk_{table}_{name}") for name, to in columns.items()]

"""People from recruiting platforms, sound checks, qualification, and how their participation ended."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    for name in ("checked", "qualified"):
        op.add_column("people", sa.Column(name, sa.Double(), nullable=True))
    for name in ("screened_out", "outcome"):
        op.add_column("people", sa.Column(name, sa.String(length=16), nullable=True))
    op.add_column("views", sa.Column("qualifying", sa.Boolean(), nullable=True))
    op.create_table(
        "recruiting",
        sa.Column("project", sa.String(length=64), nullable=False),
        sa.Column("token", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name="fk_recruiting_project"),
        sa.PrimaryKeyConstraint("project", name="pk_recruiting"),
        sa.UniqueConstraint("token", name="uq_recruiting_token"),
    )
    op.create_table(
        "participants",
        sa.Column("person", sa.String(length=64), nullable=False),
        sa.Column("project", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("participant", sa.Text(), nullable=True),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name="fk_participants_person"),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name="fk_participants_project"),
        sa.PrimaryKeyConstraint("person", name="pk_participants"),
        sa.UniqueConstraint("project", "digest", name="uq_participants_project_digest"),
    )
    op.create_table(
        "sound_checks",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("project", sa.String(length=64), nullable=False),
        sa.Column("person", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.Column("answers", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("right", sa.Integer(), nullable=True),
        sa.Column("volume", sa.Double(), nullable=True),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("finished", sa.Double(), nullable=True),
        sa.CheckConstraint("kind IN ('device', 'headphones')", name="ck_sound_checks_kind"),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name="fk_sound_checks_person"),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name="fk_sound_checks_project"),
        sa.PrimaryKeyConstraint("id", name="pk_sound_checks"),
        sa.UniqueConstraint("person", "kind", "number", name="uq_sound_checks_person_kind_number"),
    )
    op.create_index("ix_sound_checks_project", "sound_checks", ["project"], unique=False)

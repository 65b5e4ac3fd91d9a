"""The first tables of the arena."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "projects",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("consent", sa.Text(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.CheckConstraint("state IN ('open', 'paused', 'closed')", name="ck_projects_state"),
        sa.PrimaryKeyConstraint("id", name="pk_projects"),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("time", sa.Double(), nullable=False),
        sa.Column("project", sa.String(length=64), nullable=True),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name="fk_audit_project"),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_project_time", "audit", ["project", "time"], unique=False)
    op.create_table(
        "people",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("project", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("quota", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("consented", sa.Double(), nullable=True),
        sa.Column("created", sa.Double(), nullable=False),
        sa.CheckConstraint("role IN ('owner', 'observer', 'annotator')", name="ck_people_role"),
        sa.CheckConstraint("state IN ('active', 'paused', 'withdrawn')", name="ck_people_state"),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name="fk_people_project"),
        sa.PrimaryKeyConstraint("id", name="pk_people"),
    )
    op.create_index("ix_people_project", "people", ["project"], unique=False)
    op.create_table(
        "sounds",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("project", sa.String(length=64), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("rate", sa.Integer(), nullable=False),
        sa.Column("channels", sa.Integer(), nullable=False),
        sa.Column("lufs", sa.Double(), nullable=True),
        sa.Column("gain_db", sa.Double(), nullable=False),
        sa.Column("peaks", sa.JSON(), nullable=False),
        sa.Column("media_type", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name="fk_sounds_project"),
        sa.PrimaryKeyConstraint("id", name="pk_sounds"),
        sa.UniqueConstraint("project", "digest", name="uq_sounds_project_digest"),
    )
    op.create_table(
        "invites",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("project", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("quota", sa.Integer(), nullable=True),
        sa.Column("bound_to", sa.String(length=64), nullable=True),
        sa.Column("used_by", sa.String(length=64), nullable=True),
        sa.Column("used_at", sa.Double(), nullable=True),
        sa.Column("revoked", sa.Boolean(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.CheckConstraint("role IN ('owner', 'observer', 'annotator')", name="ck_invites_role"),
        sa.ForeignKeyConstraint(["bound_to"], ["people.id"], name="fk_invites_bound_to"),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name="fk_invites_project"),
        sa.ForeignKeyConstraint(["used_by"], ["people.id"], name="fk_invites_used_by"),
        sa.PrimaryKeyConstraint("id", name="pk_invites"),
        sa.UniqueConstraint("token_hash", name="uq_invites_token_hash"),
    )
    op.create_index("ix_invites_project", "invites", ["project"], unique=False)
    op.create_table(
        "pairs",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("project", sa.String(length=64), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("lyrics", sa.Text(), nullable=False),
        sa.Column("reference", sa.String(length=64), nullable=True),
        sa.Column("a", sa.String(length=64), nullable=False),
        sa.Column("b", sa.String(length=64), nullable=False),
        sa.Column("system_a", sa.Text(), nullable=False),
        sa.Column("system_b", sa.Text(), nullable=False),
        sa.Column("modality", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("gold", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("lot", sa.Double(), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("taken", sa.Integer(), nullable=False),
        sa.Column("stage", sa.Integer(), nullable=False),
        sa.Column("about", sa.JSON(), nullable=False),
        sa.CheckConstraint("kind IN ('ordinary', 'gold')", name="ck_pairs_kind"),
        sa.ForeignKeyConstraint(["a"], ["sounds.id"], name="fk_pairs_a"),
        sa.ForeignKeyConstraint(["b"], ["sounds.id"], name="fk_pairs_b"),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name="fk_pairs_project"),
        sa.ForeignKeyConstraint(["reference"], ["sounds.id"], name="fk_pairs_reference"),
        sa.PrimaryKeyConstraint("id", name="pk_pairs"),
        sa.UniqueConstraint("project", "source_id", name="uq_pairs_project_source_id"),
    )
    op.create_index("ix_pairs_next", "pairs", ["project", "kind", "modality", "stage", "lot"], unique=False)
    op.create_index("ix_pairs_project_position", "pairs", ["project", "position"], unique=True)
    op.create_table(
        "sessions",
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("person", sa.String(length=64), nullable=False),
        sa.Column("csrf", sa.String(length=64), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("seen", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name="fk_sessions_person"),
        sa.PrimaryKeyConstraint("token_hash", name="pk_sessions"),
    )
    op.create_index("ix_sessions_person", "sessions", ["person"], unique=False)
    op.create_table(
        "views",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("project", sa.String(length=64), nullable=False),
        sa.Column("pair", sa.String(length=64), nullable=False),
        sa.Column("person", sa.String(length=64), nullable=False),
        sa.Column("swapped", sa.Boolean(), nullable=False),
        sa.Column("repeat_of", sa.String(length=64), nullable=True),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("begun", sa.Double(), nullable=True),
        sa.Column("closed", sa.Double(), nullable=True),
        sa.Column("held", sa.Double(), nullable=True),
        sa.Column("votes", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["pair"], ["pairs.id"], name="fk_views_pair"),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name="fk_views_person"),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name="fk_views_project"),
        sa.ForeignKeyConstraint(["repeat_of"], ["views.key"], name="fk_views_repeat_of"),
        sa.PrimaryKeyConstraint("key", name="pk_views"),
        sa.UniqueConstraint("repeat_of", name="uq_views_repeat_of"),
    )
    op.create_index(
        "ix_views_first",
        "views",
        ["pair", "person"],
        unique=True,
        sqlite_where=sa.text("repeat_of IS NULL"),
        postgresql_where=sa.text("repeat_of IS NULL"),
    )
    op.create_index(
        "ix_views_open",
        "views",
        ["person"],
        unique=True,
        sqlite_where=sa.text("closed IS NULL"),
        postgresql_where=sa.text("closed IS NULL"),
    )
    op.create_index("ix_views_person_created", "views", ["person", "created"], unique=False)
    op.create_index("ix_views_project_held", "views", ["project", "held"], unique=False)
    op.create_table(
        "votes",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("project", sa.String(length=64), nullable=False),
        sa.Column("view", sa.String(length=64), nullable=False),
        sa.Column("person", sa.String(length=64), nullable=False),
        sa.Column("pair", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("alignment", sa.String(length=1), nullable=False),
        sa.Column("alignment_confidence", sa.Integer(), nullable=False),
        sa.Column("musicality", sa.String(length=1), nullable=False),
        sa.Column("musicality_confidence", sa.Integer(), nullable=False),
        sa.Column("feedback", sa.Text(), nullable=False),
        sa.Column("heard", sa.JSON(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.CheckConstraint("alignment IN ('a', 'b')", name="ck_votes_alignment"),
        sa.CheckConstraint("musicality IN ('a', 'b')", name="ck_votes_musicality"),
        sa.CheckConstraint("alignment_confidence BETWEEN 1 AND 5", name="ck_votes_alignment_confidence"),
        sa.CheckConstraint("musicality_confidence BETWEEN 1 AND 5", name="ck_votes_musicality_confidence"),
        sa.ForeignKeyConstraint(["pair"], ["pairs.id"], name="fk_votes_pair"),
        sa.ForeignKeyConstraint(["person"], ["people.id"], name="fk_votes_person"),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name="fk_votes_project"),
        sa.ForeignKeyConstraint(["view"], ["views.key"], name="fk_votes_view"),
        sa.PrimaryKeyConstraint("id", name="pk_votes"),
        sa.UniqueConstraint("view", "number", name="uq_votes_view_number"),
    )
    op.create_index("ix_votes_person", "votes", ["person"], unique=False)
    op.create_index("ix_votes_project", "votes", ["project"], unique=False)

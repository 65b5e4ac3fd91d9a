"""Hidden pairs, confidences that were left as they stood, and the address under which the arena is served."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("pairs", sa.Column("hidden", sa.Text(), nullable=True))
    op.add_column("pairs", sa.Column("replaces", sa.String(length=64), nullable=True))
    op.add_column("votes", sa.Column("alignment_touched", sa.Boolean(), nullable=True))
    op.add_column("votes", sa.Column("musicality_touched", sa.Boolean(), nullable=True))
    op.add_column("servers", sa.Column("url", sa.Text(), nullable=True))

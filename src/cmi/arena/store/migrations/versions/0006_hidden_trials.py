"""Hidden trials."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("trials", sa.Column("hidden", sa.Text(), nullable=True))

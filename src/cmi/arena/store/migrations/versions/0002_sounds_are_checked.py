"""What is wrong with a sound's file, pairs that are broken for it, and a name for the server's cookies."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    name = sa.Column("id", sa.String(length=16), nullable=False)
    servers = op.create_table("servers", name, sa.PrimaryKeyConstraint("id", name="pk_servers"))
    op.bulk_insert(servers, [{"id": secrets.token_hex(4)}])
    op.add_column("sounds", sa.Column("size", sa.BigInteger(), nullable=True))
    op.add_column("sounds", sa.Column("modified", sa.BigInteger(), nullable=True))
    op.add_column("sounds", sa.Column("problem", sa.String(length=16), nullable=True))
    op.add_column("pairs", sa.Column("broken", sa.Boolean(), nullable=False, server_default=sa.false()))

"""Alembic's entry: run the steps on the connection that `cmi.arena.store.migrate` opened, in its transaction."""

from alembic import context

from cmi.arena.store.migrate import VERSION_TABLE
from cmi.arena.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite can't alter most things in place
)
context.run_migrations()

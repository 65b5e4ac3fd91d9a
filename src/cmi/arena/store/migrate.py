"""Migrate a database to this version's tables by the steps in `migrations/versions`."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, column, func, inspect, select, table

from cmi._util.errors import InputError
from cmi.arena.store.database import Database
from cmi.arena.store.schema import metadata

VERSION_TABLE = "arena_version"
_LOCK = 0x636D6961  # an arbitrary number for PostgreSQL's advisory lock


def migrate(database: Database) -> None:
    """Create or update the tables; InputError if the database is another program's or newer."""
    config = _config()
    with database.reading() as connection:
        if _version(connection, database.name) == ScriptDirectory.from_config(config).get_current_head():
            return
    with database.writing() as connection:
        if not database.is_sqlite:
            connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))  # two servers may start at once
        if _version(connection, database.name) is not None:
            require_known(connection, database.name)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def require_known(connection: Connection, name: str) -> None:
    """InputError unless the database is an arena's, of this or an earlier version."""
    version = _version(connection, name)
    if version is None:
        raise InputError(f"{name}: not an arena's database (it has no tables)")
    steps = ScriptDirectory.from_config(_config())
    if version not in {step.revision for step in steps.walk_revisions()}:
        known = steps.get_current_head()
        raise InputError(f"{name}: written by a newer cmi (tables {version}, ours {known}); upgrade cmi")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config


def _version(connection: Connection, name: str) -> str | None:
    """The database's version; None if it has no tables of ours."""
    there = set(inspect(connection).get_table_names())
    if VERSION_TABLE in there:
        return connection.execute(select(column("version_num")).select_from(table(VERSION_TABLE))).scalar()
    foreign = there if connection.dialect.name == "sqlite" else there & set(metadata.tables)
    if foreign:
        raise InputError(
            f"{name}: not an arena's database (it has a table {min(foreign)!r} of another program); choose another one"
        )
    return None

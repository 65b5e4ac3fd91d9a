"""Statements that run for every vote: compiled once for each database, then run by its driver.

SQLAlchemy takes 40 to 100 µs to run a statement, which is several times what SQLite takes to answer it. These run in
the transaction of the connection that they are given, so both kinds can be mixed. Rows are as the driver gives them:
SQLite has 0 and 1 for booleans.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.selectable import SelectBase


class _Compiled(NamedTuple):
    text: str
    constants: Mapping[str, Any]
    order: list[str] | None  # of the values, for drivers that take a list
    convert: tuple[tuple[str, Callable[[Any], Any]], ...]  # values by name
    row: Callable[[Any], Any]


class Statement:
    """A SELECT, or an INSERT of the columns given, an UPDATE or a DELETE with or without RETURNING."""

    def __init__(self, statement: SelectBase | UpdateBase) -> None:
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def one_or_none(self, connection: Connection, values: Mapping[str, Any]) -> Any:
        """The first row as a named tuple, or None."""
        found = self.all(connection, values)
        return found[0] if found else None

    def all(self, connection: Connection, values: Mapping[str, Any]) -> list[Any]:
        """The rows as named tuples."""
        how, cursor = self._run(connection, values)
        return [how.row(row) for row in cursor.fetchall()]

    def run(self, connection: Connection, values: Mapping[str, Any]) -> None:
        """For a statement without rows."""
        self._run(connection, values)

    def _run(self, connection: Connection, values: Mapping[str, Any]) -> tuple[_Compiled, Any]:
        dialect = connection.dialect
        how = self._compiled.get(dialect.name)
        if how is None:
            how = self._compiled[dialect.name] = _compile(self._statement, dialect, list(values))
        given = {**how.constants, **values}
        for name, convert in how.convert:
            given[name] = convert(given[name])
        return how, execute(connection, how.text, given if how.order is None else [given[name] for name in how.order])


def execute(connection: Connection, text: str, values: Any = ()) -> Any:
    """Run SQL of the database's own and return the driver's cursor; errors are SQLAlchemy's."""
    pooled, dialect = connection.connection, connection.dialect
    cursor = pooled.info.get("cursor")
    if cursor is None:
        driver: Any = pooled.driver_connection
        cursor = pooled.info["cursor"] = driver.cursor()
    try:
        cursor.execute(text, values)
    except dialect.loaded_dbapi.Error as error:
        if dialect.is_disconnect(error, pooled, cursor):
            connection.engine.dispose(close=False)  # the other connections are lost too
            connection.invalidate(error)
        raise DBAPIError.instance(text, None, error, dialect.loaded_dbapi.Error, dialect=dialect) from error
    return cursor


def _compile(statement: Any, dialect: Dialect, names: list[str]) -> _Compiled:
    keys = names if getattr(statement, "is_insert", False) and statement.select is None else None
    compiled = statement.compile(dialect=dialect, column_keys=keys, compile_kwargs={"render_postcompile": True})
    columns = list(getattr(statement, "exported_columns", ()))
    to_store = [
        (name, value.type.dialect_impl(dialect).bind_processor(dialect)) for value, name in compiled.bind_names.items()
    ]
    row: Any = namedtuple("Row", [column.key for column in columns])  # type: ignore[misc]
    return _Compiled(
        text=str(compiled),
        constants=compiled.params,
        order=compiled.positiontup,
        convert=tuple((name, convert) for name, convert in to_store if convert),
        row=row._make,
    )

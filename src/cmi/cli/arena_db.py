"""Shared by all `cmi arena` commands: opening the database, choosing the project, printing."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cmi._util.errors import InputError, require_extra
from cmi._util.printable import printable
from cmi.report.tables import to_json

if TYPE_CHECKING:
    from cmi.arena.store.database import Database
    from cmi.arena.store.projects import Project

Db = Annotated[
    str, typer.Option("--db", envvar="CMI_ARENA_DB", help="SQLite file, created if missing, or postgresql://…")
]
ProjectName = Annotated[
    str | None, typer.Option("--project", help="Id or title of the project; optional if there is only one.")
]
ARENA = ("the arena", "arena")
DB = "arena.sqlite3"
URL = "http://127.0.0.1:8008"
ServedAt = Annotated[
    str | None,
    typer.Option(help=f"URL where the arena is served; by default the last one used, or {URL}.", show_default=False),
]


@contextmanager
def open_arena(db: str, make: bool = False) -> Iterator["Database"]:
    """Open the database; raise InputError if the file is missing, unless it may be created."""
    with require_extra(*ARENA):
        from cmi.arena.store.database import open_database
        from cmi.arena.store.database_url import parse_url

        url = parse_url(db)
    if not make and url.drivername == "sqlite" and not Path(url.database or "").exists():
        raise InputError(f"{url.database}: no such file; name the arena's database with --db")
    database = open_database(db)
    try:
        yield database
    finally:
        database.close()


def choose_project(database: "Database", name: str | None) -> "Project":
    """Return the project with this id or title, or the only one."""
    from cmi.arena.store import projects

    known = projects.list_all(database)
    titles = ", ".join(repr(one.title) for one in known)
    if name is None:
        if len(known) != 1:
            raise InputError(f"{database.name}: {len(known)} projects ({titles}); choose one with --project")
        return known[0]
    found = find_project(known, name)
    if found is None:
        raise InputError(f"{database.name}: no project is called {name!r}; there are {titles or 'none'}")
    return found


def find_project(known: list["Project"], name: str) -> "Project | None":
    found = [one for one in known if one.id == name] or [one for one in known if one.title == " ".join(name.split())]
    if len(found) > 1:
        raise InputError(
            f"{len(found)} projects are called {name!r}; name one by its id: cmi arena projects lists them"
        )
    return found[0] if found else None


def print_sentences(record: object, sentences: list[str], as_json: bool) -> None:
    print(to_json(record).rstrip("\n") if as_json else "\n".join(map(printable, sentences)))

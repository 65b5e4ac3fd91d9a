"""Routes for results: statistics, chart data and votes."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from cmi.arena.exchange import exporting, rating_export
from cmi.arena.statistics import charts
from cmi.arena.store import projects
from cmi.arena.store.database import Database, require_sound
from cmi.arena.store.errors import NotFound
from cmi.arena.store.schema import note
from cmi.arena.web.auth import Owner, Reader
from cmi.arena.web.bodies import ExportQuery
from cmi.arena.web.state import ThisArena, ThisDatabase
from cmi.pairs.splits import parse_shares
from cmi.report.tables import spreadsheet_value, to_csv

IN_MEMORY = 4 * 1024 * 1024  # bytes of an export; the rest goes to a temporary file

ChartName = Annotated[str, Path(pattern="^[a-z_]{1,40}$")]

router = APIRouter(prefix="/api/owner")


@router.get("/statistics")
async def statistics(arena: ThisArena, session: Reader) -> dict[str, Any]:
    return await arena.reports.of(session.project)


@router.get("/charts/{name}.{format}", response_class=Response)
async def chart(
    arena: ThisArena, session: Reader, name: ChartName, format: Annotated[Literal["csv", "json"], Path()]
) -> Response:
    rows = charts(await arena.reports.of(session.project)).get(name)
    if rows is None:
        raise NotFound("there is no such chart")
    headers = {"content-disposition": f'attachment; filename="{name}.{format}"'}
    if format == "json":
        return JSONResponse(rows, headers=headers)
    text = to_csv(as_cells(rows))
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/export.jsonl", response_class=Response)
def export(database: ThisDatabase, session: Owner, query: Annotated[ExportQuery, Query()]) -> Response:
    """Export the votes in the common preference format; `split` is of the form train=0.8,valid=0.1,test=0.1.

    Ratings are exported as the votes that they amount to.
    """
    shares = parse_shares(query.split) if query.split else None
    selection = exporting.Selection(query.gold, query.repeats, query.hidden, shares)
    require_sound(database, thoroughly=True)
    file = tempfile.SpooledTemporaryFile(IN_MEMORY, "w+b")  # noqa: SIM115  (closed when it was sent)
    # to a file first: a slow client must not hold a transaction open
    count = _write_rows(database, session.project, selection, file)
    with database.writing() as connection:
        note(connection, database.now(), session.project, "exported", session.project, {"rows": count})
    headers = {"content-disposition": 'attachment; filename="votes.jsonl"'}
    return StreamingResponse(_sent(file), headers=headers, media_type="application/x-ndjson")


@router.get("/openapi.json", include_in_schema=False)
def description(request: Request, session: Owner) -> JSONResponse:
    """Describe this API for the owner's own programs."""
    return JSONResponse(request.app.openapi())


def as_cells(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows for a spreadsheet."""
    return [{column: spreadsheet_value(value) for column, value in row.items()} for row in rows]


def _write_rows(database: Database, project: str, selection: exporting.Selection, file: IO[bytes]) -> int:
    count = 0
    if projects.get(database, project).kind == "pairs":
        rows = exporting.rows(database, project, selection)
    else:
        rows = rating_export.preference_rows(database, project, selection.shares, selection.hidden)
    for count, row in enumerate(rows, start=1):  # noqa: B007
        file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return count


def _sent(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        file.seek(0)
        yield from iter(lambda: file.read(65_536), b"")

"""Routes for results: statistics, chart data and votes."""

import json
import tempfile
from collections.abc import Iterator
from typing import IO, Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from cmi.arena.exchange import exporting
from cmi.arena.statistics import charts
from cmi.arena.store.database import Database, require_sound
from cmi.arena.store.errors import NotFound
from cmi.arena.store.schema import note
from cmi.arena.web.auth import Owner, Reader
from cmi.arena.web.bodies import ExportQuery
from cmi.arena.web.state import ThisArena, ThisDatabase
from cmi.pairs.splits import parse_shares
from cmi.report.tables import to_csv

IN_MEMORY = 4 * 1024 * 1024  # bytes of an export; the rest goes to a temporary file
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what starts a formula in a spreadsheet

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
    text = to_csv([{column: _as_text(value) for column, value in row.items()} for row in rows])
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/export.jsonl", response_class=Response)
def export(database: ThisDatabase, session: Owner, query: Annotated[ExportQuery, Query()]) -> Response:
    """Export the votes in the common preference format; `split` is of the form train=0.8,valid=0.1,test=0.1."""
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


def _as_text(value: Any) -> Any:
    """Mark a value as text by an apostrophe if a spreadsheet would take it for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _write_rows(database: Database, project: str, selection: exporting.Selection, file: IO[bytes]) -> int:
    count = 0
    for count, row in enumerate(exporting.rows(database, project, selection), start=1):  # noqa: B007
        file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return count


def _sent(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        file.seek(0)
        yield from iter(lambda: file.read(65_536), b"")

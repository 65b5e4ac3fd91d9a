"""Routes for rating trials (MOS, MUSHRA, ranking), as those for voting on pairs in cmi.arena.web.routes.annotate.

Everything an annotator sees is listed here field by field: never a system's name, a trial's id, or which stimulus is
the hidden reference or an anchor. Stimuli of MUSHRA come without their waveforms, which would give these away.
"""

import json
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from cmi.arena.audio.playback import Unplayable
from cmi.arena.exchange import rating_export
from cmi.arena.store import projects, ratings, trials
from cmi.arena.store.assign import Done
from cmi.arena.store.database import require_sound
from cmi.arena.store.errors import NotFound
from cmi.arena.store.ratings import RatingBallot
from cmi.arena.store.trials import GivenRating, RatedAxis, TrialView
from cmi.arena.store.views import PlayableSound
from cmi.arena.web.auth import Annotator, Owner
from cmi.arena.web.bodies import Body, LongText, PathId, Seconds
from cmi.arena.web.routes.annotate import MOST_PASSED_OVER, RECENT, recent_row
from cmi.arena.web.routes.media import serve_sound
from cmi.arena.web.routes.results import as_cells
from cmi.arena.web.state import ThisArena, ThisDatabase
from cmi.report.tables import to_csv

ShownNumber = Annotated[str, Field(pattern=r"^[1-9][0-9]?$")]
TrialPart = Annotated[str, Path(pattern=r"^(reference|[1-9][0-9]?)$")]
Answer = Annotated[int, Field(ge=0, le=100)]

router = APIRouter()


class RatingBody(Body):
    answers: Annotated[dict[RatedAxis, Annotated[dict[ShownNumber, Answer], Field(max_length=20)]], Field(max_length=2)]
    feedback: LongText = ""
    heard: Annotated[dict[ShownNumber | Literal["reference"], Seconds], Field(max_length=21)]


@router.get("/api/trials/next")
async def next_trial(arena: ThisArena, session: Annotator) -> dict[str, Any]:
    """Return the next instruction, or why there is none; the same until it is rated."""
    for _ in range(MOST_PASSED_OVER):
        found, progress = await arena.run(trials.next_trial, session.person)
        if isinstance(found, Done):
            return {"done": found.reason}
        with suppress(Unplayable):
            for sound in _sounds(found):
                if not arena.copies.is_ready(sound.original):
                    await run_in_threadpool(arena.copies.find, sound.original)
            return _instruction(found) | {"progress": progress._asdict()}
    raise Unplayable


@router.get("/api/trials/recent")
async def recent_ratings(arena: ThisArena, session: Annotator) -> list[dict[str, Any]]:
    """The caller's latest ratings, the newest first."""
    found = await arena.run(ratings.recent_ratings, session.person, RECENT)
    return [recent_row(one, _rating(one.rating)) for one in found]


@router.get("/api/trials/{view}")
async def look_at_trial(arena: ThisArena, session: Annotator, view: PathId) -> dict[str, Any]:
    """Return one of the caller's pages, with its stimuli if it has begun."""
    found = await arena.run(trials.look_at_trial, session.person, view)
    progress = await arena.run(trials.read_progress, session.person)
    takes = {} if found.begun is None else _takes(found)
    return _instruction(found) | takes | {"progress": progress._asdict()}


@router.post("/api/trials/{view}/begin")
async def begin_trial(arena: ThisArena, session: Annotator, view: PathId) -> dict[str, Any]:
    """Begin a page after the instruction was read: return the stimuli and how much of each must be heard."""
    return _takes(await arena.run(trials.begin_trial, session.person, view))


@router.post("/api/trials/{view}/skip")
async def skip_trial(arena: ThisArena, session: Annotator, view: PathId) -> dict[str, bool]:
    """Skip a page with a missing or changed sound. It comes back once it is repaired."""
    await arena.run(trials.skip_trial, session.person, view)
    return {"skipped": True}


@router.post("/api/trials/{view}/vote")
async def rate(arena: ThisArena, session: Annotator, view: PathId, body: RatingBody) -> dict[str, Any]:
    """Store a rating. The same rating again changes nothing; another one corrects it."""
    ballot = RatingBallot(body.answers, body.feedback, body.heard)
    saved = await arena.run(ratings.save_rating, session.person, view, ballot)
    return {"saved": True, **saved._asdict()}


@router.get("/media/trials/{view}/{part}", response_class=Response)
async def trial_media(
    request: Request, arena: ThisArena, session: Annotator, view: PathId, part: TrialPart
) -> Response:
    """Serve a sound of the caller's page, or the range requested."""
    original = await arena.run(trials.find_trial_sound, session.person, view, part)
    return await serve_sound(request, arena, original, f'"{view}-{part}"')


@router.get("/api/owner/answers.{format}", response_class=Response)
def export_answers(
    database: ThisDatabase, session: Owner, format: Annotated[Literal["jsonl", "csv"], Path()]
) -> Response:
    """Export every answer of a project that is not one of pairs: a row for each stimulus that a person rated."""
    if projects.get(database, session.project).kind == "pairs":
        raise NotFound("this project has no ratings")
    require_sound(database, thoroughly=True)
    rows = list(rating_export.all_answers(database, session.project))
    headers = {"content-disposition": f'attachment; filename="answers.{format}"'}
    if format == "csv":
        return Response(to_csv(as_cells(rows)), media_type="text/csv; charset=utf-8", headers=headers)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return Response(lines.encode(), media_type="application/x-ndjson", headers=headers)


def _sounds(view: TrialView) -> list[PlayableSound]:
    takes = [one.sound for one in view.stimuli.values()]
    return takes if view.reference is None else [view.reference, *takes]


def _instruction(view: TrialView) -> dict[str, Any]:
    reference = None
    if view.reference is not None:
        reference = _sound(view, "reference", view.reference, True) | {"needed": view.needed["reference"]}
    instruction = {"text": view.text, "lyrics": view.lyrics, "reference": reference}
    return {
        "view": view.key,
        "kind": view.kind,
        "instruction": instruction,
        "vote": None if view.rating is None else _rating(view.rating),
    }


def _takes(view: TrialView) -> dict[str, Any]:
    is_drawn = view.kind != "mushra"
    takes = {name: _sound(view, name, one.sound, is_drawn) for name, one in view.stimuli.items()}
    return {"takes": takes, "needed": {name: view.needed[name] for name in takes}}


def _sound(view: TrialView, part: str, sound: PlayableSound, is_drawn: bool) -> dict[str, Any]:
    peaks = json.loads(sound.peaks) if is_drawn else None
    shown = {"seconds": sound.seconds, "peaks": peaks, "gain_db": sound.gain_db}
    return {"url": f"/media/trials/{view.key}/{part}", **shown}


def _rating(given: GivenRating) -> dict[str, Any]:
    return given._asdict()

"""Routes for listening and voting. The takes are revealed only after the view has begun.

Everything an annotator sees is listed here field by field: never a system's name, a pair's id, kind or known answer, or
whether the takes are swapped.
"""

import json
from contextlib import suppress
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from cmi.arena.audio import sounds
from cmi.arena.audio.playback import Copies, Unplayable
from cmi.arena.store import assign, votes
from cmi.arena.store.assign import Done
from cmi.arena.store.database import Database
from cmi.arena.store.ratings import RecentRating
from cmi.arena.store.views import Ballot, Given, Original, Part, PlayableSound, View, forget_pair
from cmi.arena.store.votes import Recent
from cmi.arena.web.auth import Annotator
from cmi.arena.web.bodies import PathId, VoteBody
from cmi.arena.web.state import ThisArena

MOST_PASSED_OVER = 100  # pairs with missing sounds in one request
RECENT = 20  # votes listed for correction
ANSWER = ("", "confidence", "touched")  # columns of a vote, after the name of the axis

router = APIRouter(prefix="/api")


class Json(str):
    """Text that is JSON already."""

    __slots__ = ()


@router.get("/next")
async def next_view(arena: ThisArena, session: Annotator) -> Response:
    """Return the next instruction, or why there is none; the same until it is voted on.

    Copies of all its sounds are made first; a pair with an unplayable sound is passed over.
    """
    for _ in range(MOST_PASSED_OVER):
        found, progress = await arena.run(assign.next_page, session.person)
        if isinstance(found, Done):
            return _answer({"done": found.reason})
        with suppress(Unplayable):
            if not all(map(arena.copies.is_ready, _sounds(found))):
                await run_in_threadpool(_make_ready, arena.database, arena.copies, found)
            return _answer(_instruction(found) | {"progress": progress._asdict(), "qualifying": found.is_qualifying})
    raise Unplayable


@router.get("/views/recent")
async def recent(arena: ThisArena, session: Annotator) -> list[dict[str, Any]]:
    """The caller's latest votes, the newest first."""
    found = await arena.run(votes.recent, session.person, RECENT)
    return [recent_row(one, _vote(one.vote)) for one in found]


@router.get("/views/{view}")
async def look(arena: ThisArena, session: Annotator, view: PathId) -> Response:
    """Return one of the caller's views, with its takes if it has begun."""
    return _answer(await arena.run(_look, session.person, view))


@router.post("/views/{view}/begin")
async def begin(arena: ThisArena, session: Annotator, view: PathId) -> Response:
    """Begin a view after the instruction was read: return the takes and how much of each must be heard."""
    return _answer(_takes(await arena.run(assign.begin, session.person, view)))


@router.post("/views/{view}/skip")
async def skip(arena: ThisArena, session: Annotator, view: PathId) -> dict[str, bool]:
    """Skip a pair with a missing or changed sound. It comes back once it is repaired."""
    await arena.run(assign.skip, session.person, view)
    return {"skipped": True}


@router.post("/views/{view}/vote")
async def vote(arena: ThisArena, session: Annotator, view: PathId, body: VoteBody) -> Response:
    """Store a vote. The same vote again changes nothing; another one corrects it."""
    ballot = Ballot(
        *(body.alignment.choice, body.alignment.confidence),
        *(body.musicality.choice, body.musicality.confidence),
        body.feedback,
        heard_a=body.heard.a,
        heard_b=body.heard.b,
        heard_reference=body.heard.reference,
        alignment_touched=body.alignment.touched,
        musicality_touched=body.musicality.touched,
    )
    saved = await arena.run(votes.save, session.person, view, ballot)
    if not saved.again:
        arena.orders.count_vote(session.project)
    return _answer({"saved": True, **saved._asdict()})


def recent_row(one: Recent | RecentRating, given: dict[str, Any]) -> dict[str, Any]:
    """An answer in the list of the caller's latest ones; `given` is the vote or rating as the page shows it."""
    return {"view": one.view, "text": one.text, "created": one.created, "can_correct": one.can_correct, "vote": given}


def _answer(fields: dict[str, Any]) -> Response:
    """A JSON object; fields that are Json already are not encoded again."""
    return Response(_to_json(fields), media_type="application/json")


def _to_json(fields: dict[str, Any]) -> Json:
    encoded = (value if isinstance(value, Json) else json.dumps(value, ensure_ascii=False) for value in fields.values())
    return Json("{" + ",".join(f'"{name}":{value}' for name, value in zip(fields, encoded, strict=True)) + "}")


def _sounds(view: View) -> list[Original]:
    return [sound.original for sound in (view.reference, view.a, view.b) if sound is not None]


def _make_ready(database: Database, copies: Copies, view: View) -> None:
    """Make the copies that are missing, and store what has changed about the files."""
    forget_pair(view.pair)
    for known in _sounds(view):
        copies.find(sounds.find(database, known.project, known.id))


def _look(database: Database, person: str, key: str) -> dict[str, Any]:
    found = assign.look(database, person, key)
    takes = {} if found.begun is None else _takes(found)
    return _instruction(found) | takes | {"progress": assign.progress(database, person)._asdict()}


def _instruction(view: View) -> dict[str, Any]:
    return {
        "view": view.key,
        "instruction": _to_json(
            {
                "text": view.text,
                "lyrics": view.lyrics,
                "reference": None
                if view.reference is None
                else _sound(view, "reference", view.reference, needed=view.needed_reference),
                "modality": view.modality,
            }
        ),
        "vote": None if view.vote is None else _vote(view.vote),
    }


def _takes(view: View) -> dict[str, Any]:
    return {
        "takes": _to_json({"a": _sound(view, "a", view.a), "b": _sound(view, "b", view.b)}),
        "needed": {"a": view.needed_a, "b": view.needed_b},
    }


def _sound(view: View, part: Part, sound: PlayableSound, **more: float) -> Json:
    shown = {"seconds": sound.seconds, "peaks": Json(sound.peaks), "gain_db": sound.gain_db}
    return _to_json({"url": f"/media/{view.key}/{part}", **shown, **more})


def _vote(given: Given) -> dict[str, Any]:
    ballot = given.ballot
    answers = {
        axis: {name or "choice": getattr(ballot, f"{axis}_{name}" if name else axis) for name in ANSWER}
        for axis in ("alignment", "musicality")
    }
    return {
        **answers,
        "feedback": ballot.feedback,
        "heard": {"a": ballot.heard_a, "b": ballot.heard_b, "reference": ballot.heard_reference},
        "created": given.created,
        "number": given.number,
    }

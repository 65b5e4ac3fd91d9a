"""Routes for what an owner looks at: pairs, votes, trials, ratings and people; hide and replace. Observers may read.

Every id in a request is looked up within the caller's own project.
"""

import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Query

from cmi.arena.store import browse, browse_trials, hiding, pairs, people, projects
from cmi.arena.store.schema import note
from cmi.arena.web.auth import Owner, Reader
from cmi.arena.web.bodies import (
    HideBody,
    NewPairBody,
    PairQuery,
    PathId,
    RatingQuery,
    ReplaceBody,
    TrialQuery,
    VoteQuery,
)
from cmi.arena.web.state import ThisArena, ThisDatabase

router = APIRouter(prefix="/api/owner")


@router.get("/pairs")
def list_pairs(database: ThisDatabase, session: Reader, query: Annotated[PairQuery, Query()]) -> dict[str, Any]:
    """List pairs: searched, filtered and sorted."""
    found = browse.find_pairs(database, session.project, query, query.order, query.after, query.offset, query.limit)
    is_full = len(found.rows) == query.limit
    following = found.rows[-1]["position"] if is_full and query.order == "position" else None
    return {"pairs": found.rows, "total": found.total, "after": following}


@router.post("/pairs", status_code=201)
def new_pair(database: ThisDatabase, session: Owner, body: NewPairBody) -> dict[str, Any]:
    """Add a pair of two uploaded sounds."""
    study = projects.get(database, session.project).settings
    new = pairs.NewPair(source_id=secrets.token_urlsafe(16), **body.model_dump())
    with database.writing() as connection:
        pair = pairs.add(connection, session.project, study, new)
        note(connection, database.now(), session.project, "pair added", pair, {})
    return {"id": pair}


@router.get("/pairs/{pair}")
def look_at_pair(database: ThisDatabase, session: Reader, pair: PathId) -> dict[str, Any]:
    """Return a pair with its recordings, its state and why it was hidden or replaced."""
    return browse.read_pair(database, session.project, pair)


@router.post("/pairs/{pair}/hide")
def hide_pair(database: ThisDatabase, session: Owner, pair: PathId, body: HideBody) -> dict[str, bool]:
    """Hide a pair: nobody is asked about it and its votes do not count, but they are kept."""
    hiding.hide(database, session.project, pair, body.reason)
    return {"hidden": True}


@router.post("/pairs/{pair}/show")
def show_pair(database: ThisDatabase, session: Owner, pair: PathId) -> dict[str, bool]:
    """Show a hidden pair again; its votes count again."""
    hiding.show(database, session.project, pair)
    return {"hidden": False}


@router.post("/pairs/{pair}/replace")
def replace_pair(database: ThisDatabase, session: Owner, pair: PathId, body: ReplaceBody) -> dict[str, str]:
    """Hide a pair and add another in its place, with the parts that are given."""
    changes = {name: value for name, value in body.model_dump(exclude={"reason"}).items() if value is not None}
    return {"id": hiding.replace(database, session.project, pair, body.reason, changes)}


@router.get("/votes")
def list_votes(database: ThisDatabase, session: Reader, query: Annotated[VoteQuery, Query()]) -> dict[str, Any]:
    """List the latest vote of each view, in the pair's own terms and in the letters that the voter saw."""
    found = browse.find_votes(database, session.project, query, query.order, query.offset, query.limit)
    return {"votes": found.rows, "total": found.total}


@router.get("/trials")
def list_trials(database: ThisDatabase, session: Reader, query: Annotated[TrialQuery, Query()]) -> dict[str, Any]:
    """List trials: searched, filtered and sorted."""
    found = browse_trials.find_trials(database, session.project, query, query.order, query.offset, query.limit)
    return {"trials": found.rows, "total": found.total}


@router.get("/trials/{trial}")
def look_at_trial(database: ThisDatabase, session: Reader, trial: PathId) -> dict[str, Any]:
    """Return a trial with its recordings, its state and why it was hidden."""
    return browse_trials.describe_trial(database, session.project, trial)


@router.post("/trials/{trial}/hide")
def hide_trial(database: ThisDatabase, session: Owner, trial: PathId, body: HideBody) -> dict[str, bool]:
    """Hide a trial: nobody is asked about it and its ratings do not count, but they are kept."""
    hiding.hide(database, session.project, trial, body.reason, "trial")
    return {"hidden": True}


@router.post("/trials/{trial}/show")
def show_trial(database: ThisDatabase, session: Owner, trial: PathId) -> dict[str, bool]:
    """Show a hidden trial again; its ratings count again."""
    hiding.show(database, session.project, trial, "trial")
    return {"hidden": False}


@router.get("/ratings")
def list_ratings(database: ThisDatabase, session: Reader, query: Annotated[RatingQuery, Query()]) -> dict[str, Any]:
    """List the latest rating of each page, with the systems and the numbers that the rater saw."""
    found = browse_trials.find_ratings(database, session.project, query, query.order, query.offset, query.limit)
    return {"ratings": found.rows, "total": found.total}


@router.get("/systems")
def list_systems(database: ThisDatabase, session: Reader) -> list[str]:
    """List the systems that made the takes."""
    return browse.find_systems(database, session.project)


@router.get("/people/{person}")
async def look_at_person(arena: ThisArena, session: Reader, person: PathId) -> dict[str, Any]:
    """Return a person with what the screening says of them; their votes are listed by /votes?person=ID."""
    found = await arena.run(people.get, session.project, person)
    report = await arena.reports.of(session.project)
    screened = next((row for row in report["screening"]["people"] if row["person"] == person), None)
    return {"person": found._asdict(), "screening": screened}

"""Post-screening of MUSHRA's listeners by the hidden reference (ITU-R BS.1534-3; the rule is in `cmi.stats.listening`).

Verdicts on a person: passes, fails, can't tell yet, or '' without a page that has a hidden reference. People who fail
are left out of the results. `recipes/arena/post_screening.py` simulates how often a verdict is wrong.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cmi.arena.statistics.inputs import Annotator, grouped
from cmi.arena.store.ratings import CountedRating
from cmi.stats.listening import SEEN, post_screening

if TYPE_CHECKING:
    from cmi.arena.store.database import Database


def read_annotators(database: "Database", project: str) -> list[Annotator]:
    from cmi.arena.store import people, projects

    quota = projects.get(database, project).settings.quota
    return [
        Annotator(person.id, person.name, person.state, person.quota or quota)
        for person in people.list_people(database, project)
        if person.role == "annotator"
    ]


def screen_people(rated: Sequence[CountedRating], people: Sequence[Annotator], trials: int) -> list[dict[str, Any]]:
    """A row for each person: person, name, votes, pages (with a hidden reference), missed, share, verdict.

    `trials` are those of the study, of which a person has their quota to rate.
    """
    by_person = grouped(rated, lambda row: row.person)
    return [_screen(one, by_person.get(one.person, []), min(one.quota or trials, trials)) for one in people]


def find_failed(rated: Sequence[CountedRating], people: Sequence[Annotator], trials: int) -> set[str]:
    return {row["person"] for row in screen_people(rated, people, trials) if row["verdict"] == "fails"}


def _screen(person: Annotator, rated: Sequence[CountedRating], wanted: int) -> dict[str, Any]:
    scores = [
        float(values[place])
        for row in rated
        for values in row.answers.values()
        for place, one in enumerate(row.stimuli)
        if one.role == "reference"
    ]
    missed = sum(score < SEEN for score in scores)
    verdict = post_screening(scores, is_complete=len(rated) >= wanted) if scores else ""
    shares = {"pages": len(scores), "missed": missed, "share": missed / len(scores) if scores else None}
    return {"person": person.person, "name": person.name, "votes": len(rated), **shares, "verdict": verdict}

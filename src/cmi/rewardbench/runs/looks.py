"""Count how often a test set was looked at from this machine.

Whoever tries many models on a test set and keeps the best overfits to it. The first time that the results of a model on
a test set are read, a line is added to `looks.jsonl` in the folder of data sets (`cmi.rewardbench.data.data_folder`):

    id, data       the test set's version, a hash of its rows and labels; the id adds one of the model
    dataset, rows  its name and size
    model          with its revision, window and whether it got the prompt
    user, when     the login name, and the time in UTC

Showing the same results again is not another look. A data set's test rows are those whose split is test; if no split is
stated, all of them. Sets that `cmi studio` makes do not count: another one is a command away.
"""

import getpass
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from cmi._util.errors import InputError, reason_of
from cmi._util.files import locked, make_folder
from cmi._util.runlog import RunLog, read_records
from cmi.preferences import prompt_words
from cmi.report.tables import Table
from cmi.rewardbench.data import data_folder, studio
from cmi.rewardbench.items import RatedItem

LOOKS = "looks.jsonl"
LOCK = "looks.lock"
NOTE = "A look: the results of another model on the same test rows, counted on this machine (`cmi mirex looks`)."


class Look(NamedTuple):
    """The `number`-th look at a test set; None if it could not be counted."""

    dataset: str
    data: str
    rows: int
    model: str
    number: int | None


class HeldOutSet(NamedTuple):
    dataset: str
    data: str
    rows: int


def held_out_sets(items: Iterable[RatedItem]) -> Iterator[HeldOutSet]:
    """Yield the test set of each data set among the items."""
    rows: dict[str, list[str]] = {}
    for item in items:
        if item.dataset != studio.NAME and item.about.get("split") in (None, "test"):
            rows.setdefault(item.dataset, []).append(_digest(_content(item)))
    for dataset, digests in rows.items():
        yield HeldOutSet(dataset, _digest(sorted(digests))[:12], len(digests))


def _content(item: RatedItem) -> list[Any]:
    votes = sorted((axis, vote.choice) for axis, vote in item.votes.items())
    return [item.id, prompt_words(item.prompt), votes, sorted(item.ratings.items())]


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def log_looks(items: Sequence[RatedItem], models: Sequence[str]) -> tuple[list[Look], str]:
    """Count the look of each model at each test set; also return why they could not be logged, or ''."""
    found = list(held_out_sets(items))
    if not found or not models:
        return [], ""
    why = ""
    folder = data_folder()
    try:
        make_folder(folder)
        with locked(folder / LOCK), RunLog(folder / LOOKS) as log:
            for one in found:
                for model in models:
                    if _key(one, model) not in log:
                        log.append({"id": _key(one, model), **one._asdict(), "model": model, **_who_and_when()})
            log.finish()
    except (InputError, OSError) as error:
        why = f"looks at test sets could not be logged: {reason_of(error)}"
    numbers = {record["id"]: number for record, number in _numbered(folder)}
    return [Look(*one, model, numbers.get(_key(one, model))) for one in found for model in models], why


def _key(one: HeldOutSet, model: str) -> str:
    return f"{one.dataset}-{one.data}-{_digest(model)[:12]}"


def _who_and_when() -> dict[str, str]:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        user = ""
    return {"user": user, "when": datetime.now(UTC).isoformat(timespec="seconds")}


def _numbered(folder: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the logged looks with their numbers among those at the same test set; none if the log cannot be read."""
    counts: dict[tuple[str, str], int] = {}
    try:
        for record in read_records(folder / LOOKS, missing_ok=True):
            place = str(record.get("dataset")), str(record.get("data"))
            counts[place] = counts.get(place, 0) + 1
            yield record, counts[place]
    except (InputError, OSError):
        return


def read_looks() -> list[dict[str, Any]]:
    """Return all logged looks, each with its number."""
    return [{**record, "look": number} for record, number in _numbered(data_folder())]


def looks_table(looks: Sequence[Look], why_not: str = "") -> Table:
    """Return which look at each test set the models' results are."""
    rows = [
        [one.dataset, one.model, one.data, str(one.rows), "-" if one.number is None else str(one.number)]
        for one in looks
    ]
    headers = ["data set", "model", "version", "rows", "look"]
    notes = [NOTE, *([f"{why_not[0].upper()}{why_not[1:]}."] if why_not else [])]
    return Table("Looks at the test sets from this machine", headers, rows, labels=2, notes=notes)

"""A demo project: a few studio pairs with every kind of prompt, made in seconds and kept in the cache folder.

Everyone may vote on every pair after two seconds of each take, and one pair in eight is gold.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cmi._util.cache import cache_folder
from cmi._util.errors import MissingExtra, require_extra
from cmi._util.files import make_folder
from cmi._util.workers import process_pool
from cmi.arena.exchange.importing import import_pairs, measure_source
from cmi.arena.store import projects
from cmi.arena.store.database import Database
from cmi.preferences import preference_row, write_rows
from cmi.take import Modality

if TYPE_CHECKING:
    from cmi.studio.pairs import PairPlan

TITLE = "Demo"
CONSENT = "This is a demo. Your votes stay in a file on this computer."
SETTINGS = {
    "overlap_share": 1.0,
    "overlap_votes": 20,
    "gold_share": 0.15,
    "repeat_share": 0.1,
    "heard_share": 0.2,
    "heard_most": 2.0,
}
WANTED: dict[Modality, int] = {"text": 4, "text+audio": 2, "text+lyrics": 1, "text+lyrics+audio": 1}
SEED = 2026
CLEAR = 4  # confidence, so that visitors hear a difference
SYSTEMS = ("careful", "careless")  # names for the makers of the better and the worse take


def demo_project(database: Database) -> str:
    """Return the id of the database's demo project, making it if necessary."""
    for project in projects.list_all(database):
        if project.title == TITLE:
            return project.id
    source = measure_source(make_pairs(cache_folder() / "arena-demo"))
    project = projects.create(database, TITLE, SETTINGS, CONSENT)
    import_pairs(database, project.id, source)
    return project.id


def make_pairs(folder: Path) -> Path:
    """Return the file of pairs in a folder, making it and its sounds if necessary."""
    path = folder / "pairs.jsonl"
    if path.exists():
        return path
    make_folder(folder)
    with require_extra("the demonstration", "studio"), process_pool() as pool:
        rows = list(chain.from_iterable(pool.map(partial(_record, folder), enumerate(_plans()))))
    write_rows(rows, path)
    return path


def _record(folder: Path, numbered: tuple[int, "PairPlan"]) -> list[dict[str, Any]]:
    """Record a pair and return its row; nothing if singing is not installed. The first pair is gold."""
    from cmi.studio.recordings import record, write_flac

    number, plan = numbered
    files = {role: folder / f"{recipe.name}.flac" for role, recipe in plan.recipes.items()}
    try:
        for role, recipe in plan.recipes.items():
            if not files[role].exists():
                write_flac(record(recipe)[0], files[role])
    except MissingExtra:
        return []
    a, b = SYSTEMS if plan.better_first else SYSTEMS[::-1]
    about = {"generator_a": a, "generator_b": b, **({"gold": True} if number == 0 else {})}
    return [preference_row(plan.preference(files, about), folder)]


def _plans() -> Iterator["PairPlan"]:
    """The first clear pairs of each modality; with lyrics only those sung once, because singing is slow."""
    from cmi.studio.flaws import FLAWS, SoundFlaw
    from cmi.studio.pairs import Material, plan_pairs

    left = Counter(WANTED)
    for plan in plan_pairs(1000, SEED, Material()):
        modality = plan.truth["modality"]
        sung_once = plan.truth["kind"] == "same" and isinstance(FLAWS[plan.worse.flaw], SoundFlaw)
        if plan.confidence >= CLEAR and left[modality] and (sung_once or not plan.lyrics):
            left[modality] -= 1
            yield plan
        if not left.total():
            return

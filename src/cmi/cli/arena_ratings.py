"""`cmi arena import` and `export` for projects of all kinds: pairs, mos, mushra and ranking."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from cmi._util.errors import InputError
from cmi.cli.arena_db import choose_project, find_project, open_arena

if TYPE_CHECKING:
    from cmi.arena.exchange.exporting import Audio, Format
    from cmi.arena.store.database import Database
    from cmi.arena.store.projects import Project
    from cmi.arena.store.study import ProjectKind

ProjectKindOption = Annotated[
    Literal["pairs", "mos", "mushra", "ranking"] | None,
    typer.Option(
        "--kind",
        help="What annotators of a new project do: compare pairs (the default), rate single takes, rate takes beside "
        "their reference, or rank the takes of a prompt.",
        show_default=False,
    ),
]
MidAnchor = Annotated[
    bool, typer.Option("--mid-anchor", help="MUSHRA: add a hidden 7 kHz anchor to the one of 3.5 kHz.")
]
AnchorFolder = Annotated[
    Path | None,
    typer.Option("--folder", help="MUSHRA: folder for anchors; by default beside the database.", show_default=False),
]
Everybody = Annotated[
    bool, typer.Option("--everybody", help="MUSHRA: include listeners who fail the post-screening of BS.1534.")
]
Added = tuple[dict[str, Any], str]  # for --json, and in words


class ImportOptions(NamedTuple):
    kind: Literal["pairs", "mos", "mushra", "ranking"]
    gold: float
    mid_anchor: bool
    folder: Path | None
    workers: int | None


def find_kind(db: str, project: str | None) -> "ProjectKind | None":
    """Return the kind of a project, or None if it does not exist yet."""
    from cmi.arena.store.database_url import parse_url

    url = parse_url(db)
    if url.drivername == "sqlite" and not Path(url.database or "").exists():
        return None
    with open_arena(db) as database:
        found = find_existing(database, project)
        return found and found.kind


def find_existing(database: "Database", name: str | None) -> "Project | None":
    """Like `choose_project`, but return None if there is no such project."""
    from cmi.arena.store.projects import list_all

    known = list_all(database)
    return None if not known or (name and find_project(known, name) is None) else choose_project(database, name)


def read_source(
    source: Path, db: str, options: ImportOptions, on_measured: Callable[[int, int], None]
) -> Callable[["Database", str], Added]:
    """Read a source and measure its recordings; return a function that adds them to a project."""
    from cmi.arena.audio.sounds import sounds_folder
    from cmi.arena.exchange.importing import import_pairs, measure_source
    from cmi.arena.exchange.trial_import import import_trials, measure_trials

    kind = options.kind
    if options.gold and kind != "pairs":
        raise InputError(f"--gold {options.gold:g}: gold pairs are for projects of pairs, not of the kind {kind}")
    if (options.mid_anchor or options.folder) and kind != "mushra":
        raise InputError(f"--mid-anchor and --folder are for projects of the kind mushra, not {kind}")
    if kind == "pairs":
        pairs = measure_source(source, options.workers, on_measured)

        def add_pairs(database: "Database", project: str) -> Added:
            done = import_pairs(database, project, pairs, options.gold)
            return done._asdict(), f"{done.added} pairs added ({done.gold} gold), {done.there} were there already"

        return add_pairs
    folder = options.folder or sounds_folder(db)
    trials = measure_trials(source, kind, folder, options.mid_anchor, options.workers, on_measured)

    def add_trials(database: "Database", project: str) -> Added:
        done = import_trials(database, project, trials)
        return done._asdict(), f"{done.added} {kind} pages added, {done.there} were there already"

    return add_trials


def export_rated(
    database: "Database",
    project: str,
    folder: Path,
    format_: "Format",
    audio: "Audio",
    shares: Mapping[str, float] | None,
    everybody: bool,
    hidden: bool,
) -> tuple[dict[str, Any], list[str]]:
    """Write the ratings of a project; return a summary for --json and as sentences."""
    from cmi.arena.exchange.rating_export import export_ratings

    done = export_ratings(database, project, folder, format_, audio, shares, everybody, hidden)
    sentences = [
        f"{done.path}: {done.preferences} preferences of {done.ratings} ratings, {done.sounds} sounds; "
        f"answers.{format_} has the ratings themselves"
    ]
    if done.failed:
        sentences.append(f"listeners left out, because they fail the post-screening: {done.failed} (see --everybody)")
    if done.hidden:
        sentences.append(f"{done.hidden} ratings of hidden trials are left out; --hidden includes them")
    if done.leaking:
        sentences.append(f"{done.leaking} ratings are left out, because two splits would share a prompt or a recording")
    return done._asdict() | {"path": str(done.path)}, sentences

"""`cmi arena`: collect people's votes on pairs of takes, and export them as preferences."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from cmi._util.errors import InputError, require_extra
from cmi._util.files import make_folder
from cmi._util.printable import printable
from cmi.cli import arena_crowds
from cmi.cli import arena_ratings as rated
from cmi.cli.arena_db import ARENA, DB, URL, Db, ProjectName, ServedAt, choose_project, open_arena, print_sentences
from cmi.cli.options import AS_TABLE, AsJson, Port, Resamples, ShowOptions, Workers
from cmi.cli.output import note, print_result, show
from cmi.cli.progress import progress
from cmi.report.tables import Table

app = typer.Typer(no_args_is_help=True, help="Have people vote on pairs of takes, in a browser.")
app.command()(arena_crowds.recruit)
app.command()(arena_crowds.screen)
app.command()(arena_crowds.participants)


@app.command()
def serve(
    db: Db = DB,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but loopback requires --public-url.")
    ] = "127.0.0.1",
    port: Port = 8008,
    public_url: Annotated[str | None, typer.Option(help="Public https address of the server.")] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Folder for uploads; by default beside the database file.")
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve a demo project with generated music.")] = False,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the first link in a browser.")] = False,
    log_requests: Annotated[bool, typer.Option("--log-requests", help="Log requests to standard error.")] = False,
    processes: Annotated[
        int, typer.Option(min=1, max=64, help="Number of server processes; more than one requires PostgreSQL.")
    ] = 1,
) -> None:
    """Serve the annotation pages until Ctrl-C. It prints a link for each project's owner, which works once.

    Examples:

        cmi arena serve --demo

        cmi arena serve --db study.sqlite3

        cmi arena serve --db postgresql://arena@localhost/arena --host 0.0.0.0 --public-url https://arena.example.org
    """
    with require_extra(*ARENA):
        from cmi.arena.web import serve as server
    if demo and db == DB:
        db = _demo_file()
    server.serve(
        db,
        host=host,
        port=port,
        public_url=public_url,
        demo=demo,
        folder=folder,
        log=log_requests,
        open_browser=open_browser,
        processes=processes,
    )


@app.command("import")
def import_(
    source: Annotated[
        Path,
        typer.Argument(
            help="JSONL or CSV of pairs or takes, a studio set, or a folder with a subfolder for each prompt."
        ),
    ],
    db: Db = DB,
    project: ProjectName = None,
    kind: rated.ProjectKindOption = None,
    mid_anchor: rated.MidAnchor = False,
    folder: rated.AnchorFolder = None,
    gold: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Share of the pairs with a known winner that become gold pairs, which check annotators."
        ),
    ] = 0.0,
    require_reference: Annotated[
        bool | None,
        typer.Option(
            "--require-reference/--no-require-reference",
            help="Whether the project's annotators must hear a reference recording before they vote.",
            show_default=False,
        ),
    ] = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Add pairs or takes to a project, which is created if necessary. Running it again adds nothing twice.

    A source is added as a whole or, if anything in it is wrong, not at all. Recordings are not copied.

    Examples:

        cmi arena import pairs.jsonl --project "Spring study"

        cmi studio make pairs/ --pairs 100, then  cmi arena import pairs/ --gold 0.1

        cmi arena import takes/ --db postgresql://arena@localhost/arena

        cmi arena import takes.csv --kind mushra --project "Codec study"
    """
    with require_extra(*ARENA):
        from cmi.arena.store import projects

    existing = rated.find_kind(db, project)
    if kind and existing and kind != existing:
        raise InputError(
            f"--kind {kind}: the project is of the kind {existing}, which never changes; name another --project"
        )
    kind = kind or existing or "pairs"
    options = rated.ImportOptions(kind, gold, mid_anchor, folder, workers)
    with progress() as bar:
        add = rated.read_source(source, db, options, bar.counter("recordings measured"))
    with open_arena(db, make=True) as database:
        ours = rated.find_existing(database, project)
        ours = ours or projects.create(database, project or source.resolve().stem, kind=kind)
        if require_reference is not None:
            projects.change(database, ours.id, settings={"require_reference": require_reference})
        record, sentence = add(database, ours.id)
    print_sentences({"project": ours.id, **record}, [f"{ours.title}: {sentence}"], as_json)


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="Folder to write; running the same command again updates it.")],
    db: Db = DB,
    project: ProjectName = None,
    format_: Annotated[
        Literal["jsonl", "csv", "parquet"], typer.Option("--format", help="File format of the rows.")
    ] = "jsonl",
    audio: Annotated[
        Literal["copy", "link", "leave"],
        typer.Option(help="Copy recordings beside the rows, link to them, or leave them in place."),
    ] = "copy",
    gold: Annotated[bool, typer.Option("--gold", help="Include gold pairs.")] = False,
    repeats: Annotated[bool, typer.Option("--repeats", help="Include hidden repeats.")] = False,
    hidden: Annotated[bool, typer.Option("--hidden", help="Include what the owner hid, with the reason.")] = False,
    split: Annotated[
        str | None,
        typer.Option(help="Shares of prompts, such as train=0.8,valid=0.1,test=0.1; by default as imported."),
    ] = None,
    everybody: rated.Everybody = False,
    as_json: AsJson = False,
) -> None:
    """Write votes as preferences for `cmi train` and `cmi rewardbench`: two rows per vote, one for each axis.

    Ratings (MOS, MUSHRA, ranking) are written both as the preferences that they imply and as they are.

    Annotators appear as opaque ids; votes of people who withdrew are left out. With --split, no text, lyrics or
    recording is in two splits.

    Examples:

        cmi arena export votes/, then  cmi rewardbench run --data votes/preferences.jsonl --model nano --out run/

        cmi arena export votes/ --split train=0.8,valid=0.1,test=0.1

        cmi arena export votes/ --format parquet --audio leave
    """
    from cmi.pairs.splits import parse_shares

    shares = None if split is None else parse_shares(split)
    with open_arena(db) as database:
        from cmi.arena.exchange.exporting import Selection
        from cmi.arena.exchange.exporting import export as write

        ours = choose_project(database, project)
        if ours.kind != "pairs":
            selected = shares, everybody, hidden
            print_sentences(*rated.export_rated(database, ours.id, folder, format_, audio, *selected), as_json)
            return
        selection = Selection(gold, repeats, hidden, shares)
        done = write(database, ours.id, folder, format_, audio, selection)
    record = done._asdict() | {"path": str(done.path)}
    sentences = [f"{done.path}: {2 * done.votes} rows of {done.votes} votes, {done.sounds} sounds"]
    if done.hidden:
        sentences.append(f"{done.hidden} votes on hidden pairs are left out; --hidden includes them")
    if done.leaking:
        sentences.append(f"{done.leaking} votes are left out, because two splits would share a prompt or a recording")
    print_sentences(record, sentences, as_json)


@app.command()
def matrix(
    votes: Annotated[Path, typer.Argument(help="A folder of `cmi arena export`, or a file of preferences.")],
    study: Annotated[Path | None, typer.Option(help="The folder that `cmi pick --arena` wrote.")] = None,
    resamples: Resamples = 2000,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Show how often each system wins against each other system, with intervals over prompts.

    With --study the systems are the best of N takes and the ground truth, as in figure 3 of CMI-RewardBench.

    Examples:

        cmi arena matrix votes/

        cmi arena export votes/, then  cmi arena matrix votes/ --study study/
    """
    with require_extra(*ARENA):
        from cmi.arena.statistics.matrix import matrix_tables, win_matrix
    from cmi.preferences import read_preferences
    from cmi.reward.pick.study import read_study

    asked = None if study is None else read_study(study)
    found = win_matrix(read_preferences(votes), asked, resamples)
    if not found:
        raise InputError(f"{votes}: no vote compares two systems, expected votes on pairs with generator_a and _b")
    about = {"votes": str(votes), "study": None if study is None else str(study), "resamples": resamples}
    show(matrix_tables(found, asked), [one._asdict() for one in found], "comparisons", about, how)


@app.command()
def invite(
    db: Db = DB,
    project: ProjectName = None,
    role: Annotated[
        Literal["annotator", "observer", "owner"], typer.Option(help="Role of the invited people.")
    ] = "annotator",
    count: Annotated[int, typer.Option(min=1, max=1000, help="Number of links; each admits one person.")] = 1,
    days: Annotated[float, typer.Option(help="Days until the links expire.")] = 14.0,
    quota: Annotated[int | None, typer.Option(min=1, help="Votes per person; by default the project's quota.")] = None,
    url: ServedAt = None,
    as_json: AsJson = False,
) -> None:
    """Make invitation links, each for one person. They are shown only once, because only their hashes are stored.

    Examples:

        cmi arena invite --count 20 --quota 50 --url https://arena.example.org

        cmi arena invite --role owner
    """
    with open_arena(db) as database:
        from cmi.arena.store import people, projects

        made = people.invite(database, choose_project(database, project).id, role, days, quota, count)
        address = url or projects.last_address(database) or URL
    links = [one.link(address) for one in made]
    records = [{"id": one.id, "link": link, "expires": one.expires} for one, link in zip(made, links, strict=True)]
    print_sentences(records, links, as_json)


@app.command()
def stats(
    db: Db = DB,
    project: ProjectName = None,
    minimum_votes: Annotated[
        int, typer.Option(min=1, help="Fewest votes of a system or annotator to be ranked or screened.")
    ] = 20,
    margin: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            max=0.4,
            help="Target precision of a win rate, 0.05 for ±5 points; by default the project's.",
            show_default=False,
        ),
    ] = None,
    hidden: Annotated[bool, typer.Option("--hidden", help="Include what the owner hid.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the state of a study: progress, time, agreement, confidence, annotators, ranking, and votes still needed.

    Examples:

        cmi arena stats --db study.sqlite3

        cmi arena stats --db study.sqlite3 --margin 0.1
    """
    with open_arena(db) as database:
        with require_extra(*ARENA):
            from cmi.arena.audio import sounds
            from cmi.arena.statistics import report_project, tables

        ours = choose_project(database, project)
        if ours.kind != "pairs" and margin is not None:
            raise InputError(f"--margin is for projects of pairs, not of the kind {ours.kind}")
        found = report_project(database, ours.id, minimum_votes, margin, hidden)
        lost = len(sounds.troubles(database, ours.id))
    print_result(tables(found), found, as_json)
    if lost:
        note(f"{lost} recordings are missing or have changed; `cmi arena check` lists them")


@app.command()
def check(db: Db = DB, project: ProjectName = None, as_json: AsJson = False) -> None:
    """List recordings that are missing or have changed since they were imported. Exit code 1 if there are any.

    Pairs with such recordings are not shown to annotators. Restore the files and check again to show them again.

    Example:  cmi arena check --db study.sqlite3
    """
    with open_arena(db) as database:
        from cmi.arena.audio import sounds
        from cmi.arena.store import projects

        chosen = [choose_project(database, project)] if project else projects.list_all(database)
        checked, found = 0, []
        with progress() as bar:
            step = bar.stepper("sounds checked")
            for one in chosen:
                for _ in sounds.check(database, one.id, thoroughly=True):
                    checked += 1
                    step()
                found += sounds.troubles(database, one.id)
    sentences = [
        f"{lost.problem}: {lost.path}" + (f" (pairs {', '.join(lost.pairs)})" if lost.pairs else "") for lost in found
    ]
    sentences.append(f"{checked - len(found)} of {checked} sounds are as they were imported")
    problems = [lost._asdict() | {"path": str(lost.path)} for lost in found]
    print_sentences({"checked": checked, "problems": problems}, sentences, as_json)
    if found:
        raise typer.Exit(1)


@app.command()
def backup(file: Annotated[Path, typer.Argument(help="File to create.")], db: Db = DB) -> None:
    """Back up the database, even while people vote. The copy is consistent and verified; it contains no recordings.

    Example:  cmi arena backup study-2026-03-01.sqlite3 --db study.sqlite3
    """
    with open_arena(db) as database:
        from cmi.arena.store.backup import backup as copy

        print(printable(str(copy(database, file))))


@app.command()
def restore(file: Annotated[Path, typer.Argument(help="Backup file to restore.")], db: Db = DB) -> None:
    """Replace the database by a backup; the old one is kept under another name. Stop the server first.

    The backup is verified first. If it is interrupted, the database is either the old one or the new one.

    Example:  cmi arena restore study-2026-03-01.sqlite3 --db study.sqlite3
    """
    with require_extra(*ARENA):
        from cmi.arena.store.backup import restore as put_back

    done = put_back(file, db)
    print(f"{done.path}: restored, with {done.projects} projects and {done.votes} votes")
    if done.withdrawn:
        print(f"{done.withdrawn} people have withdrawn since the backup was made: their votes are deleted from it too")
    if done.replaced is not None:
        print(f"{done.replaced}: the previous database")


@app.command()
def projects(db: Db = DB, as_json: AsJson = False) -> None:
    """List the projects of a database, with their pairs or trials, annotators and votes.

    Example:  cmi arena projects --db study.sqlite3
    """
    with open_arena(db) as database:
        from cmi.arena.store import pairs, people
        from cmi.arena.store import projects as all_projects
        from cmi.arena.store.trials import count_trials

        records = []
        for one in all_projects.list_all(database):
            annotators = [who for who in people.list_people(database, one.id) if who.role == "annotator"]
            counts = {"pairs": pairs.count(database, one.id), "trials": count_trials(database, one.id)}
            counts["annotators"] = len(annotators)
            votes = {"votes": sum(who.votes for who in annotators)}
            about = {"id": one.id, "title": one.title, "kind": one.kind, "state": one.state}
            records.append({**about, **counts, **votes})
    headers = ["id", "title", "kind", "state", "pairs", "trials", "annotators", "votes"]
    rows = [[str(record[header]) for header in headers] for record in records]
    print_result([Table(f"{len(rows)} projects", headers, rows, labels=4)], records, as_json)


def _demo_file() -> str:
    from cmi._util.cache import cache_folder

    folder = cache_folder() / "arena-demo"
    make_folder(folder)
    return str(folder / DB)

"""`cmi arena`: people vote on pairs of takes, and their votes come out as preferences."""

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
    host: Annotated[str, typer.Option(help="To listen on; others than loopback need --public-url.")] = "127.0.0.1",
    port: Port = 8008,
    public_url: Annotated[str | None, typer.Option(help="The https address by which others reach it.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where uploads are kept; by default beside the file.")] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Try it: a project of music made here, for you to vote on.")
    ] = False,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the first link in a browser.")] = False,
    log_requests: Annotated[bool, typer.Option("--log-requests", help="To standard error.")] = False,
    processes: Annotated[int, typer.Option(min=1, max=64, help="Of the server; more than one need PostgreSQL.")] = 1,
) -> None:
    """Serve the annotation pages, until Ctrl-C. It prints a link for each project's owner, which works once.

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
        typer.Argument(help="JSONL or CSV of pairs or takes, a studio set, or a folder of a subfolder per prompt."),
    ],
    db: Db = DB,
    project: ProjectName = None,
    kind: rated.ProjectKindOption = None,
    mid_anchor: rated.MidAnchor = False,
    folder: rated.AnchorFolder = None,
    gold: Annotated[
        float, typer.Option(min=0, max=1, help="Of pairs whose winner is known, the share that checks annotators.")
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
    """Add pairs or takes to a project, which is made if there is none of that title. Again, it adds nothing.

    All of a source is added, or nothing: what is wrong is named with its line and file. Files stay where they are.

    Examples:

        cmi arena import pairs.jsonl --project "Spring study"

        cmi studio make pairs/ --pairs 100, then  cmi arena import pairs/ --gold 0.1

        cmi arena import takes/ --db postgresql://arena@localhost/arena

        cmi arena import takes.csv --kind mushra --project "Codec study"
    """
    with require_extra(*ARENA):
        from cmi.arena.store import projects

    there = rated.find_kind(db, project)
    if kind and there and kind != there:
        raise InputError(
            f"--kind {kind}: the project is of the kind {there}, which never changes; name another --project"
        )
    kind = kind or there or "pairs"
    options = rated.ImportOptions(kind, gold, mid_anchor, folder, workers)
    with progress() as bar:
        add = rated.hear(source, db, options, bar.counter("sounds heard"))
    with open_arena(db, make=True) as database:
        ours = rated.find_there(database, project)
        ours = ours or projects.create(database, project or source.resolve().stem, kind=kind)
        if require_reference is not None:
            projects.change(database, ours.id, settings={"require_reference": require_reference})
        record, sentence = add(database, ours.id)
    print_sentences({"project": ours.id, **record}, [f"{ours.title}: {sentence}"], as_json)


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="Where to write; the same command again brings it up to date.")],
    db: Db = DB,
    project: ProjectName = None,
    format_: Annotated[Literal["jsonl", "csv", "parquet"], typer.Option("--format", help="Of the rows.")] = "jsonl",
    audio: Annotated[
        Literal["copy", "link", "leave"], typer.Option(help="Copy sounds beside the rows, link them, or leave them.")
    ] = "copy",
    gold: Annotated[bool, typer.Option("--gold", help="Gold pairs too.")] = False,
    repeats: Annotated[bool, typer.Option("--repeats", help="Hidden repeats too.")] = False,
    hidden: Annotated[bool, typer.Option("--hidden", help="What the owner hid too, with the reason.")] = False,
    split: Annotated[
        str | None,
        typer.Option(help="Shares of prompts, such as train=0.8,valid=0.1,test=0.1; by default as imported."),
    ] = None,
    everybody: rated.Everybody = False,
    as_json: AsJson = False,
) -> None:
    """Write votes as preferences, for `cmi train` and `cmi rewardbench`: two rows a vote, one for each axis.

    Ratings (MOS, MUSHRA, ranking) are written as the votes on pairs that they amount to, and beside them as they are.

    Annotators are opaque ids, and votes of people who withdrew are not in it. With --split, no text, lyrics or
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
    """Show how often each system wins against each other one, with intervals over prompts.

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
    role: Annotated[Literal["annotator", "observer", "owner"], typer.Option(help="What they may do.")] = "annotator",
    count: Annotated[int, typer.Option(min=1, max=1000, help="Links; each lets one person in.")] = 1,
    days: Annotated[float, typer.Option(help="That the links can be used.")] = 14.0,
    quota: Annotated[int | None, typer.Option(min=1, help="Votes of each; by default the project's.")] = None,
    url: ServedAt = None,
    as_json: AsJson = False,
) -> None:
    """Make links that let one person in each. They are shown this once: only their hashes are kept.

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
    minimum_votes: Annotated[int, typer.Option(min=1, help="Of a system or a person, to be ranked or screened.")] = 20,
    margin: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            max=0.4,
            help="Precision wanted of a win rate, 0.05 for ±5 points; by default the project's.",
            show_default=False,
        ),
    ] = None,
    hidden: Annotated[bool, typer.Option("--hidden", help="Count what the owner hid, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say how a study stands: progress, time, agreement, confidence, annotators, ranking, and votes still needed.

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
        note(f"{lost} sounds are missing or were changed: cmi arena check says which")


@app.command()
def check(db: Db = DB, project: ProjectName = None, as_json: AsJson = False) -> None:
    """Compare all sounds with what was imported: which files are missing, which were changed. Exit code 1 if any.

    Nobody is given their pairs. Put the files back as they were and check again: their pairs are then given out again.

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
def backup(file: Annotated[Path, typer.Argument(help="A new file.")], db: Db = DB) -> None:
    """Copy the database while votes come in: whole, of one moment, and checked. Sounds are not in it.

    Example:  cmi arena backup study-2026-03-01.sqlite3 --db study.sqlite3
    """
    with open_arena(db) as database:
        from cmi.arena.store.backup import backup as copy

        print(printable(str(copy(database, file))))


@app.command()
def restore(file: Annotated[Path, typer.Argument(help="A backup.")], db: Db = DB) -> None:
    """Put a backup in the place of the database, which is kept beside it under another name. Stop the server first.

    Nothing changes unless the backup is whole. Stopped halfway, the database is the old one or the new one.

    Example:  cmi arena restore study-2026-03-01.sqlite3 --db study.sqlite3
    """
    with require_extra(*ARENA):
        from cmi.arena.store.backup import restore as put_back

    done = put_back(file, db)
    print(f"{done.path}: restored, with {done.projects} projects and {done.votes} votes")
    if done.withdrawn:
        print(f"{done.withdrawn} people have withdrawn since the backup was made: their votes are deleted from it too")
    if done.replaced is not None:
        print(f"{done.replaced}: what was there before")


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

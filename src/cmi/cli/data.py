"""`cmi data`: get data sets, check them, count what is in them, and publish yours."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from cmi._util.errors import InputError
from cmi.cli import data_publish
from cmi.cli.options import AS_TABLE, ShowOptions
from cmi.cli.output import show
from cmi.cli.progress import progress
from cmi.report.tables import missing_table, print_tables

app = typer.Typer(no_args_is_help=True, help="Get data sets, check them, count what is in them, and publish yours.")
app.command()(data_publish.stats)
app.command()(data_publish.publish)
app.command()(data_publish.to_datasets)
app.command()(data_publish.from_datasets)

Folder = Annotated[
    Path | None,
    typer.Option("--folder", help="Where data sets are kept; by default $CMI_DATA or the cache."),
]


@app.command("list")
def list_(folder: Folder = None, how: ShowOptions = AS_TABLE) -> None:
    """List the data sets: size, licence, source, and whether they are on disk.

    Example:  cmi data list
    """
    from cmi.rewardbench.data import data_folder
    from cmi.rewardbench.data.data_report import list_records, list_table

    root = folder or data_folder()
    records = list_records(root)
    show([list_table(records, root)], records, "datasets", {"folder": str(root)}, how)


@app.command()
def get(
    names: Annotated[list[str], typer.Argument(help="Names of data sets, from `cmi data list`.")],
    folder: Folder = None,
    mirrors: Annotated[
        Path | None,
        typer.Option("--from", help="For cmi-real: folder with mirrors of its repositories."),
    ] = None,
) -> None:
    """Download data sets; the same command resumes. Sizes and licences are shown first.

    A data set appears under its name when it is complete. Its checksums are recorded for `cmi data check`. Parts of
    cmi-real that could not be fetched are listed and left out.

    Examples:

        cmi data get pam musiceval

        cmi data get cmi-real --from mirrors/
    """
    from cmi._util.repositories import Missing
    from cmi.rewardbench.data import count, counts_table, data_folder, download, named
    from cmi.rewardbench.data.data_report import plan_table

    root = folder or data_folder()
    if mirrors is not None and (others := [name for name in names if not named(name).recipe]):
        raise InputError(f"--from is for data sets by recipe (cmi-real), and {others[0]} is not one")
    wanted = [dataset for name in names if not download.is_there(dataset := named(name), root)]
    plans = [(dataset, download.plan(dataset, root)) for dataset in wanted]
    if plans:
        print_tables([plan_table(plans, root)], Console(stderr=True))
    for dataset, planned in plans:
        missing: list[Missing] = []
        with progress() as bar:
            count_bytes = bar.counter(f"bytes of {dataset.name}", planned.size)
            if dataset.recipe:
                missing = download.get_by_recipe(dataset, root, mirrors, count_bytes)
            else:
                download.get(dataset, root, planned, count_bytes)
        if missing:
            print_tables([missing_table(dataset.name, missing)], Console(stderr=True))
    for name in dict.fromkeys(names):
        print_tables([counts_table(named(name), count(named(name).survey(root / name)))])


@app.command()
def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Data sets (NAME or NAME=FOLDER) or files of yours; by default all data sets on disk."),
    ] = None,
    folder: Folder = None,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Check data sets: every file against its recorded checksum, and every row, with counts beside the paper's.

    Checksums are recorded the first time. Exit code 2 if a file is missing or changed, or a row cannot be read.

    Examples:

        cmi data check pam

        cmi data check cmi-pref=/data/cmi-pref mine.jsonl
    """
    from cmi.rewardbench.data import data_folder, data_sets, find
    from cmi.rewardbench.data.data_report import check_data, check_record, check_table

    root = folder or data_folder()
    given = names or [name for name in data_sets() if (root / name).exists()]
    if not given:
        raise InputError(f"{root}: no data set is there; cmi data list names them")
    found = [check_data(find(each, root)) for each in given]
    records = [check_record(each) for each in found]
    show([check_table(each) for each in found], records, "datasets", {}, how)
    problems = [problem for each in found for problem in each.problems]
    if problems:
        raise InputError("; ".join(problems))


@app.command()
def export(
    name: Annotated[str, typer.Argument(help="A data set: NAME, NAME=FOLDER, or a file or folder of yours.")],
    out: Annotated[Path, typer.Argument(help="The folder to write.")],
    copies: Annotated[bool, typer.Option("--copy", help="Copy recordings; by default they are linked.")] = False,
    folder: Folder = None,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Convert a data set to preferences and ratings with splits train, valid and test; the same command resumes.

    Published splits are kept. If there is no valid split, a tenth of train is used, chosen by prompt; if there are no
    splits, all three are drawn by prompt.

    Examples:

        cmi data export cmi-pref sets/cmi-pref

        cmi data export votes/ sets/votes --copy
    """
    from cmi.publish.export import export_record, export_set, export_table
    from cmi.rewardbench.data import find

    found = find(name, folder)
    with progress() as bar:
        done = export_set(found, out, copies, bar.stepper(f"rows of {found.dataset.name}"))
    show([export_table(found, out, done)], [export_record(found, out, done)], "datasets", {}, how)

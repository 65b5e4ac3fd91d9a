"""`cmi bench data`: turn the files of a data set into questions with answers."""

from pathlib import Path
from typing import Annotated

import typer

from cmi.cli.options import AS_TABLE, ShowOptions
from cmi.cli.output import show

app = typer.Typer(no_args_is_help=True, help="Turn data sets into instruction files.", rich_markup_mode="markdown")


@app.command("list")
def list_(how: ShowOptions = AS_TABLE) -> None:
    """List the data sets: what each fills, its licence, where to get it, and what its records were checked against.

    Example:  cmi bench data list
    """
    from cmi.bench.make import list_records, list_tables

    show(list_tables(), list_records(), "datasets", {}, how)


@app.command()
def make(
    name: Annotated[str, typer.Argument(help="A data set, as `cmi bench data list` names it.")],
    folder: Annotated[Path, typer.Argument(help="Where its files are.")],
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    audio: Annotated[Path | None, typer.Option(help="Where its recordings are, if not in the folder.")] = None,
    variant: Annotated[str, typer.Option(help="Wording of the questions: plain, few-shot, brief, listed.")] = "plain",
    prompts: Annotated[Path | None, typer.Option(help="Folder of your own wordings, in our files' layout.")] = None,
    split: Annotated[str, typer.Option(help="test, dev (or validation), train, or all.")] = "test",
    keep_missing: Annotated[bool, typer.Option(help="Ask about missing recordings, too.")] = False,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Write a data set's questions, with the paper's splits and clips, for `cmi bench` to ask and score.

    Missing recordings are listed and make no question. `released` reads the authors' annotation files.

    Examples:

        cmi bench data make gtzan ~/data/GTZAN --out bench-data

        cmi bench data make released annotations/ --audio testdata/ --out bench-data
    """
    from cmi.bench.catalog import find_corpus
    from cmi.bench.make import MakeOptions, made_records, made_table
    from cmi.bench.make import make as make_data

    corpus = find_corpus(name)
    made = make_data(corpus, folder, audio, out, MakeOptions(variant, prompts, split, keep_missing))
    provenance = {"source": corpus.name, "variant": variant, "split": split}
    show([made_table(corpus, made)], made_records(made), "made", provenance, how)

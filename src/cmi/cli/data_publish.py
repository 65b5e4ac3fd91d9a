"""`cmi data stats`, `publish`, `to-datasets` and `from-datasets`: describe data, publish it, and convert it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import InputError
from cmi._util.files import write_whole
from cmi.cli.options import AS_TABLE, ShowOptions
from cmi.cli.output import note, show
from cmi.cli.progress import progress
from cmi.report import numbers

DataFolder = Annotated[
    Path | None,
    typer.Option("--folder", help="Where data sets are kept; by default $CMI_DATA or the cache."),
]


def stats(
    names: Annotated[
        list[str],
        typer.Argument(
            help="Files or folders of preferences, pairs, ratings, takes or prompts; data sets as NAME or NAME=FOLDER."
        ),
    ],
    folder: DataFolder = None,
    with_audio: Annotated[
        bool, typer.Option("--audio/--no-audio", help="Read lengths from the headers of recordings, or skip them.")
    ] = True,
    html: Annotated[Path | None, typer.Option(help="Also write an HTML page with plots to this file.")] = None,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Summarise data: hours, prompts, systems, modalities, lengths, languages, choices, confidence, agreement.

    If there are several splits, texts, lyrics and recordings that two splits share are listed. Lengths are cached, so
    that the second run is fast.

    Examples:

        cmi data stats set/ votes.jsonl

        cmi data stats cmi-pref=/data/cmi-pref --no-audio --html stats.html
    """
    from cmi.publish.page import stats_page
    from cmi.publish.sources import find_source
    from cmi.publish.statistics import describe
    from cmi.publish.tables import all_tables

    sources = [find_source(name, folder) for name in names]
    records = []
    for source in sources:
        with progress() as bar:
            records.append(describe(source, with_audio, bar.stepper(f"recordings of {source.name}")))
    if html is not None:
        write_whole(html, stats_page(records))
    show(all_tables(records), records, "datasets", {}, how)


@dataclass(frozen=True)
class CardOptions:
    """What only the publisher can say, for the data card."""

    PANEL = "Data card"

    contact: Annotated[str, typer.Option(help="Address where people can ask for removal of their data. Required.")] = ""
    title: Annotated[str, typer.Option(help="Title of the data card; by default the folder's name.")] = ""
    licence: Annotated[str, typer.Option(help="Licence of prompts and labels, such as 'CC BY 4.0'.")] = ""
    description: Annotated[str, typer.Option(help="What the data contain and what they are for.")] = ""
    sources: Annotated[str, typer.Option(help="Where prompts and references come from.")] = ""
    consent: Annotated[str, typer.Option(help="What annotators agreed to.")] = ""
    fault: Annotated[list[str] | None, typer.Option(help="A known problem of the data; repeatable.")] = None


NO_CARD = CardOptions()


def publish(
    source: Annotated[
        str, typer.Argument(metavar="SET", help="A file or folder of preferences, pairs, ratings or takes.")
    ],
    out: Annotated[Path, typer.Argument(help="The folder to write.")],
    terms: Annotated[
        list[str] | None,
        typer.Option(
            help="Licence of a system's recordings, as SYSTEM=TERMS; 'reference' for references, '*' for all others."
        ),
    ] = None,
    takes: Annotated[
        list[Path] | None,
        typer.Option(help="Output folder of `cmi generate` to take the recordings' provenance from; repeatable."),
    ] = None,
    allow_unlicensed: Annotated[
        bool, typer.Option("--allow-unlicensed", help="Publish recordings without a stated licence.")
    ] = False,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Also publish this column: feedback, voted or one that begins with x_; repeatable."),
    ] = None,
    raters: Annotated[
        Path | None,
        typer.Option(help="File that maps raters to pseudonyms; by default OUT.raters.json. Keep it private."),
    ] = None,
    keep_rater: Annotated[
        list[str] | None, typer.Option(help="A rater that is a model and keeps its name; repeatable.")
    ] = None,
    push: Annotated[str, typer.Option(help="Upload it to this data set on the hub, OWNER/NAME.")] = "",
    public: Annotated[
        bool, typer.Option("--public", help="Upload to a public repository; by default private.")
    ] = False,
    card: CardOptions = NO_CARD,
) -> None:
    """Write a folder ready to publish: Parquet files with the recordings, checksums and a data card.

    Raters' names become pseudonyms. Recordings without a stated licence are refused. The folder appears when it is
    complete; if the command is stopped, the same command resumes.

    Example:  cmi data publish set/ published/ --terms '*=CC BY 4.0' --contact data@example.org
    """
    from cmi.publish import publish as publishing
    from cmi.publish.card import CardText
    from cmi.publish.provenance import manifest_of, parse_terms
    from cmi.publish.push import push as push_folder
    from cmi.publish.sources import find_source

    if not card.contact:
        raise InputError("--contact is required: an address where people can ask for the removal of their data")
    if public and not push:
        raise InputError("--public is for --push OWNER/NAME, which is missing")
    if publishing.is_complete(out):
        note(f"{out} is complete, and stays as it is; to publish again, remove it or choose another folder")
    else:
        text = CardText(
            card.title or out.resolve().name,
            card.contact,
            card.licence,
            card.description,
            card.sources,
            card.consent,
            tuple(card.fault or ()),
        )
        plan = publishing.PublishPlan(
            find_source(source),
            out,
            text,
            parse_terms(terms or ()),
            tuple(manifest_of(each) for each in takes or ()),
            allow_unlicensed,
            tuple(column or ()),
            raters,
            tuple(keep_rater or ()),
        )
        with progress() as bar:
            done = publishing.publish(plan, bar.report)
        if done.dropped:
            note(f"left out: {', '.join(done.dropped)}; publish them with --column NAME")
        size = numbers.file_size(done.size)
        print(f"{done.folder}: {done.rows:,} rows, {done.recordings:,} recordings, {size}")
    if push:
        print(push_folder(out, push, public))


def to_datasets(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SET", help="A file or folder of preferences, pairs, ratings or takes, or a published set."
        ),
    ],
    out: Annotated[Path, typer.Argument(help="The folder to write.")],
) -> None:
    """Convert a set for Hugging Face `datasets`: Parquet files whose rows contain their recordings.

    All columns are written, including raters' names. To share it, convert the output folder of `cmi data publish`.

    Example:

        cmi data to-datasets published/ hub/
    """
    from cmi.plugs.datasets_io import write_dataset
    from cmi.publish.sources import find_source

    with progress() as bar:
        done = write_dataset(find_source(source), out, bar.stepper("rows"))
    print(f"{done.path}: {done.rows:,} rows, {done.recordings:,} recordings")


def from_datasets(
    source: Annotated[str, typer.Argument(metavar="NAME", help="A data set on the hub, OWNER/NAME, or a folder.")],
    out: Annotated[Path, typer.Argument(help="The folder to write.")],
    rename: Annotated[list[str] | None, typer.Option(help="Rename a column, as THEIRS=OURS; repeatable.")] = None,
    config: Annotated[str, typer.Option(help="A configuration of the data set.")] = "",
    split: Annotated[str, typer.Option(help="Only this split.")] = "",
    revision: Annotated[str | None, typer.Option(help="Revision of a hub id.")] = None,
) -> None:
    """Convert a Hugging Face data set to a folder of recordings and a file of pairs, ratings or takes.

    Unknown columns are kept as x_NAME.

    Example:

        cmi data from-datasets OWNER/NAME votes/ --rename audio_1=a --rename audio_2=b --rename prompt=text
    """
    from cmi.plugs.datasets_io import read_dataset

    renamed = dict(_renamed(one) for one in rename or ())
    with progress() as bar:
        done = read_dataset(source, out, config, split, revision, renamed, bar.stepper("rows"))
    print(f"{done.path}: {done.rows:,} rows, {done.recordings:,} recordings")


def _renamed(given: str) -> tuple[str, str]:
    theirs, _, ours = given.partition("=")
    if not theirs or not ours:
        raise InputError(f"--rename {given!r}: expected THEIRS=OURS, such as audio_1=a")
    return theirs, ours

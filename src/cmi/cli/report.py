"""`cmi report`: one page for a generator, or for several."""

from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import InputError, require_extra
from cmi._util.files import make_folder, write_whole
from cmi.cli.options import SCORERS, AsJson, Device, Log
from cmi.cli.output import note, print_result
from cmi.cli.progress import loading, progress
from cmi.report.tables import to_json


def report(
    takes: Annotated[Path, typer.Argument(help="A subfolder for each prompt (prompt.txt and its takes), or a JSONL.")],
    against: Annotated[list[Path] | None, typer.Option(help="Another generator's takes; repeatable.")] = None,
    out: Annotated[Path, typer.Option(help="The page; the same in JSON is written beside it.")] = Path("report.html"),
    model: Annotated[str, typer.Option(help=f"{SCORERS}.")] = "nano",
    embed_audio: Annotated[
        bool, typer.Option("--embed-audio", help="Put the recordings into the page; else it links to the files.")
    ] = False,
    device: Device = "auto",
    log: Log = None,
    as_json: AsJson = False,
) -> None:
    """Write a page about a generator: scores with intervals, what is wrong and when, copies, and takes to listen to.

    A take that cannot be heard is listed with the reason and left out.

    Examples:

        cmi report takes/

        cmi report takes/ --against other-takes/ --out comparison.html --log scores.jsonl --embed-audio
    """
    with require_extra("a report", "reward"), loading("torch"):
        from cmi.generator_report.collect import collect, count_scores, list_takes, read_generators
        from cmi.generator_report.page import embed, link_from, page_of, record_of, require_page, tables_of
        from cmi.reward.scoring.scorers import load_scorer

    require_page(out)
    sources = read_generators([takes, *(against or [])])
    count = sum(len(list_takes(source)) for source in sources)
    make_folder(out.parent)
    if not out.parent.is_dir():
        raise InputError(f"{out.parent}: not a folder")
    with loading(model):
        scorer = load_scorer(model, device=device)
    with progress() as bar:
        on_scored = bar.stepper("scores", count_scores(sources))
        found = collect(sources, scorer, [log] if log else [], on_scored, bar.stepper("takes inspected", count))
    write_whole(out, page_of(found, embed if embed_audio else link_from(out.parent)))
    write_whole(out.with_suffix(".json"), to_json(record_of(found)))
    print_result(tables_of(found), record_of(found), as_json)
    note(f"the page is {out}")

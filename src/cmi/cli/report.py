"""`cmi report`: one page for a generator, or for several."""

import os
from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import require_extra
from cmi._util.files import write_whole
from cmi.cli.options import SCORERS, AsJson, Device, EmbedAudio, Log
from cmi.cli.output import print_result, write_page
from cmi.cli.progress import loading, progress
from cmi.report.pictures import require_page
from cmi.report.tables import to_json


def report(
    takes: Annotated[
        Path,
        typer.Argument(
            help="Folder with a subfolder for each prompt (prompt.txt and its takes) or with recordings (the prompt of "
            "take.wav is take.txt), or a JSONL manifest."
        ),
    ],
    against: Annotated[list[Path] | None, typer.Option(help="Another generator's takes; repeatable.")] = None,
    out: Annotated[
        Path, typer.Option(help="HTML page to write; a JSON file with the same contents is written beside it.")
    ] = Path("report.html"),
    model: Annotated[str, typer.Option(help=f"{SCORERS}.")] = "nano",
    reference: Annotated[
        Path | None, typer.Option(help="Reference music for distances between sets: a folder or a manifest.")
    ] = None,
    transcribe: Annotated[
        bool,
        typer.Option("--transcribe", help="Recognise the sung words if a prompt has lyrics; takes up to 4 s per take."),
    ] = False,
    embed_audio: EmbedAudio = False,
    device: Device = "auto",
    log: Log = None,
    as_json: AsJson = False,
) -> None:
    """Write an HTML report on a generator: scores, prompt adherence, detected flaws with times, and takes to listen to.

    Scores and measurements are saved beside the page, so that the same command resumes. A take that cannot be read is
    listed with the reason and left out.

    Examples:

        cmi report takes/

        cmi report takes/ --against other-takes/ --reference music/ --out comparison.html --embed-audio
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core inspects a take; numpy reads it when it is loaded
    with require_extra("a report", "reward"):
        from cmi._util.workers import process_pool
        from cmi.generator_report import inspect  # noqa: F401  # without torch: the pool starts before it is imported
    with process_pool() as pool, require_extra("a report", "reward"):
        with loading("torch"):
            from cmi.generator_report.collect import CollectProgress, collect, count_scores, read_generators
            from cmi.generator_report.distances import find_reference, measure_between
            from cmi.generator_report.lyrics import COMMAND
            from cmi.generator_report.page import page_of
            from cmi.generator_report.summary import summarise
            from cmi.generator_report.tables import record_of, tables_of
            from cmi.report.players import page_links
            from cmi.reward.scoring.scorers import load_scorer

        require_page(out)
        sources = read_generators([takes, *(against or [])])
        music = None if reference is None else (reference.name, find_reference(reference))
        rows = [row for source in sources for row in source.rows]
        sung = sum(bool(row.take.prompt.lyrics.strip()) for row in rows)
        with loading(model):
            scorer = load_scorer(model, device=device)
        with progress() as bar:
            steps = CollectProgress(
                bar.stepper("scores", count_scores(sources)),
                bar.stepper("takes inspected", len({row.path for row in rows})),
                bar.stepper("sections", len(rows)) if scorer.reward_model else lambda: None,
                bar.stepper("lyrics", sung) if transcribe and sung else lambda: None,
            )
            logs = (log or out.with_suffix(".scores.jsonl"), out.with_suffix(".inspected.jsonl"))
            measured = collect(sources, scorer, pool, *logs, transcribe and bool(sung), steps)
        with loading("distances between sets"):
            distances, notes = measure_between(sources, music, device)
    if any(take.odds is None for one in measured for take in one.takes):
        notes.append("musicnn's weights could not be loaded: what prompts name, voices and variety are not checked.")
    if sung and not transcribe:
        have = "take has" if sung == 1 else "takes have"
        notes.append(f"{sung} {have} lyrics; --transcribe compares them with the words that are heard ({COMMAND}).")
    found = summarise(scorer.name, measured, distances, notes)
    write_page(out, page_of(found, page_links(out, embed_audio)))
    write_whole(out.with_suffix(".json"), to_json(record_of(found)))
    print_result(tables_of(found), record_of(found), as_json)

"""`cmi pick`: best-of-N, and what it is worth."""

from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import InputError, require_extra
from cmi._util.files import make_folder
from cmi.cli.options import SCORERS, AsJson, CalibrationFile, EmbedAudio, Html, Log
from cmi.cli.output import note, note_if_nothing_asked, print_result, write_page
from cmi.cli.progress import loading, progress
from cmi.report.pictures import require_page, require_picture


def pick(
    folder: Annotated[
        Path | None,
        typer.Argument(help="A subfolder for each prompt, or one folder: prompt.json or prompt.txt, and its takes."),
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(help="JSONL of takes: audio, text, lyrics, reference, group, ground_truth."),
    ] = None,
    model: Annotated[str, typer.Option(help=f"{SCORERS}.")] = "nano",
    weights: Annotated[
        str, typer.Option(help="Weight of each score; by default equal, as in the paper.")
    ] = "musicality=0.5,alignment=0.5",
    copy_to: Annotated[
        Path | None,
        typer.Option(help="Copy the picked takes to this folder; nothing is overwritten."),
    ] = None,
    curve: Annotated[
        str | None,
        typer.Option(help="Measure the gain of picking from N takes, such as 1,3,10; needs --second or --arena."),
    ] = None,
    second: Annotated[
        list[str] | None, typer.Option(help="Second scorer that rates what --model picks; repeatable.")
    ] = None,
    arena: Annotated[
        Path | None,
        typer.Option(
            help="Write the picks of each N and the ground truths to this folder, as pairs for `cmi arena import`."
        ),
    ] = None,
    dpo: Annotated[
        Path | None,
        typer.Option(help="Write the best and the worst take of each prompt to this .jsonl, .csv or .parquet."),
    ] = None,
    dpo_margin: Annotated[
        float, typer.Option(help="Leave out prompts whose best and worst scores differ by less than this.")
    ] = 0.0,
    plot: Annotated[Path | None, typer.Option(help="Draw the curve to this .png or .svg file.")] = None,
    html: Html = None,
    embed_audio: EmbedAudio = False,
    calibration: CalibrationFile = None,
    log: Log = None,
    as_json: AsJson = False,
) -> None:
    """Pick the best take of each prompt by a reward model, and measure the gain of picking from N takes.

    Ties are broken by name. A take that cannot be scored is listed with the reason and left out; the exit code is 2
    only if nothing could be picked.

    Examples:

        cmi pick takes/ --copy-to best/ --html picks.html

        cmi pick --manifest takes.jsonl --model CMI-RM/ --weights musicality=0.7,alignment=0.3 --log scores.jsonl --json

        cmi pick takes/ --curve 1,3,10 --second audiobox-ce --second songeval --second clap-music --plot curve.png

        cmi pick takes/ --dpo pairs.jsonl --dpo-margin 1

        cmi pick takes/ --curve 1,3,10 --arena study/, then  cmi arena import study/
    """
    with require_extra("picking takes", "reward"), loading("torch"):
        from cmi.report.players import page_links
        from cmi.reward.pick import dpo as pick_dpo
        from cmi.reward.pick import report as pick_report
        from cmi.reward.pick.candidates import read_folder, read_manifest
        from cmi.reward.pick.curve import parse_sizes, pick_curve, ranked_prompts, require_candidates
        from cmi.reward.pick.page import pick_page
        from cmi.reward.pick.pick import copy_chosen, parse_weights, takes_of
        from cmi.reward.pick.pick import pick as pick_one
        from cmi.reward.pick.study import make_study, study_table
        from cmi.reward.scoring.calibration import apply_calibration, read_calibration
        from cmi.reward.scoring.score_log import score_takes
        from cmi.reward.scoring.scorers import load_scorer

    if (folder is None) == (manifest is None):
        raise InputError("expected a folder with a subfolder for each prompt, or a list of takes with --manifest")
    if (curve is None) != (not second and arena is None) or (plot is not None and not second):
        raise InputError("--curve needs --second or --arena, each of them needs --curve, and --plot needs --second")
    if model in (second or ()):
        raise InputError(f"--second {model}: the model that picks cannot judge its own picks; name another one")
    require_picture(plot)
    require_page(html)
    if embed_audio and html is None:
        raise InputError("--embed-audio needs --html, the page that recordings are put into")
    pick_dpo.require_margin(dpo_margin)
    if dpo is not None:
        pick_dpo.require_dpo_file(dpo, [manifest, log])
    elif dpo_margin:
        raise InputError("--dpo-margin needs --dpo")
    by, sizes = parse_weights(weights), parse_sizes(curve) if curve is not None else []
    groups = read_folder(folder) if folder is not None else read_manifest(manifest)  # type: ignore[arg-type]
    takes = takes_of(groups)
    if manifest is not None:
        note_if_nothing_asked(manifest, (take.prompt for take in takes))
    if sizes:
        require_candidates([len(group.candidates) for group in groups], sizes)
    if arena is not None:
        make_folder(arena)  # fail before hours of scoring if it cannot be written
    offsets = read_calibration(calibration) if calibration else None
    generators = {one.take: one.generator for group in groups for one in group.candidates}
    if offsets is not None and not any(generators.values()):
        raise InputError("--calibration needs the generator of each take: a column 'generator' of --manifest")
    with loading(model):
        scorer = load_scorer(model)
    if offsets is not None:
        offsets.require_model(scorer)
        if offsets.caution:
            note(offsets.caution)
    logs = [log] if log else []
    with progress() as bar:
        results = score_takes(takes, scorer, logs, bar.stepper("takes scored", len(takes)))
        if offsets is not None:
            results = apply_calibration(offsets, results, [generators[take] for take in takes])
        scores = dict(zip(takes, results, strict=True))
        picks = [pick_one(group, scores, by) for group in groups]
        ranked = [ranked.candidate.take for pick_ in picks for ranked in pick_.ranking]
        curves = []
        for name in second or () if ranked else ():
            judge = load_scorer(name)
            if judge.name == scorer.name:
                raise InputError(f"--second {name} is {scorer.name}, which picked; name another one")
            results = score_takes(ranked, judge, logs, bar.stepper(f"takes judged by {judge.name}", len(ranked)))
            second_scores = dict(zip(ranked, results, strict=True))
            prompts, notes = ranked_prompts(picks, second_scores, bar.stepper("takes measured", len(ranked)))
            found = pick_curve(prompts, sizes, by, judge.axes)
            curves.append(pick_report.JudgedCurve(judge.name, found, notes))
            del judge  # its memory is for the next one
        picked_by = offsets.name if offsets else scorer.name
        report = pick_report.PickReport(picked_by, by, picks, curves)
    if plot is not None and ranked:
        pick_report.draw(report, plot)
    study = make_study(picked_by, picks, sizes, arena) if arena is not None and ranked else None
    tables, record = pick_report.tables(report), pick_report.record(report)
    if study is not None and arena is not None:
        tables.append(study_table(study, arena))
        record["study"] = study._asdict()
    if dpo is not None and ranked:
        pairs = pick_dpo.dpo_pairs(picks, dpo_margin)
        pick_dpo.write_dpo_pairs(pairs.pairs, scorer.name, dpo)
        tables.append(pick_dpo.dpo_table(pairs, dpo_margin, dpo))
        record["dpo"] = pick_dpo.dpo_record(pairs, dpo_margin, dpo)
    if html is not None:
        with progress() as bar:
            on_drawn = bar.stepper("waveforms drawn", len(ranked))
            write_page(html, pick_page(report, tables, page_links(html, embed_audio), on_drawn))
    print_result(tables, record, as_json)
    if not ranked:
        raise InputError(f"nothing could be picked: none of {len(takes)} takes could be scored; the reasons are listed")
    if copy_to is not None:
        copy_chosen(picks, copy_to)

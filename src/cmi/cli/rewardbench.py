"""`cmi rewardbench`: test reward models against people's ratings and preferences."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cmi import __version__
from cmi._util.errors import InputError
from cmi._util.files import make_folder, write_whole
from cmi._util.hub import require_packages
from cmi._util.printable import printable
from cmi.cli.judge import JudgeChoice, ask_judge, ask_rater
from cmi.cli.options import (
    AS_TABLE,
    SCORERS,
    BothOrders,
    Device,
    Html,
    Log,
    LogTo,
    OnRay,
    Protocol,
    Resamples,
    ShowOptions,
)
from cmi.cli.output import note, note_if_nothing_asked, show, write_page
from cmi.cli.progress import progress
from cmi.report.metric_writers import check_places, open_writers
from cmi.report.pictures import require_page
from cmi.report.tables import print_tables, to_csv

app = typer.Typer(no_args_is_help=True, help="CMI-RewardBench: does a reward model agree with people?")

ProtocolOption = Annotated[
    Protocol,
    typer.Option(help="`paper`: the authors' rules. `strict`: ties are not decided, and calibration is reported."),
]
RunFolders = Annotated[
    list[Path] | None, typer.Argument(help="Folders of `cmi rewardbench run`, or results.jsonl of the authors' code.")
]
Plots = Annotated[Path | None, typer.Option(help="Draw plots to this folder.")]


@app.command()
def run(
    model: Annotated[list[str], typer.Option(help=f"{SCORERS}; repeatable.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; the same command resumes it.")],
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME, NAME=FOLDER, a file of preferences or ratings, or a studio set's folder; repeatable. "
            "By default what `cmi data get` fetched.",
        ),
    ] = None,
    split: Annotated[str, typer.Option(help="A split of the data, or all; by default the benchmark's.")] = "",
    window: Annotated[
        str, typer.Option(help="Part of each take that a cmi reward model scores: first10, mean10, first120 or full.")
    ] = "",
    without_prompt: Annotated[
        bool, typer.Option("--without-prompt", help="Score without the prompt, to test whether the model uses it.")
    ] = False,
    device: Device = "auto",
    ray: OnRay = 0,
    calibration: Annotated[
        list[Path] | None, typer.Option(help="Offsets from `cmi calibrate` for one of the models; repeatable.")
    ] = None,
    log: Log = None,
    log_to: LogTo = None,
) -> None:
    """Score the takes of a benchmark with one or more models, and show how well each agrees with people.

    Every score is saved at once. A take that cannot be scored is listed with the reason and the run continues; items
    without a score are counted in every table.

    Examples:

        cmi rewardbench run --model nano --data pam --data cmi-pref --out runs/nano

        cmi rewardbench run --model my_models:Mine --model clap-music --data mine.jsonl --out runs/mine

        cmi rewardbench run --model nano --data studio=set/ --without-prompt --out runs/nano

        cmi rewardbench run --model cmi-rm --ray 8 --out runs/cmi-rm
    """
    require_packages("CMI-RewardBench", "rewardbench", "soundfile", "soxr", "torch")
    from cmi.reward.engine.windows import find_window
    from cmi.reward.scoring.calibration import read_calibration
    from cmi.rewardbench.data.own import NAME as OWN
    from cmi.rewardbench.evaluation.cells import named_values
    from cmi.rewardbench.evaluation.tables import full_tables
    from cmi.rewardbench.runs import run as running
    from cmi.rewardbench.runs.sources import read_sources

    check_places(log_to or [])
    if window:
        find_window(window)
        running.require_windows(model)
    calibrations = [read_calibration(file) for file in calibration or ()]
    questions = running.prepare(data or running.data_at_hand(), out, split)
    for file in (spec for spec in data or () if Path(spec).is_file()):
        note_if_nothing_asked(file, (one.item.prompt for one in questions if one.item.dataset == OWN))
    with progress() as bar:

        def started(what: str, count: int) -> running.OnDone:
            return bar.stepper(f"takes {what}", count)

        outcomes = list(running.run(model, questions, out, window, not without_prompt, device, started, log, ray))
    print_tables([running.outcome_table(outcomes, out)])
    if all(len(one.failures) == one.takes for one in outcomes):
        raise InputError(f"none of {outcomes[0].takes} takes could be scored; the reasons are listed")
    for one in calibrations:
        for sentence in (one.caution, running.write_calibrated(out, one)):
            if sentence:
                note(sentence)
    for source in read_sources([out]):
        found = source.evaluate("strict")
        print_tables([*full_tables(found, "strict"), *source.ceilings, *source.look_tables])
        for name, values in named_values(found.cells).items() if log_to else ():
            with open_writers(log_to or [], f"{out.resolve().name}-{name}") as writer:
                writer.write(0, values)


@app.command()
def table(
    sources: RunFolders = None,
    protocol: ProtocolOption = "paper",
    resamples: Resamples = 2000,
    plots: Plots = None,
    html: Html = None,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Show models in the layout of the paper's Tables 2 and 3, with nulls and all published rows.

    Without a source, it shows the published numbers, including Tables 4, 5, 9 to 11 and 14 to 21. Sources on the same
    items are compared with each other.

    Examples:

        cmi rewardbench table

        cmi rewardbench table runs/nano runs/mine --protocol strict --plots pictures/

        cmi rewardbench table results.jsonl --format latex -o tables.tex

        cmi rewardbench table runs/nano --html leaderboard.html
    """
    require_packages("CMI-RewardBench", "rewardbench", "soundfile", "soxr")
    from cmi.ablate.published import published_ablations
    from cmi.reward.pick.report import table_5
    from cmi.rewardbench.analysis.analyse import published_tables
    from cmi.rewardbench.evaluation.page import rewardbench_page
    from cmi.rewardbench.evaluation.plots import draw_reliability, picture_folder
    from cmi.rewardbench.evaluation.tables import calibration_records, full_tables, paper_table
    from cmi.rewardbench.runs.sources import by_modality, read_sources
    from cmi.stats.comparison import SEED

    folder = picture_folder(plots) if plots else None
    require_page(html)
    read = read_sources(sources or [])
    evaluations = [source.evaluate(protocol, resamples, by_modality) for source in read]
    cells = [cell for one in evaluations for cell in one.cells]
    tables = [paper_table("table2", cells, protocol), paper_table("table3", cells, protocol)]
    tables += [] if read else [*published_tables(), table_5(), *published_ablations()]
    tables += [table for one in evaluations for table in full_tables(one, protocol)]
    tables += [table for source in read for table in (*source.ceilings, *source.look_tables)]
    if folder and not draw_reliability([r for one in evaluations for r in one.reliability], folder / "reliability.png"):
        note(f"{folder}: no plot: reliability plots need preferences, --protocol strict and the folder of a run")
    notes = [note for source in read for note in source.notes]
    tables[0] = replace(tables[0], notes=[*tables[0].notes, *notes])
    provenance = {"cmi": __version__, "protocol": protocol, "resamples": resamples, "seed": SEED, "notes": notes}
    provenance["looks"] = [look._asdict() for source in read for look in source.looks]
    provenance["versus"] = [versus.to_json() for one in evaluations for versus in one.versus]
    provenance["calibration"] = calibration_records([r for one in evaluations for r in one.reliability])
    if html is not None:
        write_page(html, rewardbench_page(cells, protocol, tables))
    show(tables, [cell.to_json() for cell in cells], "cells", provenance, how)


@app.command()
def analyse(
    sources: RunFolders,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="modality, kind, month, confidence, duration, question, windows, aggregate, predictors, agreement, "
            "context, best-of-k; repeatable. By default all that the data allow.",
        ),
    ] = None,
    protocol: ProtocolOption = "strict",
    resamples: Resamples = 2000,
    plots: Plots = None,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Run the analyses of the paper's appendices: by group, by window, aggregated, and agreement between people.

    `windows` needs runs of one model with different --window, `context` runs with and without --without-prompt,
    `predictors` overall votes and scikit-learn, `best-of-k` three or more takes of a prompt.

    Examples:

        cmi rewardbench analyse runs/nano

        cmi rewardbench analyse runs/nano --only confidence --only agreement --format markdown -o analysis.md
    """
    require_packages("CMI-RewardBench", "rewardbench", "soundfile", "soxr")
    from cmi.rewardbench.analysis.analyse import ANALYSES, GROUPS, AnalysisSetting, flat
    from cmi.rewardbench.analysis.analyse import analyse as analyse_all
    from cmi.rewardbench.evaluation.plots import draw_groups, picture_folder
    from cmi.rewardbench.runs.sources import read_sources

    unknown = [name for name in only or () if name not in ANALYSES]
    if unknown:
        raise InputError(f"--only {unknown[0]}: unknown analysis, expected one of {', '.join(ANALYSES)}")
    folder = picture_folder(plots) if plots else None
    read = read_sources(sources or [])
    found = analyse_all(read, only or list(ANALYSES), AnalysisSetting(protocol, resamples))
    tables = [table for one in found.values() for table in one.tables]
    if not tables:
        raise InputError(
            f"{', '.join(only or ANALYSES)}: the data do not allow this analysis; --help says what each one needs"
        )
    if folder:
        drawn = [
            draw_groups(found[name].records, f"by {name}, protocol {protocol}", folder / f"{name}.png")
            for name in GROUPS
            if name in found
        ]
        if not any(drawn):
            note(f"{folder}: no plot: only accuracies by group are drawn, and there are none")
    silent = [name for name, one in found.items() if not one.records]
    notes = [note for source in read for note in source.notes]
    tables[0] = replace(tables[0], notes=[*tables[0].notes, *notes])
    provenance = {"cmi": __version__, "protocol": protocol, "resamples": resamples, "not_in_the_data": silent}
    provenance["notes"] = notes
    provenance["looks"] = [look._asdict() for source in read for look in source.looks]
    show(tables, flat(found), "records", provenance, how)


@app.command()
def released(
    results: Annotated[Path, typer.Argument(help="results.jsonl of the authors' code.")],
    out: Annotated[Path, typer.Option(help="Folder for metrics_summary.csv and metrics_detail.csv.")],
    durations: Annotated[
        Path | None,
        typer.Option(help="audio_duration_map.json with the seconds of each file, for the bins by duration."),
    ] = None,
) -> None:
    """Reproduce the output of the authors' evaluator, digit for digit, from a results.jsonl.

    Example:

        cmi rewardbench released results.jsonl --out metrics/
    """
    require_packages("CMI-RewardBench", "rewardbench", "soundfile", "soxr")
    from cmi.rewardbench.runs.released_results import detail, read_durations, read_released, summary

    rows = read_released(results)
    seconds = read_durations(durations) if durations else None
    files = {"metrics_summary.csv": summary(rows), "metrics_detail.csv": detail(rows, seconds)}
    make_folder(out)
    for name, lines in files.items():
        write_whole(out / name, to_csv(lines))
        print(out / name)


@app.command("judge")
def judge_(
    folder: Annotated[Path, typer.Argument(help="A folder of `cmi rewardbench run`.")],
    judge: JudgeChoice,
    prompt: Annotated[
        list[str] | None,
        typer.Option(help="Prompt of the judge: the name of a built-in one, or a file; repeatable, one for each task."),
    ] = None,
    both_orders: BothOrders = True,
) -> None:
    """Evaluate a judge, such as an audio LLM behind an endpoint, on the items of a run, beside its models.

    Pairs are asked in both orders; the chosen take gets 1, the other 0, and the mean is used. Rated takes need a
    rating prompt such as rate-musicality. Of several prompts, each item gets the one that fits it best.
    `cmi rewardbench table` then shows the judge like any model. The same command resumes.

    Examples:

        cmi rewardbench judge runs/nano --url http://localhost:8000/v1 --model my-model

        cmi rewardbench judge runs/nano --endpoint gemini.toml --prompt strict-musicality --prompt rate-musicality
    """
    require_packages("a judge in CMI-RewardBench", "judge", "httpx", "soundfile", "soxr")
    from cmi.judge.prompt_file import DEFAULT, read_role
    from cmi.judge.report import run_table
    from cmi.judge.run import askings
    from cmi.preferences import AXES
    from cmi.rewardbench.data import data_folder
    from cmi.rewardbench.runs.judging import assign, item_scores, joint_name
    from cmi.rewardbench.runs.run_folder import About, judge_folder, read_items, write_pair_scores

    specs = {name: judge.spec_with(name, [folder, data_folder()]) for name in prompt or [DEFAULT]}
    roles = {name: read_role(name) if spec.is_language_model else None for name, spec in specs.items()}
    asked = assign((one.item for one in read_items(folder)), roles)
    if not asked:
        raise InputError(
            f"{folder}: no items for this judge: no pairs under one prompt, and rated takes need a language model with"
            " a prompt such as rate-musicality"
        )
    judged = {}
    for name, assignment in asked.items():
        model = f"{judge.model} {judge.url} {judge.endpoint or ''}"
        place = judge_folder(folder, f"{model} {name} {judge.tie_band}")
        spec = replace(specs[name], chat=judge_folder(folder, model))  # the prompts share their budget
        if assignment.pairs:
            judged[name] = ask_judge(askings(assignment.pairs, both_orders), spec, place)
        else:
            judged[name] = ask_rater(assignment.takes, spec, place)
    axes = set().union(*(one.judged_axes for one in asked.values()))
    hearing = next((one.hearing.note for one in judged.values() if one.hearing), "")
    judged_axes = tuple(axis for axis in AXES if axis in axes)
    about = About(joint_name(judged.values()), judged_axes, is_judge=True, hearing=hearing)
    write_pair_scores(folder, about, item_scores(asked, judged))
    print_tables([run_table(one) for one in judged.values()])
    print(f"cmi rewardbench table {printable(str(folder))} shows it beside the models.")

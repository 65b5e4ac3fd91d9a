"""`cmi train`: a reward head on a frozen encoder."""

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import require_extra
from cmi._util.hub import require_packages
from cmi.cli.options import AsJson, Device, LogTo
from cmi.cli.output import note
from cmi.cli.progress import progress
from cmi.report.metric_writers import check_places, open_writers
from cmi.report.tables import print_tables, to_json_line


def train(
    config: Annotated[
        str, typer.Argument(help="A YAML file, paper-stage1, paper-stage2, or preferences: a file or folder.")
    ],
    out: Annotated[Path | None, typer.Option(help="Folder of the trained model; by default runs/CONFIG.")] = None,
    model: Annotated[str, typer.Option(help="Start from this checkpoint instead of the configuration's.")] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the amount of data, parameters, memory and disk space, and stop.")
    ] = False,
    device: Device = "auto",
    log_to: LogTo = None,
    as_json: AsJson = False,
) -> None:
    """Train a reward model: a head on a frozen encoder, from preferences and ratings.

    Recordings and texts are encoded once and cached on disk. The same command resumes a stopped run. Losses and
    validation results are in training/curve.jsonl and training/tensorboard of the output folder, which
    `cmi score --model` accepts. Given preferences or ratings instead of a configuration, it trains nano's head on their
    train split, with a quarter of its prompts for validation.

    Examples:

        cmi train paper-stage1 --dry-run

        cmi train mine.yaml --out runs/mine

        cmi arena export votes/, then  cmi train votes/ --out runs/votes

        cmi train votes/ --model CMI-RM/ --out runs/cmi-rm-votes

        accelerate launch --num_processes 8 -m cmi train paper-stage1
    """
    require_packages("training", "train", "torch", "yaml", "safetensors", "soundfile", "accelerate", "tensorboard")
    check_places(log_to or [])
    with require_extra("training", "train"):
        from cmi.reward.train.config import load_config

        settings = load_config(config)  # before what takes seconds to import
        if model:
            settings = replace(settings, model=replace(settings.model, checkpoint=model, revision=None))
        from cmi.reward.train.dry_run import dry_run as count_costs
        from cmi.reward.train.dry_run import dry_run_tables
        from cmi.reward.train.loop import train as run
        from cmi.reward.train.outcome import outcome_table

    folder = out or Path("runs") / Path(config).stem
    if dry_run:
        costs = count_costs(settings, device)
        tables, record = dry_run_tables(costs), costs
    else:
        with open_writers(log_to or [], folder.resolve().name) as writer, progress() as bar:
            outcome = run(settings, folder, device, bar.report, writer=writer)
        if outcome is None:  # another process of the same launch speaks
            return
        tables, record = [outcome_table(outcome)], asdict(outcome)
    if as_json:
        sys.stdout.write(to_json_line(record))
    else:
        print_tables(tables)
    if not dry_run:
        note(f"{folder}: the trained model, for --model")

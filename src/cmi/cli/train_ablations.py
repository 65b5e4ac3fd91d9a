"""`cmi train-ablations`: the paper's ablations of training, on data whose truth is known."""

from pathlib import Path
from typing import Annotated

import typer


def train_ablations(
    config: Annotated[str, typer.Argument(help="A YAML file as `cmi train` reads it; its data are not used.")],
    data: Annotated[Path, typer.Argument(help="A folder made by `cmi studio make`.")],
    out: Annotated[Path, typer.Option(help="Where data, models and tables go; the same command resumes there.")],
    only: Annotated[
        list[str] | None,
        typer.Option(help="A variant to run, with those it needs; may be repeated.", show_default=False),
    ] = None,
    sizes: Annotated[
        list[int] | None,
        typer.Option(
            "--size", help="Pseudo-labels in a smaller set; by default a quarter and a half.", show_default=False
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Of stage 1, in place of the configuration's.", show_default=False)
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="The variants' records for machines.")] = False,
) -> None:
    """Find out which of the paper's training choices matter: one run for each, on the studio's pairs.

    A simulated judge labels most pairs, noisily, and simulated experts a few. Heads are tested on the true labels of
    pairs that none has heard. For each of the paper's findings the last table says whether it holds here.

    Examples:

        cmi train-ablations base.yaml pairs/ --out runs/ablations

        cmi train-ablations base.yaml pairs/ --out runs/ablations --only scratch --only mapping-none --steps 600
    """
    import sys
    from dataclasses import replace

    from rich.console import Console

    from cmi._util.errors import MissingExtra
    from cmi._util.hub import require_packages
    from cmi.cli.progress import progress
    from cmi.report.tables import print_tables, to_json_line

    require_packages("training", "train", "torch", "yaml", "safetensors", "soundfile", "accelerate", "tensorboard")
    try:
        from cmi.reward.train.config import load_config

        base = load_config(config)  # before what takes seconds to import
        from cmi.reward.train.ablations import run_ablations
    except ModuleNotFoundError as error:
        raise MissingExtra("training", "train") from error

    base = base if steps is None else replace(base, steps=steps)
    with progress() as bar:
        tasks = {}

        def report(what: str, done: int, total: int, remark: str) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what)
            bar.update(tasks[what], completed=done, total=total, description=f"{what}  {remark}")

        found = run_ablations(base, data, out, only or (), sizes or (), device, report)
    if as_json:
        for record in found.records:
            sys.stdout.write(to_json_line(record))
    else:
        print_tables(found.tables, Console())

"""`cmi ablate`: variants of a training configuration, trained, tested and compared."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import InputError, require_extra
from cmi._util.hub import require_packages
from cmi.cli.options import AsJson, Device, DryRun
from cmi.cli.progress import progress
from cmi.report.tables import print_tables, to_json_line


def ablate(
    config: Annotated[str, typer.Argument(help="Base configuration: a YAML file of `cmi train`, or paper-stage1.")],
    matrix: Annotated[
        str, typer.Option(help="A TOML file of variants, or paper-ablations, studio-ablations or training-choices.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of models, scores and tables; the same command resumes it.")],
    only: Annotated[
        list[str] | None,
        typer.Option(help="Run this variant, with the reference and the variants that it starts from; repeatable."),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="Training steps of the base configuration; other variants are scaled in proportion."),
    ] = None,
    dry_run: DryRun = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Find out which training choices matter: train every variant of a matrix, and compare them on the same test rows.

    Each variant is compared with the reference on the same prompts, beside nulls that do not use the music. A variant
    that fails does not stop the others. Finished variants are not trained again.

    Examples:

        cmi ablate mine.yaml --matrix training-choices --out runs/ablations --dry-run

        cmi ablate mine.yaml --matrix mine.toml --out runs/ablations --only no-prompts --steps 200

        cmi ablate paper-stage1 --matrix paper-ablations --out runs/paper-ablations
    """
    require_packages("training", "train", "torch", "yaml", "safetensors", "soundfile", "accelerate", "tensorboard")
    with require_extra("training", "train"):
        from cmi.ablate.run import plan_ablation, plan_tables, run_ablation

    plan = plan_ablation(config, matrix, out, only or (), steps)
    failures: dict[str, str] = {}
    if dry_run:
        tables, records = plan_tables(plan), [{"id": name, **facts} for name, facts in plan.facts.items()]
    else:
        with progress() as bar:
            outcome = run_ablation(plan, out, device, bar.report)
        tables, records, failures = outcome.tables, outcome.records, outcome.failures
    if as_json:
        sys.stdout.writelines(map(to_json_line, records))
    else:
        print_tables(tables)
    if failures:
        name, reason = next(iter(failures.items()))
        raise InputError(
            f"{len(failures)} of {len(plan.variants)} variants failed, the first {name}: {reason}; "
            "the same command tries them again"
        )

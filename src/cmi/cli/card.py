"""`cmi card`: a model's scores for the hub."""

from pathlib import Path
from typing import Annotated

import typer

from cmi.cli.output import note


def card(
    scores: Annotated[
        list[Path],
        typer.Argument(help="What `cmi bench score --json` or `cmi rewardbench table --json` wrote."),
    ],
    out: Annotated[Path, typer.Option(help="The folder of the model's repository.")],
    benchmark: Annotated[str, typer.Option(help="The benchmark's data set on the hub, OWNER/NAME.")],
    model: Annotated[str, typer.Option(help="Model to use, if the scores are of several.")] = "",
    name: Annotated[str, typer.Option(help="Name of the model on the card; by default as in the scores.")] = "",
    source_url: Annotated[str, typer.Option(help="Public URL of the answers or of the run's log.")] = "",
) -> None:
    """Write a model's scores to its hub repository: .eval_results/*.yaml, and the model-index of README.md.

    The text of an existing README.md is kept. Every number states its protocol, n, interval and best null.

    Example:

        cmi bench score answers/mine --annotations annotations/ --protocol strict --json > mine.json

        cmi card mine.json --benchmark me/cmi-bench --out my-model/
    """
    from cmi.plugs.hub_results import read_scores, write_results

    found = read_scores(scores, model)
    for path in write_results(found, benchmark, out, source_url, name):
        print(path)
    note(f"of {found[0].model}: {len(found)} {'score' if len(found) == 1 else 'scores'}")

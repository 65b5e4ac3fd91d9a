"""`cmi calibrate`: correct a reward model's scores by generator from fresh votes."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import InputError
from cmi._util.hub import require_packages
from cmi._util.printable import printable
from cmi.cli.options import AsJson
from cmi.cli.output import note, print_result


def calibrate(
    run: Annotated[Path, typer.Argument(help="A folder of `cmi rewardbench run` on fresh votes.")],
    out: Annotated[Path, typer.Option(help="Write the offsets to this .json file.")],
    model: Annotated[str, typer.Option(help="Model to use, if the run has several.")] = "",
    as_json: AsJson = False,
) -> None:
    """Correct a reward model's scores by generator: 30 to 100 fresh votes restore part of its agreement with people.

    One offset per generator is fitted to the votes and added to the scores. The gain is measured on held-out votes; if
    its interval contains zero, there is no significant gain yet. Use the file with `--calibration` of `cmi score`,
    `pick`, `serve` and `rewardbench run`.

    Examples:

        cmi rewardbench run --data votes/ --model nano --out runs/votes

        cmi calibrate runs/votes --out nano-offsets.json

        cmi score --manifest takes.jsonl --calibration nano-offsets.json
    """
    require_packages("a calibration", "rewardbench", "soundfile", "soxr", "pydantic")
    from cmi.reward.scoring.calibration import write_calibration
    from cmi.rewardbench.analysis.calibrate import calibrate as fit
    from cmi.rewardbench.analysis.calibrate import calibration_tables, choose_system
    from cmi.rewardbench.runs.sources import read_sources

    if out.suffix.lower() != ".json":
        raise InputError(f"{out}: expected a name that ends in .json")
    source = read_sources([run])[0]
    calibration = fit(source.items, choose_system(source.systems, model, run), {"run": run.name})
    write_calibration(calibration, out)
    print_result(calibration_tables(calibration), asdict(calibration), as_json)
    note(f"{printable(str(out))}: {calibration.caution or 'every axis has gained on held-out votes'}")

"""`cmi drift`: watch whether a reward model still agrees with people."""

from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import InputError
from cmi._util.files import write_whole
from cmi._util.hub import require_packages
from cmi.cli.options import AsJson
from cmi.cli.output import print_result


def drift(
    run: Annotated[Path, typer.Argument(help="A folder of `cmi rewardbench run` on votes with dates.")],
    model: Annotated[str, typer.Option(help="Model to use, if the run has several.")] = "",
    until: Annotated[
        str, typer.Option(help="Last month of the baseline, such as 2026-03; by default the first month.")
    ] = "",
    expect: Annotated[
        float | None, typer.Option(help="Expected agreement in percent, such as 70.9, instead of a baseline period.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write an HTML page to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Monitor a reward model's agreement with people, by month and by generator. Exit code 1 if there is an alarm.

    An alarm means that votes after the baseline agree with the scores less often than the lower end of the baseline's
    interval. You may run it as often as you like: at most 5 % of all studies ever get a false alarm.

    Examples:

        cmi drift runs/votes --until 2026-03

        cmi drift runs/votes --expect 70.9 --html drift.html || mail -s "the reward model has drifted" me@example.org
    """
    require_packages("a drift watch", "rewardbench", "soundfile", "soxr", "pydantic")
    import re

    from cmi.report.tables import to_plain
    from cmi.rewardbench.analysis.calibrate import choose_system
    from cmi.rewardbench.analysis.drift import drift_page, drift_tables, watch
    from cmi.rewardbench.runs.sources import read_sources

    if until and not re.fullmatch(r"\d{4}-\d{2}", until):
        raise InputError(f"--until {until}: expected a month such as 2026-03")
    if until and expect is not None:
        raise InputError("--until and --expect: give a baseline of votes or a number, not both")
    if expect is not None and not 0 < expect < 100:
        raise InputError(f"--expect {expect:g}: expected a percentage between 0 and 100, such as 70.9")
    source = read_sources([run])[0]
    system = choose_system(source.systems, model, run)
    found = watch(source.items, system, until, None if expect is None else expect / 100)
    if html is not None:
        write_whole(html, drift_page(found))
    print_result(drift_tables(found), to_plain(found.to_json()), as_json)
    if found.raised:
        raise typer.Exit(1)

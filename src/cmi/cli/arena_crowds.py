"""`cmi arena recruit`, `screen` and `participants`: people from Prolific, JATOS and other platforms."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cmi._util.errors import InputError, require_extra
from cmi._util.files import write_whole
from cmi.cli.arena_db import ARENA, DB, URL, Db, ProjectName, ServedAt, choose_project, open_arena, print_sentences
from cmi.cli.options import AsJson
from cmi.cli.output import note, print_result
from cmi.report.tables import to_csv, to_json

EXIT = "A code, or https://... with {NAME} for a parameter of the link."


def recruit(
    platform: Annotated[
        Literal["prolific", "jatos"] | None,
        typer.Option(
            help="Recruiting platform, which sets the parameter names; for another one, give them yourself.",
            show_default=False,
        ),
    ] = None,
    db: Db = DB,
    project: ProjectName = None,
    participant: Annotated[
        str | None, typer.Option(help="URL parameter with the participant's id; '' closes the study to the platform.")
    ] = None,
    proof: Annotated[str | None, typer.Option(help="URL parameter that only the participant's own link has.")] = None,
    keep: Annotated[str | None, typer.Option(help="Further URL parameters to store, separated by commas.")] = None,
    complete: Annotated[str | None, typer.Option(help=f"Exit after completion. {EXIT}")] = None,
    screened_out: Annotated[
        str | None, typer.Option(help="Exit after a failed check; same form as --complete.")
    ] = None,
    returned: Annotated[
        str | None, typer.Option(help="Exit without consent or after a withdrawal; same form as --complete.")
    ] = None,
    sign: Annotated[
        Path | None, typer.Option(help="A file with a participant's id on each line: print a signed link for each.")
    ] = None,
    signed_only: Annotated[
        bool | None, typer.Option("--signed-only/--any-link", help="Admit only signed links.", show_default=False)
    ] = None,
    renew: Annotated[bool, typer.Option("--renew", help="Replace the link; the old one stops working.")] = False,
    url: ServedAt = None,
    as_json: AsJson = False,
) -> None:
    """Recruit people on a platform: print the study link to enter there, and set where people go at the end.

    Settings that are not given stay unchanged, so `cmi arena recruit` alone prints the link again.

    Examples:

        cmi arena recruit --platform prolific --complete C1AAAA --screened-out C1BBBB --returned C1CCCC

        cmi arena recruit --participant id --sign ids.txt --signed-only
    """
    with open_arena(db) as database:
        from cmi.arena.store import projects
        from cmi.arena.store import recruit as recruiting

        ours = choose_project(database, project)
        named = {"participant": participant, "proof": proof, "parameters": keep, "signed_only": signed_only}
        exits = {"exit_complete": complete, "exit_screened_out": screened_out, "exit_returned": returned}
        given = {name: value for name, value in (named | exits).items() if value is not None}
        ids = [] if sign is None else _read_ids(sign)
        preset = recruiting.PLATFORMS[platform] if platform else {"proof": ""} if participant == "" else {}
        study = projects.change(database, ours.id, settings={**preset, **given}).settings
        if participant == "":
            print_sentences({"links": []}, [f"{ours.title}: takes nobody from a platform any more"], as_json)
            return
        if not study.participant:
            raise InputError("no parameter names the participants; give --platform, or --participant with its name")
        link = recruiting.recruiting_link(database, ours.id, renew)
        address = url or projects.last_address(database) or URL
    links = [link.signed_address(address, study, one) for one in ids] or [link.address(address, study)]
    record: dict[str, Any] = {"links": links, "settings": {name: getattr(study, name) for name in (*named, *exits)}}
    print_sentences(record, links, as_json)
    missing = [name.removeprefix("exit_").replace("_", "-") for name in exits if not getattr(study, name)]
    if missing:
        note(f"people see no code and no way back at the end: {', '.join(f'--{name}' for name in missing)} not set")


def screen(
    db: Db = DB,
    project: ProjectName = None,
    device: Annotated[
        bool | None,
        typer.Option(
            "--device/--no-device", help="Device check: volume, and left and right channel.", show_default=False
        ),
    ] = None,
    headphones: Annotated[
        bool | None,
        typer.Option("--headphones/--no-headphones", help="Headphone check with antiphase tones.", show_default=False),
    ] = None,
    attempts: Annotated[
        int | None, typer.Option(min=1, max=20, help="Attempts allowed at each of these checks.")
    ] = None,
    gold_pairs: Annotated[
        int | None, typer.Option(min=0, max=1000, help="Gold pairs of the qualification before the study; 0 for none.")
    ] = None,
    gold_right: Annotated[
        int | None, typer.Option(min=0, max=1000, help="Gold pairs that must be answered correctly to qualify.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Choose the checks before the first pair, and show how often each is passed by chance.

    Settings that are not given stay unchanged, so `cmi arena screen` alone shows the rates of the current checks.

    Examples:

        cmi arena screen --device --headphones --gold-pairs 8 --gold-right 7

        cmi arena screen --db study.sqlite3
    """
    with open_arena(db) as database:
        with require_extra(*ARENA):
            from cmi.arena.statistics.pass_rates import as_records, pass_rates, rates_table
            from cmi.arena.store import pairs, projects

        ours = choose_project(database, project)
        asked = {"device_check": device, "headphone_check": headphones, "check_attempts": attempts}
        asked |= {"qualify_pairs": gold_pairs, "qualify_right": 0 if gold_pairs == 0 else gold_right}
        given = {name: value for name, value in asked.items() if value is not None}
        study = projects.change(database, ours.id, settings=given).settings
        gold = sum(one[2] == "gold" for one in pairs.wanted(database, ours.id))
    rates = pass_rates(study)
    record = {
        "settings": {name: getattr(study, name) for name in asked},
        "gold_pairs": gold,
        "rates": as_records(rates),
    }
    if rates or as_json:
        print_result([rates_table(rates)], record, as_json)
    else:
        print("The study has no checks before the first pair.")
    if study.qualify_pairs > gold:
        note(f"nobody can qualify: the study has {gold} gold pairs, and the qualification needs {study.qualify_pairs}")


def participants(
    file: Annotated[
        Path | None, typer.Argument(help="Where to write: .csv or .json; by default CSV to standard output.")
    ] = None,
    db: Db = DB,
    project: ProjectName = None,
) -> None:
    """Write a row for each annotator: platform ids, checks, qualification, votes, and how the session ended.

    `person` is the `rater` of exported votes. Platform ids are personal data, so no other export contains them.

    Example:  cmi arena participants participants.csv --db study.sqlite3
    """
    if file is not None and file.suffix not in (".csv", ".json"):
        raise InputError(f"{file}: expected a name that ends in .csv or .json")
    with open_arena(db) as database:
        from cmi.arena.store import outcomes

        ours = choose_project(database, project).id
        if file is not None and file.suffix == ".json":
            text = to_json(outcomes.list_participants(database, ours))
        else:
            text = to_csv(outcomes.flat_participants(database, ours))
    if file is None:
        sys.stdout.write(text)
    else:
        write_whole(file, text)


def _read_ids(path: Path) -> list[str]:
    from cmi.arena.store.recruit import check_participant

    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({error})") from error
    found = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                found.append(check_participant(line.strip()))
            except InputError as error:
                raise InputError(f"{path} line {number}: {error}") from error
    if not found:
        raise InputError(f"{path}: no participant ids, expected one on each line")
    return found

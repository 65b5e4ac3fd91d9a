"""`cmi doctor`: what is installed, and how to get the rest."""

from cmi.cli.options import AsJson
from cmi.cli.output import print_result
from cmi.cli.progress import loading


def doctor(as_json: AsJson = False) -> None:
    """Show which parts of cmi, devices, folders and weights are available, and how to install what is missing.

    Nothing is downloaded or changed. Include the output in bug reports.

    Examples:

        cmi doctor

        cmi doctor --json
    """
    from cmi.doctor import diagnose, doctor_record, doctor_tables

    with loading("torch"):
        found = diagnose()
    print_result(doctor_tables(found), doctor_record(found), as_json)

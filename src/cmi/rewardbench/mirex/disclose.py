"""The disclosure sheet of a MIREX entry: what is known from the run, and what the entrant has to fill in."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError, reason_of
from cmi.report.numbers import count, file_size, number
from cmi.report.tables import Table, to_markdown
from cmi.rewardbench.mirex.predict import ABOUT, SESSIONS, read_about, run_folder, seconds_per_pair
from cmi.rewardbench.runs.looks import read_looks

BLANK = "*to be filled in by the entrant*"
SCORE_MEANS = "preference_score is the probability that A is preferred, from 0 to 1; 0.5 is a tie, decided by a coin"
_LICENCE = re.compile(r"^license:\s*(\S.*)$", re.MULTILINE)


def disclosure_sheet(predictions: Path) -> str:
    """Return the sheet as Markdown, with the model's card at its end if there is one."""
    about = read_about(predictions)
    card = about.get("card", "")
    try:
        tables = [_entry_table(about), _model_table(about, card), _compute_table(about, predictions), _looks_table()]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        damaged = run_folder(predictions)
        raise InputError(f"{damaged / ABOUT} or {SESSIONS} beside it is damaged ({reason_of(error)})") from error
    sheet = "# Disclosure sheet\n\n" + to_markdown(tables)
    return f"{sheet}\n# The model's card\n\n{_below(card)}\n" if card else sheet


def _entry_table(about: Mapping[str, Any]) -> Table:
    return _facts(
        "Entry",
        [
            ("Team, authors, contact", BLANK),
            ("Model", str(about.get("model", BLANK))),
            ("Settings", ", ".join(f"{name} {value}" for name, value in about.get("settings", {}).items())),
            ("Decided by", str(about.get("by", ""))),
            ("Score", SCORE_MEANS),
            ("Pairs, predicted, ties", ", ".join(count(about.get(name)) for name in ("pairs", "predicted", "ties"))),
            ("External services at prediction", about.get("external") or "none: nothing left this machine"),
            ("Software", f"cmi {about.get('cmi', '')}"),
        ],
    )


def _model_table(about: Mapping[str, Any], card: str) -> Table:
    licence = _LICENCE.search(card)
    head, encoder = about.get("parameters_of_head"), about.get("parameters_of_encoder")
    size = BLANK if head is None else f"in the checkpoint: {count(head)} of the head, {count(encoder)} of the encoder"
    disk = f"{file_size(about['bytes'])}, the checkpoint's folder" if "bytes" in about else BLANK
    return _facts(
        "Model and data",
        [
            ("Training data, and its size", "see the model's card below, and: " + BLANK if card else BLANK),
            ("Was any of it in a test set?", BLANK),
            ("Parameters", size),
            ("Size on disk", disk),
            ("Pretrained parts that the checkpoint does not hold", BLANK),
            ("Licence of the model", licence[1].strip() if licence else BLANK),
            ("Licences of the data", BLANK),
        ],
    )


def _compute_table(about: Mapping[str, Any], predictions: Path) -> Table:
    machine = about.get("machine", {})
    gpus = ", ".join(machine.get("gpus", ())) or "no GPU"
    memory = file_size(machine.get("memory"))
    timed = seconds_per_pair(run_folder(predictions))
    took = f"{number(timed[0], 3)} s per pair, over {count(timed[1])} pairs, without loading" if timed else BLANK
    return _facts(
        "Compute",
        [
            ("Training: hardware, time, energy", BLANK),
            ("Prediction: machine", f"{machine.get('processor', '')}, {machine.get('cores')} cores, {memory}, {gpus}"),
            ("Prediction: device", str(about.get("device", ""))),
            ("Prediction: measured time", took),
        ],
    )


def _looks_table() -> Table:
    """Return one row for each test set that was looked at from this machine."""
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for look in read_looks():
        last[str(look.get("dataset")), str(look.get("data"))] = look
    rows = [
        [*(str(one.get(name, "")) for name in ("dataset", "model", "when", "data", "rows")), str(one["look"])]
        for one in last.values()
    ]
    headers = ["data set", "last model", "when", "version", "rows", "looks"]
    note = "Results of different models that were read on this machine. Looks from other machines: " + BLANK
    return Table("Looks at public test sets", headers, rows or [["none", *[""] * 5]], labels=2, notes=[note])


def _facts(title: str, facts: Sequence[tuple[str, str]]) -> Table:
    return Table(title, ["what", "answer"], [list(fact) for fact in facts], labels=2)


def _below(card: str) -> str:
    """Return a card without its front matter, its headings two levels lower."""
    text = re.sub(r"\A---\n.*?\n---\n", "", card, flags=re.DOTALL)
    return re.sub(r"^(#+ )", r"##\1", text, flags=re.MULTILINE).strip()

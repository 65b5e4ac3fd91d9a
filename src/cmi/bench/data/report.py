"""What there is to know of data sets, and what was made of them, as tables and records."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from cmi.bench.catalog import DATASETS
from cmi.bench.data import SOURCES, Source
from cmi.bench.data.make import Made
from cmi.report.tables import Table

SHOWN = 3  # missing recordings that a table names


def list_records() -> list[dict[str, Any]]:
    sized = {name: {"makes": {made: DATASETS[made].size for made in source.makes}} for name, source in SOURCES.items()}
    return [asdict(source) | sized[name] for name, source in SOURCES.items()]


def list_tables() -> list[Table]:
    """What each data set fills and costs, where it is, and how far its records were checked: a table each."""
    sources = list(SOURCES.values())
    fetch = "Get the files yourself, under their licences; cmi fetches none of them."
    return [
        Table(
            "Data sets of CMI-Bench",
            ["name", "fills (test questions by the paper)", "licence"],
            [[source.name, _made_by(source), source.licence] for source in sources],
            labels=3,
        ),
        Table("Where", ["name", "where"], [[s.name, s.where] for s in sources], labels=2, notes=[fetch]),
        Table("Held against", ["name", "held against"], [[s.name, s.verified] for s in sources], labels=2),
    ]


def _made_by(source: Source) -> str:
    return ", ".join(f"{name} ({DATASETS[name].size})" for name in source.makes) or "what its files hold"


def made_records(made: Sequence[Made]) -> list[dict[str, Any]]:
    return [asdict(each) | {"path": str(each.path)} for each in made]


def made_table(source: Source, made: Sequence[Made]) -> Table:
    rows = [
        [each.dataset, str(each.path) if each.questions else "-", *map("{:,}".format, _counts(each))] for each in made
    ]
    notes = list(dict.fromkeys(note for each in made for note in each.notes))
    return Table(
        source.title,
        ["data set", "file", "questions", "paper's test", "recordings missing"],
        rows,
        labels=2,
        notes=[*(f"Note: {note}." for note in notes), *(_missing(each) for each in made if each.missing)],
    )


def _counts(made: Made) -> tuple[int, int, int]:
    return made.questions, made.published, len(made.missing)


def _missing(made: Made) -> str:
    names = ", ".join(made.missing[:SHOWN]) + (", ..." if len(made.missing) > SHOWN else "")
    return f"{made.dataset}: no recording of {names} (all in missing/CMI_{made.dataset}.txt)."

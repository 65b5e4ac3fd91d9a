"""The paper's tables of training choices as printed, read from the matrix `paper-ablations` without loading torch."""

import tomllib
from importlib.resources import files

from cmi.report.tables import Table


def published_ablations() -> list[Table]:
    """Return Tables 9 to 11 and 16; 4 and 14 are among those of `cmi.rewardbench`."""
    text = files("cmi.ablate").joinpath("matrices", "paper-ablations.toml").read_text(encoding="utf-8")
    tables = []
    for table in tomllib.loads(text)["tables"]:
        printed: dict[str, dict[str, str]] = table["paper"]
        rows = dict.fromkeys(row for numbers in printed.values() for row in numbers)
        lines = [[row, *(numbers.get(row, "") for numbers in printed.values())] for row in rows]
        if not table["title"].startswith(("Table 4,", "Table 14,")):
            tables.append(Table(f"{table['title']}, as published", ["variant of `cmi ablate`", *printed], lines))
    return tables

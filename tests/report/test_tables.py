import csv
import io
import json

import pytest
from rich.console import Console

from cmi.report.tables import Table, print_tables, to_csv, to_json, to_latex, to_markdown

TABLE = Table(
    "Scores & more", ["row", "metric", "a_b"], [["GTZ.", "Acc.", "62.4 ▲"], ["[x|y]", "50%", ""]], 2, ["A note."]
)


def test_markdown_aligns_numbers_and_escapes_bars():
    lines = to_markdown([TABLE]).splitlines()
    assert lines[2:6] == [
        "| row | metric | a_b |",
        "| --- | --- | ---: |",
        "| GTZ. | Acc. | 62.4 ▲ |",
        "| [x\\|y] | 50% |  |",
    ]
    assert lines[-1] == "A note."


def test_latex_escapes_what_latex_reads():
    text = to_latex([TABLE])
    assert r"\begin{tabular}{llr}" in text
    assert r"GTZ. & Acc. & 62.4 $\uparrow$ \\" in text
    assert r"a\_b" in text
    assert r"50\%" in text


def test_a_terminal_crops_nothing_and_reads_no_markup():
    out = io.StringIO()
    print_tables([TABLE], Console(file=out, width=10))
    assert "62.4 ▲" in out.getvalue()
    assert "[x|y]" in out.getvalue()
    assert "A note." in out.getvalue()


def test_csv_is_flat_and_json_holds_no_nan():
    records = [{"a": 1, "notes": ("x", "y, z")}, {"a": None, "notes": ()}]
    assert list(csv.DictReader(io.StringIO(to_csv(records)))) == [
        {"a": "1", "notes": "x; y, z"},
        {"a": "", "notes": ""},
    ]
    assert to_csv([]) == ""
    assert json.loads(to_json({"é": 1})) == {"é": 1}
    with pytest.raises(ValueError, match="JSON compliant"):
        to_json({"a": float("nan")})


HOSTILE = "a|b\n| c | [/b] [red]d[/red] <b>\x1b[2J \udcff\\end{tabular} 100%"


def hostile() -> Table:
    return Table(HOSTILE, ["row", HOSTILE], [[HOSTILE, "1"], ["[x]", "2"]], 1, [HOSTILE])


def test_a_terminal_is_given_text_alone():
    out = io.StringIO()
    print_tables([hostile()], Console(file=out, width=10, force_terminal=True, color_system=None))
    assert out.getvalue().count(r"[/b] [red]d[/red] <b>\x1b[2J \udcff") == 4
    assert "\x1b[2J" not in out.getvalue()


def test_markdown_keeps_a_row_a_row():
    lines = to_markdown([hostile()]).splitlines()
    assert len(lines) == 8
    assert [line.replace("\\|", "").count("|") for line in lines[2:6]] == [3] * 4
    assert not any("<" in line or "\x1b" in line for line in lines)


def test_latex_comments_and_rows_end_where_they_should():
    lines = to_latex([hostile()]).splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("% ") and lines[-1].startswith("% ")
    assert lines[6] == r"{}[x] & 2 \\"
    assert r"\end{tabular}" not in lines[5] and r"\textless{}b\textgreater{}" in lines[5]

import csv
import io
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from cmi.report.tables import Table, notes_about, print_tables, to_csv, to_json, to_latex, to_markdown

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
    print_tables([hostile()], Console(file=out, width=400, force_terminal=True, color_system=None))
    assert out.getvalue().count(r"[/b] [red]d[/red] <b>\x1b[2J \udcff") == 4
    assert "\x1b[2J" not in out.getvalue()


WIDE = Table(
    "Models on everything",
    ["model", "data set", *(f"metric number {i}" for i in range(12))],
    [
        [f"organisation/model-{row}", "a data set with a long name", *(f"{row}{i}.123" for i in range(12))]
        for row in range(3)
    ],
    2,
    ["A note that is longer than eighty characters has to be wrapped at a word, because a terminal would cut a word."],
)


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_gets_tables_that_fit_it_and_loses_no_number(width: int):
    out = io.StringIO()
    print_tables([WIDE], Console(file=out, width=width, force_terminal=True, color_system=None))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    for row in WIDE.rows:
        assert all(number in out.getvalue() for number in row[2:])
    assert "Models on everything, continued" in out.getvalue()


def test_what_is_not_a_terminal_gets_each_row_on_one_line():
    out = io.StringIO()
    print_tables([WIDE], Console(file=out, width=80))
    assert any("organisation/model-1" in line and "111.123" in line for line in out.getvalue().splitlines())


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_title_that_is_longer_than_its_table_stays_on_one_line(is_terminal: bool):
    out = io.StringIO()
    narrow = Table("A title that is longer than its table", ["a", "b"], [["1", "2"]])
    print_tables([narrow], Console(file=out, width=80, force_terminal=is_terminal, color_system=None))
    assert out.getvalue().splitlines()[0].rstrip() == narrow.title


words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "M"]), max_size=30)


@given(st.data(), st.integers(1, 6), st.integers(0, 3), st.integers(60, 160))
def test_any_table_fits_a_terminal(data: st.DataObject, columns: int, labels: int, width: int):
    row = st.lists(words, min_size=columns, max_size=columns)
    table = Table("t", data.draw(row), data.draw(st.lists(row, max_size=4)), min(labels, columns))
    out = io.StringIO()
    print_tables([table], Console(file=out, width=width, force_terminal=True, color_system=None))
    assert max(map(cell_len, out.getvalue().splitlines())) <= width


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


def test_a_remark_on_many_takes_is_one_note():
    said = [(f"{number}.wav", "cut off after 120 s") for number in range(5)] + [("0.wav", "too short")]
    assert notes_about(said) == ["0.wav, 1.wav, 2.wav and 2 more: cut off after 120 s.", "0.wav: too short."]
    assert notes_about([]) == []


CODED = Table(
    "scores",
    ["row", "value"],
    [["GS-K", "8.28"]],
    in_words=Table("scores", ["row", "value"], [["GiantSteps key", "8.28"]]),
)


@pytest.mark.parametrize(("width", "is_terminal", "name"), [(80, True, "GiantSteps key"), (80, False, "GS-K")])
def test_a_terminal_gets_names_in_place_of_codes_and_other_programs_get_codes(width: int, is_terminal: bool, name: str):
    out = io.StringIO()
    print_tables([CODED], Console(file=out, width=width, force_terminal=is_terminal, color_system=None))
    assert name in out.getvalue()


def test_a_terminal_gets_codes_if_names_would_take_more_blocks():
    wide = Table("scores", ["row", *"abcd"], [["GS-K", *["12.34"] * 4]])
    named = replace(wide, rows=[["GiantSteps key, by its weighted score", *["12.34"] * 4]])
    out = io.StringIO()
    print_tables([replace(wide, in_words=named)], Console(file=out, width=40, force_terminal=True, color_system=None))
    assert "GS-K" in out.getvalue() and "continued" not in out.getvalue()

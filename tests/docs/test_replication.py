"""The pages of the replicated models: their cells are the published ones, and their commits those of the workers."""

import re
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

from cmi.bench.scoring.tables import MODELS, published_rows

from .commands import ROOT

FOLDER = ROOT / "docs" / "replication"
PAGES = {path.stem: path for path in sorted(FOLDER.glob("*.md")) if path.stem in MODELS}
OTHER_ANSWERS = {"GS-K", "EMO", "GTZ.", "VS-T"}


def read_cells(page: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """What a page's table gives: (row, metric) -> (value of the released answers or '', published value)."""
    line = re.compile(r"^\| (\S+) \| (\S+) [↑↓] \| (.*?) *\| .*? *\| (\S+) \| \S+ \|$", re.MULTILINE)
    return {
        (row, metric): (value.split(" [")[0].replace("not computed", ""), printed)
        for row, metric, value, printed in line.findall(page.read_text("utf-8"))
    }


def kind_of(row: str, value: str, printed: str) -> str:
    """The column of the index page that counts a cell."""
    if not value:
        return "not computed here"
    if row in OTHER_ANSWERS:
        return "printed from other answers"
    unit = Decimal(1).scaleb(Decimal(printed).as_tuple().exponent)
    rounded = {Decimal(value).quantize(unit, how) for how in (ROUND_HALF_EVEN, ROUND_HALF_UP)}
    if Decimal(printed) in rounded:
        return "equal to the printed digit"
    return "one off in the last digit" if unit in {abs(one - Decimal(printed)) for one in rounded} else "other value"


def test_every_model_with_a_worker_has_a_page():
    workers = {path.parent.name for path in (ROOT / "recipes" / "listeners").glob("*/worker.py")}
    assert set(PAGES) == workers | {"gama_it"}


@pytest.mark.parametrize("model", PAGES)
def test_the_cells_of_a_page_are_the_published_ones(model):
    cells = read_cells(PAGES[model])
    assert {place: printed for place, (_, printed) in cells.items()} == {
        (line.row, line.metric): line.by_model[model] for line in published_rows()
    }


def test_the_index_counts_what_the_pages_show():
    index = (FOLDER / "README.md").read_text("utf-8")
    header = re.search(r"^\| model \| worker \| (.*) \|$", index, re.MULTILINE)
    assert header
    for model, page in PAGES.items():
        kinds = [kind_of(row, value, printed) for (row, _), (value, printed) in read_cells(page).items()]
        counted = re.search(rf"^\| \[.*?\]\({model}\.md\) \| .*? \| (.*) \|$", index, re.MULTILINE)
        assert counted
        assert counted[1].split(" | ") == [str(kinds.count(kind)) for kind in header[1].split(" | ")], model


@pytest.mark.parametrize("model", PAGES)
def test_a_page_checks_out_the_commit_of_the_worker(model):
    page = PAGES[model].read_text("utf-8")
    worker = re.search(r"recipes/listeners/(\w+)/worker\.py", page)
    commit = re.search(r"git -C \S+ checkout ([0-9a-f]{40})", page)
    assert worker and commit
    source = (ROOT / "recipes" / "listeners" / worker[1] / "worker.py").read_text("utf-8")
    assert f'COMMIT = "{commit[1]}"' in source


@pytest.mark.parametrize("model", ["flamingo", "gama"])
def test_a_page_shows_what_the_released_answers_give(shared, model):
    given = {}
    for line in (shared / "cmi-bench" / "table3.csv").read_text().splitlines()[1:]:
        name, row, metric, _, value, *_ = line.split(",")
        if name == model and value:
            given[row, metric] = float(value)
    shown = {place: float(value) for place, (value, _) in read_cells(PAGES[model]).items() if value}
    assert shown.items() and all(abs(shown[place] - given[place]) < 0.0051 for place in shown if place in given)
    assert len(given.keys() & shown.keys()) > 15

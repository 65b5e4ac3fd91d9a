"""A dataclass as a parameter's type is a group of options; a run in shards passes on what it was given."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import pytest
import typer
from typer.testing import CliRunner

from cmi.cli.command import prepare_commands, shard_options


@dataclass(frozen=True)
class Group:
    PANEL: ClassVar = "Of a group"

    folder: Annotated[list[Path] | None, typer.Option(help="Folders.")] = None
    prices: Annotated[tuple[float, float], typer.Option(help="In and out.")] = (0.0, 0.0)
    max_calls: Annotated[int | None, typer.Option(help="Calls.")] = None
    max_total_tokens: Annotated[int | None, typer.Option(help="Tokens.")] = None
    max_cost: Annotated[float | None, typer.Option(help="Money.")] = None


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()

    @app.command()
    def run(context: typer.Context, file: Path, group: Group, ray: int = 1, again: bool = False) -> None:
        print(file, group, shard_options(context, ray, without=("ray",)))

    prepare_commands(app)
    return app


def test_options_of_a_group_come_as_one_object_and_stand_in_its_panel(app: typer.Typer):
    said = CliRunner().invoke(app, ["f.jsonl", "--max-calls", "3", "--folder", "a", "--folder", "b"]).output
    assert said.startswith(f"f.jsonl {Group(folder=[Path('a'), Path('b')], max_calls=3)}")
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120", "TERM": "dumb"}).output
    assert "Of a group" in shown and shown.index("Of a group") < shown.index("--max-calls")


def test_a_shard_gets_what_was_given_and_its_part_of_the_budget(app: typer.Typer):
    given = ["--folder", "a", "--folder", "b", "--prices", "1", "2", "--again", "--ray", "4"]
    limits = ["--max-calls", "3", "--max-total-tokens", "100", "--max-cost", "6"]
    said = CliRunner().invoke(app, ["f.jsonl", *given, *limits]).output
    words = ["--folder=a", "--folder=b", "--prices", "1.0", "2.0"]
    words += ["--max-calls=1", "--max-total-tokens=25", "--max-cost=1.5", "--again"]
    assert said.rstrip().endswith(str(words))

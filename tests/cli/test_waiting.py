"""A run that waits for an endpoint says so."""

from collections.abc import Callable

import pytest
from rich.console import Console
from rich.progress import Progress

from cmi.cli.progress import show_waits


class Waits:
    tell: Callable[[str], None]

    def set_on_wait(self, callback: Callable[[str], None]) -> None:
        self.tell = callback


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_is_waited_for_is_beside_the_bar_or_on_a_line_now_and_then(
    is_terminal: bool, capsys: pytest.CaptureFixture[str]
):
    bar, judge = Progress(console=Console(quiet=True), disable=not is_terminal), Waits()
    task = bar.add_task("pairs judged")
    show_waits(judge, bar, task)
    for second in range(3):
        judge.tell(f"http://localhost/v1: no connection\x1b[2J; next try in {second} s")
    assert bar.tasks[task].description.startswith(
        r"pairs judged, waiting for http://localhost/v1: no connection\x1b[2J"
    )
    judge.tell("")
    assert bar.tasks[task].description == "pairs judged"
    said = capsys.readouterr().err
    line = "cmi: waiting for http://localhost/v1: no connection\\x1b[2J; next try in 0 s\n"
    assert said == ("" if is_terminal else line)


def test_a_listener_that_waits_for_nothing_is_left_alone():
    bar = Progress(disable=True)
    task = bar.add_task("asking")
    show_waits(object(), bar, task)
    assert bar.tasks[task].description == "asking"

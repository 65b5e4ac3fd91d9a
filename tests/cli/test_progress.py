"""What a progress bar says is text, whatever names are in it."""

import io

from rich.console import Console

from cmi.cli.progress import progress


def test_a_total_is_shown_when_it_is_known_and_kept():
    bar = progress()
    count = bar.counter("bytes")
    assert (bar.tasks[0].completed, bar.tasks[0].total) == (0, None)
    count(3, 7)
    count(5, None)
    assert (bar.tasks[0].completed, bar.tasks[0].total) == (5, 7)
    bar.report("bytes", 6, 7, "slowly")
    assert [(task.description, task.completed) for task in bar.tasks] == [("bytes  slowly", 6)]


def test_a_description_is_neither_markup_nor_escapes():
    bar = progress()
    bar.add_task("scored by foo[bar] [/b] \x1b[2J", total=1)
    out = io.StringIO()
    Console(file=out, width=200).print(bar.get_renderable())
    assert r"scored by foo[bar] [/b] \x1b[2J" in out.getvalue()

"""What a progress bar says is text, whatever names are in it."""

import io

from rich.console import Console

from cmi.cli.progress import progress


def test_a_description_is_neither_markup_nor_escapes():
    bar = progress()
    bar.add_task("scored by foo[bar] [/b] \x1b[2J", total=1)
    out = io.StringIO()
    Console(file=out, width=200).print(bar.get_renderable())
    assert r"scored by foo[bar] [/b] \x1b[2J" in out.getvalue()

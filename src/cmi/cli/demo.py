"""`cmi demo`: what cmi does, on music made here."""

from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import require_extra
from cmi._util.files import write_whole
from cmi.cli.progress import progress
from cmi.report.tables import print_tables


def demo(
    out: Annotated[Path, typer.Argument(help="Folder to write; the same command resumes there.")] = Path("build/demo"),
) -> None:
    """Try cmi in a few minutes: rank takes, judge pairs, probe a scorer, answer questions, and write a page.

    The music is generated, so that the right answers are known. nano scores it, and the installed MIR models answer
    questions about it. Only nano's audio encoder is downloaded, on first use.

    Example:  cmi demo, then open build/demo/index.html in a browser
    """
    with require_extra("the demonstration", "bench,embed,reward,studio"):
        from cmi.demo.page import page_of
        from cmi.demo.run import DemoPlan, run_demo
        from cmi.demo.tables import demo_tables
        from cmi.reward.scoring.scorers import load_scorer

    with progress() as bar:
        found = run_demo(out, lambda: load_scorer("nano"), DemoPlan(), bar.report)
    page = out / "index.html"
    write_whole(page, page_of(found, out))
    print_tables(demo_tables(found))
    print(f"What to notice, and takes to listen to: {page}")

"""`cmi studio generate`: takes by a generator that is imperfect on purpose."""

from pathlib import Path
from typing import Annotated

import typer


def generate(
    folder: Annotated[Path, typer.Argument(help="Where to write; the same command resumes there.")],
    prompts: Annotated[int, typer.Option(min=1, max=1000, help="Captions to make takes for.")] = 20,
    candidates: Annotated[int, typer.Option(min=1, max=1000, help="Takes for each.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")] = 0,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; by default one a core.", show_default=False)
    ] = None,
) -> None:
    """Generate takes to pick from: each does some of what its prompt asks, most have a flaw, and all of it is known.

    Examples:

        cmi studio generate takes/ --prompts 20 --candidates 10 --seed 0

        cmi pick takes/ --curve 1,3,10 --second cmi.studio.generate:Truth
    """
    from cmi._util.errors import MissingExtra
    from cmi.cli.progress import progress

    try:
        from cmi.studio.generate import generate_set
    except ModuleNotFoundError as error:
        raise MissingExtra("the studio", "studio") from error

    with progress() as bar:
        task = bar.add_task("takes generated", total=None)
        manifest = generate_set(
            folder,
            prompts,
            candidates,
            seed,
            workers,
            lambda done, total: bar.update(task, completed=done, total=total),
        )
    print(f"{manifest}: {prompts * candidates} takes for {prompts} prompts")

"""Progress on standard error, so that standard output holds nothing but results."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from cmi._util.printable import printable


class _Description(ProgressColumn):
    """What is being done; names in it are text, not markup."""

    def render(self, task: Task) -> Text:
        return Text(printable(task.description))


@contextmanager
def loading(what: str) -> Iterator[None]:
    """Show that something is being loaded, which may take seconds."""
    with progress() as bar:
        bar.add_task(f"loading {what}", total=None)
        yield


def progress() -> Progress:
    """A bar for a terminal; nothing elsewhere, where it would leave empty lines among the errors."""
    console = Console(stderr=True)
    return Progress(
        _Description(),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )

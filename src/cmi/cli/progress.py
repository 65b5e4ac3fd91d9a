"""Progress on standard error, so that standard output holds nothing but results."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from cmi._util.printable import printable
from cmi.cli.output import note, verbosity

WAITING = ", waiting for "
BETWEEN_LINES = 30.0  # seconds between two lines if there is no terminal


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


class ProgressBar(Progress):
    """Progress bars, updated by the callbacks of long functions."""

    def report(self, what: str, done: int, total: int | None, remark: str = "") -> None:
        """Show how much of something is done."""
        known = [task.id for task in self.tasks if task.fields.get("what") == what]
        task = known[0] if known else self.add_task(what, total=None, what=what)
        self.update(task, completed=done, total=total, description=f"{what}  {remark}" if remark else what)

    def counter(self, what: str, total: int | None = None) -> Callable[[int, int | None], None]:
        """Return a callback that takes the number done and the total."""
        self.report(what, 0, total)
        return partial(self.report, what)

    def stepper(self, what: str, total: int | None = None) -> Callable[..., None]:
        """Return a callback that takes the number of steps since its last call, by default one."""
        task = self.add_task(what, total=total)
        return lambda steps=1: self.advance(task, steps)

    def name_stepper(self, what: str, total: int | None = None) -> Callable[[str], None]:
        """Return a callback that takes the name of what was done last, and shows it."""
        task = self.add_task(what, total=total)
        return lambda name: self.update(task, advance=1, description=f"{what} {name}")


def progress() -> ProgressBar:
    """Return a bar that is shown on a terminal only, and not if -q was given."""
    console = Console(stderr=True)
    return ProgressBar(
        _Description(),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal or verbosity() < 0,
    )


def show_waits(model: object, bar: Progress, task: TaskID) -> None:
    """Show when a judge or listener waits for an endpoint: beside the bar, or as a line every BETWEEN_LINES seconds."""
    set_callback = getattr(model, "set_on_wait", None)
    if not callable(set_callback):
        return
    last_line = -BETWEEN_LINES

    def show_wait(what: str) -> None:
        nonlocal last_line
        plain = bar.tasks[task].description.partition(WAITING)[0]
        bar.update(task, description=plain + (f"{WAITING}{printable(what)}" if what else ""))
        if what and bar.disable and time.monotonic() - last_line >= BETWEEN_LINES:
            last_line = time.monotonic()
            note(f"waiting for {what}")

    set_callback(show_wait)

"""What a run waits for, on standard error: an endpoint that is gone or refuses more requests."""

import sys
import time

from rich.progress import Progress, TaskID

from cmi._util.printable import printable

WAITING = ", waiting for "
BETWEEN_LINES = 30.0  # seconds between two lines where there is no terminal


def tell_waits(asked: object, bar: Progress, task: TaskID) -> None:
    """Have a judge or listener that waits for an endpoint say so: beside the bar, or as a line now and then."""
    set_teller = getattr(asked, "tell_waits", None)
    if not callable(set_teller):
        return
    last_line = -BETWEEN_LINES

    def tell(what: str) -> None:
        nonlocal last_line
        plain = bar.tasks[task].description.partition(WAITING)[0]
        bar.update(task, description=plain + (f"{WAITING}{printable(what)}" if what else ""))
        if what and bar.disable and time.monotonic() - last_line >= BETWEEN_LINES:
            last_line = time.monotonic()
            print(f"cmi: waiting for {printable(what)}", file=sys.stderr, flush=True)

    set_teller(tell)

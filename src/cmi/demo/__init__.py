"""A demonstration of cmi in minutes: ranked takes, judged pairs, a probed scorer, scored answers, a page."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]  # what is done, how many of how many


def counter(on_progress: Progress, what: str, total: int) -> Callable[[int], None]:
    """Return a callback that adds to the number of those done, and reports it."""
    done = 0

    def add(more: int) -> None:
        nonlocal done
        done += more
        on_progress(what, done, total)

    return add

"""The server's log: one line for each entry, whatever a request, a name or an error has in it."""

import logging
from types import TracebackType

from cmi._util.printable import printable

_Error = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class PrintableFormatter(logging.Formatter):
    """Escapes what a terminal would obey; the lines of a traceback are marked, so that none passes for an entry."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (the library's name)
        return printable(super().formatMessage(record))

    def formatException(self, ei: _Error) -> str:  # noqa: N802
        return "\n".join(f"  | {printable(line)}" for line in super().formatException(ei).split("\n"))


def start_logging(requests: bool) -> None:
    """Log warnings to standard error, and with `requests` each request."""
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("%(asctime)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    logging.getLogger("cmi.arena.access").setLevel(logging.INFO if requests else logging.WARNING)

"""Run a web application with uvicorn: its socket, its log and how it stops. The arena and the reward server use it."""

import ipaddress
import logging
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import uvicorn

from cmi._util.errors import InputError
from cmi._util.printable import printable

KEEP_ALIVE = 30  # seconds that an idle connection is kept
STOP_SECONDS = 10  # for requests under way to finish
MOST_CONNECTIONS = 2000
BACKLOG = 1024

_Error = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class PrintableFormatter(logging.Formatter):
    """Escapes control characters, and marks the lines of a traceback so that none looks like a log entry."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (the library's name)
        return printable(super().formatMessage(record))

    def formatException(self, ei: _Error) -> str:  # noqa: N802
        return "\n".join(f"  | {printable(line)}" for line in super().formatException(ei).split("\n"))


def start_logging(access: str, requests: bool) -> None:
    """Log warnings to standard error, and with `requests` what the logger `access` says of each request."""
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("%(asctime)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    logging.getLogger(access).setLevel(logging.INFO if requests else logging.WARNING)


@contextmanager
def stopped_by_sigterm() -> Iterator[None]:
    """Make SIGTERM (systemd, docker) end the server like Ctrl-C, with what it has open closed.

    uvicorn finishes the requests under way and then raises the signal again.
    """

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to the address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def local_url(host: str, port: int) -> str:
    return f"http://[{host.strip('[]')}]:{port}" if ":" in host else f"http://{host}:{port}"


def listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{host} port {port}: {reason}; choose another with --port") from error
    return listening


def make_server(app: Any) -> uvicorn.Server:
    """A server without a log of its own: the application logs, without addresses and query strings."""
    config = uvicorn.Config(
        app,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=True,
        forwarded_allow_ips="127.0.0.1,::1",  # trust only a reverse proxy on this machine
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=STOP_SECONDS,
        limit_concurrency=MOST_CONNECTIONS,
        backlog=BACKLOG,
    )
    return uvicorn.Server(config)

"""Run the reward server: on the loopback interface, or with a token for other machines."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from cmi._util.errors import InputError
from cmi._util.web_server import is_loopback, listen, local_url, make_server, start_logging, stopped_by_sigterm
from cmi.reward.scoring.calibration import Calibration
from cmi.reward.scoring.scorers import NamedScorer
from cmi.serve.app import create_app
from cmi.serve.guard import LIMITS, ServeLimits, ServeMetrics
from cmi.serve.score_queue import WAITING, ScoreQueue

SHORTEST_TOKEN = 16  # characters


@stopped_by_sigterm()
def serve(
    scorer: NamedScorer,
    *,
    host: str = "127.0.0.1",
    port: int = 8009,
    token: str | None = None,
    allowed: Sequence[Path] = (),
    most_waiting: int = WAITING,
    limits: ServeLimits = LIMITS,
    log: bool = False,
    calls: int = 1,
    out: TextIO | None = None,
    calibration: Calibration | None = None,
) -> None:
    """Serve until stopped; the address is printed to `out` when requests are taken. `calls` are made to the scorer at
    once."""
    check_access(host, token)
    metrics = ServeMetrics()
    queue = ScoreQueue(scorer, most_waiting, on_batch=metrics.count_batch, calls=calls)
    try:
        with suppress(KeyboardInterrupt), listen(host, port) as listening:
            start_logging("cmi.serve.access", requests=log)
            server = make_server(create_app(queue, metrics, limits, token, allowed, calibration))
            url = local_url(host, listening.getsockname()[1])
            name = calibration.name if calibration else scorer.name
            print(f"{name} scores takes at {url} (stop it with Ctrl-C).", flush=True, file=out)
            server.run(sockets=[listening])
        print("The server is closed.", flush=True, file=out)
    finally:
        queue.close()


def check_access(host: str, token: str | None) -> None:
    """InputError for an address that would let anybody in."""
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise InputError(f"the token needs {SHORTEST_TOKEN} or more printable ASCII characters")
    if token is None and not is_loopback(host):
        raise InputError(
            f"--host {host} lets other machines in: give a token with --token-file or CMI_SERVE_TOKEN, "
            "or leave --host out"
        )

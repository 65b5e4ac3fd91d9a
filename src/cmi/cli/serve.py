"""`cmi serve`: a reward over HTTP."""

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import InputError, require_extra
from cmi.cli.options import SCORERS, CalibrationFile, Device, Port, Revision
from cmi.cli.output import note
from cmi.cli.progress import loading

TOKEN = "CMI_SERVE_TOKEN"  # noqa: S105  (the variable's name)


def serve(
    model: Annotated[str, typer.Option(help=f"{SCORERS}; auto: cmi-rm if it is on this machine, else nano.")] = "auto",
    revision: Revision = None,
    window: Annotated[
        str, typer.Option(help="Part of each take that is scored: first120, first10, mean10 or full.")
    ] = "first120",
    host: Annotated[str, typer.Option(help="Address to listen on; any but loopback requires a token.")] = "127.0.0.1",
    port: Port = 8009,
    token_file: Annotated[
        Path | None, typer.Option(help=f"File with the token that clients must send; or set {TOKEN}.")
    ] = None,
    allow: Annotated[
        list[Path] | None, typer.Option(help="Folder whose files clients may score by path; repeatable.")
    ] = None,
    queue: Annotated[
        int, typer.Option(min=1, help="Greatest number of takes that wait; further requests are answered with 429.")
    ] = 64,
    body_mb: Annotated[int, typer.Option(min=1, max=2000, help="Greatest size of a request, in megabytes.")] = 64,
    cache_gb: Annotated[float, typer.Option(min=0, help="Size limit of the embedding cache, in gigabytes.")] = 20.0,
    device: Device = "auto",
    ray: Annotated[
        int, typer.Option(min=0, help="Greatest number of processes on Ray Serve, with a GPU each if there are any.")
    ] = 0,
    calibration: CalibrationFile = None,
    log_requests: Annotated[bool, typer.Option("--log-requests", help="Log requests to standard error.")] = False,
) -> None:
    """Serve scores over HTTP until Ctrl-C: musicality and alignment, for a trainer in another environment.

    Requests of all clients are batched together, and scores are cached. POST /score, /compare, /rank and /verl-omni
    accept JSON or files; GET / lists them.

    Examples:

        cmi serve

        curl -F audio=@take.wav -F text="slow sad piano" http://127.0.0.1:8009/score

        cmi serve --model CMI-RM/ --host 0.0.0.0 --token-file token.txt --allow takes/

        cmi serve --model cmi-rm --ray 8 --queue 512
    """
    with require_extra("cmi serve", "serve"), loading("torch"):
        from cmi.reward.scoring.calibration import read_calibration
        from cmi.reward.scoring.scorers import load_scorer
        from cmi.serve.guard import MEGABYTE, ServeLimits
        from cmi.serve.on_ray import BATCHES, scorer_on_ray_serve
        from cmi.serve.serve import check_access
        from cmi.serve.serve import serve as start

    token = _read_token(token_file)
    check_access(host, token)
    for folder in allow or []:
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; --allow names folders that clients may read files of")
    limits = ServeLimits(body_bytes=body_mb * MEGABYTE, bytes_at_once=max(8 * body_mb, 512) * MEGABYTE)
    offsets = read_calibration(calibration) if calibration else None
    options = (model, revision, device, window, False, cache_gb)
    out = sys.stdout  # Ray's threads print to what is sys.stdout below
    with ExitStack() as stack:
        with loading(model):
            on_ray = scorer_on_ray_serve(ray, allow or (), *options) if ray else None
            scorer = stack.enter_context(on_ray) if on_ray else load_scorer(*options)
        if offsets is not None:
            offsets.require_model(scorer)
            if offsets.caution:
                note(offsets.caution)
        start(
            scorer,
            host=host,
            port=port,
            token=token,
            allowed=allow or (),
            most_waiting=queue,
            limits=limits,
            log=log_requests,
            calls=BATCHES * ray or 1,
            out=out,
            calibration=offsets,
        )


def _read_token(path: Path | None) -> str | None:
    if path is None:
        return os.environ.get(TOKEN) or None
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error

"""`cmi distance`: how far a set of takes is from reference music."""

from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import InputError, require_extra
from cmi.cli.options import AsJson, Device
from cmi.cli.output import print_result
from cmi.cli.progress import loading, progress


def distance(
    takes: Annotated[Path, typer.Argument(help="Folder of takes, or a JSONL or CSV file with the column audio.")],
    reference: Annotated[
        Path, typer.Argument(help="Reference music: a folder, or a JSONL or CSV file with the column audio.")
    ],
    encoder: Annotated[
        str,
        typer.Option(help="musicnn (offline), clap, clap-music, muq-mulan or clamp3; NAME=FOLDER for a local copy."),
    ] = "musicnn",
    metric: Annotated[list[str] | None, typer.Option(help="fad, kad or mad; repeatable. By default all.")] = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Measure the distance of a set of takes from reference music: FAD, KAD and MAUVE divergence, with null values.

    The same command gives the same number. Each set needs at least ten recordings; a few hundred give a useful
    interval. A recording that cannot be read is listed with the reason and left out.

    Examples:

        cmi distance takes/ reference/

        cmi distance takes.jsonl reference/ --encoder clap-music --metric kad --json
    """
    with require_extra("distances", "distance"), loading("torch"):
        import sklearn.cluster  # noqa: F401

        from cmi.audio import find_recordings
        from cmi.distance.embed import embed_recordings, load_encoder
        from cmi.distance.measure import (
            distance_record,
            distance_tables,
            measure_distances,
            require_enough,
            steps,
            summarise,
        )
        from cmi.distance.metrics import METRICS
        from cmi.reward.engine.token_cache import TokenCache
        from cmi.take import read_recordings

    metrics = list(dict.fromkeys(metric or METRICS))
    if unknown := [name for name in metrics if name not in METRICS]:
        raise InputError(f"--metric {unknown[0]}: expected {', '.join(METRICS)}")
    sources = (takes, reference)
    paths = [find_recordings(source) if source.is_dir() else read_recordings(source) for source in sources]
    for source, found in zip(sources, paths, strict=True):
        require_enough(str(source), len(found))
    with loading(encoder):
        loaded = load_encoder(encoder, device)
    with progress() as bar:
        on_done = bar.stepper("recordings embedded", sum(map(len, paths)))
        own, other = (embed_recordings(found, loaded, TokenCache(), on_done) for found in paths)
        for source, embedded in zip(sources, (own, other), strict=True):
            require_enough(f"{source}, readable ones", len(embedded.takes))
        measured = measure_distances(own.takes, other.takes, metrics, bar.stepper("splits", steps(len(metrics))))
    report = summarise(loaded.name, own, other, measured)
    print_result(distance_tables(report), distance_record(report), as_json)

"""`cmi probe`: test a scorer on changes with a known effect."""

from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import InputError, require_extra
from cmi.cli.options import SCORERS, AsJson, Device, Html, Log, Revision
from cmi.cli.output import print_result, write_page
from cmi.cli.progress import loading, progress
from cmi.report.pictures import require_page, require_picture
from cmi.report.tables import print_tables


def probe(
    model: Annotated[str, typer.Argument(help=f"{SCORERS}.")],
    audio: Annotated[Path | None, typer.Option(help="Probe with the recordings in this folder.")] = None,
    set_: Annotated[
        Path | None,
        typer.Option("--set", help="Instead, measure accuracy on the pairs of this studio set."),
    ] = None,
    pieces: Annotated[
        int, typer.Option(min=3, max=1000, help="Number of songs; each is scored in about a hundred versions.")
    ] = 16,
    seconds: Annotated[float, typer.Option(min=5, max=120, help="Length of each song.")] = 20.0,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of songs, flaws and wordings.")] = 0,
    change_bound: Annotated[
        float,
        typer.Option(
            min=0, help="Greatest allowed change of a score by format, level or delay, in standard deviations."
        ),
    ] = 0.1,
    paraphrase_bound: Annotated[
        float, typer.Option(min=0, help="Greatest allowed change of alignment by a paraphrase, in standard deviations.")
    ] = 0.5,
    fall_bound: Annotated[
        float, typer.Option(min=0, max=1, help="Smallest share of songs whose score a flaw of strength 0.5 must lower.")
    ] = 0.8,
    trend_bound: Annotated[
        float, typer.Option(min=-1, max=1, help="Greatest allowed correlation of a flaw's strength with the score.")
    ] = -0.6,
    order_bound: Annotated[
        float,
        typer.Option(min=0, max=1, help="Smallest share of songs that must score higher under the matching prompt."),
    ] = 0.8,
    plot: Annotated[
        Path | None, typer.Option(help="Draw scores by flaw and strength to this .png or .svg file.")
    ] = None,
    html: Html = None,
    revision: Revision = None,
    device: Device = "auto",
    log: Log = None,
    as_json: AsJson = False,
) -> None:
    """Test a scorer: its scores should ignore format changes, fall with flaws, and depend on the prompt.

    Songs are composed and rendered with flaws of known strength. A folder of your own recordings gets the probes that
    need neither notes nor captions. The exit code is 0 whether probes pass or fail.

    Examples:

        cmi probe CMI-RM/ --html probe.html --plot probe.png

        cmi probe my_models:MyScorer --pieces 5

        cmi probe my_models:MyScorer --audio takes/ --json

        cmi probe nano --set pairs/
    """
    with require_extra("probing a scorer", "studio"), loading("torch"):
        from cmi.audio import find_recordings
        from cmi.probe import report as probe_report
        from cmi.probe.accuracy import measure_accuracy
        from cmi.probe.page import probe_page
        from cmi.probe.probe import Bounds
        from cmi.probe.probe import probe as run_probe
        from cmi.probe.versions import Song, compose_songs, read_songs
        from cmi.reward.scoring.scorers import load_scorer

    require_picture(plot)
    require_page(html)
    if Path(model).is_dir() and not list(Path(model).glob("*.safetensors")) and find_recordings(Path(model)):
        raise InputError(f"{model}: a folder of recordings, not a model; probe a model with them: --audio {model}")
    if set_ is not None:
        if html is not None:
            raise InputError("--html shows the probes; leave out --set, which counts right answers instead")
        with loading(model):
            scorer = load_scorer(model, revision, device)
        print_tables(measure_accuracy(scorer, set_))
        return
    songs: list[Song] = []
    songs += compose_songs(pieces, seconds, seed) if audio is None else read_songs(audio, pieces, seconds)
    with loading(model):
        scorer = load_scorer(model, revision, device)
    bounds = Bounds(change_bound, paraphrase_bound, fall_bound, trend_bound, order_bound)
    with progress() as bar:
        report = run_probe(scorer, songs, seed, bounds, bar.counter("takes scored"), [log] if log else [])
    if plot is not None:
        probe_report.draw(report, plot)
    if html is not None:
        write_page(html, probe_page(report))
    print_result(probe_report.tables(report), report.record(), as_json)

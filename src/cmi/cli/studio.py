"""`cmi studio`: music with known flaws."""

from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import InputError, require_extra
from cmi.cli.options import Seed, Workers
from cmi.cli.progress import progress
from cmi.report.tables import print_tables

app = typer.Typer(no_args_is_help=True, help="Make music with known flaws.")


STUDIO = ("the studio", "studio")


@app.command()
def make(
    folder: Annotated[Path, typer.Argument(help="Folder to write; the same command resumes there.")],
    pairs: Annotated[int, typer.Option(min=1, max=1_000_000, help="Approximate number of pairs.")] = 1000,
    seed: Seed = 0,
    hold_out: Annotated[
        list[str] | None,
        typer.Option(help="Flaw, or family of flaws, that occurs only in the split 'heldout'."),
    ] = None,
    scores: Annotated[float, typer.Option(min=0, max=1, help="Share of pairs made from music21's scores.")] = 0.1,
    tracks: Annotated[Path | None, typer.Option(help="Folder of real recordings to make pairs from, too.")] = None,
    tracks_share: Annotated[float, typer.Option(min=0, max=1, help="Share of pairs made from real recordings.")] = 0.5,
    workers: Workers = None,
) -> None:
    """Make a preference set: pairs of takes whose winner is known, as JSON lines and FLAC.

    Pieces are composed, rendered, given known flaws and captioned. Takes have equal loudness and length, and the set is
    balanced so that loudness, length, brightness and number of notes do not predict the winner.

    Examples:

        cmi studio make pairs/ --pairs 200 --seed 1

        cmi studio make pairs/ --pairs 2000 --tracks music/ --tracks-share 0.4
    """
    with require_extra(*STUDIO):
        from cmi.studio.make import make_set, summary_table
        from cmi.studio.pairs import HELD_OUT, Material, known_flaws
        from cmi.studio.tracks import find_tracks

    held_out = known_flaws(hold_out) if hold_out else HELD_OUT
    found = tuple(find_tracks(tracks)) if tracks else ()
    if tracks and len(found) < 2:
        raise InputError(f"{tracks}: {len(found)} tracks of 20 s or more, expected two at least")
    material = Material(held_out, scores, found, tracks_share if tracks else 0.0)
    with progress() as bar:
        about = make_set(folder, pairs, seed, material, workers, bar.counter("pairs recorded"))
    print_tables([summary_table(about)])


@app.command()
def fetch(
    folder: Annotated[Path, typer.Argument(help="Folder to unpack to; packages that are there are not fetched again.")],
    packages: Annotated[
        list[str] | None, typer.Argument(help="Debian packages with music; without any, some are listed.")
    ] = None,
) -> None:
    """Download freely licensed music from Debian packages and record each licence; nothing is installed.

    Needs apt-get and dpkg-deb, but no root. Licences differ: read each package's copyright file before you share it.

    Example:  cmi studio fetch music/ wesnoth-1.16-music supertux-data
    """
    with require_extra(*STUDIO):
        from cmi.studio.tracks import LICENCES, PACKAGES, fetch_debian, find_tracks

    if not packages:
        for name, (hours, kind) in PACKAGES.items():
            print(f"{name:28} {hours:5.2f} h  {kind}")
        return
    with progress() as bar:
        step = bar.stepper("packages fetched", len(packages))
        for package in packages:
            fetch_debian([package], folder)
            step()
    found = find_tracks(folder)
    print(f"{len(found)} tracks, {sum(track.seconds for track in found) / 3600:.2f} h; {folder / LICENCES}")


@app.command()
def mir(
    folder: Annotated[Path, typer.Argument(help="Folder to write; existing files are kept.")],
    clips: Annotated[int, typer.Option(min=1, max=100_000, help="Number of pieces, and of single notes.")] = 50,
    seed: Seed = 0,
) -> None:
    """Make a small MIR set with exact labels, in CMI-Bench's layout: key, beats, downbeats, melody, pitch, instrument.

    Example:  cmi studio mir mir/ --clips 20, then  cmi bench score ANSWERS --annotations mir/annotations
    """
    with require_extra(*STUDIO):
        from cmi.studio.mir import make_mir_set

    with progress() as bar:
        counts = make_mir_set(folder, clips, seed, bar.stepper("clips made", 2 * clips))
    for dataset, count in counts.items():
        print(f"{folder / 'annotations' / f'CMI_{dataset}.jsonl'}: {count} instructions")


@app.command()
def show(
    folder: Annotated[Path, typer.Argument(help="Folder to write; files of the same names are replaced.")],
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the piece and its flaws.")] = 0,
    style: Annotated[str | None, typer.Option(help="Style of the piece; by default random.")] = None,
    flaw: Annotated[
        list[str] | None,
        typer.Option(
            help="A flaw, or a family of flaws, to show; repeatable. By default one of each family.",
        ),
    ] = None,
    strength: Annotated[
        float, typer.Option(min=0, max=1, help="Strength of the flaws; 0.5 is noticeable, 1 is blatant.")
    ] = 0.6,
) -> None:
    """Show what each flaw does to a piece: plots, and a page to listen to the clean and the flawed versions.

    Open index.html in a browser; it works offline. Marks show where a version differs most from the clean one.

    Examples:

        cmi studio show flaws/ --seed 3

        cmi studio show flaws/ --style "jazz swing" --flaw performance --flaw dropouts --strength 0.8
    """
    with require_extra(*STUDIO):
        from cmi.studio.show import ONE_OF_EACH, show_flaws

    with progress() as bar:
        page = show_flaws(folder, seed, style, flaw or ONE_OF_EACH, strength, bar.counter("versions drawn"))
    print(page)


@app.command()
def generate(
    folder: Annotated[Path, typer.Argument(help="Folder to write; the same command resumes there.")],
    prompts: Annotated[int, typer.Option(min=1, max=1000, help="Number of prompts.")] = 20,
    candidates: Annotated[int, typer.Option(min=1, max=1000, help="Takes for each prompt.")] = 10,
    seed: Seed = 0,
    workers: Workers = None,
) -> None:
    """Generate takes for `cmi pick`, with known flaws and known deviations from the prompt.

    Examples:

        cmi studio generate takes/ --prompts 20 --candidates 10 --seed 0

        cmi pick takes/ --curve 1,3,10 --second cmi.studio.generate:Truth
    """
    with require_extra(*STUDIO):
        from cmi.studio.generate import generate_set

    with progress() as bar:
        manifest = generate_set(folder, prompts, candidates, seed, workers, bar.counter("takes generated"))
    takes = prompts * candidates
    print(f"{manifest}: {takes} take{'s' * (takes > 1)} for {prompts} prompt{'s' * (prompts > 1)}")

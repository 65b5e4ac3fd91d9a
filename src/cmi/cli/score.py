"""`cmi score`: musicality and alignment of takes."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, repeat
from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import InputError, require_extra
from cmi._util.remote import to_path
from cmi.cli.options import SCORERS, AsJson, CalibrationFile, Device, EmbedAudio, Html, Log, OnRay, Revision
from cmi.cli.output import note, note_if_nothing_asked, write_page
from cmi.cli.progress import loading, progress
from cmi.report.pictures import require_page
from cmi.report.tables import print_tables, to_json_line


def score(
    audio: Annotated[
        list[str] | None, typer.Argument(help="Takes of one prompt, or folders of takes: paths or URLs.")
    ] = None,
    text: Annotated[str, typer.Option(help="Text part of the prompt: a description of the music.")] = "",
    lyrics: Annotated[str, typer.Option(help="Lyrics part of the prompt.")] = "",
    reference: Annotated[
        Path | None,
        typer.Option(help="Audio part of the prompt: a recording that the takes should resemble.", parser=to_path),
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(help="JSONL, CSV or Parquet of takes: id, audio, text, lyrics, reference.", parser=to_path),
    ] = None,
    model: Annotated[str, typer.Option(help=f"{SCORERS}; auto: cmi-rm if it is on this machine, else nano.")] = "auto",
    revision: Revision = None,
    window: Annotated[
        str,
        typer.Option(
            help="Part of each take that is scored: first120 (seconds), first10, mean10 (mean over 10 s) or full."
        ),
    ] = "first120",
    all_words: Annotated[
        bool,
        typer.Option(
            "--all-words", help="Do not truncate texts and lyrics at 512 tokens; encode the rest in further windows."
        ),
    ] = False,
    explain: Annotated[Path | None, typer.Option(help="Draw the scores over time to this .png or .svg file.")] = None,
    html: Html = None,
    embed_audio: EmbedAudio = False,
    device: Device = "auto",
    cache_gb: Annotated[
        float,
        typer.Option("--cache-gb", min=0, help="Size limit of the embedding cache, in gigabytes; 0 for no cache."),
    ] = 20.0,
    ray: OnRay = 0,
    calibration: CalibrationFile = None,
    log: Log = None,
    as_json: AsJson = False,
) -> None:
    """Score takes: musicality and alignment with the prompt. Higher is better; scores rank takes and have no unit.

    A folder stands for its recordings or, if it has none, for its subfolders: prompt.txt and the takes of that prompt.
    Without a prompt on the command line, prompt.txt is that of a folder's recordings, or take.txt that of take.wav.
    A file that cannot be read is listed with the reason and the exit code is 2; the others are scored.

    Examples:

        cmi score take1.wav take2.wav --text "slow sad piano with rain"

        cmi score takes/ --html scores.html --embed-audio

        cmi score song.mp3 --lyrics "$(cat song.txt)" --window full --explain song.png

        cmi score --manifest takes.jsonl --model CMI-RM/ --log scores.jsonl --json

        cmi score take1.wav take2.wav --text "slow sad piano with rain" --model my_models:MyScorer

        cmi score --manifest takes.parquet --ray 8 --log scores.jsonl --json

        cmi score --manifest takes.jsonl --calibration nano-offsets.json
    """
    with require_extra("scoring takes", "reward"), loading("torch"):
        from cmi.report.players import page_links
        from cmi.reward.engine.windows import find_window
        from cmi.reward.scoring.calibration import read_calibration
        from cmi.reward.scoring.explain import WINDOW as EXPLAINED_WINDOW
        from cmi.reward.scoring.explain import annotated, check_picture, draw, explain_takes
        from cmi.reward.scoring.on_ray import open_scorer
        from cmi.reward.scoring.page import draw_takes, open_takes, score_page
        from cmi.reward.scoring.score_log import score_records, scores_table
        from cmi.reward.scoring.scorers import is_reward_model
        from cmi.take import Prompt, Take, read_generated_takes, read_takes, takes_in

    prompt = Prompt(text, lyrics, reference)
    given = [
        take
        for path in map(to_path, audio or [])
        for take in (takes_in(path, prompt) if path.is_dir() else [Take(prompt, path)])
    ]
    named = [(str(take.audio), take) for take in given]
    count = len(named) + (_count_takes(manifest) if manifest else 0)
    if not count:
        raise InputError("nothing to score: give audio files, or a manifest with --manifest")

    def takes() -> Iterator[tuple[str, Take]]:
        return chain(named, read_takes(manifest) if manifest else ())

    def generators() -> Iterator[str]:
        listed = (generator for _, _, generator in read_generated_takes(manifest)) if manifest else ()
        return chain(repeat("", len(named)), listed)

    offsets = read_calibration(calibration) if calibration else None
    if offsets is not None and not any(generators()):
        raise InputError("--calibration needs the generator of each take: a column 'generator' of --manifest")
    find_window(window)
    require_page(html)
    if embed_audio and html is None:
        raise InputError("--embed-audio needs --html, the page that recordings are put into")
    if explain is not None:
        check_picture(explain, count)
    if explain is not None and not is_reward_model(model):
        raise InputError(f"{model}: --explain is for reward models alone (nano, cmi-rm, a checkpoint)")
    if explain is not None and ray:
        raise InputError("--explain draws in one process: leave out --ray")
    out, broken = sys.stdout, 0  # Ray's threads print to what is sys.stdout below
    kept = []
    with ExitStack() as stack:
        with loading(model):
            options = (model, revision, device, window, all_words, cache_gb)
            scorer = stack.enter_context(open_scorer(ray, *options))
        if offsets is not None:
            offsets.require_model(scorer)
            if offsets.caution:
                note(offsets.caution)
        bar = stack.enter_context(progress())
        on_scored = bar.stepper("takes scored", count)
        for record in score_records(takes(), scorer, log, on_scored, offsets, generators()):
            broken += "error" in record
            if as_json and explain is None and html is None:
                out.write(to_json_line(record))
            else:
                kept.append(record)
        shown_by = offsets.name if offsets else scorer.name
        explanations = []
        if scorer.reward_model is not None and (explain or html):
            explainer = scorer.with_window(EXPLAINED_WINDOW)
            every = list(takes())
            chosen = every if explain else [every[i] for i in open_takes(kept)]
            explanations = explain_takes(chosen, explainer, bar.stepper("takes explained", len(chosen)))
        if html is not None:
            drawn = draw_takes(kept, takes(), explanations, bar.stepper("waveforms drawn", count))
            write_page(html, score_page(*drawn, shown_by, page_links(html, embed_audio)))
        if explain is not None:
            draw(explanations, explain, scorer.name)
            kept = annotated(kept, explanations)
    if as_json:
        sys.stdout.writelines(map(to_json_line, kept))
    else:
        print_tables([scores_table(kept, shown_by)])
    if broken:
        raise InputError(f"{broken} of {count} takes could not be scored; the reasons are listed with the scores")
    if given and all(take.prompt == Prompt() for take in given):
        note("alignment is to an empty prompt: say what was asked for with --text, --lyrics, --reference or prompt.txt")


def _count_takes(manifest: Path) -> int:
    """Read the whole manifest, so that a wrong row is reported before anything is scored, and count its takes."""
    from cmi.take import Prompt, read_takes

    count, asked = 0, Prompt()
    for _, take in read_takes(manifest):
        count += 1
        asked = asked if asked != Prompt() else take.prompt
    if count:
        note_if_nothing_asked(manifest, [asked])
    return count

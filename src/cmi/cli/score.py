"""`cmi score`: musicality and alignment of takes."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import InputError, require_extra
from cmi.cli.options import SCORERS, AsJson, Device, Log, Revision
from cmi.cli.output import note_if_nothing_asked
from cmi.cli.progress import loading, progress
from cmi.report.tables import print_tables, to_json_line


def score(
    audio: Annotated[list[Path] | None, typer.Argument(help="Takes of one prompt.")] = None,
    text: Annotated[str, typer.Option(help="What was asked for in words.")] = "",
    lyrics: Annotated[str, typer.Option(help="What was to be sung.")] = "",
    reference: Annotated[Path | None, typer.Option(help="How it was to sound.")] = None,
    manifest: Annotated[
        Path | None, typer.Option(help="JSONL or CSV of takes: id, audio, text, lyrics, reference.")
    ] = None,
    model: Annotated[str, typer.Option(help=f"{SCORERS}; auto: cmi-rm if it is on this machine, else nano.")] = "auto",
    revision: Revision = None,
    window: Annotated[
        str, typer.Option(help="What is heard: first120, first10, mean10 (of sections of 10 s) or full (songs).")
    ] = "first120",
    all_words: Annotated[
        bool, typer.Option("--all-words", help="Read texts and lyrics beyond 512 tokens in further windows.")
    ] = False,
    explain: Annotated[Path | None, typer.Option(help="Draw the scores over time into this .png or .svg.")] = None,
    device: Device = "auto",
    cache_gb: Annotated[
        float, typer.Option("--cache-gb", min=0, help="Keep what was heard, up to so much; 0 for nothing.")
    ] = 20.0,
    ray: Annotated[int, typer.Option(min=0, help="By so many processes on Ray, each with a GPU if there are any.")] = 0,
    log: Log = None,
    as_json: AsJson = False,
) -> None:
    """Score takes: musicality and alignment to the prompt. Higher is better; scores compare takes, they have no unit.

    A file that can't be heard is listed with the reason, and the exit code is then 2; the others are scored.

    Examples:

        cmi score take1.wav take2.wav --text "slow sad piano with rain"

        cmi score song.mp3 --lyrics "$(cat song.txt)" --window full --explain song.png

        cmi score --manifest takes.jsonl --model CMI-RM/ --log scores.jsonl --json

        cmi score take1.wav take2.wav --text "slow sad piano with rain" --model my_models:MyScorer

        cmi score --manifest takes.parquet --ray 8 --log scores.jsonl --json
    """
    with require_extra("scoring takes", "reward"), loading("torch"):
        from cmi.reward.engine.windows import find_window
        from cmi.reward.scoring.explain import WINDOW as EXPLAINED_WINDOW
        from cmi.reward.scoring.explain import annotated, check_picture, draw, explain_takes
        from cmi.reward.scoring.on_ray import scorer_on_ray
        from cmi.reward.scoring.score_log import score_records, score_takes, scores_table
        from cmi.reward.scoring.scorers import is_reward_model, load_scorer, make_scorer
        from cmi.take import Prompt, Take, read_takes

    prompt = Prompt(text, lyrics, reference)
    takes = [(str(path), Take(prompt, path)) for path in audio or []]
    listed = list(read_takes(manifest)) if manifest else []
    takes += listed
    if not takes:
        raise InputError("nothing to score: name audio files, or a list of them with --manifest")
    if manifest and listed:
        note_if_nothing_asked(manifest, (take.prompt for _, take in listed))
    find_window(window)
    if explain is not None:
        check_picture(explain, len(takes))
    if explain is not None and not is_reward_model(model):
        raise InputError(f"{model}: --explain is for reward models alone (nano, cmi-rm, a checkpoint)")
    if explain is not None and ray:
        raise InputError("--explain draws in one process: leave out --ray")
    with ExitStack() as stack:
        with loading(model):
            options = (model, revision, device, window, all_words, cache_gb)
            scorer = stack.enter_context(scorer_on_ray(ray, *options)) if ray else load_scorer(*options)
        bar = stack.enter_context(progress())
        on_scored = bar.stepper("takes scored", len(takes))
        results = score_takes([take for _, take in takes], scorer, [log] if log else [], on_scored)
        records = score_records(takes, results, scorer)
        if explain is not None:
            assert scorer.reward_model is not None
            explainer = make_scorer(scorer.reward_model, EXPLAINED_WINDOW, all_words, cache_gb)
            explanations = explain_takes(takes, explainer, bar.stepper("takes explained", len(takes)))
            draw(explanations, explain, scorer.name)
            records = annotated(records, explanations)
    if as_json:
        sys.stdout.writelines(map(to_json_line, records))
    else:
        print_tables([scores_table(records, scorer.name)])
    broken = sum("error" in record for record in records)
    if broken:
        raise InputError(f"{broken} of {len(records)} takes could not be heard; the reasons are listed with the scores")

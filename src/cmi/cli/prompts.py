"""`cmi prompts`: build a pool of prompts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cmi._util.errors import require_extra
from cmi.cli.options import AsJson, AudioFrom, DryRun, MaxCalls, MaxCost, MaxTotalTokens, Seed
from cmi.cli.output import note, print_result
from cmi.cli.progress import progress


@dataclass(frozen=True)
class GivenOptions:
    """Where lyrics, references and captions come from."""

    PANEL = "Lyrics, references and captions"

    lyrics: Annotated[Path | None, typer.Option(help="A folder of .txt files, each the lyrics of one song.")] = None
    lyrics_from: Annotated[
        Path | None, typer.Option(help="TOML file of a chat endpoint that writes missing lyrics.")
    ] = None
    references: Annotated[Path | None, typer.Option(help="Folder of reference recordings.")] = None
    caption_with: Annotated[
        str, typer.Option(help="Caption references with an audio model's endpoint (a TOML file) or with 'reference'.")
    ] = ""
    questions: Annotated[Path | None, typer.Option(help="TOML file with your own prompts to the models.")] = None
    audio_from: AudioFrom = None
    max_calls: MaxCalls = None
    max_total_tokens: MaxTotalTokens = None
    max_cost: MaxCost = None


def prompts(
    sources: Annotated[
        list[Path],
        typer.Argument(help="Prompts (.jsonl, .json, .csv, .parquet, .txt), musiccaps-public.csv, song_describer.csv."),
    ],
    out: Annotated[Path, typer.Option(help="The pool: a .jsonl, .csv or .parquet; the same command resumes.")],
    given: GivenOptions,
    quota: Annotated[
        str, typer.Option(help="Prompts of each modality, as text=500,text+lyrics=300; or 'paper' for the paper's mix.")
    ] = "",
    total: Annotated[
        int | None, typer.Option(min=1, help="Total number of prompts; --quota then gives shares.")
    ] = None,
    vocal_share: Annotated[float | None, typer.Option(min=0, max=1, help="The share of vocal prompts.")] = None,
    similarity: Annotated[
        float,
        typer.Option(
            min=0.05, max=1, help="Share of common words from which prompts are near duplicates; 1 keeps all."
        ),
    ] = 0.8,
    seed: Seed = 0,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Build a pool of prompts for `cmi generate`: from your files and published captions, by quotas, without repeats.

    Prompts that lack the lyrics or the reference of their modality are given one. Answers of models are saved in
    OUT.answers as they arrive. Quotas that cannot be met are reported with numbers.

    Examples:

        cmi prompts captions.csv ideas.txt --out prompts.jsonl

        cmi prompts musiccaps-public.csv --lyrics lyrics/ --references music/ --quota paper --total 900 --out pool.jsonl

        cmi prompts ideas.txt --lyrics-from llm.toml --quota text=50,text+lyrics=50 --max-calls 60 --out pool.jsonl
    """
    with require_extra("building prompts", "api"):
        from cmi.llm import Budget
        from cmi.prompts.pool import PoolPlan, build_pool
        from cmi.prompts.report import pool_record, pool_tables

    plan = PoolPlan(
        sources,
        out,
        quota,
        total,
        vocal_share,
        given.lyrics,
        given.lyrics_from,
        given.references,
        given.caption_with,
        given.questions,
        similarity,
        seed,
        Budget(given.max_calls, given.max_total_tokens, given.max_cost),
        given.audio_from or (),
    )
    with progress() as bar:
        report = build_pool(plan, bar.report, dry_run)
    print_result(pool_tables(report), pool_record(report), as_json)
    for what, found in report.estimates.items():
        usage = found.usage
        note(
            f"{what}: {found.requests:,} requests, {found.answered:,} of them answered already; about {usage.calls:,} "
            f"calls, {usage.tokens:,} tokens and {found.money:.2f} by the prices given"
        )
    if dry_run:
        note("dry run: no model was called and nothing was written")

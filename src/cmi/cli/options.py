"""Options that several commands share, each defined once."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Format = Literal["table", "markdown", "latex", "csv", "json"]

OutputFormat = Annotated[Format, typer.Option("--format", help="How to show the result.")]
AsFormat = Annotated[bool, typer.Option("--json", help="Short for --format json.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")]
Log = Annotated[Path | None, typer.Option(help="Keep each result here; the same command resumes.")]
Plot = Annotated[Path | None, typer.Option(help="Draw it into this .png or .svg.")]
Resamples = Annotated[int, typer.Option(min=100, max=100_000, help="Bootstrap draws behind each interval.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
Revision = Annotated[str | None, typer.Option(help="Revision of a hub id.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes; by default one for each core.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what it would take, and stop.")]
Shard = Annotated[str, typer.Option(help="Do part i of n only, as i/n.")]

# audio language models behind an endpoint
Url = Annotated[str, typer.Option(help="Address of an OpenAI-compatible endpoint, such as http://localhost:8000/v1.")]
EndpointFile = Annotated[
    Path | None,
    typer.Option("--endpoint", help="A TOML file with an endpoint's settings and prices."),
]
KeyEnv = Annotated[
    str,
    typer.Option(help="The variable that holds the API key; OPENAI_API_KEY is sent to OpenAI only."),
]
AudioFrom = Annotated[
    list[Path] | None,
    typer.Option(help="Also send recordings from this folder; by default only those of the data."),
]
MaxCalls = Annotated[int | None, typer.Option(min=1, help="Stop after this many calls.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Stop after this many tokens.")]
MaxCost = Annotated[float | None, typer.Option(min=0, help="Stop at this cost, by the prices in --endpoint.")]

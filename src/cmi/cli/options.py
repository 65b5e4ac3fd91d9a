"""Options that several commands share, each defined once; a dataclass is a group of them (`cmi.cli.command`)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

Format = Literal["table", "markdown", "latex", "csv", "json"]
Protocol = Literal["paper", "strict"]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Html = Annotated[Path | None, typer.Option("--html", help="Also write an HTML page to this file.")]
EmbedAudio = Annotated[
    bool,
    typer.Option(
        "--embed-audio",
        help="Embed the recordings in the page (mono MP3, up to 64 MB in all) instead of linking to them.",
    ),
]
Log = Annotated[Path | None, typer.Option(help="Log each result to this file; the same command resumes.")]
LogTo = Annotated[
    list[str] | None,
    typer.Option(help="Also log metrics to tensorboard:FOLDER, wandb:PROJECT or trackio:PROJECT; repeatable."),
]
OnRay = Annotated[
    int, typer.Option("--ray", min=0, help="Number of processes on Ray, with a GPU each if there are any.")
]
Plot = Annotated[Path | None, typer.Option(help="Draw a plot to this .png or .svg file.")]
Resamples = Annotated[int, typer.Option(min=100, max=100_000, help="Bootstrap resamples for each interval.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1 or mps.")]
Revision = Annotated[str | None, typer.Option(help="Revision of a hub id.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed; the same seed gives the same bytes.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Number of processes; by default one for each core.")]
NoProbe = Annotated[
    bool,
    typer.Option(
        "--no-probe", help="Skip the 4 to 7 calls that find out how many seconds of a clip the model processes."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print an estimate of the work and stop.")]
Shard = Annotated[str, typer.Option(help="Do only shard i of n, written i/n.")]
BothOrders = Annotated[
    bool,
    typer.Option("--both-orders/--one-order", help="Ask about each pair as (a, b) and as (b, a), or as (a, b) only."),
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")]

# how commands name a scorer (`cmi.reward.scoring.scorers`)
SCORERS = "nano, cmi-rm, a checkpoint (folder or hub id), a baseline's name, or your own as module:Class"

CalibrationFile = Annotated[
    Path | None,
    typer.Option(
        "--calibration", help="Add the offsets of this file from `cmi calibrate`; each take must name its `generator`."
    ),
]

# CMI-Bench
Responses = Annotated[list[Path], typer.Argument(help="Response files, or folders of them.")]
Sources = Annotated[
    list[Path] | None, typer.Argument(help="Response files or folders, or what `cmi bench score --json` wrote.")
]
Annotations = Annotated[
    Path | None, typer.Option(help="Folder of annotation files, to find missing answers and the clips.")
]
Embedder = Annotated[
    str, typer.Option(help="Text embedder for the tagging tasks: minilm, bge-large-en-v1.5 or a folder.")
]
BertScore = Annotated[str, typer.Option(help="Model for BERTScore: roberta-large or a folder.")]

# audio language models behind an endpoint
Url = Annotated[str, typer.Option(help="Address of an OpenAI-compatible endpoint, such as http://localhost:8000/v1.")]
KeyEnv = Annotated[
    str, typer.Option(help="Environment variable that holds the API key; OPENAI_API_KEY is sent to OpenAI only.")
]
AudioFrom = Annotated[
    list[Path] | None,
    typer.Option(help="Also allow sending recordings from this folder; by default only those of the data may be sent."),
]
MaxCalls = Annotated[int | None, typer.Option(min=1, help="Stop after this many calls.")]
MaxTotalTokens = Annotated[
    int | None, typer.Option(min=1, help="Stop after this many input and output tokens together.")
]
MaxCost = Annotated[float | None, typer.Option(min=0, help="Stop at this cost; prices must be set.")]


@dataclass(frozen=True)
class ShowOptions:
    """How a command shows its result (`cmi.cli.output.show`)."""

    format_: Annotated[Format, typer.Option("--format", help="Output format.")] = "table"
    as_json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file instead of standard output.")
    ] = None


AS_TABLE = ShowOptions()

"""Options that several commands share, each defined once; a dataclass is a group of them (`cmi.cli.command`)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

Format = Literal["table", "markdown", "latex", "csv", "json"]
Protocol = Literal["paper", "strict"]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Html = Annotated[Path | None, typer.Option("--html", help="Write a page for people to this .html file, too.")]
EmbedAudio = Annotated[
    bool,
    typer.Option("--embed-audio", help="Put recordings into the page (mono MP3, 64 MB in all); else it links to them."),
]
Log = Annotated[Path | None, typer.Option(help="Keep each result here; the same command resumes.")]
LogTo = Annotated[
    list[str] | None,
    typer.Option(help="Write its numbers to tensorboard:FOLDER, wandb:PROJECT or trackio:PROJECT, too; repeatable."),
]
OnRay = Annotated[
    int, typer.Option("--ray", min=0, help="Use so many processes on Ray, with a GPU each if there are any.")
]
Plot = Annotated[Path | None, typer.Option(help="Draw it into this .png or .svg.")]
Resamples = Annotated[int, typer.Option(min=100, max=100_000, help="Bootstrap draws behind each interval.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1 or mps.")]
Revision = Annotated[str | None, typer.Option(help="Revision of a hub id.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes; by default one for each core.")]
NoProbe = Annotated[
    bool, typer.Option("--no-probe", help="Do not find out how much of a clip the model hears (4 to 7 calls).")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what it would take, and stop.")]
Shard = Annotated[str, typer.Option(help="Do part i of n only, as i/n.")]
BothOrders = Annotated[
    bool, typer.Option("--both-orders/--one-order", help="Ask about a, b and about b, a, or about a, b alone.")
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")]

# how commands name a scorer (`cmi.reward.scoring.scorers`)
SCORERS = "nano, cmi-rm, a checkpoint (folder or hub id), a baseline's name, or your own as module:Class"

CalibrationFile = Annotated[
    Path | None,
    typer.Option(
        "--calibration", help="Add the offsets that `cmi calibrate` wrote here; takes name their `generator`."
    ),
]

# CMI-Bench
Responses = Annotated[list[Path], typer.Argument(help="Response files, or folders of them.")]
Sources = Annotated[
    list[Path] | None, typer.Argument(help="Response files or folders, or what `cmi bench score --json` wrote.")
]
Annotations = Annotated[
    Path | None, typer.Option(help="Folder of annotation files: finds missing answers, clips' places.")
]
Embedder = Annotated[str, typer.Option(help="Text embedder of the tagging tasks: minilm, bge-large-en-v1.5, a folder.")]
BertScore = Annotated[str, typer.Option(help="BERTScore's model: roberta-large, or a folder.")]

# audio language models behind an endpoint
Url = Annotated[str, typer.Option(help="Address of an OpenAI-compatible endpoint, such as http://localhost:8000/v1.")]
KeyEnv = Annotated[
    str, typer.Option(help="The variable that holds the API key; OPENAI_API_KEY is sent to OpenAI only.")
]
AudioFrom = Annotated[
    list[Path] | None,
    typer.Option(help="Also send recordings from this folder; by default only those of the data."),
]
MaxCalls = Annotated[int | None, typer.Option(min=1, help="Stop after this many calls.")]
MaxTotalTokens = Annotated[int | None, typer.Option(min=1, help="Stop after this many tokens, in and out.")]
MaxCost = Annotated[float | None, typer.Option(min=0, help="Stop at this cost; needs prices.")]


@dataclass(frozen=True)
class ShowOptions:
    """How a command shows its result (`cmi.cli.output.show`)."""

    format_: Annotated[Format, typer.Option("--format", help="How to show the result.")] = "table"
    as_json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None


AS_TABLE = ShowOptions()

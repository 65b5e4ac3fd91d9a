"""`cmi bench`: score the answers of audio language models on CMI-Bench, and make its data."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cmi._util.errors import InputError
from cmi.cli import bench_analysis, bench_plugs
from cmi.cli.bench_run import run
from cmi.cli.options import (
    AS_TABLE,
    Annotations,
    BertScore,
    Embedder,
    Html,
    Log,
    Protocol,
    Resamples,
    Responses,
    ShowOptions,
    Sources,
)
from cmi.cli.output import note, show, write_page
from cmi.cli.progress import progress
from cmi.report.pictures import require_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cmi.bench.scoring.many_files import Settings
    from cmi.bench.scoring.one_file import BenchCell
    from cmi.bench.scoring.tables import Table3Part
    from cmi.report.tables import Table

app = typer.Typer(no_args_is_help=True, help="CMI-Bench: do audio language models understand music?")
app.command()(run)
data = typer.Typer(no_args_is_help=True, help="Get the released answers, and turn data sets into question files.")
app.add_typer(data, name="data")
app.command()(bench_analysis.compare)
app.command()(bench_analysis.bias)
app.command()(bench_analysis.prompts)
app.command("map")(bench_analysis.map_)
app.command()(bench_analysis.contamination)
app.command()(bench_analysis.browse)
app.command()(bench_plugs.inspect_log)
app.command()(bench_plugs.lmms_eval)


@dataclass(frozen=True)
class ScoringOptions:
    """How answers are scored."""

    annotations: Annotations = None
    embedder: Embedder = "minilm"
    bertscore: BertScore = ""
    resamples: Resamples = 1000
    log: Log = None

    def settings(self, *protocols: Protocol) -> "Settings":
        from cmi._util.cache import cache_folder
        from cmi.bench.scoring.many_files import Settings

        return Settings(self.annotations, protocols, self.embedder, self.bertscore, self.resamples, cache_folder())


@app.command()
def score(
    responses: Responses,
    scoring: ScoringOptions,
    protocol: Annotated[
        Literal["paper", "strict", "both"],
        typer.Option(help="`paper` reproduces the published numbers; `strict` corrects the scoring."),
    ] = "both",
    html: Html = None,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Score answers: every metric with its interval, its nulls and the number of unparsed answers.

    A file is named MODEL_DATASET.jsonl; it holds the authors' records, or {"id": ..., "response": ...} lines.

    Examples:

        cmi bench score answers/ --annotations annotations/

        cmi bench score answers/qwen2 --protocol paper --json > qwen2.json

        cmi bench score answers/ --annotations annotations/ --html leaderboard.html
    """
    from cmi.bench.scoring.tables import Table3Part, score_tables

    require_page(html)
    settings = scoring.settings("paper", "strict") if protocol == "both" else scoring.settings(protocol)
    cells = _scored(responses, settings, scoring.log)
    records, tables = [cell.to_json() for cell in cells], score_tables(cells)
    if html is not None:
        shown = settings.protocols[-1]
        _write_page(html, [cell for cell in cells if cell.protocol == shown], shown, Table3Part(), tables)
    show(tables, records, "cells", settings.provenance(), how)


@app.command()
def table(
    scoring: ScoringOptions,
    sources: Sources = None,
    protocol: Annotated[Protocol, typer.Option(help="Protocol of the scores shown.")] = "paper",
    rows: Annotated[str, typer.Option(help="Only these rows, such as GTZ.,NI.")] = "",
    models: Annotated[str, typer.Option(help="Only these models, yours or published ones, such as mine,qwen2.")] = "",
    published: Annotated[
        bool, typer.Option("--published/--no-published", help="Include the published numbers.")
    ] = True,
    html: Html = None,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Show models in the layout of the paper's Table 3, beside its eleven models and the SOTA column.

    Without a source: what was published.

    Examples:

        cmi bench table qwen2.json mine.json --format latex -o table3.tex

        cmi bench table answers/ --annotations annotations/ --protocol strict

        cmi bench table mine.json --models mine,qwen2,salmonn --rows GTZ.,NI,NP --format latex

        cmi bench table mine.json --html leaderboard.html
    """
    from cmi.bench.scoring.many_files import read_scores
    from cmi.bench.scoring.tables import Table3Part, counts_table, null_tables, table3

    require_page(html)
    settings = scoring.settings(protocol)
    cells, to_score = [], []
    for source in sources or []:
        scores = read_scores(source)
        cells += scores or []
        to_score += [source] if scores is None else []
    cells += _scored(to_score, settings, scoring.log) if to_score else []
    cells = list(dict.fromkeys(cell for cell in cells if cell.protocol == protocol))
    part = Table3Part(rows.split(",") if rows else [], models.split(",") if models else [], published)
    cells = part.cells_in(cells)
    records = [cell.to_json() for cell in cells]
    provenance = settings.provenance() if to_score else {}
    tables = [table3(cells, protocol, part), *([counts_table(cells, protocol), *null_tables(cells)] if cells else [])]
    if html is not None:
        _write_page(html, cells, protocol, part, tables[1:])  # the first is the leaderboard itself
    show(tables, records, "cells", provenance, how)


@app.command()
def check(
    responses: Responses,
    annotations: Annotations = None,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Validate response files before scoring: what is missing, empty, failed or unreadable.

    Example:

        cmi bench check answers/ --annotations annotations/
    """
    from dataclasses import asdict

    from cmi.bench.scoring.many_files import absent, check_file, check_table
    from cmi.bench.scoring.responses import find_annotations, find_responses

    truths = find_annotations(annotations) if annotations else {}
    files = find_responses(responses)
    reports = [check_file(file, truths.get(file.dataset.name)) for file in files]
    records = [asdict(report) for report in reports]
    provenance = {"absent": absent(files)}
    table = check_table(reports, absent(files))
    show([table], records, "files", provenance, how)
    problems = [report.problem for report in reports if report.problem]
    if problems:
        raise InputError("; ".join(problems))


@app.command()
def demo() -> None:
    """Score the sample answers that come with cmi, on every task, offline."""
    from importlib.resources import as_file, files

    with as_file(files("cmi.bench").joinpath("samples")) as samples:
        score([samples / "responses"], ScoringOptions(samples / "annotations"), protocol="strict")
    print(
        "Next: `cmi bench check` and `cmi bench score` on your own answers; `cmi bench table` for the published ones."
    )


@data.command("list")
def list_(how: ShowOptions = AS_TABLE) -> None:
    """List the data sets: the tasks they serve, licence, source, and what their records were checked against.

    Example:  cmi bench data list
    """
    from cmi.bench.make import list_records, list_tables

    show(list_tables(), list_records(), "datasets", {}, how)


@data.command()
def get(
    out: Annotated[Path, typer.Argument(help="Folder to write to.")],
    models: Annotated[str, typer.Option(help="Only the answers of these models, such as salmonn,gama.")] = "",
    origin: Annotated[str, typer.Option("--from", help="Folder or URL of a mirror to use instead of GitHub.")] = "",
    how: ShowOptions = AS_TABLE,
) -> None:
    """Download the annotations and answers that CMI-Bench's authors released; the same command resumes.

    They come from one commit of the authors' repository on GitHub, and each file is checked by its hash. Audio is
    not included.

    Examples:

        cmi bench data get released/

        cmi bench data get released/ --models gama --from mirrors/
    """
    from cmi.bench.release import SOURCE, choose_files, count_records, describe_plan, get_release, release_tables

    chosen = choose_files([name.strip() for name in models.split(",")] if models else [])
    if plan := describe_plan(chosen, out):
        note(plan)
    with progress() as bar:
        missing = get_release(chosen, out, origin, bar.counter("bytes", sum(file.size for file in chosen.values())))
    records = count_records(chosen, missing)
    provenance = {"repository": SOURCE.repository, "commit": SOURCE.commit, "missing": [one.place for one in missing]}
    show(release_tables(records, missing, out), records, "got", provenance, how)


@data.command()
def make(
    name: Annotated[str, typer.Argument(help="Name of a data set, from `cmi bench data list`.")],
    folder: Annotated[Path, typer.Argument(help="Folder with the data set's files.")],
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    audio: Annotated[Path | None, typer.Option(help="Folder with the recordings, if they are elsewhere.")] = None,
    variant: Annotated[str, typer.Option(help="Wording of the questions: plain, few-shot, brief, listed.")] = "plain",
    prompts: Annotated[
        Path | None, typer.Option(help="Folder of your own wordings, in the layout of the built-in files.")
    ] = None,
    split: Annotated[str, typer.Option(help="test, dev (or validation), train, or all.")] = "test",
    keep_missing: Annotated[bool, typer.Option(help="Also write questions about missing recordings.")] = False,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Write a data set's questions, with the paper's splits and clips, for `cmi bench` to ask and score.

    Missing recordings are listed and get no question. `released` reads the authors' annotation files.

    Examples:

        cmi bench data make gtzan ~/data/GTZAN --out bench-data

        cmi bench data make released annotations/ --audio testdata/ --out bench-data
    """
    from cmi.bench.catalog import find_corpus
    from cmi.bench.make import MakeOptions, made_records, made_table
    from cmi.bench.make import make as make_data

    corpus = find_corpus(name)
    made = make_data(corpus, folder, audio, out, MakeOptions(variant, prompts, split, keep_missing))
    provenance = {"source": corpus.name, "variant": variant, "split": split}
    show([made_table(corpus, made)], made_records(made), "made", provenance, how)


def _write_page(
    html: Path, cells: "Sequence[BenchCell]", protocol: str, part: "Table3Part", tables: "Sequence[Table]"
) -> None:
    from cmi.bench.scoring.page import bench_page

    write_page(html, bench_page(cells, protocol, part, tables))


def _scored(responses: list[Path], settings: "Settings", log: Path | None) -> "list[BenchCell]":
    from cmi.bench.scoring.many_files import score_all
    from cmi.bench.scoring.responses import find_responses

    files = find_responses(responses)
    with progress() as bar:
        embedding = bar.add_task("texts embedded", total=None, visible=False)
        return score_all(
            files,
            settings,
            log,
            on_scored=bar.name_stepper("scored", len(files) * len(settings.protocols)),
            on_embedded=lambda count: bar.update(embedding, advance=count, visible=True),
        )

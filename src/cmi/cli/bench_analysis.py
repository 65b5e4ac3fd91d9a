"""`cmi bench compare`, `bias`, `prompts`, `map`, `contamination` and `browse`: analyses of answers and scores."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cmi import __version__
from cmi._util.errors import InputError
from cmi.cli.options import (
    AS_TABLE,
    Annotations,
    AsJson,
    BertScore,
    Embedder,
    Plot,
    Protocol,
    Resamples,
    Responses,
    ShowOptions,
    Sources,
)
from cmi.cli.output import show
from cmi.cli.progress import progress
from cmi.report.pictures import require_picture
from cmi.report.tables import to_plain

if TYPE_CHECKING:
    from cmi.bench.analysis.model_scores import ScoreMatrix
    from cmi.bench.metrics.tools import Tools

ProtocolOption = Annotated[
    Protocol, typer.Option(help="`paper` reproduces the published numbers; `strict` corrects the scoring.")
]


@dataclass(frozen=True)
class MatrixOptions:
    """Which models are analysed, by which scores."""

    annotations: Annotations = None
    published: Annotated[
        bool, typer.Option("--published/--no-published", help="Include the eleven published models.")
    ] = True
    protocol: ProtocolOption = "paper"
    embedder: Embedder = "minilm"

    def gather(self, sources: list[Path] | None) -> "ScoreMatrix":
        from cmi._util.cache import cache_folder
        from cmi.bench.analysis.model_scores import gather, read_cells
        from cmi.bench.scoring.many_files import Settings

        settings = Settings(self.annotations, [self.protocol], self.embedder, "", 100, cache_folder())
        with progress() as bar:
            cells = read_cells(sources or [], settings, on_scored=bar.name_stepper("scored"))
        return gather(cells, self.protocol, self.published)


def bias(
    responses: Responses,
    annotations: Annotations = None,
    families: Annotated[
        Path | None, typer.Option(help="File with your own groups of tags, in the layout of the built-in one.")
    ] = None,
    protocol: ProtocolOption = "strict",
    embedder: Embedder = "minilm",
    resamples: Resamples = 1000,
    plot: Plot = None,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Score answers by tag, and compare groups of tags: instruments, genres, voices (figure 2).

    Data sets without tags are ignored.

    Examples:

        cmi bench bias answers/qwen2 answers/flamingo --plot bias.png

        cmi bench bias answers/qwen2_MTT.jsonl --families mine.toml --json
    """
    from cmi.bench.analysis.bias import bias_tables, draw_bias, measure_bias
    from cmi.bench.analysis.tag_families import read_families
    from cmi.bench.catalog import DATASETS
    from cmi.bench.scoring.responses import find_annotations, find_responses
    from cmi.stats.comparison import SEED

    require_picture(plot)
    groups = read_families(families)
    truths = find_annotations(annotations) if annotations else {}
    files = [file for file in find_responses(responses) if file.dataset.is_multi_label]
    if not files:
        known = ", ".join(DATASETS.multi_label)
        raise InputError(f"{' '.join(map(str, responses))}: no answers to a data set of tags: {known}")
    with progress() as bar:
        on_drawn, tools = bar.stepper("draws", resamples * len(files)), _tools(embedder)
        results = [
            measure_bias(file, groups, protocol, tools, truths.get(file.dataset.name), resamples, on_drawn)
            for file in files
        ]
    if plot is not None:
        draw_bias(results, plot)
    provenance = {"cmi": __version__, "protocol": protocol, "embedder": embedder, "resamples": resamples, "seed": SEED}
    whole = [asdict(one) for one in results]
    records = [tag for one in whole for tag in one.pop("tags")]
    provenance |= {"files": whole}
    show(bias_tables(results, protocol), records, "tags", provenance, how)


def prompts(
    runs: Annotated[
        list[str],
        typer.Argument(help="VARIANT=PATH or PATH: response files, folders, or score files."),
    ],
    annotations: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of annotation files, one for each variant or one for all; repeatable."),
    ] = None,
    protocol: ProtocolOption = "strict",
    embedder: Embedder = "minilm",
    resamples: Resamples = 1000,
    plot: Plot = None,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Compare wordings and trials: how much scores vary, relative to the variation between clips (figure 3).

    Trials are models named MODEL, MODEL-t2, MODEL-t3, as `cmi bench run --trials` writes them.

    Examples:

        cmi bench prompts plain=answers/plain few-shot=answers/few-shot --annotations bench-data/annotations

        cmi bench prompts plain=plain.json brief=brief.json --plot prompts.png
    """
    from cmi.bench.analysis.prompts import Variants, draw_prompts, prompt_tables, read_runs, sensitivities

    require_picture(plot)
    variants = Variants(annotations or [])
    with progress() as bar:
        read = read_runs(runs, variants, protocol, _tools(embedder), resamples, bar.name_stepper("scored"))
    results = sensitivities(read)
    if plot is not None:
        draw_prompts(results, plot)
    provenance = {"cmi": __version__, "protocol": protocol, "embedder": embedder, "notes": variants.notes()}
    tables = prompt_tables(results, protocol, variants.notes())
    records = [asdict(one) for one in results]
    show(tables, records, "sensitivities", provenance, how)


def compare(
    runs: Annotated[list[str], typer.Argument(help="PATH or NAME=PATH: response files, or folders of them.")],
    annotations: Annotations = None,
    protocol: Annotated[
        Literal["paper", "strict", "both"],
        typer.Option(help="Scoring protocol; `both` compares the two protocols for each model."),
    ] = "strict",
    model: Annotated[str, typer.Option(help="Model to compare with all others; by default the first.")] = "",
    embedder: Embedder = "minilm",
    bertscore: BertScore = "",
    resamples: Resamples = 1000,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Compare models on the same questions: paired differences, intervals and exact tests, by data set and overall.

    Wordings of one model are compared in the same way: name each folder of answers.

    Examples:

        cmi bench compare answers/mine answers/qwen2 --annotations annotations/

        cmi bench compare few-shot=answers/few-shot plain=answers/plain --annotations annotations/

        cmi bench compare answers/qwen2 --protocol both
    """
    from cmi.bench.analysis.compare import compare_all, compare_tables, find_contenders, pair_contenders
    from cmi.bench.scoring.many_files import require_tools
    from cmi.bench.scoring.responses import find_annotations

    contenders = find_contenders(runs, ("paper", "strict") if protocol == "both" else (protocol,))
    pairs = pair_contenders(contenders, model)
    truths = find_annotations(annotations) if annotations else {}
    tools = _tools(embedder, bertscore)
    require_tools(tools)
    with progress() as bar:
        step = bar.name_stepper("compared")
        differences, overall = compare_all(contenders, pairs, truths, tools, resamples, step)
    provenance = {
        **{"cmi": __version__, "protocol": protocol, "embedder": embedder, "resamples": resamples},
        "overall": to_plain([asdict(one) for one in overall]),
    }
    records = [{**asdict(one), "verdict": one.verdict} for one in differences]
    show(compare_tables(differences, overall), records, "differences", provenance, how)


def map_(
    models: MatrixOptions,
    sources: Sources = None,
    components: Annotated[int, typer.Option(min=1, max=20, help="Number of principal components to show.")] = 4,
    missing: Annotated[
        Literal["leave-out", "mean"],
        typer.Option(help="How to treat metrics that a model lacks: leave them out, or fill in their mean."),
    ] = "leave-out",
    plot: Plot = None,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Map models by the principal components of their scores, yours beside the published ones (figure 6).

    Examples:

        cmi bench map --plot map.png

        cmi bench map mine.json --missing mean --components 2
    """
    from cmi.bench.analysis.model_map import draw_map, map_models, map_records, map_tables, model_records

    require_picture(plot)
    result = map_models(models.gather(sources), components, missing)
    if plot is not None:
        draw_map(result, plot)
    provenance = {"cmi": __version__, "protocol": models.protocol, "missing": missing, **map_records(result)}
    show(map_tables(result), model_records(result), "models", provenance, how)


def contamination(
    models: MatrixOptions,
    sources: Sources = None,
    facts: Annotated[
        Path | None,
        typer.Option(
            help="TOML file of what your models were trained on, in the layout of the built-in one, which it extends."
        ),
    ] = None,
    plot: Plot = None,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Test for contamination: do models rank better on data sets that were in their training data?

    Unknown training data are treated as unknown, never guessed.

    Examples:

        cmi bench contamination --plot contamination.png

        cmi bench contamination mine.json --facts mine.toml
    """
    from cmi.bench.analysis.contamination import contamination as find_contamination
    from cmi.bench.analysis.contamination import contamination_tables, draw_contamination, place_records, read_facts

    require_picture(plot)
    known = read_facts() | (read_facts(facts) if facts else {})
    result = find_contamination(models.gather(sources), known)
    if plot is not None:
        draw_contamination(result, plot)
    effects = [asdict(effect) for effect in result.effects]
    provenance = {"cmi": __version__, "protocol": models.protocol, "effects": effects, "notes": list(result.notes)}
    tables = contamination_tables(result)
    show(tables, place_records(result), "ranks", provenance, how)


def browse(
    responses: Responses,
    out: Annotated[Path, typer.Option("--out", help="The page to write, an .html file.")],
    annotations: Annotations = None,
    audio: Annotated[
        Path | None,
        typer.Option(
            help="Folder that audio paths are relative to; by default that of the annotations or its parent. The page "
            "links to its files."
        ),
    ] = None,
    embed: Annotated[bool, typer.Option("--embed", help="Embed clips (up to 15 s each) in the page.")] = False,
    worst: Annotated[
        int | None, typer.Option(min=1, help="Show only this many of each file, those with the lowest scores.")
    ] = None,
    protocol: ProtocolOption = "strict",
    bertscore: BertScore = "",
    as_json: AsJson = False,
) -> None:
    """Write a page to browse answers: audio, question, answer, ground truth, parsed answer and score.

    It works offline in any browser. Do not move it: it links to recordings by relative paths.

    Examples:

        cmi bench browse answers/ --annotations annotations/ --audio testdata/ --out errors.html

        cmi bench browse answers/qwen2_GTZAN.jsonl --audio testdata/ --embed --worst 50 --out errors.html
    """
    from cmi.bench.browser.items import browse_records, browse_table, read_answers
    from cmi.bench.browser.page import folder_with_sounds, sound_source, write_page
    from cmi.bench.browser.page import worst as worst_of
    from cmi.bench.scoring.responses import find_annotations, find_responses

    source = sound_source(audio, embed, out)
    truths = find_annotations(annotations) if annotations else {}
    files = find_responses(responses)
    tools = _tools(bertscore=bertscore)
    sets = []
    with progress() as bar:
        step = bar.stepper("reading answers", len(files))
        for file in files:
            answers = read_answers(file, protocol, tools, truths.get(file.dataset.name))
            sets.append(worst_of(answers, worst) if worst else answers)
            step()
    if audio is None and annotations is not None:
        source = sound_source(folder_with_sounds(sets, (annotations, annotations.parent)), embed, out)
    heard = write_page(sets, protocol, source, out, "CMI-Bench answers")
    table = browse_table(sets, out, heard)
    provenance = {"page": str(out), "protocol": protocol, "with_sound": heard}
    show([table], browse_records(sets), "files", provenance, ShowOptions(as_json=as_json))


def _tools(embedder: str = "minilm", bertscore: str = "") -> "Tools":
    from cmi._util.cache import cache_folder
    from cmi.bench.metrics.tools import Tools

    return Tools(embedder, bertscore, cache_folder())

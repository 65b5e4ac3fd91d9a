"""`cmi mirex`: prepare and validate an entry to MIREX's task on CMI-RewardBench."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cmi._util.errors import InputError, require_extra
from cmi._util.files import write_whole
from cmi._util.hub import require_packages
from cmi._util.printable import printable
from cmi.cli.judge import JudgeChoice, PromptName, ask_judge
from cmi.cli.options import AS_TABLE, SCORERS, AsJson, BothOrders, Device, Resamples, ShowOptions
from cmi.cli.output import note, note_if_nothing_asked, print_result, show, show_error
from cmi.cli.progress import loading, progress

if TYPE_CHECKING:
    from cmi.rewardbench.mirex.entry import MirexInput
    from cmi.rewardbench.mirex.predict import Predicted

app = typer.Typer(
    no_args_is_help=True, help="MIREX's task on CMI-RewardBench: predictions, disclosure, and honest validation."
)

JUDGES = ("omni", "scorer", "simulated")  # what a judge's name begins with
SHOWN = 20  # failed pairs that are named

InputFile = Annotated[Path, typer.Argument(help="Pairs, JSON or JSONL: id, prompt, audio_A, audio_B.")]
PredictionFile = Annotated[Path, typer.Argument(help="Predictions of `cmi mirex predict`.")]
By = Annotated[
    Literal["", "musicality", "alignment", "mean"],
    typer.Option(help="The score that decides; by default musicality, or the only one that the model gives."),
]


@dataclass(frozen=True)
class EntryModel(JudgeChoice):
    """A scorer or a judge."""

    model: Annotated[
        str,
        typer.Option(help=f"A scorer: {SCORERS}. A judge: a chat model (with --url or --endpoint), omni:NAME."),
    ] = ""
    prompt: PromptName = "two-axes"

    @property
    def is_judge(self) -> bool:
        """Whether it compares the takes of a pair instead of scoring each."""
        if self.url or self.endpoint or self.model.partition(":")[0] in JUDGES:
            return True
        if ":" not in self.model or "=" in self.model or Path(self.model).exists():
            return False
        from cmi._util.plugins import find_class

        found, _ = find_class(self.model)
        return hasattr(found, "judge") and not hasattr(found, "score")


@app.command()
def predict(
    file: InputFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Predictions, JSONL; the same command resumes what was stopped.")
    ],
    predictor: EntryModel,
    by: By = "",
    both_orders: BothOrders = True,
    window: Annotated[
        str, typer.Option(help="Part of each take that a cmi reward model scores: first10, mean10, first120 or full.")
    ] = "",
    device: Device = "auto",
) -> None:
    """Predict which of two takes people prefer, by a scorer or a judge: one line for each id.

    preference_score is the probability that A is preferred. A score of exactly 0.5 is a tie, which is counted and
    decided by a hash of the id. A pair that cannot be read is listed with the reason, the others are written, and the
    exit code is 2. Scores and verdicts are saved in OUTPUT.run as they arrive.

    Examples:

        cmi mirex predict input.jsonl -o predictions.jsonl --model nano

        cmi mirex predict input.jsonl -o predictions.jsonl --url http://localhost:8000/v1 --model my-model
    """
    with require_extra("MIREX predictions", "rewardbench"), loading("torch"):
        from cmi.rewardbench.mirex.entry import read_entry, tie_note
        from cmi.rewardbench.mirex.predict import FAILURES, run_folder, write_predictions

    if not predictor.model and predictor.endpoint is None:
        raise InputError("no model: give a scorer or a judge with --model, or a judge with --endpoint")
    entry = read_entry(file)
    note_if_nothing_asked(file, (row.pair.prompt for row in entry.rows))
    if predictor.is_judge:
        if window:
            raise InputError("--window is for reward models (nano, cmi-rm, a checkpoint), not for judges")
        predicted, about = _by_judge(file, entry, output, predictor, by, both_orders)
    else:
        if predictor.tie_band or predictor.max_calls or predictor.max_total_tokens or predictor.max_cost is not None:
            raise InputError(f"{predictor.model} is a scorer; --tie-band and limits on calls are for judges")
        predicted, about = _by_scorer(entry, output, predictor.model, by, window, device)
    write_predictions(output, entry, predicted, about)
    for name, reason in list(predicted.failures.items())[:SHOWN]:
        show_error(f"{name}: {reason}")
    for remark in predicted.notes[:SHOWN]:
        note(remark)
    if predicted.ties:
        note(tie_note(predicted.ties))
    if predicted.failures:
        more = f" (all are in {run_folder(output) / FAILURES})" if len(predicted.failures) > SHOWN else ""
        rest = f"{output} has the others" if predicted.scores else "nothing is in the file"
        raise InputError(
            f"{len(predicted.failures)} of {len(entry.rows)} pairs have no prediction{more}; {rest}, "
            "and the same command tries again"
        )
    print(f"{printable(str(output))}: {len(predicted.scores)} predictions")


def _by_scorer(
    entry: "MirexInput", output: Path, model: str, by: By, window: str, device: str
) -> "tuple[Predicted, dict[str, object]]":
    from cmi.reward.engine.windows import DEFAULT_WINDOW, find_window
    from cmi.reward.scoring.scorers import load_scorer
    from cmi.rewardbench.mirex.predict import choose_axis, claim_output, describe_scorer, predict_by_scorer

    if window:
        find_window(window)
    with loading(model):
        scorer = load_scorer(model, device=device, window=window or DEFAULT_WINDOW)
    chosen = choose_axis(by, scorer.axes, scorer.name)
    folder = claim_output(output, f"{scorer.name} {window}".strip(), chosen)
    with progress() as bar:
        on_scored = bar.stepper(f"takes scored by {scorer.name}", 2 * len(entry.rows))
        predicted = predict_by_scorer(entry, scorer, chosen, folder, on_scored)
    return predicted, describe_scorer(scorer, device)


def _by_judge(
    file: Path, entry: "MirexInput", output: Path, predictor: EntryModel, by: By, both_orders: bool
) -> "tuple[Predicted, dict[str, object]]":
    from cmi.judge.run import askings
    from cmi.rewardbench.mirex.predict import claim_output, named_pairs, predict_by_judge

    spec = predictor.spec_with(predictor.prompt, [file.parent])
    told = f"prompt {predictor.prompt}" if spec.is_language_model else f"ties within {predictor.tie_band:g}"
    address = predictor.url or str(predictor.endpoint or "")
    orders = "both orders" if both_orders else "one order"
    name = ", ".join(part for part in (predictor.model, address, told, orders) if part)
    folder = claim_output(output, name, by)
    asked = askings(named_pairs(entry), both_orders)
    predicted = predict_by_judge(entry, by, folder, lambda place: ask_judge(asked, spec, place), 1 + both_orders)
    external = f"audio and prompts were sent to {address}" if spec.is_chat else ""
    return predicted, {"model": name, "settings": {}, "device": "", "external": external}


@app.command()
def check(
    predictions: PredictionFile,
    file: Annotated[Path, typer.Option("--input", help="The pairs that the predictions are for.")],
    as_json: AsJson = False,
) -> None:
    """Check that a file of predictions is complete and valid: each id once, finite scores, matching candidates.

    Example:

        cmi mirex check predictions.jsonl --input input.jsonl
    """
    from cmi.report.tables import Table
    from cmi.rewardbench.mirex.entry import check_predictions, read_entry

    found = check_predictions(predictions, read_entry(file))
    rows = [[str(found.rows), str(found.prefers_a), str(found.rows - found.prefers_a), str(found.ties)]]
    table = Table(f"{predictions}: complete and valid", ["predictions", "A", "B", "ties among them"], rows, labels=0)
    print_result([table], found._asdict(), as_json)


@app.command()
def disclose(
    predictions: PredictionFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file instead of standard output.")
    ] = None,
) -> None:
    """Write the disclosure sheet: model, size, compute and test-set looks as recorded, and blanks for the rest.

    Example:

        cmi mirex disclose predictions.jsonl -o disclosure.md
    """
    from cmi.rewardbench.mirex.disclose import disclosure_sheet

    sheet = disclosure_sheet(predictions)
    if output is None:
        print(sheet, end="")
    else:
        write_whole(output, sheet)


@app.command()
def looks(how: ShowOptions = AS_TABLE) -> None:
    """List the looks at test sets from this machine: each model on each test set counts once.

    Example:

        cmi mirex looks
    """
    from cmi.report.tables import Table
    from cmi.rewardbench.data import data_folder
    from cmi.rewardbench.runs.looks import LOOKS, NOTE, read_looks

    found = read_looks()
    fields = ("dataset", "model", "user", "when", "data", "rows", "look")
    records = [{field: one.get(field) for field in fields} for one in found]
    headers = ["data set", "model", "user", "when", "version", "rows", "look"]
    rows = [[str(value) for value in record.values()] for record in records]
    table = Table("Looks at test sets from this machine", headers, rows, labels=4, notes=[NOTE])
    show([table], records, "looks", {"file": str(data_folder() / LOOKS)}, how)


@app.command()
def folds(
    preferences: Annotated[str, typer.Argument(help="A file of preferences with generators, or a data set by name.")],
    out: Annotated[Path, typer.Option(help="Folder of the folds.")],
    parts: Annotated[
        int, typer.Option(min=1, max=100, help="Test each generator in this many parts of the prompts, in turn.")
    ] = 1,
    ordinary: Annotated[
        int, typer.Option(min=0, max=100, help="Number of ordinary folds by prompt, for comparison; 0 for none.")
    ] = 5,
    config: Annotated[
        str, typer.Option(help="Configuration of `cmi train`; each fold gets a copy with its own data.")
    ] = "",
    split: Annotated[str, typer.Option(help="Use the rows of this split; by default all but the test split.")] = "",
    as_json: AsJson = False,
) -> None:
    """Make folds that hold one generator out: each tests on all pairs with that generator and trains on none of them.

    Rows that share a prompt, lyrics or a recording with a test pair are not trained on. If every generator has every
    prompt, nothing would be left for training: --parts 5 then tests a fifth of the prompts at a time.

    Examples:

        cmi mirex folds votes.jsonl --out folds/ --config mine.yaml

        for fold in folds/*/; do cmi train $fold/train.yaml --out $fold/model; done

        cmi mirex cost folds/
    """
    require_packages("folds", "rewardbench", "soundfile", "soxr")
    from cmi.rewardbench.mirex.folds import folds_table, make_folds, read_fold_rows, write_folds

    rows, unused = read_fold_rows(preferences, split)
    for sentence in unused:
        note(sentence)
    settings = {"parts": parts, "ordinary": ordinary, "config": config}
    made = write_folds(rows, make_folds(rows, parts, ordinary), out, config, settings)
    table = folds_table(made, f"Folds of {preferences} in {out}")
    print_result([table], [one._asdict() for one in made], as_json)


@app.command()
def cost(
    folder: Annotated[Path, typer.Argument(help="A folder of `cmi mirex folds`, with a model in each fold.")],
    model: Annotated[
        str, typer.Option(help="Test this model in every fold instead, one that was not trained on the data.")
    ] = "",
    device: Device = "auto",
    resamples: Resamples = 2000,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Measure what leaving a generator out of training costs: test each fold's model on the unseen generator's pairs.

    Each fold's model is expected in FOLDER/FOLD/model. Scores are saved; the same command resumes.

    Example:

        cmi mirex cost folds/
    """
    require_packages("folds", "rewardbench", "soundfile", "soxr", "torch")
    from cmi.rewardbench.mirex.cost import cost_table, fold_costs, score_folds

    with progress() as bar:
        scores, notes = score_folds(folder, model, device, bar.stepper)
    for sentence in notes:
        note(sentence)
    costs = fold_costs(folder, scores, resamples)
    show([cost_table(costs)], [one.to_json() for one in costs], "folds", {"resamples": resamples, "notes": notes}, how)


@app.command()
def probe(
    sources: Annotated[list[Path], typer.Argument(help="Folders of `cmi rewardbench run`.")],
    resamples: Resamples = 2000,
    how: ShowOptions = AS_TABLE,
) -> None:
    """Test whether a model only detects generators: compare it with a probe that knows only which one made each take.

    Examples:

        cmi mirex probe runs/nano

        cmi mirex probe runs/nano runs/mine --json
    """
    require_packages("CMI-RewardBench", "rewardbench", "soundfile", "soxr")
    from cmi.report.tables import to_plain
    from cmi.rewardbench.mirex.probe import probe_generators, probe_tables
    from cmi.rewardbench.runs.sources import read_sources

    read = read_sources(sources)
    found = [one for source in read for one in probe_generators(source.items, source.models, source.unread, resamples)]
    tables = [*probe_tables(found), *(table for source in read for table in source.look_tables)]
    provenance = {"resamples": resamples, "looks": [look._asdict() for source in read for look in source.looks]}
    show(tables, [to_plain(one.to_json()) for one in found], "probes", provenance, how)

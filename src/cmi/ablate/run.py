"""Train the variants of a matrix, score the test rows with each, and compare.

    runs/NAME/          a variant's model, as `cmi train` leaves it
    evaluation/         every score, as `cmi rewardbench run` leaves them
    variants.jsonl      the variants that are trained and scored
    ablations.jsonl     a record for each of them and for each null, with all numbers
    ablations.md        the tables

A variant is trained and scored once: its settings, its data and the test rows are recorded and must be the same when
the folder is used again. If a variant fails, the others continue, and the next call tries it again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from cmi._util.device import choose_device
from cmi._util.errors import InputError
from cmi._util.files import make_folder, write_whole
from cmi._util.runlog import RunLog, read_records
from cmi.ablate.matrix import Matrix, Variant, choose_variants, load_matrix, plan_variants, scale_steps
from cmi.ablate.results import Record, compare_variants, result_records, result_tables
from cmi.report.tables import Table, to_json_line, to_markdown
from cmi.reward.model.reward_model import RewardModel
from cmi.reward.scoring.scorers import NamedScorer
from cmi.reward.train.config import TrainConfig, load_config
from cmi.reward.train.data import Examples, count, data_table
from cmi.reward.train.embeddings import Embeddings
from cmi.reward.train.loop import silent, train
from cmi.reward.train.reading import ReadSet, read_data, read_examples
from cmi.reward.train.setup import Report, fingerprint, load_model, new_embeddings, settings_of, training_cache
from cmi.rewardbench.items import RatedItem, Vote
from cmi.rewardbench.runs.run import measure_takes, score_questions
from cmi.rewardbench.runs.run_folder import About, AskedItem, question, write_items
from cmi.rewardbench.runs.sources import read_sources

RUNS, EVALUATION, LOG, RECORDS, TABLES = "runs", "evaluation", "variants.jsonl", "ablations.jsonl", "ablations.md"


@dataclass(frozen=True)
class AblationPlan:
    """The variants to run, their test data, and the facts that identify each variant."""

    matrix: Matrix
    variants: list[Variant]
    test: list[Examples]
    facts: dict[str, Record]


@dataclass(frozen=True)
class AblationOutcome:
    """Records and tables of all finished variants, and the errors of the others, by name."""

    records: list[Record]
    tables: list[Table]
    failures: dict[str, str]


def plan_ablation(
    base_name: str, matrix_name: str, out: Path, only: Sequence[str] = (), steps: int | None = None
) -> AblationPlan:
    """Read the configuration, the matrix and all data; `steps` scales the steps of all variants in proportion."""
    base = load_config(str(Path(base_name).absolute()) if Path(base_name).is_file() else base_name)
    matrix, folder = load_matrix(matrix_name)
    variants = plan_variants(base, matrix, matrix_name, folder, out.absolute() / RUNS)
    if steps is not None:
        factor = steps / base.steps
        variants = [replace(variant, config=scale_steps(variant.config, factor)) for variant in variants]
    variants = choose_variants(variants, only, matrix.reference)
    test = read_examples(matrix.test) if matrix.test else read_data(base)[1]
    if not test:
        raise InputError(f"{matrix_name}: nothing to test on: name a 'test' in it, or a 'validation' in {base_name}")
    tested = fingerprint(test)
    known: dict[str, ReadSet] = {}

    @cache
    def read(sources: TrainConfig) -> Record:
        training, validation = read_data(sources, test, known)
        counts = {"data": count(training), "validation": count(validation)}
        return {"data": fingerprint([*training, *validation]), "counts": counts}

    facts = {}
    for variant in variants:
        config = variant.config
        settings = settings_of(config) | ({"model": {"after": variant.after}} if variant.after else {})
        # What is read depends on these alone: most variants share it.
        same = replace(base, data=config.data, validation=config.validation, early_stop=None)
        same = replace(same, axes=config.axes, prompts=config.prompts)
        try:
            facts[variant.name] = {"settings": settings, **read(same), "test": tested}
        except InputError as error:
            raise InputError(f"variant {variant.name!r}: {error}") from error
    return AblationPlan(matrix, variants, test, facts)


def plan_tables(plan: AblationPlan) -> list[Table]:
    """Rows by variant, split and source, and steps, for a dry run."""
    rows = []
    for variant in plan.variants:
        counts = plan.facts[variant.name]["counts"]
        drawn = sum(group["weight"] * group["examples"] for group in counts["data"])
        epochs = f"{variant.config.steps * variant.config.batch / drawn:.2f}"
        about = [variant.name, variant.after, f"{variant.config.steps:,}", epochs]
        for part, groups in counts.items():
            used_for = "training" if part == "data" else part
            for group in groups:
                rows.append([*about, used_for, group["source"], group["kind"], f"{group['examples']:,}"])
                about = [""] * 4  # said once
    headers = ["variant", "after", "steps", "epochs", "used for", "source", "kind", "examples"]
    test = data_table({"test": count(plan.test)}, "All variants are tested on")
    return [Table(f"{len(plan.variants)} variants", headers, rows, labels=7), test]


def run_ablation(plan: AblationPlan, out: Path, device: str = "auto", report: Report = silent) -> AblationOutcome:
    """Train and score every variant of the plan, and compare all that the folder has. The same call resumes."""
    make_folder(out)
    questions = [question(item) for item in rated_items(plan.test)]
    failures: dict[str, str] = {}
    with RunLog(out / LOG) as log:
        finished = {record["id"]: record for record in read_records(out / LOG)}
        _require_same(plan, finished, out)
        make_folder(out / EVALUATION)
        write_items(out / EVALUATION, questions)
        measure_takes(questions, out / EVALUATION, _count_takes(report, "takes measured for nulls", questions))
        runner = _Runner(plan, out, questions, device, report)
        for number, variant in enumerate(plan.variants):
            report("variants", number, len(plan.variants), variant.name)
            if variant.name in log:
                continue
            if variant.after in failures:
                failures[variant.name] = f"{variant.after}, which it starts from, failed"
                continue
            try:
                log.append({"id": variant.name, **runner.run(variant), **plan.facts[variant.name]})
            except InputError as error:
                failures[variant.name] = str(error)
        report("variants", len(plan.variants), len(plan.variants), "")
        if not failures:
            log.finish()
    return _compare(plan, out, failures)


def rated_items(test: Sequence[Examples]) -> list[RatedItem]:
    """Return the test examples as items of the benchmark, with the source's name as the data set."""
    items = []
    for group in test:
        for number, example in enumerate(group.examples):
            names = ("generator_a", "generator_b") if example.is_pair else ("generator",)
            about = {name: made_by for name, made_by in zip(names, example.generators, strict=False) if made_by}
            labels = example.labels.items()
            votes = {axis: Vote("a" if label.value else "b", label.confidence) for axis, label in labels}
            ratings = {axis: label.value for axis, label in labels}
            given: Record = {"votes": votes} if example.is_pair else {"ratings": ratings}
            about |= {"cluster": example.prompt_key}
            items.append(RatedItem(str(number), group.name, example.prompt, example.takes, about=about, **given))
    return items


def _require_same(plan: AblationPlan, finished: dict[str, Record], out: Path) -> None:
    for name, facts in plan.facts.items():
        for kind in ("settings", "data", "test") if name in finished else ():
            if finished[name][kind] != facts[kind]:
                raise InputError(f"{out}: contains variant {name!r} with other {kind}: use another --out")


class _Runner:
    """Trains and scores variants; recordings are encoded once for all variants with the same encoder."""

    def __init__(self, plan: AblationPlan, out: Path, questions: Sequence[AskedItem], device: str, report: Report):
        self._known = {variant.name: variant for variant in plan.variants}
        self._out, self._questions, self._device, self._report = out, questions, device, report
        self._encoder: tuple[object, ...] = ()
        self._encoder_name = ""
        self._embeddings: Embeddings | None = None

    def run(self, variant: Variant) -> Record:
        config, folder = variant.config, self._out / RUNS / variant.name
        self._load_encoder(variant)
        outcome = train(config, folder, self._device, self._report, self._embeddings)
        if outcome is None:
            raise InputError("ablations run in one process: start them without a launcher")
        model = RewardModel.from_pretrained(folder, device=self._device)
        name, model.name = model.full_name, self._encoder_name  # under which training has cached tokens
        engine = model.scorer(window=config.window, cache=training_cache(config))
        scorer = NamedScorer(name, engine, engine, settings={"window": config.window})
        about = About(variant.name, scorer.axes, config.window, config.prompts)
        on_done = _count_takes(self._report, f"takes scored by {variant.name}", self._questions)
        scored = score_questions(self._questions, about, scorer, self._out / EVALUATION, on_done)
        if len(scored.failures) == scored.takes:
            raise InputError(f"none of {scored.takes} test takes could be scored ({scored.failures[0].error})")
        return {
            **{"after": variant.after, "changes": variant.changes, "steps": outcome.steps},
            **{"best_step": outcome.best_step, "unheard": outcome.unheard, "unscored": len(scored.failures)},
        }

    def _load_encoder(self, variant: Variant) -> None:
        """Reuse the embeddings if the encoder is the same; else replace them."""
        first = variant
        while first.after:
            first = self._known[first.after]
        start, config = first.config.model, variant.config
        encoder = (start.checkpoint, start.revision, config.window, config.precision)
        if encoder != self._encoder:
            self._encoder, self._embeddings = (), None  # before another encoder takes its place
            model = load_model(start)
            self._embeddings = new_embeddings(config, model, choose_device(self._device))
            self._encoder, self._encoder_name = encoder, model.name


def _count_takes(report: Report, what: str, questions: Sequence[AskedItem]) -> Callable[[int], None]:
    total, done = len({key for one in questions for key in one.keys}), 0

    def on_done(count: int) -> None:
        nonlocal done
        done += count
        report(what, done, total, "")

    return on_done


def _compare(plan: AblationPlan, out: Path, failures: dict[str, str]) -> AblationOutcome:
    """Compare all finished variants, including those of earlier calls."""
    finished = {record["id"]: record for record in read_records(out / LOG)}
    if not finished:
        name, reason = next(iter(failures.items()))
        raise InputError(f"variant {name!r} failed, and no other is finished: {reason}")
    (source,) = read_sources([out / EVALUATION])
    models = {system.about.model: system.scores for system in source.systems}
    scores = {name: models[name] for name in plan.matrix.variants if name in finished}
    compared = compare_variants(plan.matrix, source.items, scores, source.nulls)
    about = [finished[name] for name in scores]
    records = result_records(about, compared)
    tables = result_tables(about, plan.matrix, compared, failures)
    write_whole(out / RECORDS, "".join(map(to_json_line, records)))
    write_whole(out / TABLES, to_markdown(tables))
    return AblationOutcome(records, tables, failures)

"""The paper's ablations of training, over a studio's pairs with a simulated judge and simulated experts.

    python recipes/ablations/run.py base.yaml pairs/ --out runs/ablations
    python recipes/ablations/run.py base.yaml pairs/ --out runs/ablations --only scratch --only mapping-none --steps 600

base.yaml is a configuration as `cmi train` reads it, pairs/ a folder made by `cmi studio make`.

A variant is one run of `cmi.reward.train.loop.train`, in a folder of its own; it may go on from another's head.

    distil                 stage 1: the judge's labels, smoothed
    distil-experts         stage 2 after it: experts' pairs and ratings. All others are compared with this one
    distil-pairs           stage 2 with experts' pairs alone          (section 4.2)
    distil-ratings         stage 2 with experts' ratings alone        (section 4.2)
    scratch                experts' pairs and ratings, no stage 1     (section 4.2)
    unsmoothed             stage 1 with hard labels                   (appendix C.1)
    unsmoothed-experts     stage 2 after it
    size-500               stage 1 with 500 of the judge's labels     (appendix C.2)
    size-500-experts       stage 2 after it
    mapping-none, -linear, -ordinal     stage 2 with another mapping of ratings (appendix F.1); the others have tanh
    no-prompt-distil       stage 1 and
    no-prompt              stage 2 as if nothing had been asked for, in the test too (appendix E.2)

Everything not said here is the base configuration's: checkpoint, architecture, optimizer, batch, window, seed. Stage 2
has half the steps and 0.3 of the learning rate; scratch has all of both. A smaller set has as many epochs as all of it,
not as many steps, as in the paper's table 10. The head kept is the one that validates best: in stage 1 by the judge's
labels, else by the experts'. The folder:

    data/              what is learned from (`ablation_data.py`)
    runs/NAME/         the variants' models
    ablations.jsonl    a record for each variant, with what it got right (`ablation_scores.py`)
    ablations.md       tables and findings
"""

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ablation_data import PREFERENCES, TESTED, AblationData, make_data
from ablation_findings import BASE, Record, findings, findings_table, judge_table, variants_table
from ablation_scores import Exam
from rich.console import Console
from rich.progress import TaskID
from simulated_labels import Experts

from cmi._util.errors import InputError
from cmi._util.files import write_whole
from cmi._util.runlog import RunLog, read_records
from cmi.cli import run_plainly
from cmi.cli.progress import progress
from cmi.report.tables import Table, print_tables, to_json_line, to_markdown
from cmi.reward.train.config import Start, TrainConfig, TrainingSource, load_config
from cmi.reward.train.embeddings import Embeddings
from cmi.reward.train.loop import silent, train
from cmi.reward.train.loss import Mapping
from cmi.reward.train.setup import Report, load_model, settings_of
from cmi.testing.simulated_judge import NoisyJudge

SMOOTHING = 0.2  # of stage 1
MAPPINGS: tuple[Mapping, ...] = ("none", "linear", "ordinal")
STAGE_2_STEPS, STAGE_2_RATE = 0.5, 0.3  # of the base configuration's: the paper's 2000 and at most 1000 steps
VALIDATIONS = 6  # at least, in a run of so many steps or more: experts' few labels are soon learned by heart
LOG = "ablations.jsonl"
TABLES = "ablations.md"


@dataclass(frozen=True)
class Variant:
    """`after` names the variant whose head it begins with; '' for a fresh head."""

    name: str
    config: TrainConfig
    after: str = ""
    prompted: bool = True


@dataclass(frozen=True)
class Ablations:
    """What all variants that were run have come to."""

    records: list[Record]
    tables: list[Table]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="Find out which of the paper's training choices matter: one run for each, on the studio's pairs."
    )
    parser.add_argument("config", help="a YAML file as `cmi train` reads it; its data are not used")
    parser.add_argument("data", type=Path, help="a folder made by `cmi studio make`")
    parser.add_argument(
        "--out", type=Path, required=True, help="where data, models and tables go; the same command resumes there"
    )
    parser.add_argument(
        "--only", action="append", default=[], help="a variant to run, with those it needs; may be repeated"
    )
    parser.add_argument(
        "--size", type=int, action="append", default=[], help="pseudo-labels in a smaller set; a quarter and a half"
    )
    parser.add_argument("--steps", type=int, help="steps of stage 1, in place of the configuration's")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    parser.add_argument("--json", action="store_true", help="print the variants' records for machines")
    options = parser.parse_args(arguments)
    base = load_config(options.config)
    base = base if options.steps is None else replace(base, steps=options.steps)
    with progress() as bar:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int, remark: str) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what)
            bar.update(tasks[what], completed=done, total=total, description=f"{what}  {remark}")

        found = run_ablations(base, options.data, options.out, options.only, options.size, options.device, report)
    if options.json:
        for record in found.records:
            sys.stdout.write(to_json_line(record))
    else:
        print_tables(found.tables, Console())


def plan_variants(base: TrainConfig, data: AblationData, runs: Path) -> list[Variant]:
    """All variants, each after the one it begins with."""
    fresh = replace(base.model, head="fresh")

    def stage_1(name: str, pseudo: str = "pseudo", smoothing: float = SMOOTHING, prompted: bool = True) -> Variant:
        labels = data.file(pseudo, prompted)
        size = int(pseudo.partition("-")[2] or data.pseudo)
        config = replace(
            with_steps(base, base.steps * size / data.pseudo),
            model=fresh,
            data=(TrainingSource(preferences=labels, split="train"),),
            validation=(TrainingSource(preferences=data.file("pseudo", prompted), split="valid"),),
            loss=replace(base.loss, label_smoothing=smoothing, mapping="tanh"),
        )
        return Variant(name, config, prompted=prompted)

    def stage_2(
        name: str,
        after: str,
        labels: Sequence[str] = ("pairs", "ratings"),
        mapping: Mapping = "tanh",
        prompted: bool = True,
    ) -> Variant:
        pairs, ratings = (data.file(name, prompted) for name in ("experts", "ratings"))
        sources = {
            "pairs": TrainingSource(preferences=pairs, split="train"),
            "ratings": TrainingSource(ratings=ratings, split="train"),
        }
        config = replace(
            with_steps(base, base.steps * STAGE_2_STEPS),
            model=Start(str(runs / after)),
            data=tuple(sources[name] for name in labels),
            validation=(TrainingSource(preferences=pairs, split="valid"),),
            loss=replace(base.loss, label_smoothing=0.0, mapping=mapping),
        )
        slower = replace(config.optimizer, lr=STAGE_2_RATE * base.optimizer.lr)
        return Variant(name, replace(config, optimizer=slower), after, prompted)

    sizes = [f"size-{size}" for size in data.sizes]
    taught = stage_2("scratch", "").config
    scratch = replace(
        with_steps(base, base.steps), model=fresh, data=taught.data, validation=taught.validation, loss=taught.loss
    )
    return [
        stage_1("distil"),
        stage_2(BASE, "distil"),
        stage_2("distil-pairs", "distil", ["pairs"]),
        stage_2("distil-ratings", "distil", ["ratings"]),
        Variant("scratch", scratch),
        stage_1("unsmoothed", smoothing=0.0),
        stage_2("unsmoothed-experts", "unsmoothed"),
        *(stage_1(f"size-{size}", f"pseudo-{size}") for size in data.sizes),
        *(stage_2(f"{name}-experts", name) for name in sizes),
        *(stage_2(f"mapping-{mapping}", "distil", mapping=mapping) for mapping in MAPPINGS),
        stage_1("no-prompt-distil", prompted=False),
        stage_2("no-prompt", "no-prompt-distil", prompted=False),
    ]


def with_steps(config: TrainConfig, steps: float) -> TrainConfig:
    """Another number of steps: at most a fifth of them warm up, and validations are no further apart than a sixth."""
    steps = max(1, round(steps))
    optimizer = replace(config.optimizer, warmup=min(config.optimizer.warmup, steps // 5))
    every = min(config.validate_every, max(1, steps // VALIDATIONS))
    return replace(config, steps=steps, optimizer=optimizer, validate_every=every)


def wanted(variants: Sequence[Variant], only: Iterable[str]) -> list[Variant]:
    """The variants named, the one that all are compared with, and those that they begin with; all if none is named."""
    known = {variant.name: variant for variant in variants}
    names = list(only)
    for name in names:
        if name not in known:
            raise InputError(f"no variant is called {name!r}; there are {', '.join(known)}")
    chosen = set(names or known) | {BASE}
    chosen |= {known[name].after for name in chosen}
    return [variant for variant in variants if variant.name in chosen]


def run_ablations(
    base: TrainConfig,
    studio: Path,
    out: Path,
    only: Sequence[str] = (),
    sizes: Sequence[int] = (),
    device: str = "auto",
    report: Report = silent,
    judge: NoisyJudge | None = None,
    experts: Experts | None = None,
    embeddings: Embeddings | None = None,
) -> Ablations:
    """Train and test every variant, or those named. The same call resumes; what is finished is not run again.

    `embeddings` of the base configuration's encoder may have some of the recordings already.
    """
    judge, experts = judge or NoisyJudge(base.seed), experts or Experts(base.seed)
    _claim(out, base, studio, sizes, judge, experts)
    data = make_data(studio, out / "data", judge, experts, sizes)
    variants = wanted(plan_variants(base, data, out / "runs"), only)
    exam = Exam(base, data, device, report, embeddings)
    with RunLog(out / LOG) as log:
        for number, variant in enumerate(variants):
            report("variants", number, len(variants), variant.name)
            if variant.name not in log:
                log.append(run_variant(variant, out / "runs" / variant.name, exam, device, report))
        report("variants", len(variants), len(variants), "")
        log.finish()
    records = list(read_records(out / LOG))
    found = findings(records, data.sizes)
    splits = [variants_table(records, split) for split in TESTED]
    tables = [judge_table(data.counts), *splits, findings_table(found)]
    write_whole(out / TABLES, to_markdown(tables))
    return Ablations(records, tables)


def run_variant(variant: Variant, folder: Path, exam: Exam, device: str, report: Report) -> Record:
    started = time.monotonic()
    outcome = train(variant.config, folder, device, report, exam.embeddings())
    if outcome is None:
        raise InputError("the ablations run in one process: start them without a launcher")
    trained = time.monotonic() - started
    splits = exam.score(load_model(Start(str(folder))).head, variant.prompted)
    return {
        "id": variant.name,
        "after": variant.after,
        "prompted": variant.prompted,
        "steps": outcome.steps,
        "best_step": outcome.best_step,
        "unheard": {"training": outcome.unheard, "test": exam.unheard},
        "seconds": round(trained, 1),
        "settings": settings_of(variant.config),
        "splits": splits,
    }


def _claim(
    out: Path, base: TrainConfig, studio: Path, sizes: Sequence[int], judge: NoisyJudge, experts: Experts
) -> None:
    """The folder is ours if it is new, or was begun with the same settings."""
    try:
        pairs = hashlib.sha256((studio / PREFERENCES).read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise InputError(f"{studio / PREFERENCES}: {error.strerror or error}; expected what cmi studio make") from error
    settings = {name: value for name, value in settings_of(base).items() if name not in ("data", "validation")}
    simulated = {"judge": asdict(judge), "experts": asdict(experts)}
    mine: dict[str, Any] = {**settings, **simulated, "pairs": pairs, "sizes": list(sizes)}
    begun = out / "settings.json"
    try:
        out.mkdir(parents=True, exist_ok=True)
        if not begun.exists():
            write_whole(begun, json.dumps(mine, indent=1, allow_nan=False) + "\n")
        theirs = json.loads(begun.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{begun}: {getattr(error, 'strerror', None) or error}") from error
    for name, value in mine.items():
        if theirs.get(name) != value:
            raise InputError(f"{out}: holds ablations with another {name!r}: use another --out")


if __name__ == "__main__":
    run_plainly(main)

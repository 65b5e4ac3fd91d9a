"""The folder of a run, and the checkpoint that it ends with.

model.safetensors, config.yaml, README.md, the tokenizer    a complete checkpoint, for `cmi score --model FOLDER`
training/settings.json                                      what identifies this run
training/curve.jsonl, training/tensorboard/                 losses and validations
training/curve.svg                                          a plot of the validations, if matplotlib is installed
training/state-.../                                         to resume from
training/outcome.json                                       written last: the run is complete
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.files import move_into_place, write_whole
from cmi.report.tables import Table, to_markdown
from cmi.reward.model.checkpoint import WEIGHTS
from cmi.reward.model.head import RewardHead
from cmi.reward.train.config import TrainConfig
from cmi.reward.train.data import data_table
from cmi.reward.train.journal import draw_curve
from cmi.reward.train.setup import TrainingRun, load_model
from cmi.reward.train.state import UNFINISHED, Best

RUN = "training"
OUTCOME = "outcome.json"
SHOWN = 5  # reasons why examples were left out


@dataclass(frozen=True)
class TrainingOutcome:
    """How a run ended. Validations are those of `cmi.reward.train.journal`; None without a validation set."""

    folder: str
    steps: int
    best_step: int
    before: dict[str, Any] | None
    best: dict[str, Any] | None
    unheard: int
    reasons: list[str]

    @classmethod
    def read(cls, out: Path) -> "TrainingOutcome":
        return cls(folder=str(out), **json.loads((out / RUN / OUTCOME).read_text(encoding="utf-8")))


def claim(out: Path, facts: dict[str, Any], main: bool) -> Path:
    """Return the run's folder in `out`, which the main process creates.

    InputError if `out` contains another run or another model.
    """
    folder, path = out / RUN, out / RUN / "settings.json"
    try:
        if path.is_file():
            _require_same(out, json.loads(path.read_text(encoding="utf-8")), facts)
        elif (out / WEIGHTS).exists():
            raise InputError(f"{out}: already contains a model; name another folder with --out")
        elif main:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False))
    except OSError as error:
        raise InputError(f"{out}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from error
    return folder


def is_complete(out: Path) -> bool:
    return (out / RUN / OUTCOME).is_file()


def _require_same(out: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    for name, before in old["settings"].items():
        now = _known_to(before, new["settings"].get(name))
        if before != now:
            raise InputError(
                f"{out}: contains a run with another {name!r} ({_short(before)}, now {_short(now)}): use --out"
            )
    for name, what in (("model", "model to start from"), ("data", "data")):
        if old[name] != new[name]:
            raise InputError(
                f"{out}: contains a run with other {what} ({old[name]}, now {new[name]}): use another --out"
            )


def _known_to(before: Any, now: Any) -> Any:
    """Return a setting without fields that did not exist when the run was started."""
    if isinstance(before, dict) and isinstance(now, dict):
        return {name: _known_to(before[name], value) for name, value in now.items() if name in before}
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return [_known_to(*both) for both in zip(before, now, strict=True)]
    return now


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def save_outcome(out: Path, config: TrainConfig, run: TrainingRun, best: Best, curve: Sequence[dict[str, Any]]) -> None:
    """Write the best head with its encoder, in full precision, and a card; the weights are written last."""
    validations = {record["step"]: record for record in curve if record["id"].startswith("validation")}
    reasons = [str(problem) for problem in dict.fromkeys(map(str, run.unheard))]
    steps = max((record["step"] for record in curve), default=0)
    outcome = TrainingOutcome(
        str(out), steps, best.step, validations.get(0), validations.get(best.step), len(run.unheard), reasons[:SHOWN]
    )
    made = out / RUN / f"{UNFINISHED}model"
    shutil.rmtree(made, ignore_errors=True)
    model = load_model(config.model)
    model.head = RewardHead(run.trainee.head.config)
    model.head.load_state_dict(best.head)
    model.save_pretrained(made, model_card_kwargs={"model_name": out.name, "figures": card(run.facts, outcome)})
    for path in sorted(made.iterdir(), key=lambda path: path.name == WEIGHTS):
        move_into_place(path, out / path.name)
    made.rmdir()
    if find_spec("matplotlib") is not None:
        draw_curve(curve, out / RUN / "curve.svg")
    about = {name: value for name, value in asdict(outcome).items() if name != "folder"}
    write_whole(out / RUN / OUTCOME, json.dumps(about, indent=1, ensure_ascii=False, allow_nan=False))


def card(facts: dict[str, Any], outcome: TrainingOutcome) -> str:
    """Return a model card in Markdown: training data and validation. It contains no paths, because it may be shared."""
    left_out = (
        [f"{outcome.unheard} examples were left out because their recordings could not be read."]
        if outcome.unheard
        else []
    )
    tables = to_markdown([data_table(facts["counts"], notes=left_out), outcome_table(outcome)])
    stated = {name: value for name, value in facts["settings"].items() if name not in ("data", "validation")}
    stated["model"] = {name: stated["model"][name] for name in ("head", "architecture")}
    settings = json.dumps(stated, indent=1, ensure_ascii=False)
    about = f"The head was trained by `cmi train` on the frozen encoder of {facts['model']}."
    return f"{about}\n\n{tables}\n**Settings**\n\n```json\n{settings}\n```"


def outcome_table(outcome: TrainingOutcome) -> Table:
    """Return the validation before training and of the best head."""
    title = f"Validation of the head after {outcome.best_step} of {outcome.steps} steps"
    notes = [f"{reason}." for reason in outcome.reasons]
    rows: list[list[str]] = []
    if outcome.best is None or outcome.before is None:
        notes.append("Nothing was held out for validation.")
    else:
        if outcome.best_step == 0 and outcome.steps:
            notes.insert(0, "Training did not help: step 0 was best, and the head is as it was before training.")
        rows += _rows_of("", outcome.before, outcome.best)
        by_source = outcome.best.get("sources", {})  # which older runs do not have
        for source, best in by_source.items() if len(by_source) > 1 else ():
            rows += _rows_of(f"{source}: ", outcome.before["sources"][source], best)
    return Table(title, ["axis", "n", "before", "after", "95 %"], rows, notes=notes)


def _rows_of(source: str, before: dict[str, Any], best: dict[str, Any]) -> Iterator[list[str]]:
    for axis, one in best["pairs"].items():
        old = before["pairs"][axis]
        after, low, high = (100 * one[name] for name in ("accuracy", "low", "high"))
        numbers = (str(one["n"]), f"{100 * old['accuracy']:.1f}", f"{after:.1f}", f"{low:.1f} - {high:.1f}")
        yield [f"{source}{axis}, accuracy", *numbers]
        if "cross_entropy" in one:
            entropies = (f"{pair['cross_entropy']:.3f}" for pair in (old, one))
            yield [f"{source}{axis}, cross-entropy", str(one["n"]), *entropies, ""]
    for axis, one in best["ratings"].items():
        ranked = (before["ratings"][axis]["spearman"], one["spearman"])
        shown = ("-" if number is None else f"{number:.3f}" for number in ranked)
        yield [f"{source}{axis}, rank correlation", str(one["n"]), *shown, ""]

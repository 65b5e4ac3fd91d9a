"""Scores for the hub: `.eval_results/*.yaml` of a model's repository, and the model-index of its card.

Scores are the JSON that `cmi bench score`, `cmi bench table` and `cmi rewardbench table` print. Both forms state the
value, the protocol, n, the 95 % interval and the best null of each number. The hub shows `.eval_results` on the page of
the model and on the leaderboard of the data set that the results name, if that data set is registered as a benchmark.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cmi import __version__
from cmi._util.errors import InputError, reason_of
from cmi._util.files import make_folder, write_whole
from cmi._util.hub import require_packages
from cmi._util.records import read_json
from cmi.report.numbers import interval, number

CARD, RESULTS = "README.md", ".eval_results"
NULL_PREFIX = "null: "
HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
ALL_ITEMS = "all"


class PublishedScore(NamedTuple):
    """One number of one model."""

    model: str
    name: str  # what was measured: a row of CMI-Bench, or a data set and task of CMI-RewardBench
    metric: str
    protocol: str
    value: float
    n: int
    low: float | None
    high: float | None
    best_null: str
    null_value: float | None
    task_type: str

    @property
    def task_id(self) -> str:
        """The task's name on the hub: lower case, with single dashes."""
        return re.sub(r"[^a-z0-9]+", "-", f"{self.name} {self.metric} {self.protocol}".lower()).strip("-")

    @property
    def notes(self) -> str:
        parts = [f"protocol {self.protocol}", f"n = {self.n}"]
        if self.low is not None and self.high is not None:
            parts.append(f"95 % {interval((self.low, self.high))}")
        if self.null_value is not None:
            parts.append(f"best null {number(self.null_value)} ({self.best_null})")
        return ", ".join([*parts, f"cmi {__version__}"])


def read_scores(paths: Sequence[Path], model: str = "") -> list[PublishedScore]:
    """Read the scores of one model; InputError if the files hold several and none is named, or not this one."""
    found = [one for path in paths for one in _scores_of(path)]
    models = list(dict.fromkeys(one.model for one in found))
    if not found:
        raise InputError(f"{', '.join(map(str, paths))}: no score of a model in it")
    if (not model and len(models) > 1) or (model and model not in models):
        raise InputError(f"--model {model!r}: the scores are of {', '.join(models)}; name one of them")
    chosen = [one for one in found if one.model == (model or models[0])]
    ids = [one.task_id for one in chosen]
    if twice := next((one for one in ids if ids.count(one) > 1), ""):
        raise InputError(f"{', '.join(map(str, paths))}: {twice} occurs twice; name each file once")
    return chosen


def _scores_of(path: Path) -> list[PublishedScore]:
    content = read_json(path)
    cells = content.get("cells") if isinstance(content, dict) else None
    if not isinstance(cells, list):
        raise InputError(f"{path}: no 'cells', expected the JSON of `cmi bench score` or `cmi rewardbench table`")
    return [one for place, cell in enumerate(cells, 1) if (one := _score_of(cell, f"{path} cell {place}"))]


def _score_of(cell: Any, where: str) -> PublishedScore | None:
    """Return the score of a cell; None for a null, a number that was not computed, and a group of items."""
    if not isinstance(cell, dict) or not isinstance(cell.get("model"), str):
        raise InputError(f"{where}: has no 'model'")
    is_null = cell.get("is_null") or cell["model"].startswith(NULL_PREFIX)
    if is_null or cell.get("value") is None or cell.get("group", ALL_ITEMS) != ALL_ITEMS:
        return None
    is_bench = "row" in cell
    try:
        return PublishedScore(
            model=" ".join(cell["model"].split()),
            name=str(cell["row"]) if is_bench else f"{cell['dataset']} {cell['task']}",
            metric=str(cell["metric"]),
            protocol=str(cell["protocol"]),
            value=_finite(cell["value"]),
            n=int(cell["n"]),
            low=_finite_or_none(cell.get("low")),
            high=_finite_or_none(cell.get("high")),
            best_null=str(cell.get("best_null") or ""),
            null_value=_finite_or_none(cell.get("null_value")),
            task_type="audio-text-to-text" if is_bench else "audio-classification",
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: {reason_of(error)} is missing or not what cmi writes there") from error


def _finite(value: Any) -> float:
    if not math.isfinite(found := float(value)):
        raise ValueError(f"{value} is not a finite number, which")
    return found


def _finite_or_none(value: Any) -> float | None:
    return None if value is None else _finite(value)


def write_results(
    scores: Sequence[PublishedScore], benchmark: str, out: Path, source_url: str = "", model_name: str = ""
) -> list[Path]:
    """Write `.eval_results/NAME.yaml` and the model-index of README.md into a folder, and return both paths.

    An existing card keeps its text, and its results of other benchmarks and protocols.
    """
    require_packages("writing results for the hub", "reward", "huggingface_hub", "yaml")
    import yaml
    from huggingface_hub import EvalResult, EvalResultEntry, ModelCard, ModelCardData, eval_result_entries_to_yaml

    if not HUB_ID.fullmatch(benchmark):
        raise InputError(f"--benchmark {benchmark!r}: expected OWNER/NAME, a data set on the hub")
    source: dict[str, Any] = {"source_url": source_url, "source_name": "cmi"} if source_url else {}
    entries = [
        EvalResultEntry(dataset_id=benchmark, task_id=one.task_id, value=one.value, notes=one.notes, **source)
        for one in scores
    ]
    results = [
        EvalResult(
            task_type=one.task_type,
            dataset_type=benchmark,
            dataset_name=one.name,
            dataset_config=f"{one.name}, {one.protocol}",  # a card tells results apart by this
            dataset_split="test",
            metric_type=one.metric,
            metric_name=f"{one.metric} ({one.notes})",
            metric_value=one.value,
            **source,
        )
        for one in scores
    ]
    make_folder(out / RESULTS)
    yaml_file, card_file = out / RESULTS / f"{benchmark.rpartition('/')[2]}.yaml", out / CARD
    if card_file.exists():
        try:
            card = ModelCard.load(card_file)
        except Exception as error:  # YAML's errors, the hub's and those of the file
            raise InputError(f"{card_file}: its front matter cannot be read: {reason_of(error)}") from error
        new = {one.unique_identifier for one in results}
        kept = [one for one in card.data.eval_results or [] if one.unique_identifier not in new]
        card.data.eval_results = kept + results
        card.data.model_name = card.data.model_name or model_name or scores[0].model
    else:
        data = ModelCardData(model_name=model_name or scores[0].model, eval_results=results)
        card = ModelCard(f"---\n{data.to_yaml()}\n---\n\n# {model_name or scores[0].model}\n")
    dumped = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)
    write_whole(yaml_file, dumped)
    write_whole(card_file, str(card))
    return [yaml_file, card_file]

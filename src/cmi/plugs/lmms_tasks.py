"""CMI-Bench as task files of lmms-eval: a YAML file for each data set, `utils.py`, and the questions with their clips.

    OUT/cmi_bench_GS_key.yaml       the task, for `--include_path OUT --tasks cmi_bench_GS_key`
    OUT/cmi_bench.yaml              the group of all of them
    OUT/utils.py                    the functions that the tasks name; they are below
    OUT/data/GS_key/test.parquet    questions, truths, and clips as WAV files

Scores are those of `cmi bench score --protocol strict` on the same answers. Intervals and nulls are not among them:
lmms-eval asks a function for one number.
"""

import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cmi._util.errors import InputError
from cmi._util.files import make_folder, whole_file, write_whole
from cmi._util.hub import require_packages
from cmi.bench.ask.run import DataFile, read_data
from cmi.bench.evaluation import Metric
from cmi.plugs.asked import (
    AskedQuestion,
    cut_clip,
    evaluate_items,
    find_dataset,
    item_of_record,
    read_asked,
    record_of,
    values_of,
)

PREFIX = "cmi_bench"
ROWS_AT_ONCE = 64  # clips in memory
UTILS = '''"""Functions of the tasks beside this file; cmi must be installed."""

from functools import partial

from cmi.plugs.lmms_tasks import aggregate, doc_to_audio, doc_to_target, doc_to_text, process_results  # noqa: F401

{aggregations}
'''

Doc = dict[str, Any]


def doc_to_audio(doc: Doc) -> list[Doc]:
    """Return the clip as lmms-eval's models take it: samples and their rate."""
    import soundfile

    samples, rate = soundfile.read(io.BytesIO(doc["clip"]["bytes"]), dtype="float32")
    return [{"array": samples, "sampling_rate": rate}]


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: dict[str, str] | None = None) -> str:
    given = lmms_eval_specific_kwargs or {}
    return f"{given.get('pre_prompt', '')}{doc['question']}{given.get('post_prompt', '')}"


def doc_to_target(doc: Doc) -> str:
    return str(doc["truth"])


def process_results(doc: Doc, results: Sequence[str]) -> Doc:
    """Return, for every metric of the data set, what its aggregation needs: the question and the answer."""
    record = {name: doc[name] for name in ("id", "place", "question", "truth", "recording", "start", "end")}
    answered = record | {"dataset": doc["dataset"], "answer": results[0] if results else ""}
    return dict.fromkeys(doc["metrics"].split("\n"), answered)


def aggregate(records: Sequence[Doc], metric: str) -> float:
    """Score all answers and return one metric."""
    dataset = find_dataset(records[0]["dataset"])
    ordered = sorted(records, key=lambda record: record["place"])
    items = [item_of_record(record, record["answer"]) for record in ordered]
    return values_of(evaluate_items(dataset, items)).get(metric, float("nan"))


def write_tasks(
    annotations: Sequence[Path],
    out: Path,
    tasks: Sequence[str] = (),
    audio: Path | None = None,
    data_at: str = "",
    on_clips: Callable[[int], None] = lambda count: None,
) -> list[Path]:
    """Write the task files of data sets; return the YAML files.

    `data_at` is where lmms-eval finds the data, if not in OUT: an OWNER/NAME on the hub to which OUT/data goes.
    """
    require_packages("writing tasks of lmms-eval", "rewardbench", "pyarrow", "yaml", "soundfile", "soxr")
    files = read_data(annotations, tasks, audio)
    make_folder(out)
    written, functions = [], dict[str, str]()
    for file in files:
        metrics = _metrics_of(file)
        own = {metric.name: _function_name(metric.name) for metric in metrics}
        functions |= {function: name for name, function in own.items()}
        _write_data(file, list(own), out / "data" / file.dataset / "test.parquet", on_clips)
        path = out / f"{PREFIX}_{file.dataset}.yaml"
        write_whole(path, _task_yaml(file.dataset, metrics, own, data_at or str((out / "data").resolve())))
        written.append(path)
    lines = [f'{function} = partial(aggregate, metric="{name}")' for function, name in sorted(functions.items())]
    write_whole(out / "utils.py", UTILS.format(aggregations="\n".join(lines)))
    group = out / f"{PREFIX}.yaml"
    write_whole(group, f"group: {PREFIX}\ntask:\n" + "".join(f"  - {path.stem}\n" for path in written))
    return [*written, group]


def _metrics_of(file: DataFile) -> list[Metric]:
    """Return the metrics that can be computed here, by scoring the truth itself."""
    asked = read_asked(file.path, find_dataset(file.dataset))
    found = evaluate_items(find_dataset(file.dataset), [one.item._replace(answer=one.item.truth) for one in asked])
    metrics = [metric for metric in found.metrics if not metric.not_computed]
    if not metrics:
        raise InputError(f"{file.path}: {found.metrics[0].not_computed}")
    return metrics


def _function_name(metric: str) -> str:
    return "aggregate_" + re.sub(r"\W+", "_", metric).strip("_").lower()


def _task_yaml(dataset: str, metrics: Sequence[Metric], functions: dict[str, str], data_at: str) -> str:
    """Return the text of a task file; `!function` is a tag that only lmms-eval's reader knows."""
    import yaml

    is_local = Path(data_at).is_absolute()
    config: Doc = {
        "task": f"{PREFIX}_{dataset}",
        "dataset_path": "parquet" if is_local else data_at,
        "dataset_kwargs": {"data_files": {"test": f"{data_at}/{dataset}/test.parquet"}} if is_local else None,
        "dataset_name": None if is_local else dataset,
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_visual": "!function utils.doc_to_audio",
        "doc_to_text": "!function utils.doc_to_text",
        "doc_to_target": "!function utils.doc_to_target",
        "process_results": "!function utils.process_results",
        "generation_kwargs": {"max_new_tokens": 512, "temperature": 0, "do_sample": False},
        "metric_list": [
            {
                "metric": metric.name,
                "aggregation": f"!function utils.{functions[metric.name]}",
                "higher_is_better": metric.better == "higher",
            }
            for metric in metrics
        ],
        "metadata": {"version": 0.0},
    }
    plain = yaml.safe_dump({name: value for name, value in config.items() if value is not None}, sort_keys=False)
    return re.sub(r"'(!function [\w.]+)'", r"\1", plain)


def _write_data(file: DataFile, metrics: Sequence[str], path: Path, on_clips: Callable[[int], None]) -> None:
    """Write the questions with their clips; a question whose recording is missing is left out."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    kinds = dict.fromkeys(("id", "dataset", "metrics", "question", "truth", "recording"), "string")
    kinds |= {"place": "int64", "start": "float64", "end": "float64"}
    # As Audio, which `datasets` need not decode, lmms-eval leaves clips out of the samples that it logs.
    features: Doc = {name: {"dtype": kind, "_type": "Value"} for name, kind in kinds.items()}
    features["clip"] = {"decode": False, "_type": "Audio"}
    clip = pyarrow.struct({"bytes": pyarrow.binary(), "path": pyarrow.string()})
    columns = {name: pyarrow.type_for_alias(kind) for name, kind in kinds.items()} | {"clip": clip}
    schema = pyarrow.schema(columns, {"huggingface": json.dumps({"info": {"features": features}})})
    make_folder(path.parent)
    with whole_file(path) as unfinished, ParquetWriter(unfinished, schema) as writer:
        rows: list[Doc] = []
        for row in _rows(file, metrics):
            rows.append(row)
            on_clips(1)
            if len(rows) == ROWS_AT_ONCE:
                writer.write_table(pyarrow.Table.from_pylist(rows, schema))
                rows = []
        writer.write_table(pyarrow.Table.from_pylist(rows, schema))


def _rows(file: DataFile, metrics: Sequence[str]) -> Iterator[Doc]:
    asked: dict[str, AskedQuestion] = {one.id: one for one in read_asked(file.path, find_dataset(file.dataset))}
    for place, question in enumerate(file.questions):
        if question.audio.exists():
            about = {"place": place, "dataset": file.dataset, "metrics": "\n".join(metrics)}
            clip = cut_clip(question)
            yield record_of(asked[question.id]) | about | {"clip": {"bytes": clip.read_bytes(), "path": clip.name}}

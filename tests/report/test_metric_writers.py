"""Writers of curves: TensorBoard, Weights & Biases and trackio read back what was written."""

import json
import math
import sqlite3
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmi._util.errors import InputError, MissingExtra
from cmi.report.metric_writers import check_places, open_writers


def write_curve(place: str, name: str = "run one") -> None:
    with open_writers([place], name) as writer:
        writer.write(1, {"train/loss": 0.5, "train/lr": math.nan})
        writer.write(2, {"train/loss": 0.25})


def test_tensorboard(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    write_curve(f"tensorboard:{tmp_path / 'curves'}")
    events = EventAccumulator(str(tmp_path / "curves" / "run-one"))
    events.Reload()
    assert [(one.step, one.value) for one in events.Scalars("train/loss")] == [(1, 0.5), (2, 0.25)]
    assert events.Tags()["scalars"] == ["train/loss"]


def test_trackio_and_its_output_is_not_on_standard_output(tmp_path, monkeypatch):
    pytest.importorskip("trackio")
    code = """
from cmi.report.metric_writers import open_writers
with open_writers(["trackio:music"], "run one") as writer:
    writer.write(1, {"train/loss": 0.5})
    writer.write(2, {"train/loss": 0.25})
"""
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    [database] = (tmp_path / "trackio").glob("*.db")
    with sqlite3.connect(database) as connection:
        rows = connection.execute("select run_name, step, metrics from metrics order by step").fetchall()
    assert [(name, step, json.loads(metrics)["train/loss"]) for name, step, metrics in rows] == [
        ("run-one", 1, 0.5),
        ("run-one", 2, 0.25),
    ]


def read_wandb(path: Path) -> Iterator[bytes]:
    """The records of an offline run: after 7 bytes, LevelDB's log of blocks of 32 KiB."""
    data, at, parts = path.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        length, kind = struct.unpack("<HB", data[at + 4 : at + 7])
        parts += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield parts
            parts = b""


def test_wandb_offline(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    from wandb.proto.wandb_internal_pb2 import Record

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    write_curve("wandb:music")
    [log] = tmp_path.rglob("*.wandb")
    records: list[Record] = []
    while not any(record.HasField("exit") for record in records):  # its own process writes the last of them
        time.sleep(0.1)
        records = [Record.FromString(data) for data in read_wandb(log)]
    rows = [
        {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
        for record in records
        if record.WhichOneof("record_type") == "history"
    ]
    assert [(row["_step"], row["train/loss"]) for row in rows] == [(1, 0.5), (2, 0.25)]
    [run] = [record.run for record in records if record.WhichOneof("record_type") == "run"]
    assert (run.project, run.display_name) == ("music", "run-one")


@pytest.mark.parametrize("place", ["wandb", "wandb:", "wandb: ", "mlflow:x", ":x", ""])
def test_another_place_is_one_sentence(place):
    with pytest.raises(InputError, match="expected tensorboard:FOLDER, wandb:PROJECT or trackio:PROJECT"):
        check_places([place])


@pytest.mark.parametrize(("kind", "extra"), [("tensorboard", "train"), ("wandb", "plugs"), ("trackio", "plugs")])
def test_a_package_that_is_missing_is_named_with_its_extra(kind, extra, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=rf"cmi\[{extra}\]"), open_writers([f"{kind}:{tmp_path}/x"], "run"):
        pass


def test_only_the_first_process_of_a_launch_writes(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    write_curve(f"tensorboard:{tmp_path / 'curves'}")
    assert not (tmp_path / "curves").exists()


def test_a_file_in_place_of_the_folder_is_one_sentence(tmp_path):
    pytest.importorskip("tensorboard")
    (tmp_path / "curves").write_text("a file")
    with pytest.raises(InputError, match="curves"):
        write_curve(f"tensorboard:{tmp_path / 'curves'}")

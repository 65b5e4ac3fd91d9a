"""What it costs to have every result on disk before the next begins: cmi's run log against its alternatives.

    python benchmarks/runlog.py [--folder FOLDER] [--records 2000] [--repeat 3]

Compared, in records per second of wall time, each on the same records, the best of several rounds:
    RunLog      append one line, fsync: nothing is lost
    rewrite     write the whole JSON results file anew after each record, fsync, rename: nothing is lost
    buffered    append lines through Python's buffer: a crash loses what was not written out, and may tear a line

An fsync is as dear as the disk under FOLDER (by default the current folder); on a RAM disk it costs nothing.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from cmi._util.runlog import RunLog
from cmi.report.tables import Table, print_tables

Records = Sequence[dict[str, Any]]


def run_log(path: Path, records: Records) -> None:
    with RunLog(path) as log:
        for record in records:
            log.append(record)
        log.finish()


def rewrite(path: Path, records: Records) -> None:
    done = []
    for record in records:
        done.append(record)
        unfinished = path.with_suffix(".new")
        with unfinished.open("w", encoding="utf-8") as file:
            file.write(json.dumps(done))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)


def buffered(path: Path, records: Records) -> None:
    with path.open("w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record) + "\n")


def read(path: Path) -> Records:
    text = path.read_text("utf-8")
    content: Records = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]
    return content


WAYS: dict[str, tuple[Callable[[Path, Records], None], str]] = {
    "RunLog": (run_log, "nothing"),
    "rewrite": (rewrite, "nothing"),
    "buffered": (buffered, "what the buffers hold"),
}


def rate(keep: Callable[[Path, Records], None], path: Path, records: Records) -> float:
    begin = time.perf_counter()
    keep(path, records)
    return len(records) / (time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(), help="where to write: the disk that is measured")
    parser.add_argument("--records", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=3, help="rounds, of which the best counts")
    arguments = parser.parse_args()
    records = [{"id": f"GTZAN/{i}", "response": f"{i} " + 60 * "la la la "} for i in range(arguments.records)]

    rates = dict.fromkeys(WAYS, 0.0)
    for _ in range(arguments.repeat):
        with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="runlog-benchmark-") as folder:
            for name, (keep, _) in WAYS.items():
                path = Path(folder) / f"{name}.jsonl"
                rates[name] = max(rates[name], rate(keep, path, records))
                if read(path) != records:
                    sys.exit(f"{name} did not keep the records, so that its time means nothing")

    rows = [
        [name, lost, f"{rates[name]:,.0f}", f"{rates['RunLog'] / rates[name]:.3g}"] for name, (_, lost) in WAYS.items()
    ]
    size = len(json.dumps(records[0]))
    title = f"Keeping {len(records):,} records of {size} bytes, best of {arguments.repeat}"
    headers = ("way", "a crash loses", "records per second", "RunLog / this")
    print_tables([Table(title, headers, rows, labels=2)], Console())


if __name__ == "__main__":
    main()

"""Work in several processes: a pool on this machine, or shards of a run on many.

A shard is a process of its own, with files of its own in the run's folder or beside it, which all machines must see;
each runs in the folder that the command was given in. API keys are not handed over by Ray: they must be set where its
workers run.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import chdir
from multiprocessing.connection import wait
from pathlib import Path
from types import TracebackType

from cmi._util.errors import InputError, MissingExtra


class _Pool(ProcessPoolExecutor):
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.shutdown(wait=True, cancel_futures=error is not None)


def process_pool(workers: int | None = None) -> ProcessPoolExecutor:
    """A pool of processes, by default one a core. Killed with `kill -9`, their parent takes them along.

    After an error or Ctrl-C it ends what it is at, and begins nothing more. Open it before files that are locked:
    forked processes hold on to those.
    """
    pool = _Pool(workers or os.cpu_count(), initializer=_die_with_parent)
    pool.submit(os.getpid).result()  # only now are they forked
    return pool


def _die_with_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent says what is to be said
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run_on_ray(arguments: Sequence[str], shards: int, on_gpus: bool = False) -> None:
    """`cmi ARGUMENTS --shard i/n` for every shard, as tasks of a Ray cluster (RAY_ADDRESS), or of one started here.

    `on_gpus`: each has a GPU to itself, where the cluster has any; Ray hides them from tasks that want none.
    """
    try:
        import ray
    except ModuleNotFoundError as error:
        raise MissingExtra("sharding over Ray", "ray") from error
    with chdir(os.sep):  # Ray's workers import from the folder it is started in before they look for installed packages
        ray.init(include_dashboard=False, log_to_driver=False)  # the dashboard's job API has no authentication
    try:
        gpus = 1 if on_gpus and ray.cluster_resources().get("GPU") else 0
        task = ray.remote(num_cpus=1, num_gpus=gpus)(run_shard)
        here = str(Path.cwd())
        ends = ray.get([task.remote([*arguments, "--shard", f"{i}/{shards}"], here) for i in range(1, shards + 1)])
    finally:
        ray.shutdown()
    failed = [(number, said) for number, (code, said) in enumerate(ends, 1) if code]
    if failed:
        number, said = failed[0]
        raise InputError(f"{len(failed)} of {shards} shards failed; shard {number}: {said}")


def run_shard(arguments: Sequence[str], folder: str) -> tuple[int, str]:
    """The exit code of a `cmi` command in that folder, and the last line of its errors."""
    if not Path(folder).is_dir():
        return 2, f"{folder} is not on its machine; run where all machines see the folder"
    command = [sys.executable, "-P", "-m", "cmi", *arguments]  # no file of the folder stands in for a package
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    lines = ended.stderr.strip().splitlines()
    return ended.returncode, lines[-1] if lines else ""

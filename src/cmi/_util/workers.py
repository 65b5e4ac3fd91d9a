"""Run work in several processes: a pool on this machine, or shards of a run on a Ray cluster.

Each shard is a process with files of its own. It runs in the command's working folder, which all machines must see.
Ray does not pass API keys on: set them where its workers run.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import chdir, contextmanager, redirect_stdout
from multiprocessing.connection import wait
from pathlib import Path
from types import TracebackType
from typing import Any

from cmi._util.cores import usable_cores
from cmi._util.errors import InputError, require_extra


class _Pool(ProcessPoolExecutor):
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.shutdown(wait=True, cancel_futures=error is not None)


def process_pool(workers: int | None = None) -> ProcessPoolExecutor:
    """Open a pool of processes, by default one per core. They end with their parent, even after `kill -9`.

    After an error or Ctrl-C the pool finishes the running tasks and starts no others. Open it before locking files,
    because forked processes keep the locks.
    """
    pool = _Pool(workers or usable_cores(), initializer=die_with_parent)
    pool.submit(os.getpid).result()  # fork them now
    return pool


def die_with_parent() -> None:
    """Prepare a process of a pool: it ends with its parent, leaves Ctrl-C to it, and computes on one core."""
    os.environ["OMP_NUM_THREADS"] = "1"  # for torch, if a task loads it: the processes share the cores
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; only the parent reports it
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run_on_ray(arguments: Sequence[str], shards: int, on_gpus: bool = False) -> None:
    """Run `cmi ARGUMENTS --shard i/n` for every shard on a Ray cluster (RAY_ADDRESS), or on one started here.

    With `on_gpus` each shard has a GPU to itself if the cluster has GPUs; otherwise Ray hides them.
    """
    with ray_cluster("sharding over Ray") as ray:
        gpus = 1 if on_gpus and ray.cluster_resources().get("GPU") else 0
        task = ray.remote(num_cpus=1, num_gpus=gpus)(run_shard)
        here = str(Path.cwd())
        ends = ray.get([task.remote([*arguments, "--shard", f"{i}/{shards}"], here) for i in range(1, shards + 1)])
    failed = [(number, said) for number, (code, said) in enumerate(ends, 1) if code]
    if failed:
        number, said = failed[0]
        raise InputError(f"{len(failed)} of {shards} shards failed; shard {number}: {said}")


@contextmanager
def ray_cluster(what: str) -> Iterator[Any]:
    """Join the cluster of RAY_ADDRESS, or start one for the block; yields the module `ray`. `what` is what needs it."""
    with require_extra(what, "ray"):
        import ray
    with redirect_stdout(sys.stderr):  # Ray's threads print there what happens to workers
        with chdir(os.sep):  # Ray's workers import from the folder that it was started in first
            ray.init(include_dashboard=False, log_to_driver=False)  # the dashboard's job API has no authentication
        try:
            yield ray
        finally:
            ray.shutdown()


def run_shard(arguments: Sequence[str], folder: str) -> tuple[int, str]:
    """Run a `cmi` command in that folder; return its exit code and the last line of its standard error."""
    if not Path(folder).is_dir():
        return 2, f"{folder} does not exist on its machine; run in a folder that all machines share"
    command = [sys.executable, "-P", "-m", "cmi", *arguments]  # -P: files in the folder shadow no package
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    lines = ended.stderr.strip().splitlines()
    return ended.returncode, lines[-1] if lines else ""

"""A run in parts, on many machines: by hand with --shard, or as Ray's tasks.

Each shard is a process of its own, with files of its own in the run's folder or beside it, which all machines must see;
each runs in the folder that the command was given in. API keys are not handed over by Ray: they must be set where its
workers run.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path

from cmi._util.errors import InputError, MissingExtra


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

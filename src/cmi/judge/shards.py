"""A run in parts, on many machines: by hand with --shard, or as Ray's tasks.

Each shard is a process of its own with a folder of its own in OUT.shards, which all machines must see. Afterwards the
same command without a shard finds all verdicts there and asks what is left. API keys are not handed over by Ray: they
must be set where its workers run.
"""

import subprocess
import sys
from collections.abc import Sequence

from cmi.errors import InputError, MissingExtra


def run_on_ray(arguments: Sequence[str], shards: int) -> None:
    """`cmi ARGUMENTS --shard i/n` for every shard, as tasks of a Ray cluster (RAY_ADDRESS), or of one started here."""
    try:
        import ray
    except ModuleNotFoundError as error:
        raise MissingExtra("sharding over Ray", "ray") from error
    ray.init(include_dashboard=False, log_to_driver=False)  # the dashboard's job API has no authentication
    try:
        task = ray.remote(num_cpus=1)(run_shard)
        ends = ray.get([task.remote([*arguments, "--shard", f"{i}/{shards}"]) for i in range(1, shards + 1)])
    finally:
        ray.shutdown()
    failed = [(number, said) for number, (code, said) in enumerate(ends, 1) if code]
    if failed:
        number, said = failed[0]
        raise InputError(f"{len(failed)} of {shards} shards failed; shard {number}: {said}")


def run_shard(arguments: Sequence[str]) -> tuple[int, str]:
    """The exit code of a `cmi` command, and the last line of its errors."""
    command = [sys.executable, "-m", "cmi", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    lines = ended.stderr.strip().splitlines()
    return ended.returncode, lines[-1] if lines else ""

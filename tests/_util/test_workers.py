import os
import subprocess
import sys
import time
from pathlib import Path

from cmi._util.workers import process_pool

PARENT = """
import os, time
from cmi._util.workers import process_pool
with process_pool(2) as pool:
    print(pool.submit(os.getpid).result(), flush=True)
    time.sleep(60)
"""


def test_work_is_done_in_order_in_other_processes():
    with process_pool(2) as pool:
        assert list(pool.map(abs, [-3, 2, -1])) == [3, 2, 1]
        assert pool.submit(os.getpid).result() != os.getpid()


def test_workers_die_with_a_parent_that_is_killed():
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    worker = int(parent.stdout.readline())
    os.kill(worker, 0)  # it is alive
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while _alive(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(worker)


def _alive(process: int) -> bool:
    try:
        about = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return about.rsplit(")", 1)[1].split()[0] != "Z"  # a zombie that nobody has waited for is dead too

"""A pool whose process is killed goes on where it was: nothing is billed twice."""

import os
import signal
import subprocess
import sys
import time

import pytest

from cmi.take import read_prompts
from cmi.testing.chat_endpoint import fake_endpoint

from .conftest import answer, write_endpoint


@pytest.mark.slow
def test_killed_again_and_again_each_text_is_paid_for_once(texts, references):
    out = texts.with_name("pool.jsonl")
    with fake_endpoint(answer, latency=0.15) as server:
        endpoint = write_endpoint(texts.parent, server.url, concurrency=2)
        command = [
            sys.executable,
            "-m",
            "cmi",
            "prompts",
            str(texts),
            "--out",
            str(out),
            "--references",
            str(references),
        ]
        command += ["--quota", "text+lyrics=20,text+audio=4", "--lyrics-from", str(endpoint)]
        command += ["--caption-with", str(endpoint)]
        for kill_at in (3, 11, 21):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            while process.poll() is None and sum(server.billed.values()) < kill_at:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            assert process.returncode == -signal.SIGKILL
            assert not out.exists()
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
        assert done.returncode == 0, done.stderr
        assert sorted(server.billed.values()) == [1] * 24
    rows = list(read_prompts(out))
    assert len(rows) == 24 and all(row.prompt.lyrics or row.caption for row in rows)

"""The server as a process, with nano: the documented client, scores to the last bit, and how it stops."""

import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest
import soundfile

from cmi._util.errors import InputError
from cmi.reward.scoring import load_scorer
from cmi.serve.serve import check_access
from cmi.take import Prompt, Take

PAGE = Path(__file__).parents[2] / "docs" / "serve.md"
RATE = 32_000


@pytest.fixture(scope="module")
def takes(tmp_path_factory) -> dict[Path, np.ndarray]:
    draw = np.random.default_rng(3)
    folder = tmp_path_factory.mktemp("takes")
    found = {}
    for number in range(3):
        t = np.arange(6 * RATE) / RATE
        samples = 0.2 * np.sin(2 * np.pi * (220 + 90 * number) * t) * np.exp(-5 * (t % 0.4))
        samples = (samples + 0.01 * draw.standard_normal(t.size)).astype(np.float32)
        path = folder / f"{number}.wav"
        soundfile.write(path, samples, RATE, subtype="FLOAT")
        found[path] = samples
    return found


@pytest.fixture(scope="module")
def server(takes):
    folder = str(next(iter(takes)).parent)
    command = [
        sys.executable,
        "-m",
        "cmi",
        "serve",
        "--model",
        "nano",
        "--port",
        "0",
        "--allow",
        folder,
        "--queue",
        "4",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        said = process.stdout.readline()
        address = re.search(r"http://\S+", said)
        assert address, said
        yield address[0], process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


@pytest.mark.slow
def test_scores_are_those_of_the_command_to_the_last_bit_and_the_server_stops_politely(server, takes):
    url, process = server
    text = "slow sad piano"
    (code,) = (
        block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "def score" in block
    )
    documented: dict = {}
    exec(code, documented)
    known = load_scorer("nano", cache_gb=0).score([Take(Prompt(text), path) for path in takes])

    named = {"takes": [{"audio": {"path": path.name}, "text": text} for path in takes]}
    by_path = httpx.post(f"{url}/score", json=named, timeout=300)
    files = [("audio", path.read_bytes()) for path in takes]
    by_form = httpx.post(f"{url}/score", files=files, data={"text": text}, timeout=300)
    with ThreadPoolExecutor(8) as pool:  # more than may wait: the documented client comes back
        asked = [pool.submit(documented["score"], samples, RATE, text, url) for samples in takes.values()]
        asked += [
            pool.submit(documented["score"], s, RATE, f"{text} {i}", url) for i in range(3) for s in takes.values()
        ]
        by_samples = [one.result() for one in asked]
    for answers in (by_path.json()["takes"], by_form.json()["takes"], by_samples[: len(takes)]):
        assert [(one["musicality"], one["alignment"]) for one in answers] == [tuple(score) for score in known]
    assert all(np.isfinite(one["overall"]) for one in by_samples)

    process.send_signal(signal.SIGTERM)
    out, errors = process.communicate(timeout=120)
    assert "The server is closed." in out
    assert errors == ""


@pytest.mark.parametrize(
    ("host", "token", "said"),
    [
        ("0.0.0.0", None, "--token-file or CMI_SERVE_TOKEN"),
        ("127.0.0.1", "short", "16 or more"),
        ("192.0.2.1", "ä" * 20, "ASCII"),
    ],
)
def test_an_address_that_would_let_anybody_in_is_refused(host, token, said):
    with pytest.raises(InputError, match=said):
        check_access(host, token)


def test_loopback_needs_no_token_and_other_addresses_are_open_with_one():
    check_access("localhost", None)
    check_access("0.0.0.0", "sixteen-characters")

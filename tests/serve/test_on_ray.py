"""`cmi serve --ray`: the answers, refusals and limits of one process, also while a process of the model is killed."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import httpx
import numpy as np
import pytest
import soundfile

from cmi._util.errors import HttpRefusal, InputError
from cmi.audio import Waveform
from cmi.serve import ServeLimits
from cmi.serve.on_ray import RayReplicas, RewardReplica
from cmi.take import Prompt, Take

from .conftest import encoded, sound

ray = pytest.importorskip("ray", reason="serving on Ray needs the ray extra")
pytest.importorskip("ray.serve", reason="serving on Ray needs the ray extra")

TOKEN = "sixteen-characters"
ALLOWED = {"Authorization": f"Bearer {TOKEN}"}
RATE, TEXTS = 32_000, [f"slow sad piano {i}" for i in range(8)]
OWN = """
from cmi import Score
from cmi.audio import load

class Reader:
    def score(self, takes):
        return [Score(load(take.audio, 16_000).seconds, 0.0) for take in takes]
"""
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # as Ray's processes have: another number may change the last bit


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("takes")
    draw = np.random.default_rng(3)
    for number in range(3):
        t = np.arange(4 * RATE) / RATE
        samples = 0.2 * np.sin(2 * np.pi * (220 + 90 * number) * t) * np.exp(-5 * (t % 0.4))
        samples += 0.01 * draw.standard_normal(t.size)
        soundfile.write(folder / f"{number}.wav", samples.astype(np.float32), RATE, subtype="FLOAT")
    rows = [{"id": f"{n} {text}", "audio": f"{n}.wav", "text": text} for text in TEXTS for n in range(3)]
    (folder / "takes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def known(takes):
    """What `cmi score` says."""
    command = [sys.executable, "-m", "cmi", "score", "--manifest", "takes.jsonl", "--model", "nano", "--json"]
    done = subprocess.run(
        command, cwd=takes, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr
    return {one["id"]: (one["musicality"], one["alignment"]) for one in map(json.loads, done.stdout.splitlines())}


@pytest.fixture(scope="module")
def server(takes):
    command = [sys.executable, "-m", "cmi", "serve", "--model", "nano", "--ray", "2", "--port", "0", "--body-mb", "2"]
    environment = {**os.environ, **ONE_THREAD, "CMI_SERVE_TOKEN": TOKEN}
    with (takes.parent / "said.txt").open("w") as errors:
        process = subprocess.Popen(
            [*command, "--allow", "."], cwd=takes, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        try:
            said = process.stdout.readline()
            address = re.search(r"http://\S+", said)
            assert address, said + (takes.parent / "said.txt").read_text()
            yield address[0], process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.wait(120)


def replicas(server: int) -> list[int]:
    """The processes of the model that the server's cluster runs."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    below = {server}
    while more := {int(pid) for pid, parent, *_ in rows if int(parent) in below} - below:
        below |= more
    return [int(row[0]) for row in rows if int(row[0]) in below and "ray::ServeReplica" in row[-1]]


def ask(url: str, number: int, text: str) -> tuple[float, float]:
    """Ask for a score until it is given: by path, by samples or as a file."""
    while True:
        if number == 0:
            sent = {"json": {"audio": {"path": "0.wav"}, "text": text}}
        elif number == 1:
            samples, rate = soundfile.read(ask.folder / "1.wav", dtype="float32")
            sent = {"json": {"audio": {"samples": encoded(samples), "rate": rate}, "text": text}}
        else:
            sent = {"files": {"audio": (ask.folder / "2.wav").read_bytes()}, "data": {"text": text}}
        answer = httpx.post(f"{url}/score", headers=ALLOWED, timeout=280, **sent)
        if answer.status_code not in (429, 503):
            assert answer.status_code == 200, answer.text
            (take,) = answer.json()["takes"]
            return take["musicality"], take["alignment"]
        time.sleep(float(answer.headers["retry-after"]))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_answer_is_that_of_the_command_although_a_process_is_killed(server, takes, known):
    url, process = server
    ask.folder = takes
    with ThreadPoolExecutor(8) as pool:
        number = 0
        while len(replicas(process.pid)) < 2:  # a load that asks for a second one
            number += 8
            list(pool.map(lambda i: ask(url, 1, f"warm {i}"), range(number, number + 8)))
            assert number < 4000
        asked = {pool.submit(ask, url, n, text): f"{n} {text}" for text in TEXTS for n in range(3)}
        answers = {}
        for done in as_completed(asked):
            answers[asked[done]] = done.result()
            if len(answers) == 4:
                os.kill(replicas(process.pid)[0], signal.SIGKILL)
    assert answers == known


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_refusals_are_those_of_one_process(server, serving, takes):
    url, _ = server
    alone = serving(limits=ServeLimits(body_bytes=2_000_000), token=TOKEN, allowed=[takes])
    broken = {"files": {"audio": b"RIFF"}}
    requests = [
        {"json": {"audio": sound()}, "headers": {}},
        {"json": {"audio": {"path": "../secret.wav"}}},
        {"json": {"audio": {"samples": "?", "rate": RATE}}},
        {"json": {"audio": {"samples": encoded([np.nan] * 800), "rate": RATE}}},
        {"json": {"audio": {"path": "nowhere.wav"}}},
        {"json": {"text": "nothing to hear"}},
        {"content": b"x" * 2_000_001},
        broken,
    ]
    for request in requests:
        request = {"headers": ALLOWED, **request}
        here, there = alone.post("/score", **request), httpx.post(f"{url}/score", timeout=280, **request)
        assert (there.status_code, there.json()) == (here.status_code, here.json())
    assert httpx.get(f"{url}/healthz").json()["model"].startswith("nano@")
    assert "cmi_takes_total" in httpx.get(f"{url}/metrics", headers=ALLOWED).text


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_server_stops_politely_and_leaves_no_process(server, takes):
    _, process = server
    running = replicas(process.pid)
    assert running
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=280)
    assert out == "The server is closed.\n"
    assert process.returncode == 0
    assert TOKEN not in (takes.parent / "said.txt").read_text()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{one}").exists() for one in running) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not [one for one in running if Path(f"/proc/{one}").exists()]


class Lost:
    """A deployment whose processes die; it counts how often it was asked."""

    def __init__(self, error: Exception) -> None:
        self.error, self.asked, self.judge = error, 0, self

    def remote(self, *_):
        self.asked += 1
        return self

    def result(self, timeout_s):
        raise self.error


def test_takes_whose_processes_all_die_are_answered_with_503_and_the_time_to_come_back():
    lost = Lost(ray.exceptions.ActorDiedError())
    take = Take(Prompt(), Waveform(np.full(800, 0.5, np.float32), 16_000))
    with pytest.raises(HttpRefusal) as refused:
        list(RayReplicas(lost, []).judge([take]))
    assert (refused.value.status, refused.value.headers) == (503, {"retry-after": "5"})
    assert lost.asked == 3


def test_a_model_that_cannot_be_loaded_is_one_sentence_of_the_process_that_tried(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    about = RewardReplica(str(tmp_path), ("nowhere:Model",)).describe()
    assert isinstance(about, InputError)
    assert "nowhere" in str(about)
    elsewhere = RewardReplica(str(tmp_path / "gone"), ("nano",)).describe()
    assert "a folder that all machines share" in str(elsewhere)


def test_files_of_an_upload_are_sent_and_errors_name_them_as_the_server_does(tmp_path, monkeypatch):
    """They are in a folder of the server's machine, which other machines do not see."""
    uploaded, shared = tmp_path / "upload", tmp_path / "shared"
    shared.mkdir()
    uploaded.write_bytes(b"RIFF")
    take = Take(Prompt(reference=shared / "reference.wav"), uploaded)
    files = RayReplicas(None, [shared]).read(take)
    assert files == {uploaded: b"RIFF"}
    uploaded.unlink()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_reader.py").write_text(OWN)
    replica = RewardReplica(str(tmp_path), ("own_reader:Reader",))
    (answer,) = asyncio.run(replica.judge([take], files))
    assert str(answer).startswith(f"{uploaded}: ")

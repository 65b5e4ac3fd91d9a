"""A service is paid once for each take, whatever happens to the network, the service or this process."""

import base64
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from cmi import Prompt
from cmi._util.errors import InputError
from cmi._util.http import Fault
from cmi._util.runlog import read_records
from cmi.generate import GenerationError, GeneratorStopped
from cmi.generate.service import ServiceGenerator, load_service
from cmi.generate.service_calls import _form, check_answer
from cmi.generate.service_file import AnswerErrors
from cmi.testing.music_service import KEY, KEY_VARIABLE, RATE, FakeMusicService, fake_music_service

WALTZ = Prompt("a waltz")
DELIVERIES = ("url", "base64", "body")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.setattr("cmi._util.http.FIRST_PAUSE", 0.01)


class Opened:
    """Generators of a service, each with the same folder, closed at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.generators: list[ServiceGenerator] = []

    def __call__(self, service: FakeMusicService, **options: Any) -> ServiceGenerator:
        self.close()
        generator = load_service(service.write_description(self.folder / "fake.toml"), **options)
        generator.keep_in(self.folder / "jobs")
        self.generators.append(generator)
        return generator

    def close(self) -> None:
        for generator in self.generators:
            generator.close()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    made = Opened(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("deliver", DELIVERIES)
def test_a_take_is_submitted_waited_for_and_downloaded(opened: Opened, deliver: str):
    with fake_music_service(deliver=deliver, polls=3) as service:
        sound = opened(service).generate(Prompt("a waltz", lyrics="la"), 3, 2.5)
        assert (sound.rate, sound.samples.shape, sound.cost) == (RATE, (round(2.5 * RATE), 1), 0.5)
        assert service.billed == {"a waltz/3": 1}
        sent = json.loads(service.requests[0].content)
        assert sent == {"prompt": "a waltz", "lyrics": "la", "seed": 3, "seconds": 2.5}
        assert service.calls["poll"] == (3 if deliver == "url" else 0)


def test_what_is_not_asked_for_is_not_sent_and_a_whole_number_of_seconds_is_one(opened: Opened):
    with fake_music_service() as service:
        generator = opened(service)
        generator.generate(WALTZ, 0, None)
        generator.generate(WALTZ, 1, 2.0)
        first, second = (json.loads(request.content) for request in service.requests if request.method == "POST")
        assert first == {"prompt": "a waltz", "seed": 0}
        assert second["seconds"] == 2 and isinstance(second["seconds"], int)


@pytest.mark.parametrize("step", ["submit", "poll", "audio"])
@pytest.mark.parametrize("fault", ["500", "429", "429 with Retry-After"])
def test_passing_faults_are_waited_out(opened: Opened, step: str, fault: str):
    with fake_music_service(faults={step: [fault, fault]}) as service:
        began = time.monotonic()
        assert opened(service).generate(WALTZ, 0, 2.0).samples.size
        assert service.billed == {"a waltz/0": 1}
        assert "Retry-After" not in fault or time.monotonic() - began > 0.4


@pytest.mark.parametrize("fault", ["cut", "HTML"])
def test_a_lost_answer_is_asked_for_again_only_if_the_service_recognises_it(opened: Opened, fault: str):
    with fake_music_service(faults={"submit": [fault]}, idempotent=True) as service:
        assert opened(service).generate(WALTZ, 0, 2.0).samples.size
        assert service.billed == {"a waltz/0": 1} and service.calls["submit"] == 1
    with fake_music_service(faults={"submit": [fault]}) as service:
        generator = opened(service)
        with pytest.raises(GenerationError, match="may have been billed") as raised:
            generator.generate(WALTZ, 1, 2.0)
        assert (raised.value.kind, raised.value.cost) == ("lost", 0.5)
        assert service.billed == {"a waltz/1": 1}
        assert generator.generate(WALTZ, 1, 2.0).samples.size  # asked for again by the user: a second bill
        assert service.billed == {"a waltz/1": 2}


def test_cut_connections_while_waiting_and_downloading_cost_nothing(opened: Opened):
    with fake_music_service(faults={"poll": ["cut", "HTML"], "audio": ["cut", "cut"]}) as service:
        assert opened(service).generate(WALTZ, 0, 2.0).samples.size
        assert service.billed == {"a waltz/0": 1}


@pytest.mark.parametrize("deliver", DELIVERIES)
@pytest.mark.parametrize(
    ("fault", "kind"), [("HTML", "not audio"), ("JSON", "not audio"), ("empty", "empty"), ("truncated", "cut off")]
)
def test_what_is_not_a_take_is_one_clear_failure(opened: Opened, deliver: str, fault: str, kind: str):
    step = "audio" if deliver == "url" else "submit"
    if (deliver, fault) == ("base64", "empty"):
        kind = "missing"  # an empty field
    with fake_music_service(deliver=deliver, faults={step: [fault]}) as service:
        generator = opened(service)
        with pytest.raises(GenerationError) as raised:
            generator.generate(WALTZ, 0, 2.0)
        assert (raised.value.kind, raised.value.cost) == (kind, 0.5), raised.value
        assert service.billed == {"a waltz/0": 1}
        assert generator.generate(WALTZ, 0, 2.0).samples.size
        assert service.billed == {"a waltz/0": 2}


def test_refusals_and_failed_jobs_cost_nothing(opened: Opened):
    with fake_music_service(faults={"submit": ["422"], "poll": ["failed"]}) as service:
        generator = opened(service, max_cost=0.5)
        for kind in ("refused", "failed"):
            with pytest.raises(GenerationError) as raised:
                generator.generate(WALTZ, 0, 2.0)
            assert (raised.value.kind, raised.value.cost) == (kind, 0.0)
        assert generator.generate(WALTZ, 0, 2.0).samples.size  # the budget is still there


@pytest.mark.parametrize("status", ["401", "403"])
def test_a_key_that_is_refused_stops_the_system_and_is_not_shown(opened: Opened, status: str, tmp_path: Path):
    with fake_music_service(faults={"submit": [status]}) as service:
        generator = opened(service)
        with pytest.raises(GeneratorStopped) as raised:
            generator.generate(WALTZ, 0, 2.0)
        assert f"status {status}" in str(raised.value) and KEY[:12] not in str(raised.value)
        assert service.requests[0].headers["x-key"] == f"Bearer {KEY}"
        assert generator.generate(WALTZ, 0, 2.0).samples.size
    opened.close()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_the_key_is_not_sent_with_a_download(opened: Opened):
    with fake_music_service() as service:
        opened(service).generate(WALTZ, 0, 2.0)
        keys = {request.path.split("/")[1]: "x-key" in request.headers for request in service.requests}
        assert keys == {"songs": True, "audio": False}


def test_a_redirect_is_followed_for_a_download_and_never_with_the_key(opened: Opened):
    with fake_music_service(faults={"submit": ["302"], "audio": ["302"]}) as service:
        generator = opened(service)
        with pytest.raises(GeneratorStopped, match="it redirects to"):
            generator.generate(WALTZ, 0, 2.0)
        assert service.calls["submit"] == 0
        assert generator.generate(WALTZ, 0, 2.0).samples.size
        assert not any("x-key" in request.headers for request in service.requests if "/audio/" in request.path)


def test_jobs_are_kept_when_the_key_is_refused_while_they_run(opened: Opened):
    with fake_music_service(faults={"poll": ["401"]}) as service:
        with pytest.raises(GeneratorStopped, match="its jobs are kept"):
            opened(service).generate(WALTZ, 0, 2.0)
        assert opened(service).generate(WALTZ, 0, 2.0).samples.size
        assert service.billed == {"a waltz/0": 1}


@pytest.mark.parametrize(("step", "status"), [("audio", "404"), ("audio", "403"), ("poll", "404")])
def test_a_take_that_the_service_deleted_is_expired_and_paid(opened: Opened, step: str, status: str):
    with fake_music_service(faults={step: [status]}) as service:
        with pytest.raises(GenerationError) as raised:
            opened(service).generate(WALTZ, 0, 2.0)
        assert (raised.value.kind, raised.value.cost) == ("expired", 0.5)


def test_a_take_beyond_the_size_limit_is_not_read_to_its_end(opened: Opened, tmp_path: Path):
    with fake_music_service() as service:
        (tmp_path / "small.toml").write_text(service.description() + "megabytes = 0.01\n")
        with pytest.raises(GenerationError, match="more than 10,000 bytes"):
            load_service(tmp_path / "small.toml").generate(WALTZ, 0, 2.0)


@pytest.mark.parametrize("send_as", ["base64", "data_uri", "url"])
def test_the_sound_of_a_reference_is_sent_and_nothing_else(tmp_path: Path, send_as: str):
    soundfile.write(tmp_path / "like.flac", np.full((RATE, 2), 0.1, np.float32), RATE)
    (tmp_path / "secret.wav").write_text("not audio")
    with fake_music_service() as service:
        text = service.description().replace('"lyrics"]', '"lyrics", "reference"]')
        text = text.replace('seed = "{seed}"', 'seed = "{seed}", like = "{reference}"')
        text += f'[reference]\nsend_as = "{send_as}"\nformat = "wav"\nurl = "https://host/{{name}}"\nseconds = 0.5\n'
        (tmp_path / "fake.toml").write_text(text)
        generator = load_service(tmp_path / "fake.toml")
        generator.generate(Prompt("a waltz", reference=tmp_path / "like.flac"), 0, 2.0)
        sent = json.loads(service.requests[0].content)["like"]
        if send_as == "url":
            assert sent == "https://host/like.flac"
        else:
            assert sent.startswith("data:audio/") == (send_as == "data_uri")
            samples, rate = soundfile.read(io.BytesIO(base64.b64decode(sent.rpartition(",")[2])))
            assert (samples.shape, rate) == ((22_050,), 44_100)
            count = len(service.requests)
            with pytest.raises(InputError, match=r"secret\.wav"):
                generator.generate(Prompt("a waltz", reference=tmp_path / "secret.wav"), 0, 2.0)
            assert len(service.requests) == count
        generator.close()


def test_a_form_carries_text_numbers_and_a_file(tmp_path: Path):
    soundfile.write(tmp_path / "like.wav", np.full(RATE, 0.1, np.float32), RATE)
    body = _form({"prompt": "a waltz", "seed": 7, "audio": ("reference.wav", b"RIFF")})
    assert body["prompt"] == (None, "a waltz") and body["seed"] == (None, "7")
    assert body["audio"][:2] == ("reference.wav", b"RIFF") and body["audio"][2].startswith("audio/")


def test_errors_that_come_with_status_200_are_errors():
    errors = AnswerErrors("base.code", (0,), "base.why", wait=(1002,), stop=(1008,))
    check_answer({"base": {"code": 0}}, errors)
    for code, kind in ((1002, "refused"), (1008, "hopeless"), (2013, "rejected")):
        with pytest.raises(Fault) as raised:
            check_answer({"base": {"code": code, "why": "so"}}, errors)
        assert raised.value.kind == kind and f"base.code is {code} (so)" in raised.value.reason


def test_a_key_that_is_not_set_is_one_sentence(opened: Opened, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(KEY_VARIABLE)
    with fake_music_service() as service, pytest.raises(InputError, match=f"{KEY_VARIABLE} is not set"):
        opened(service)
    assert not service.requests


def test_the_budget_counts_what_was_submitted_before(opened: Opened):
    with fake_music_service() as service:
        opened(service, max_cost=1.0).generate(WALTZ, 0, 2.0)
        generator = opened(service, max_cost=1.0)
        generator.generate(WALTZ, 1, 2.0)
        with pytest.raises(GeneratorStopped, match="more than 1"):
            generator.generate(WALTZ, 2, 2.0)
        assert sum(service.billed.values()) == 2


def test_a_job_that_takes_too_long_is_kept(opened: Opened, tmp_path: Path):
    with fake_music_service(polls=20) as service:
        text = service.description().replace("interval = 0.05", "interval = 0.01\ntimeout = 0.05")
        (tmp_path / "slow.toml").write_text(text)
        with pytest.raises(GenerationError, match=r"'queued' after 0\.05 s") as raised:
            load_service(tmp_path / "slow.toml").generate(WALTZ, 0, 2.0)
        assert raised.value.kind == "time-out" and raised.value.cost == 0.0
        generator = opened(service)
        generator.generate(WALTZ, 0, 2.0)
        assert service.billed["a waltz/0"] == 2  # the first one had no folder to keep its job in


def test_a_service_that_dies_and_comes_back_still_has_the_job(opened: Opened):
    service = FakeMusicService(polls=4)
    with service.serve() as running:
        generator = opened(running)
        port = int(service.url.rpartition(":")[2])
        pool = ThreadPoolExecutor(1)
        future = pool.submit(generator.generate, WALTZ, 0, 2.0)
        while not service.calls["poll"]:
            time.sleep(0.01)
    time.sleep(0.2)
    with service.serve(port):
        assert future.result(timeout=30).samples.size
    assert service.billed == {"a waltz/0": 1}


def test_a_service_that_is_not_there_stops_the_system(opened: Opened):
    with fake_music_service() as service:
        generator = opened(service)
    with pytest.raises(GeneratorStopped, match=r"no connection .*; check the address"):
        generator.generate(WALTZ, 0, 2.0)


def test_the_same_take_asked_for_at_once_is_billed_once(opened: Opened):
    with fake_music_service(latency=0.1) as service:
        generator = opened(service)
        with ThreadPoolExecutor(4) as pool:
            sounds = list(pool.map(lambda _: generator.generate(WALTZ, 0, 2.0), range(4)))
        assert service.billed == {"a waltz/0": 1}
        assert all(np.array_equal(sound.samples, sounds[0].samples) for sound in sounds)


def test_requests_keep_to_the_limit_per_minute(tmp_path: Path):
    with fake_music_service(deliver="body") as service:
        text = service.description() + "[limits]\nrequests_per_minute = 600\n"
        (tmp_path / "paced.toml").write_text(text)
        generator = load_service(tmp_path / "paced.toml")
        began = time.monotonic()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda seed: generator.generate(WALTZ, seed, 2.0), range(4)))
        assert time.monotonic() - began > 0.3
        generator.close()


def test_what_is_beyond_the_limits_is_not_sent(tmp_path: Path):
    with fake_music_service() as service:
        text = service.description() + "[limits]\ntext = 10\nshortest = 1\nlongest = 30\n"
        (tmp_path / "limited.toml").write_text(text)
        generator = load_service(tmp_path / "limited.toml")
        for prompt, seconds, said in (
            (Prompt("a long waltz"), 2.0, "text of 12 characters, limited takes 10"),
            (WALTZ, 60.0, "60 s, limited makes 1 to 30 s"),
        ):
            with pytest.raises(GenerationError, match=said):
                generator.generate(prompt, 0, seconds)
        assert not service.requests
        generator.close()


def test_audio_is_kept_only_until_others_were_returned_after_it(opened: Opened):
    with fake_music_service() as service:
        generator = opened(service)
        for seed in range(20):
            generator.generate(WALTZ, seed, 1.0)
        assert len(list((opened.folder / "jobs").glob("*.audio"))) == 4 * generator.concurrency


CLIENT = """
import sys
from pathlib import Path
from cmi import Prompt
from cmi.generate.service import load_service
generator = load_service(Path(sys.argv[1]))
generator.keep_in(Path(sys.argv[2]))
print(generator.generate(Prompt("a waltz"), 0, 2.0).samples.shape, flush=True)
generator.close()
"""


def client(service: FakeMusicService, folder: Path) -> "subprocess.Popen[str]":
    path = service.write_description(folder / "fake.toml")
    words = [sys.executable, "-c", CLIENT, str(path), str(folder / "jobs")]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("when", ["submit", "poll", "audio"])
def test_after_kill_9_the_same_job_is_asked_after_and_billed_once(tmp_path: Path, when: str):
    """Killed while its submission is answered, while its job is queued, and while its audio comes."""
    settings: dict[str, Any] = {"latency": 3.0, "idempotent": True} if when == "submit" else {"polls": 1000}
    if when == "audio":
        settings = {"faults": {"audio": ["hang"]}}
    with fake_music_service(**settings) as service:
        running = client(service, tmp_path)
        while not any(call.startswith(when) for call in service.calls) or (when == "submit" and not service.billed):
            assert running.poll() is None, running.communicate()
            time.sleep(0.02)
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        service.polls, service.latency = 1, 0.0
        said, errors = client(service, tmp_path).communicate(timeout=60)
        assert said.strip() == "(32000, 1)", errors
        assert service.billed == {"a waltz/0": 1}


@pytest.mark.slow
def test_a_service_that_does_not_recognise_repeats_is_not_asked_again_after_kill_9(tmp_path: Path):
    with fake_music_service(latency=3.0) as service:
        running = client(service, tmp_path)
        while not service.billed:
            assert running.poll() is None, running.communicate()
            time.sleep(0.02)
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        _, errors = client(service, tmp_path).communicate(timeout=60)
        assert "submitted, but stopped before the answer arrived; it may have been billed" in errors
        assert service.billed == {"a waltz/0": 1}
    stages = Counter(record["stage"] for record in read_records(tmp_path / "jobs" / "jobs.jsonl"))
    assert stages == {"sent": 1, "ended": 1}

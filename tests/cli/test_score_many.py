"""Ten thousand rows of which 1 % are broken: the run ends, says which, and killed on its way it gives the same."""

import json
import random
import subprocess
import time

import numpy as np
import pytest
import soundfile

ROWS, BROKEN, DISTINCT = 10_000, 100, 50


@pytest.fixture
def manifest(tmp_path):
    for i in range(DISTINCT):
        samples = np.random.default_rng(i).standard_normal(1500 + 20 * i) / 10
        soundfile.write(tmp_path / f"{i}.wav", samples, 24_000)
    (tmp_path / "empty.wav").touch()
    (tmp_path / "torn.flac").write_bytes(b"fLaC\0\0\0")
    (tmp_path / "text.mp3").write_text("no music")
    soundfile.write(tmp_path / "silent.ogg", np.zeros(24_000), 24_000)
    bad = ["empty.wav", "torn.flac", "text.mp3", "silent.ogg", "nowhere.wav"]
    rng = random.Random(0)
    broken = set(rng.sample(range(ROWS), BROKEN))
    rows = []
    for i in range(ROWS):
        row = {"id": f"take {i}", "audio": bad[i % 5] if i in broken else f"{i % DISTINCT}.wav"}
        row |= {"text": f"prompt {i % 7}"} | ({"reference": f"{i % 3}.wav"} if i % 11 == 0 else {})
        rows.append(row)
    path = tmp_path / "takes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.timeout(1200)
def test_ten_thousand_rows(score_command, checkpoint, manifest):
    arguments = ["--manifest", manifest, "--model", checkpoint, "--json", "--device", "cpu"]
    log = manifest.with_name("scores.jsonl")
    started = time.monotonic()
    whole, said = score_command(*arguments).communicate()
    seconds = time.monotonic() - started
    assert f"{BROKEN} of {ROWS} takes could not be scored" in said
    rng, kills = random.Random(1), 0
    while True:
        process = score_command(*arguments, "--log", log)
        try:
            resumed, said = process.communicate(timeout=seconds * rng.uniform(0.3, 0.6) if kills < 2 else None)
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
    assert kills
    wanted, found = ([json.loads(line) for line in text.splitlines()] for text in (whole, resumed))
    assert [record["id"] for record in found] == [f"take {i}" for i in range(ROWS)]
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other, abs=1e-6)
    reasons = [record["error"] for record in found if "error" in record]
    assert len(reasons) == BROKEN
    for name in (
        "empty.wav: an empty file",
        "torn.flac",
        "text.mp3",
        "silent.ogg: silent",
        "nowhere.wav: No such file",
    ):
        assert sum(name in reason for reason in reasons) >= BROKEN / 5 - 15, name
    logged = [json.loads(line)["key"] for line in log.read_text().splitlines()]
    asked = (json.loads(line) for line in manifest.read_text().splitlines())
    distinct = {(row["audio"], row["text"], row.get("reference")) for row in asked if row["audio"][0].isdigit()}
    assert len(logged) == len(set(logged)) == len(distinct)  # a take that is listed twice is scored once

"""A run makes each take once, keeps how it was made, and never takes a failure for a take."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi._util.errors import InputError
from cmi.generate import run as run_module
from cmi.reward.pick.candidates import read_manifest
from cmi.take import read_takes

REASONS = {
    "nothing": "not audio",
    "html": "not audio",
    "whole numbers": "not audio",
    "empty": "empty",
    "not a number": "not finite",
    "silence": "silent",
    "clipped": "clipped",
    "short": "too short",
    "blink": "too short",
    "endless": "too long",
    "refused": "refused",
    "crash": "error",
}


def test_a_take_has_its_provenance_and_its_file(write_prompts, generate, rows, tmp_path):
    prompts = write_prompts({"id": "p/1", "text": "a waltz", "split": "train", "x_mood": "sad"}, {"text": "a march"})
    (summary,) = generate(prompts, takes=2, seconds=3.0)
    assert (summary.takes, summary.made, summary.left, summary.seconds) == (4, 4, 0, 12.0)
    first, second, *_ = rows("takes.jsonl")
    file = tmp_path / "takes" / first["audio"]
    assert first["id"] == "odd/p/1-0" and first["audio"].startswith("audio/odd/p-1-") and second["group"] == "2"
    assert first["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    kept = {name: first[name] for name in ("group", "generator", "version", "seed", "settings", "licence", "seconds")}
    assert kept == {
        "group": "p/1", "generator": "odd", "version": "1", "seed": 0, "settings": {"level": 0.5},
        "licence": "CC0-1.0", "seconds": 3.0,
    }  # fmt: skip
    assert (first["split"], first["x_mood"], first["text"]) == ("train", "sad", "a waltz")
    assert "split" not in second and "lyrics" not in second and "cost" not in second


def test_other_commands_read_the_takes(write_prompts, generate, tmp_path):
    generate(write_prompts("a waltz", "a march"), takes=2)
    manifest = tmp_path / "takes" / "takes.jsonl"
    assert [take.prompt.text for _, take in read_takes(manifest)] == ["a waltz", "a march"] * 2
    assert {len(group.candidates) for group in read_manifest(manifest)} == {2}


def test_stereo_and_its_cost_are_kept_and_too_loud_is_turned_down(write_prompts, generate, rows, tmp_path):
    (summary,) = generate(write_prompts("x"), "odd_systems:Stereo")
    (take,) = rows("takes.jsonl")
    samples, _ = soundfile.read(tmp_path / "takes" / take["audio"])
    assert samples.shape == (16_000, 2) and (take["cost"], summary.cost) == (0.25, 0.25)
    left, right = np.abs(samples).max(axis=0)
    assert right == pytest.approx(1, abs=1e-3) and left == pytest.approx(0.5 / 3, abs=1e-3)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_not_a_take_is_counted_by_its_reason(write_prompts, generate, rows, workers):
    (summary,) = generate(write_prompts(*REASONS, "fine"), seconds=2.0, workers=workers)
    assert (summary.takes, summary.failed) == (1, Counter(REASONS.values()))
    assert [row["text"] for row in rows("takes.jsonl")] == ["fine"]
    failed = {list(REASONS)[int(row["group"]) - 1]: row["reason"] for row in rows("failures.jsonl")}
    assert failed == REASONS
    assert {row["id"] for row in rows("failures.jsonl")} == {f"odd/{i}-0" for i in range(1, len(REASONS) + 1)}


def test_failures_are_tried_again_only_if_asked(write_prompts, generate, rows, tmp_path):
    prompts = write_prompts("crash", "fine")
    generate(prompts)
    (summary,) = generate(prompts)
    assert (summary.made, len(rows("failures.jsonl"))) == (0, 1)
    (summary,) = generate(prompts, retry_failed=True)
    assert (summary.made, summary.failed, len(rows("failures.jsonl"))) == (0, {"error": 1}, 2)
    assert "ZeroDivisionError: a bug" in summary.first_failure


def test_more_takes_prompts_and_systems_are_added_to_a_folder(write_prompts, generate, rows):
    generate(write_prompts("a"))
    (summary,) = generate(write_prompts("a", "b"), takes=2)
    assert (summary.takes, summary.made) == (4, 3)
    both = generate(write_prompts("a", "b"), "odd_systems:Odd", "odd_systems:Stereo", takes=2)
    assert [one.made for one in both] == [0, 4]
    assert len({row["id"] for row in rows("takes.jsonl")}) == 8


def test_a_prompt_that_changed_is_refused(write_prompts, generate):
    generate(write_prompts("a"))
    with pytest.raises(InputError, match="prompt '1' had another text, lyrics or reference"):
        generate(write_prompts("b"))


def test_another_version_or_length_needs_another_folder(write_prompts, generate, monkeypatch):
    import odd_systems

    prompts = write_prompts("a")
    generate(prompts)
    with pytest.raises(InputError, match="created with other settings"):
        generate(prompts, seconds=3.0)
    monkeypatch.setattr(odd_systems.Odd, "settings", {"level": 0.9})
    with pytest.raises(InputError, match=r'odd are of version 1 with settings {"level": 0.5}, not 1 with'):
        generate(prompts)


def test_two_systems_of_one_name_are_refused(write_prompts, generate):
    with pytest.raises(InputError, match="two systems are called odd"):
        generate(write_prompts("a"), "odd_systems:Odd", "odd_systems:Odd")


def test_a_prompt_that_a_system_cannot_take_is_listed_or_cut(write_prompts, generate, rows, tmp_path):
    soundfile.write(tmp_path / "like.wav", np.zeros(8000), 8000)
    prompts = write_prompts(
        {"text": "a", "reference": "like.wav"},
        {"text": "b.", "reference": "like.wav", "caption": "slow piano"},
        {"reference": "like.wav"},
        "c",
    )
    (summary,) = generate(prompts)
    assert (summary.takes, summary.skipped, summary.left) == (2, {"needs reference": 2}, 0)
    assert rows("skipped.jsonl") == [
        {"generator": "odd", "group": group, "reason": "needs reference"} for group in ("1", "3")
    ]
    (with_caption, _) = rows("takes.jsonl")
    assert (with_caption["text"], with_caption["reference"]) == ("b.", "../like.wav")
    assert with_caption["given"] == {"text": "b. It should sound like this: slow piano"}
    (summary,) = generate(prompts, drop_unsupported=True)
    assert (summary.takes, summary.skipped) == (3, {"needs reference": 1})
    assert rows("takes.jsonl")[2]["given"] == {"text": "a"}


def test_a_missing_reference_is_found_before_anything_is_made(write_prompts, generate, tmp_path):
    with pytest.raises(InputError, match=r"prompt 'x': its reference .*none.wav is not a file"):
        generate(write_prompts("fine", {"id": "x", "reference": "none.wav"}))
    assert not (tmp_path / "takes").exists()


def test_a_system_that_does_not_exist_is_found_before_another_runs(write_prompts, generate, tmp_path):
    with pytest.raises(InputError, match=r"'nothing-like-it' is not a generator: choose from .*studio"):
        generate(write_prompts("a"), "odd_systems:Odd", "nothing-like-it")
    assert not (tmp_path / "takes").exists()


def test_calls_at_once_are_as_many_as_a_system_takes_and_none_is_made_twice(write_prompts, generate, tmp_path):
    import odd_systems

    odd_systems.Paid.most = 0
    prompts = write_prompts(*map(str, range(12)))
    (summary,) = generate(prompts, "odd_systems:Paid", max_takes=7)
    assert (summary.takes, summary.left, summary.cost) == (7, 5, pytest.approx(0.7))
    assert "--max-takes" in summary.limit
    (summary,) = generate(prompts, "odd_systems:Paid", max_cost=1.0)
    assert (summary.takes, summary.left) == (10, 2) and "--max-cost 1" in summary.limit
    (summary,) = generate(prompts, "odd_systems:Paid")
    assert (summary.takes, summary.limit, summary.stopped) == (12, "", "")
    assert 2 <= odd_systems.Paid.most <= 4
    calls = (tmp_path / "takes" / "jobs" / "paid" / "calls").read_text().splitlines()
    assert sorted(calls) == sorted(f"{i} 0" for i in range(12))


def test_a_system_that_stops_leaves_its_takes_and_the_next_system_runs(write_prompts, generate, rows):
    prompts = write_prompts("fine", "out of credit", "not tried")
    stopped, other = generate(prompts, "odd_systems:Odd", "odd_systems:Stereo")
    assert (stopped.takes, stopped.left, stopped.stopped, stopped.failed) == (1, 2, "no credit left", {})
    assert other.takes == 3


def test_a_system_that_does_not_start_does_not_keep_others_from_it(write_prompts, generate, rows):
    stopped, other = generate(write_prompts("a", "b"), "worker:/no/such/program", "odd_systems:Odd", takes=2)
    assert (stopped.system, stopped.left) == ("worker:/no/such/program", 4)
    assert "could not be started" in stopped.stopped
    assert other.takes == len(rows("takes.jsonl")) == 4


@pytest.mark.parametrize("workers", [1, 2])
def test_a_system_that_does_not_load_does_not_keep_others_from_it(write_prompts, generate, workers):
    broken = ["odd_systems:NotASystem", "odd_systems:Deaf"]
    *stopped, other = generate(write_prompts("a", "b"), *broken, "odd_systems:Odd", workers=workers)
    assert [(one.system, one.version, one.left) for one in stopped] == [(name, "", 2) for name in broken]
    assert "has no method generate" in stopped[0].stopped and "accepts is ('smell',)" in stopped[1].stopped
    assert (other.takes, other.stopped) == (2, "")


def test_a_system_that_only_fails_is_stopped(write_prompts, generate, monkeypatch):
    monkeypatch.setattr(run_module, "MOST_FAILURES", 3)
    (summary,) = generate(write_prompts(*["crash"] * 10))
    assert (summary.failed, summary.left, summary.stopped) == ({"error": 3}, 7, "3 takes in a row failed")


def test_a_dry_run_counts_and_leaves_nothing(write_prompts, tmp_path):
    from cmi.generate.run import GenerationPlan, run_generation
    from cmi.take import read_prompts

    asked = list(read_prompts(write_prompts("a", {"lyrics": "la"}, {"text": "b", "lyrics": "la"})))
    plan = GenerationPlan(asked, tmp_path / "takes", ["odd_systems:Bare"], range(3))
    (summary,) = run_generation(plan, dry_run=True)
    assert (summary.left, summary.skipped) == (3, {"needs lyrics": 2})
    assert not (tmp_path / "takes").exists()


def test_ctrl_c_keeps_what_was_in_flight(write_prompts, generate, rows, monkeypatch):
    def press(system: str, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    asked = write_prompts(*map(str, range(9)))
    from cmi.generate.run import GenerationPlan, run_generation
    from cmi.take import read_prompts

    folder = asked.parent / "takes"
    with pytest.raises(KeyboardInterrupt):
        run_generation(GenerationPlan(list(read_prompts(asked)), folder, ["odd_systems:Paid"]), press)
    calls = (folder / "jobs" / "paid" / "calls").read_text().splitlines()
    assert len(rows("takes.jsonl.partial")) == len(calls) >= 2


def test_a_file_that_cannot_be_written_ends_the_run(write_prompts, generate, tmp_path):
    prompts = write_prompts("a")
    (tmp_path / "takes").mkdir()
    (tmp_path / "takes" / "settings.json").write_text('{"seconds": null}\n')
    (tmp_path / "takes" / "audio").write_text("in the way")
    with pytest.raises(InputError, match="audio"):
        generate(prompts)


def test_many_prompts_are_planned_and_resumed_in_seconds(write_prompts, generate, rows, tmp_path):
    prompts = write_prompts(*({"id": str(i), "text": f"song {i}"} for i in range(5000)))
    generate(prompts, max_takes=1)
    (take,) = rows("takes.jsonl")
    made = ({**take, "id": f"odd/{i}-0", "group": str(i), "text": f"song {i}"} for i in range(4999))
    (tmp_path / "takes" / "takes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))
    (summary,) = generate(prompts)
    assert (summary.takes, summary.made) == (5000, 1)


@pytest.mark.slow
def test_killed_at_any_moment_the_same_command_goes_on(write_prompts, rows, tmp_path):
    """Kill -9, twice, while takes are made: what was logged is never made again, and all are there in the end."""
    prompts = write_prompts(*(f"song {i}" for i in range(12)))
    calls = tmp_path / "calls"
    command = [sys.executable, "-m", "cmi", "generate", str(prompts), str(tmp_path / "takes"), "--json"]
    command += ["--system", "odd_systems:Slow"]
    env = {**os.environ, "CALLS": str(calls)}
    env["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    logged: set[str] = set()
    for enough in (3, 6):
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, cwd=tmp_path)
        while not calls.exists() or len(calls.read_text().splitlines()) < enough:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        log = tmp_path / "takes" / "takes.jsonl.partial"
        now = {json.loads(line)["text"] for line in log.read_text().splitlines() if line.endswith("}")}
        assert now >= logged
        logged = now
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert json.loads(done.stdout)["systems"][0]["takes"] == 12
    made = rows("takes.jsonl")
    assert Counter(row["text"] for row in made) == {f"song {i}": 1 for i in range(12)}
    called = Counter(calls.read_text().splitlines())
    assert all(called[text] <= 2 for text in called) and sum(called.values()) <= 12 + 2  # one in flight at each kill
    for row in made:
        assert hashlib.sha256((tmp_path / "takes" / row["audio"]).read_bytes()).hexdigest() == row["sha256"]

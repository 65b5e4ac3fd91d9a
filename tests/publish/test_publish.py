"""A published folder: complete, readable, without names, and the same after a kill."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from cmi._util.errors import InputError
from cmi.preferences import read_preferences
from cmi.publish import publish as publishing
from cmi.publish.publish import is_complete, publish
from cmi.publish.sources import find_source
from cmi.rewardbench.data import ALL, find
from cmi.take import read_takes


def sums_of(folder: Path) -> dict[str, str]:
    return {line.split("  ")[1]: line.split("  ")[0] for line in (folder / "SHA256SUMS").read_text().splitlines()}


def test_what_was_published_is_read_back_as_it_was(tmp_path, votes, plan_for):
    done = publish(plan_for(votes))
    assert (done.rows, done.recordings) == (7, 5)
    found = find(f"published={done.folder}")
    before = {item.id: item for item in find(str(votes)).dataset.read(votes, ALL)}
    after = {item.id: item for item in found.dataset.read(found.folder, ALL)}
    assert after.keys() == before.keys()
    for name, item in after.items():
        assert item.votes == before[name].votes
        assert (item.prompt.text, item.prompt.lyrics) == (before[name].prompt.text, before[name].prompt.lyrics)
        sounds = [
            *zip(item.takes, before[name].takes, strict=True),
            (item.prompt.reference, before[name].prompt.reference),
        ]
        for new, old in sounds:
            assert (new is None) == (old is None)
            assert new is None or new.read_bytes() == old.read_bytes()
        hidden = {"rater", "feedback", "x_email"}
        assert {key: said for key, said in item.about.items() if key not in hidden} == {
            key: said for key, said in before[name].about.items() if key not in hidden
        }
    assert [item.about["split"] for item in found.dataset.read(found.folder, "test")] == ["test", "test"]


def test_every_file_is_in_the_checksums(votes, plan_for):
    folder = publish(plan_for(votes)).folder
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    sums = sums_of(folder)
    assert files.keys() == {*sums, "SHA256SUMS"}
    assert all(hashlib.sha256(files[name].read_bytes()).hexdigest() == digest for name, digest in sums.items())
    assert is_complete(folder)
    (folder / "README.md").write_text("changed")
    with pytest.raises(InputError, match=r"README\.md: missing, or changed since it was published"):
        is_complete(folder)


def test_no_name_and_no_private_column_is_published(tmp_path, votes, plan_for):
    done = publish(plan_for(votes))
    assert set(done.dropped) == {"feedback", "x_email"}
    content = b"".join(path.read_bytes() for path in done.folder.rglob("*") if path.is_file())
    for private in (b"Anneliese", b"Bobby", b"anneliese@", str(tmp_path).encode()):
        assert private not in content
    raters = {one.rater for file in find_source(str(done.folder)).files for one in read_preferences(file)}
    secret = tmp_path / "out.raters.json"
    assert {*json.loads(secret.read_text())} == {"Anneliese", "Bobby"} and secret.stat().st_mode & 0o077 == 0
    assert raters == {*json.loads(secret.read_text()).values()}
    assert "2 annotators gave 4 judgements" in (done.folder / "README.md").read_text()


def test_an_id_made_of_a_name_is_published_without_it(tmp_path, votes, plan_for):
    file = votes / "preferences.jsonl"
    file.write_text(file.read_text().replace('"id": "1A-', '"id": "Anneliese-1A-'))
    folder = publish(plan_for(votes)).folder
    ids = pq.read_table(next(folder.glob("data/train-*")))["id"].to_pylist()
    alias = json.loads((tmp_path / "out.raters.json").read_text())["Anneliese"]
    assert ids[0] == f"{alias}-1A-musicality" and len({*ids}) == 4


def test_pseudonyms_stay_the_same_in_the_next_version(tmp_path, votes, plan_for):
    publish(plan_for(votes))
    first = json.loads((tmp_path / "out.raters.json").read_text())
    plan = plan_for(votes, raters=tmp_path / "out.raters.json")
    rows = (votes / "preferences.jsonl").read_text()
    (votes / "preferences.jsonl").write_text(
        rows + rows.replace("Anneliese", "Cid").replace("Bobby", "Dan").replace('"id": "', '"id": "more-')
    )
    publish(replace(plan, out=tmp_path / "second"))
    second = json.loads((tmp_path / "out.raters.json").read_text())
    assert len(second) == 4 and second.items() >= first.items()
    assert not (tmp_path / "second.raters.json").exists()


def test_models_keep_their_names(votes, plan_for):
    (votes / "labels.json").write_text("{}")  # as `cmi judge label` writes
    folder = publish(plan_for(votes)).folder
    assert "Labels that are not by people are by Anneliese, Bobby." in (folder / "README.md").read_text()


def test_columns_that_were_asked_for_are_published(votes, plan_for):
    done = publish(plan_for(votes, columns=("feedback",)))
    assert done.dropped == ("x_email",)
    assert "feedback" in pq.read_schema(next(done.folder.glob("data/train-*"))).names


def test_terms_come_from_the_takes_manifest_and_are_on_the_card(votes, plan_for):
    folder = publish(plan_for(votes)).folder
    rows = pq.read_table(next(folder.glob("data/recordings-*"))).to_pylist()
    stated = {(row["role"], row["generator"], row["version"], row["licence"]) for row in rows}
    assert stated == {
        ("take", "alpha", "1.0", "CC BY 4.0"),
        ("take", "beta", "1.0", "beta's terms"),
        ("reference", None, None, "CC0 1.0"),
    }
    assert {row["settings"] for row in rows} == {None, '{"steps": 8}'}
    card = (folder / "README.md").read_text()
    assert "**Agreement of raters**" in card and "(Table" not in card
    assert "| beta | 1.0 | beta's terms | 2 |" in card and "write to data@example.org" in card
    front = yaml.safe_load(card.split("---")[1])
    assert front["license"] == "cc-by-4.0" and front["language"] == ["en", "ja"]
    assert [each["path"] for each in front["configs"][0]["data_files"]] == [
        "data/train-*.parquet",
        "data/test-*.parquet",
    ]


def test_recordings_without_a_stated_licence_are_refused(tmp_path, votes, plan_for):
    (tmp_path / "takes/takes.jsonl").unlink()
    with pytest.raises(
        InputError, match=r"of alpha \(2\), beta \(2\), reference \(1\); state them with --terms 'alpha="
    ):
        publish(plan_for(votes, terms={}))
    assert not (tmp_path / "out").exists()
    done = publish(plan_for(votes, terms={}, allow_unlicensed=True))
    assert "- 5 recordings have no stated licence or terms." in (done.folder / "README.md").read_text()


def test_copied_recordings_are_recognised_by_their_content(tmp_path, votes, plan_for, write_lines):
    """As in an arena's export, whose recordings lie far from the manifest of takes."""
    rows = [json.loads(line) for line in (tmp_path / "takes/takes.jsonl").read_text().splitlines()]
    for row in rows:
        row["sha256"] = hashlib.sha256((tmp_path / "takes" / row["audio"]).read_bytes()).hexdigest()
    manifest = write_lines(tmp_path / "elsewhere/takes.jsonl", rows)
    (tmp_path / "takes/takes.jsonl").unlink()
    folder = publish(plan_for(votes, manifests=(manifest,))).folder
    assert "| beta | 1.0 | beta's terms | 2 |" in (folder / "README.md").read_text()


def test_a_recording_is_stored_once_for_each_content(tmp_path, votes, plan_for):
    takes = tmp_path / "takes/audio"
    (takes / "beta/1-0.flac").write_bytes((takes / "alpha/1-0.flac").read_bytes())
    done = publish(plan_for(votes))
    assert done.recordings == 4
    assert "- 1 files had the content of another file and are stored once." in (done.folder / "README.md").read_text()


def test_a_missing_recording_is_one_sentence(votes, plan_for):
    (votes / "reference.wav").unlink()
    with pytest.raises(InputError, match=r"reference\.wav: the recording is missing or cannot be read"):
        publish(plan_for(votes))


def test_takes_are_published_and_read_back_as_a_manifest(tmp_path, votes, plan_for):
    folder = publish(plan_for(tmp_path / "takes")).folder
    (file,) = find_source(str(folder)).files
    assert [name for name, _ in read_takes(file)] == ["0", "1", "2", "3"]
    assert all(take.audio.is_file() for _, take in read_takes(file))
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["seed"], row["generator"], row["licence"]) for row in rows[:2]] == [
        (0, "alpha", "CC BY 4.0"),
        (0, "beta", "beta's terms"),
    ]


def test_prompts_in_two_splits_are_a_known_fault(votes, plan_for):
    file = votes / "preferences.jsonl"
    file.write_text(file.read_text().replace('"split": "train"', '"split": "test"', 1))
    assert "- 1 prompts occur in more than one split." in (publish(plan_for(votes)).folder / "README.md").read_text()


def test_a_stranger_cannot_name_files_of_this_machine(votes, plan_for, tmp_path):
    folder = publish(plan_for(votes)).folder
    shard = next(folder.glob("data/train-*"))
    table = pq.read_table(shard)
    evil = table.set_column(table.schema.get_field_index("a"), "a", [["/etc/passwd"] * table.num_rows])
    pq.write_table(evil, shard)
    found = find(f"published={folder}")
    with pytest.raises(InputError, match="leads out of"):
        list(found.dataset.read(folder, ALL))
    with pytest.raises(InputError, match="leads out of"):
        publish(replace(plan_for(folder), out=tmp_path / "again"))


def test_the_same_data_give_the_same_bytes(tmp_path, votes, plan_for):
    plan = plan_for(votes, raters=tmp_path / "raters.json")
    first = sums_of(publish(plan).folder)
    second = sums_of(publish(replace(plan, out=tmp_path / "again")).folder)
    assert {name: one for name, one in first.items() if name != "README.md"} == {
        name: one for name, one in second.items() if name != "README.md"
    }


def test_a_data_set_of_others_is_not_published_again(tmp_path, plan_for):
    (tmp_path / "pam").mkdir()
    with pytest.raises(InputError, match=r"pam is published already.*cmi data export pam FOLDER"):
        publish(plan_for(f"pam={tmp_path / 'pam'}"))


def test_prompts_alone_are_not_published(tmp_path, plan_for):
    (tmp_path / "prompts.jsonl").write_text('{"text": "slow"}\n')
    with pytest.raises(InputError, match="prompts without takes"):
        publish(plan_for(tmp_path / "prompts.jsonl"))


def test_files_of_recordings_are_not_written_again(votes, plan_for, monkeypatch):
    """A process that dies after two files of recordings leaves them, and its rest is thrown away."""
    plan = plan_for(votes, shard_bytes=1)  # a file for each recording

    def die(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(publishing, "write_rows", die)
    with pytest.raises(KeyboardInterrupt):
        publish(plan)
    partial = plan.out.with_name("out.partial")
    shards = sorted((partial / "data").glob("recordings-*"))
    assert len(shards) == 5 and not plan.out.exists()
    for shard in shards[3:]:
        shard.unlink()
    (partial / "data" / "recordings-x.123.unfinished").write_bytes(b"torn")
    written = {shard: shard.stat().st_mtime_ns for shard in shards[:3]}
    monkeypatch.undo()
    done = publish(plan)
    assert done.reused == 3
    assert {shard: (done.folder / "data" / shard.name).stat().st_mtime_ns for shard in written} == written
    assert not [*done.folder.rglob("*.unfinished")] and not partial.exists()
    assert len([*find(f"published={done.folder}").dataset.read(done.folder, ALL)]) == 4


@pytest.mark.slow
def test_after_a_kill_the_same_command_goes_on(tmp_path, tone, write_lines):
    for i in range(60):
        tone(tmp_path / f"set/{i}.wav", 100 + i, seconds=20)
    rows = [{"audio": f"{i}.wav", "text": f"prompt {i}", "musicality": 3} for i in range(60)]
    write_lines(tmp_path / "set/ratings.jsonl", rows)
    command = [sys.executable, "-m", "cmi", "data", "publish", "set", "out", "--terms", "*=CC0 1.0", "--contact", "me"]
    environment = {**os.environ, "CMI_CACHE": str(tmp_path / "cache")}
    started = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    data = tmp_path / "out.partial/data"
    while started.poll() is None and not (data.exists() and any(data.iterdir())):
        time.sleep(0.005)
    if started.poll() is None:
        started.send_signal(signal.SIGKILL)
    started.wait()
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert is_complete(tmp_path / "out")
    items = [*find(f"published={tmp_path / 'out'}").dataset.read(tmp_path / "out", ALL)]
    assert sorted(item.prompt.text for item in items) == sorted(f"prompt {i}" for i in range(60))
    assert all(item.takes[0].is_file() for item in items)
    again = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert again.returncode == 0 and "out is complete, and stays as it is" in again.stderr

"""Sounds whose files vanish or change after their import: nobody is stuck, the owner is told, and can repair it."""

import os
import shutil
from dataclasses import asdict

import pytest

from cmi.arena.audio import sounds
from cmi.arena.store import pairs, projects, votes


@pytest.fixture
def files(tones, tmp_path):
    """Copies of the tones that may be destroyed."""
    return [shutil.copy(path, tmp_path / path.name) for path, _ in tones]


@pytest.fixture
def study(database, files, make_study):
    """As `study`, of files that may be destroyed: pair n has files 2n and 2n + 1."""
    empty = make_study("Nothing")
    project = projects.create(database, "Frail", asdict(projects.get(database, empty.id).settings), "")
    with database.writing() as connection:
        for number in range(3):
            a, b = (sounds.register(connection, project.id, path) for path in files[2 * number : 2 * number + 2])
            pairs.add(connection, project.id, project.settings, pairs.NewPair(f"{number}", f"pair {number}", a, b))
    return project


@pytest.fixture
def copies(settings):
    return settings.folder / "played"


def pair_of(view: dict) -> int:
    return int(view["instruction"]["text"].removeprefix("pair "))


def problems(owner) -> list[tuple[str, str, list[str]]]:
    listed = owner.get("/api/owner/sounds/problems").json()
    return sorted((one["file"], one["problem"], one["pairs"]) for one in listed)


def replace(path, content: bytes = b"another sound") -> None:
    path.write_bytes(content)


def test_a_pair_whose_file_is_gone_is_passed_over_and_the_owner_is_told(annotator, owner, files, caplog, database):
    files[0].unlink()
    seen = set()
    while "view" in (shown := annotator.get("/api/next").json()):
        seen.add(pair_of(shown))
        annotator.post(f"/api/views/{shown['view']}/begin")
        assert annotator.vote(shown["view"]).status_code == 200
    assert shown == {"done": "no more pairs"}
    assert seen == {1, 2}
    assert problems(owner) == [("0.wav", "missing", ["0"])]
    assert f"{files[0]} is missing: see `cmi arena check`" in caplog.text


def test_a_file_with_other_content_is_never_played(annotator, owner, files):
    for path in files:
        replace(path)
    assert annotator.get("/api/next").json() == {"done": "no more pairs"}
    assert {problem for _, problem, _ in problems(owner)} == {"changed"}


def test_what_was_imported_is_played_on_even_if_the_file_changes(annotator, owner, files):
    shown = annotator.get("/api/next").json()
    annotator.post(f"/api/views/{shown['view']}/begin")
    before = annotator.get(f"/media/{shown['view']}/a").content
    number = pair_of(shown)
    replace(files[2 * number])
    files[2 * number + 1].unlink()
    played = annotator.get(f"/media/{shown['view']}/a")
    assert (played.status_code, played.content) == (200, before)
    annotator.get(f"/media/{shown['view']}/b")
    assert len(problems(owner)) == 2
    assert annotator.vote(shown["view"]).status_code == 200
    while "view" in (following := annotator.get("/api/next").json()):
        assert pair_of(following) != number
        annotator.begun()
        annotator.vote(following["view"])


def test_a_change_that_keeps_size_and_time_is_found_when_a_copy_is_made(annotator, owner, files):
    for path in files:
        stamp, content = path.stat(), bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert annotator.get("/api/next").json() == {"done": "no more pairs"}


def test_who_is_listening_can_skip_and_loses_no_vote(annotator, owner, files, copies, database, study):
    view = annotator.begun()
    assert annotator.post(f"/api/views/{view}/skip").json()["code"] == "skip"  # nothing is wrong
    shutil.rmtree(copies)
    for path in files[: 2 * 2]:
        path.unlink()
    broken = [annotator.get(f"/media/{view}/{side}") for side in "ab"]
    if {answer.status_code for answer in broken} == {200}:  # it was the third pair
        annotator.vote(view)
    else:
        assert {answer.json()["code"] for answer in broken} == {"sound"}
        assert annotator.post(f"/api/views/{view}/skip").json() == {"skipped": True}
        assert annotator.post(f"/api/views/{view}/skip").json() == {"skipped": True}
        assert annotator.get("/api/next").json().get("view") != view
        assert annotator.vote(view).status_code == 200  # it had been given, and was on its way
    assert len(list(votes.counted(database, study.id))) == 1


def test_a_skipped_pair_comes_back_under_its_key_once_it_is_repaired(annotator, owner, files, tones, database, study):
    shown = annotator.get("/api/next").json()
    number = pair_of(shown)
    files[2 * number].unlink()
    assert [row["problem"] for row in owner.post("/api/owner/sounds/check").json()] == ["missing"]
    for _ in range(2):
        other = annotator.get("/api/next").json()
        assert pair_of(other) != number
        annotator.post(f"/api/views/{other['view']}/begin")
        annotator.vote(other["view"])
    assert annotator.get("/api/next").json() == {"done": "no more pairs"}
    replace(files[2 * number])
    assert [row["problem"] for row in owner.post("/api/owner/sounds/check").json()] == ["changed"]
    assert annotator.get("/api/next").json() == {"done": "no more pairs"}
    shutil.copy(tones[2 * number][0], files[2 * number])
    assert owner.post("/api/owner/sounds/check").json() == []
    assert annotator.get("/api/next").json()["view"] == shown["view"]
    annotator.post(f"/api/views/{shown['view']}/begin")
    assert annotator.vote(shown["view"]).status_code == 200
    assert len(list(votes.counted(database, study.id))) == 3
    with database.reading() as connection:
        taken = {row.taken for row in connection.execute(pairs.pairs.select().where(pairs.pairs.c.project == study.id))}
    assert taken == {1}


def test_pairs_that_share_a_broken_sound_are_all_found(database, study, files):
    with database.writing() as connection:
        a = sounds.register(connection, study.id, files[0])
        b = sounds.register(connection, study.id, files[3])
        pairs.add(connection, study.id, study.settings, pairs.NewPair("shared", "shared", a, b))
    files[0].unlink()
    files[3].unlink()
    list(sounds.check(database, study.id, thoroughly=True))
    found = {one.path.name: one.pairs for one in sounds.troubles(database, study.id)}
    assert found == {"0.wav": ["0", "shared"], "3.wav": ["1", "shared"]}
    with database.writing() as connection:  # a pair that is added later to a broken sound is broken too
        c = sounds.register(connection, study.id, files[4])
        late = pairs.add(connection, study.id, study.settings, pairs.NewPair("late", "late", a, c))
        assert pairs.is_broken(connection, late)

"""Files of sounds after their import: looked at in full when need be, and never given out while something is wrong."""

import os
import shutil

import pytest

from cmi.arena.audio import sounds
from cmi.arena.store import pairs, projects
from cmi.arena.store.assign import Done, View, begin, next_page, skip
from cmi.arena.store.errors import Refused
from cmi.arena.store.schema import pairs as pairs_table
from cmi.arena.store.votes import Ballot, counted, save


@pytest.fixture
def files(tmp_path, tone):
    return [tone(tmp_path / f"{number}.wav", 0.2, 200 + 40 * number) for number in range(6)]


@pytest.fixture
def frail(database, files):
    """A study of three pairs, the first of them gold, with real files: makes it with settings."""

    def make(**settings):
        project = projects.create(database, "Frail", {"heard_share": 0.0, "gold_share": 0.0} | settings)
        with database.writing() as connection:
            ids = [sounds.register(connection, project.id, path) for path in files]
            for number in range(3):
                gold = {"musicality": "a"} if number == 0 and settings.get("gold_share") else None
                new = pairs.NewPair(f"p{number}", f"{number}", ids[2 * number], ids[2 * number + 1], gold=gold)
                pairs.add(connection, project.id, project.settings, new)
        return project

    return make


def check(database, project, thoroughly=False) -> list[tuple[str, str]]:
    list(sounds.check(database, project.id, thoroughly))
    return [(one.path.name, one.problem) for one in sounds.troubles(database, project.id)]


def taken(database, project) -> list[int]:
    asked = pairs_table.select().where(pairs_table.c.project == project.id).order_by(pairs_table.c.position)
    with database.reading() as connection:
        return [row.taken for row in connection.execute(asked)]


def stamped(path):
    found = path.stat()
    return found.st_atime_ns, found.st_mtime_ns


def test_a_file_is_read_when_it_is_first_used_and_when_it_looks_changed(database, frail, files, monkeypatch):
    project, read = frail(), []
    real = sounds.content_hash
    monkeypatch.setattr(sounds, "content_hash", lambda path: (read.append(path.name), real(path))[1])
    assert check(database, project) == [] and sorted(read) == [path.name for path in files]
    read.clear()
    assert check(database, project) == [] and read == []
    os.utime(files[2])
    assert check(database, project) == [] and read == ["2.wav"]
    read.clear()
    assert check(database, project) == [] and read == []
    assert check(database, project, thoroughly=True) == [] and len(read) == 6


def test_what_keeps_its_size_and_time_is_found_by_a_thorough_check(database, frail, files):
    project = frail()
    check(database, project)
    times, content = stamped(files[1]), bytearray(files[1].read_bytes())
    content[-2] ^= 1
    files[1].write_bytes(content)
    os.utime(files[1], ns=times)
    assert check(database, project) == []
    assert check(database, project, thoroughly=True) == [("1.wav", "changed")]


@pytest.mark.parametrize("spoil", ["unlink", "folder", "write"])
def test_who_has_a_broken_pair_goes_on_and_gets_it_back_when_it_is_repaired(
    database, frail, files, new_people, tmp_path, spoil
):
    project = frail(overlap_share=0.0)
    [person] = new_people(database, project)
    first = next_page(database, person)[0]
    path = files[2 * int(first.text)]
    kept = shutil.copy(path, tmp_path / "kept")
    if spoil == "write":
        path.write_bytes(b"something else")
    else:
        path.unlink()
        if spoil == "folder":
            path.mkdir()
    assert check(database, project) == [(path.name, "changed" if spoil == "write" else "missing")]
    seen = []
    while isinstance(view := next_page(database, person)[0], View):
        seen.append(view.text)
        begin(database, person, view.key)
        save(database, person, view.key, Ballot("a", 3, "b", 4))
    assert view == Done("no more pairs") and len(seen) == 2 and first.text not in seen
    assert sum(taken(database, project)) == 2
    if spoil == "folder":
        path.rmdir()
    shutil.copy(kept, path)
    assert check(database, project) == []
    assert next_page(database, person)[0].key == first.key
    assert taken(database, project) == [1, 1, 1]
    begin(database, person, first.key)
    save(database, person, first.key, Ballot("a", 3, "b", 4))
    assert len(list(counted(database, project.id))) == 3


def test_a_pair_that_another_took_meanwhile_does_not_come_back(database, frail, files, new_people):
    project = frail(overlap_share=0.0)
    ann, bob = new_people(database, project, 2)
    first = next_page(database, ann)[0]
    path = files[2 * int(first.text)]
    content = path.read_bytes()
    path.unlink()
    check(database, project)
    skip(database, ann, first.key)
    path.write_bytes(content)
    check(database, project)
    while isinstance(view := next_page(database, bob)[0], View):
        begin(database, bob, view.key)
        save(database, bob, view.key, Ballot("a", 3, "b", 4))
    assert next_page(database, ann)[0] == Done("no more pairs")
    assert max(taken(database, project)) == 1


def test_only_broken_pairs_can_be_skipped(database, frail, new_people):
    [person] = new_people(database, frail())
    view = next_page(database, person)[0]
    with pytest.raises(Refused) as refused:
        skip(database, person, view.key)
    assert refused.value.code == "skip"
    assert next_page(database, person)[0].key == view.key


def test_broken_gold_pairs_are_not_given_out_and_come_back(database, frail, files, new_people):
    project = frail(gold_share=1.0)
    [person] = new_people(database, project)
    content = files[0].read_bytes()
    files[0].unlink()
    check(database, project)
    assert next_page(database, person)[0].text != "0"
    files[0].write_bytes(content)
    check(database, project)
    ann, _ = new_people(database, project, 2)
    assert next_page(database, ann)[0].text == "0"


def test_a_changed_overlap_leaves_broken_pairs_broken(database, frail, files, new_people):
    project = frail()
    for path in files:
        path.unlink()
    check(database, project)
    projects.change(database, project.id, settings={"overlap_share": 1.0, "overlap_votes": 3})
    [person] = new_people(database, project)
    assert next_page(database, person)[0] == Done("no more pairs")


def test_files_that_were_moved_are_found_by_another_import(database, frail, files, new_people, tmp_path):
    project = frail()
    moved = tmp_path / "moved"
    moved.mkdir()
    for path in files:
        path.rename(moved / path.name)
    assert len(check(database, project)) == 6
    with database.writing() as connection:
        for path in files:
            sounds.register(connection, project.id, moved / path.name)
    assert check(database, project, thoroughly=True) == []
    [person] = new_people(database, project)
    assert isinstance(next_page(database, person)[0], View)

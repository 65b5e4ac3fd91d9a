"""Votes out: what `cmi train` and `cmi rewardbench` read, without names, gold, repeats or those who withdrew."""

import errno
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
import pytest
from sqlalchemy import select, update

from cmi._util.errors import InputError
from cmi.arena.exchange.exporting import Selection, export, find_splits, rows
from cmi.arena.exchange.importing import import_pairs, measure_source
from cmi.arena.store import people, projects
from cmi.arena.store.assign import View, begin, next_page
from cmi.arena.store.hiding import hide
from cmi.arena.store.schema import pairs as pairs_table
from cmi.arena.store.votes import Ballot, counted, save
from cmi.pairs import find_leaks
from cmi.preferences import NamedPair, read_preferences
from cmi.reward.train.config import TrainingSource
from cmi.reward.train.reading import read_examples
from cmi.rewardbench.data import own
from cmi.take import Pair, Prompt


@pytest.fixture
def study(database, tmp_path: Path, tone):
    """A project with real sounds, and two people who voted on all of it."""
    folder = tmp_path / "sounds"
    folder.mkdir()
    for number in range(7):
        tone(folder / f"{number}.wav", seconds=0.2, frequency=200 + 70 * number)
    lines = [
        {"id": f"p{n}", "text": "tëxt", "a": f"{n}.wav", "b": f"{n + 1}.wav", "system_a": "s", "split": "train"}
        | ({"lyrics": "la", "reference": "6.wav"} if n == 1 else {})
        | ({"gold": {"musicality": "a"}} if n == 4 else {})
        | {"x_song": n, "truth": {"deep": [1]}}
        for n in range(5)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    shares = {"overlap_share": 1.0, "gold_share": 1.0, "repeat_share": 0.3, "heard_share": 0.0}
    project = projects.create(database, "Study", shares)
    import_pairs(database, project.id, measure_source(folder / "pairs.jsonl"))
    crowd = []
    for invite, name in zip(people.invite(database, project.id, "annotator", 1, count=2), ("Ada", "Bob"), strict=True):
        person = people.join(database, invite.token, name, True).person
        crowd.append(person)
        while isinstance(view := next_page(database, person)[0], View):
            begin(database, person, view.key)
            save(database, person, view.key, Ballot("a", 2, "b", 5, f'{name}: at 0:20 "好"\n'))
            save(database, person, view.key, Ballot("b", 2, "b", 5, 'at 0:20 "好"\n'))
    return project, crowd


def test_an_export_is_what_training_and_the_benchmark_read(database, study, tmp_path: Path):
    project, crowd = study
    done = export(database, project.id, tmp_path / "out")
    assert done.votes == 8 and done.sounds == 6
    found = list(read_preferences(done.path))
    assert len(found) == 16 and {one.rater for one in found} == set(crowd)
    for one in found:
        assert one.pair.a.is_file() and one.pair.b.is_file()
        assert one.pair.a.is_relative_to(tmp_path / "out")
    items = list(own.DATA_SET.read(done.path))
    assert len(items) == 8 and {item.about["generator_a"] for item in items} == {"s"}
    assert {frozenset(item.votes) for item in items} == {frozenset({"musicality", "alignment"})}
    [examples] = read_examples([TrainingSource(done.path, split="train")])
    assert len(examples.examples) == 8
    assert sum(example.prompt.reference is not None for example in examples.examples) == 2


def test_a_row_says_how_the_vote_came_about_and_no_name(database, study, tmp_path: Path):
    project, _ = study
    text = export(database, project.id, tmp_path / "out").path.read_text(encoding="utf-8")
    assert "Ada" not in text and "Bob" not in text and str(tmp_path) not in text
    found = [json.loads(line) for line in text.splitlines()]
    by_vote = {vote.view: vote for vote in counted(database, project.id)}
    for row in found:
        assert (row["confidence"], row["corrections"], row["kind"], row["repeat"]) in (
            (5, 1, "ordinary", False),
            (2, 1, "ordinary", False),
        )
        assert row["feedback"] == 'at 0:20 "好"\n' and row["truth"] == {"deep": [1]} and "x_song" in row
        assert row["choice"] == ("a" if row["first"] == "b" else "b"), "both axes chose what was shown as B"
        assert row["voted"].endswith("+00:00") and row["pair"] in {"p0", "p1", "p2", "p3"}
    assert len({row["id"] for row in found}) == len(found) and len(by_vote) > len(found) / 2


def test_gold_and_repeats_come_on_request_and_are_marked(database, study):
    project, _ = study
    everything = list(rows(database, project.id, Selection(gold=True, repeats=True)))
    assert {(row["kind"], row["repeat"]) for row in everything} >= {("gold", False), ("ordinary", False)}
    assert sum(row["kind"] == "gold" for row in everything) == 4
    assert len(everything) == 2 * len(list(counted(database, project.id)))
    assert {row["kind"] for row in rows(database, project.id)} == {"ordinary"}


def test_the_letters_in_feedback_are_explained_in_the_row(database, study):
    project, _ = study
    for row in rows(database, project.id):
        assert {row["shown_as_a"], row["shown_as_b"]} == {"a", "b"} and row["shown_as_a"] == row["first"]
        assert row["choice"] == row["shown_as_b"], "everybody chose what was B on the page"


def test_whether_a_confidence_was_touched_is_in_the_row_beside_the_protocols_default(database, study, tmp_path: Path):
    project, _ = study
    view = next(vote.view for vote in counted(database, project.id) if vote.kind == "ordinary" and not vote.repeat_of)
    person = next(vote.person for vote in counted(database, project.id) if vote.view == view)
    save(database, person, view, Ballot("a", 3, "b", 3, alignment_touched=False, musicality_touched=True))
    for format_ in ("jsonl", "csv", "parquet"):
        found = list(read_preferences(export(database, project.id, tmp_path / format_, format_).path))
        touched = {(one.axis, one.confidence, one.about.get("confidence_touched")) for one in found}
        assert {("alignment", 3, False), ("musicality", 3, True), ("alignment", 2, None)} <= touched


def test_splits_are_by_prompt_and_keep_what_the_import_states(database, new_study, new_people):
    project = new_study(database, 40, repeat_share=0.0)
    assert set(find_splits(database, project.id, {"train": 1.0}).values()) == {"test"}, "as the import states"
    with database.writing() as connection:  # texts and recordings in common: pairs 0 and 1 by text, 1 and 2 by a take
        changed = update(pairs_table).where(pairs_table.c.project == project.id)
        connection.execute(changed.values(about={}))
        connection.execute(changed.where(pairs_table.c.source_id == "p1").values(text="Text  0!"))
        take = connection.scalar(select(pairs_table.c.a).where(pairs_table.c.source_id == "p2"))
        connection.execute(changed.where(pairs_table.c.source_id == "p1").values(b=take))
        names = dict(connection.execute(select(pairs_table.c.source_id, pairs_table.c.id)).all())
    shares = {"train": 0.8, "valid": 0.1, "test": 0.1}
    splits = find_splits(database, project.id, shares)
    assert splits == find_splits(database, project.id, shares), "the study's seed draws them"
    assert len({splits[names[f"p{n}"]] for n in range(3)}) == 1
    assert Counter(splits.values()).keys() == shares.keys() and Counter(splits.values())["train"] >= 30
    [person] = new_people(database, project)
    while isinstance(view := next_page(database, person)[0], View):
        begin(database, person, view.key)
        save(database, person, view.key, Ballot("a", 2, "b", 5))
    found = list(rows(database, project.id, Selection(shares=shares)))
    assert {row["pair"]: row["split"] for row in found} == {name: splits[pair] for name, pair in names.items()}
    assert find_leaks(
        NamedPair(row["id"], Pair(Prompt(row["text"]), Path(row["a"]), Path(row["b"])), {}, row) for row in found
    ) == []  # fmt: skip


def test_a_hidden_pair_is_left_out_of_the_export_which_says_so(database, study, tmp_path: Path):
    project, _ = study
    pair = next(vote.pair for vote in counted(database, project.id) if vote.kind == "ordinary")
    hide(database, project.id, pair, "the second take is silent")
    done = export(database, project.id, tmp_path / "out")
    assert (done.votes, done.hidden) == (6, 2)
    everything = export(database, project.id, tmp_path / "all", selection=Selection(hidden=True))
    assert (everything.votes, everything.hidden) == (8, 0)
    reasons = {one.about.get("hidden", "") for one in read_preferences(everything.path)}
    assert reasons == {"", "the second take is silent"}


def test_who_withdrew_is_in_no_export(database, study, tmp_path: Path):
    project, (leaver, other) = study
    people.withdraw(database, project.id, leaver)
    path = export(database, project.id, tmp_path / "out").path
    assert leaver not in path.read_text() and {one.rater for one in read_preferences(path)} == {other}


def test_sounds_can_be_linked_or_left_and_paths_stay_relative(database, study, tmp_path: Path):
    project, _ = study
    linked = list(read_preferences(export(database, project.id, tmp_path / "l", audio="link").path))
    assert all(one.pair.a.is_symlink() and one.pair.a.is_file() for one in linked)
    left = export(database, project.id, tmp_path / "deep" / "er", audio="leave").path
    row = json.loads(left.read_text().splitlines()[0])
    assert row["a"].startswith("../../sounds/") and (left.parent / row["a"]).is_file()
    assert not (tmp_path / "deep" / "er" / "audio").exists()


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_every_format_has_the_same_votes(database, study, tmp_path: Path, format_):
    project, _ = study
    found = list(read_preferences(export(database, project.id, tmp_path / "out", format_).path))
    lines = list(read_preferences(export(database, project.id, tmp_path / "out").path))
    assert found[0].about["x_song"] in (0, "0"), "CSV has no numbers of its own"
    for one, line in zip(found, lines, strict=True):
        song = line.about["x_song"]
        assert one == replace(line, about={**line.about, "x_song": str(song) if format_ == "csv" else song})


def test_a_sound_that_is_gone_is_named_and_an_empty_study_is_an_empty_file(database, study, tmp_path: Path):
    project, _ = study
    (tmp_path / "sounds" / "2.wav").unlink()
    with pytest.raises(InputError, match=r"2\.wav: No such file.*--audio leave"):
        export(database, project.id, tmp_path / "out")
    empty = projects.create(database, "Empty")
    assert export(database, empty.id, tmp_path / "empty").path.read_text() == ""
    assert export(database, empty.id, tmp_path / "empty", "parquet").votes == 0


@pytest.mark.parametrize("format_", ["jsonl", "parquet"])
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_study_into_which_nan_and_half_characters_came_can_still_be_exported(
    database, study, tmp_path: Path, format_
):
    """As imports of earlier versions let them in: PostgreSQL never did."""
    project, _ = study
    bad = {"rating": float("nan"), "notes": ["half \ud83d", {"k\udc00": float("-inf")}], "fine": 1.5}
    with database.writing() as connection:
        connection.execute(update(pairs_table).values(about=bad))
    path = export(database, project.id, tmp_path / "out", format_, "leave").path
    if format_ == "parquet":
        rows_ = [row | {"x_notes": json.loads(row["x_notes"])} for row in pyarrow.parquet.read_table(path).to_pylist()]
    else:
        rows_ = [json.loads(line, parse_constant=pytest.fail) for line in path.read_text("utf-8").splitlines()]
        assert len(list(read_preferences(path))) == 16
    assert len(rows_) == 16
    for row in rows_:
        assert (row["x_rating"], row["x_fine"]) == (None, 1.5) and row["x_notes"] == ["half \ufffd", {"k\ufffd": None}]


def test_a_sound_that_cannot_be_copied_names_the_file_that_failed(database, study, tmp_path: Path, monkeypatch):
    project, _ = study

    def no_room(_source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(_source))  # as shutil says it

    monkeypatch.setattr("cmi._util.files.shutil.copyfile", no_room)
    with pytest.raises(InputError, match=r"out/audio/\w+\.wav: the disk is full"):
        export(database, project.id, tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*.wav")) and not list((tmp_path / "out").rglob("*.unfinished"))


@pytest.mark.parametrize("audio", ["copy", "link", "leave"])
def test_a_file_that_was_replaced_is_not_passed_off_as_what_people_heard(database, study, tmp_path: Path, tone, audio):
    project, _ = study
    tone(tmp_path / "sounds" / "2.wav", seconds=0.2, frequency=999)
    with pytest.raises(InputError, match=r"2\.wav: changed since people voted on it; restore"):
        export(database, project.id, tmp_path / "out", audio=audio)
    assert not (tmp_path / "out" / "preferences.jsonl").exists()
    assert not (tmp_path / "out" / "audio").exists()
    tone(tmp_path / "sounds" / "2.wav", seconds=0.2, frequency=200 + 70 * 2)
    assert export(database, project.id, tmp_path / "out", audio=audio).votes == 8


def test_what_was_exported_before_outlives_the_file_but_not_a_change_of_its_own(database, study, tmp_path: Path, tone):
    project, _ = study
    export(database, project.id, tmp_path / "out")
    tone(tmp_path / "sounds" / "2.wav", seconds=0.2, frequency=999)
    assert export(database, project.id, tmp_path / "out").votes == 8
    copied = next((tmp_path / "out" / "audio").iterdir())
    copied.write_bytes(b"cut off")
    with pytest.raises(InputError, match=r"audio/.*changed.*delete it and export again"):
        export(database, project.id, tmp_path / "out")

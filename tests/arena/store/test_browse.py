"""The owner's lists: every filter finds what a loop over all votes finds, on both databases."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import update

from cmi.arena.statistics.screening import screening
from cmi.arena.store.assign import View, begin, next_page
from cmi.arena.store.browse import PairFilter, VoteFilter, find_pairs, find_systems, find_votes, read_pair
from cmi.arena.store.errors import NotFound
from cmi.arena.store.hiding import hide
from cmi.arena.store.people import withdraw
from cmi.arena.store.schema import pairs
from cmi.arena.store.votes import Ballot, counted, save


@pytest.fixture
def study(database, clock, new_study, new_people):
    """Three people voted on all pairs, one of whom withdrew; a pair is hidden, a gold one has one known answer."""
    database.now = clock
    project = new_study(database, 12, gold=2, modalities=3, overlap_share=1.0, overlap_votes=3, gold_share=0.2)
    for number, person in enumerate(new_people(database, project, 3)):
        step = 0
        while isinstance(view := next_page(database, person)[0], View):
            begin(database, person, view.key)
            clock.time += 7_000 + step
            said = Ballot(
                "ab"[step % 2], 1 + step % 5, "ba"[step % 3 == 0], 3, "Bässe 100% _dumpf_" if step == 4 else ""
            )
            save(database, person, view.key, said)
            step += 1
        if number == 2:
            withdraw(database, project.id, person)
    hide(database, project.id, find_pairs(database, project.id).rows[5]["id"], "silent")
    with database.writing() as connection:
        connection.execute(update(pairs).where(pairs.c.source_id == "p1").values(gold={"musicality": "a"}))
    return project


def test_votes_are_found_as_the_statistics_count_them(database, study):
    every = list(counted(database, study.id))
    day = datetime.fromtimestamp(every[0].created, UTC).date()
    shared = {vote.pair for vote in every if sum(one.pair == vote.pair and not one.repeat_of for one in every) > 1}

    def is_study(vote):
        return vote.kind == "ordinary" and vote.repeat_of is None

    def lead(vote, axis):
        """Of take a among the others."""
        others = [one for one in every if one.pair == vote.pair and one.person != vote.person and not one.repeat_of]
        return sum(1 if getattr(one, axis) == "a" else -1 for one in others)

    expected = {
        VoteFilter(): lambda vote: True,
        VoteFilter(kind="first-views"): lambda vote: vote.repeat_of is None,
        VoteFilter(decided=True, axis="alignment"): lambda vote: lead(vote, "alignment") != 0,
        VoteFilter(decided=True, kind="study"): lambda vote: is_study(vote) and lead(vote, "musicality") != 0,
        VoteFilter(kind="study"): is_study,
        VoteFilter(kind="gold"): lambda vote: vote.kind == "gold",
        VoteFilter(kind="gold", known=True): lambda vote: vote.kind == "gold",
        VoteFilter(kind="gold", known=True, axis="alignment"): lambda vote: "alignment" in (vote.gold or {}),
        VoteFilter(kind="repeat"): lambda vote: vote.repeat_of is not None,
        VoteFilter(person=every[0].person): lambda vote: vote.person == every[0].person,
        VoteFilter(pair=every[0].pair): lambda vote: vote.pair == every[0].pair,
        VoteFilter(modality="text+audio"): lambda vote: vote.modality == "text+audio",
        VoteFilter(axis="alignment", confidence=2): lambda vote: vote.alignment_confidence == 2,
        VoteFilter(system="one", won=True): lambda vote: vote.musicality == "a",
        VoteFilter(system="one", against="two", won=False, axis="alignment"): lambda vote: vote.alignment == "b",
        VoteFilter(system="one", against="nobody"): lambda vote: False,
        VoteFilter(without=("two", "x")): lambda vote: False,
        VoteFilter(without=("x",)): lambda vote: True,
        VoteFilter(first=True): lambda vote: (vote.musicality == "a") != vote.swapped,
        VoteFilter(same=False): lambda vote: vote.alignment != vote.musicality,
        VoteFilter(shared=True): lambda vote: vote.pair in shared,
        VoteFilter(day=day): lambda vote: datetime.fromtimestamp(vote.created, UTC).date() == day,
    }  # fmt: skip
    for which, matches in expected.items():
        found = find_votes(database, study.id, which, limit=1000)
        wanted = {vote.view for vote in every if matches(vote)}
        assert {row["view"] for row in found.rows} == wanted and found.total == len(wanted), which
    assert find_votes(database, study.id, VoteFilter(hidden=True)).total > len(every)
    written = find_votes(database, study.id, VoteFilter(feedback=True, hidden=True))
    assert written.total == 2 and {row["feedback"] for row in written.rows} == {"Bässe 100% _dumpf_"}
    for text, total in (("100%", 2), ("_dumpf_", 2), ("%%", 0), ("dumpf bässe", 2), ("nothing", 0)):
        found = find_votes(database, study.id, VoteFilter(text=text, hidden=True))
        assert found.total in ((total, 0) if "ä" in text else (total,)), text  # SQLite folds the case of ASCII alone


def test_the_votes_behind_a_share_of_gold_pairs_are_those_with_a_known_answer(database, study):
    """The dashboard's link from a person's gold pairs on an axis lists as many votes as the share is of."""
    for row in screening(list(counted(database, study.id)), [], 20)["people"]:
        for axis in ("alignment", "musicality"):
            which = VoteFilter(person=row["person"], axis=axis, kind="gold", known=True)
            assert find_votes(database, study.id, which).total == row[f"{axis}_gold_n"]
        assert row["alignment_gold_n"] < row["musicality_gold_n"]


def test_a_vote_is_told_in_the_letters_that_its_voter_saw(database, study):
    swapped = {vote.view: vote.swapped for vote in counted(database, study.id)}
    for row in find_votes(database, study.id).rows:
        first = "b" if swapped[row["view"]] else "a"
        assert row["shown_as_a"] == first
        assert row["musicality"]["letter"] == ("A" if row["musicality"]["choice"] == first else "B")


def test_pages_and_orders_go_through_everything_once(database, study):
    for order in ("newest", "oldest", "slowest", "fastest"):
        everything = find_votes(database, study.id, order=order, limit=500).rows
        pages = [find_votes(database, study.id, order=order, offset=n, limit=5).rows for n in range(0, 100, 5)]
        assert [row["id"] for page in pages for row in page] == [row["id"] for row in everything]
    times = [row["created"] for row in find_votes(database, study.id, order="oldest").rows]
    assert times == sorted(times)
    seen, after = [], -1
    while rows := find_pairs(database, study.id, after=after, limit=5).rows:
        seen += [row["source_id"] for row in rows]
        after = rows[-1]["position"]
    assert seen == [f"p{number}" for number in range(12)]
    for order in ("most-votes", "fewest-votes", "latest", "disputed"):
        assert {row["source_id"] for row in find_pairs(database, study.id, order=order).rows} == set(seen)
    votes = [row["votes"] for row in find_pairs(database, study.id, order="most-votes").rows]
    assert votes == sorted(votes, reverse=True)
    disputed = find_pairs(database, study.id, PairFilter(kind="ordinary"), "disputed").rows
    split = [row["votes"] == 2 and row["alignment_a"] == 1 and row["musicality_a"] == 1 for row in disputed]
    assert split == sorted(split, reverse=True)


def test_pairs_are_found_by_words_systems_and_state(database, study):
    def names(**which):
        return [row["source_id"] for row in find_pairs(database, study.id, PairFilter(**which)).rows]

    assert names(text="TEXT 11") == ["p11"] and names(text="p3") == ["p3"] and names(text="%") == []
    assert names(state="hidden") == ["p5"] and "p5" not in names(state="shown") and len(names()) == 12
    assert names(kind="gold") == ["p0", "p1"] and names(modality="text+audio") == ["p2", "p5", "p8", "p11"]
    assert names(system="two", against="one") == names() and names(system="three") == []
    assert set(names(state="done")) | set(names(state="begun")) | set(names(state="untouched")) <= set(names())
    assert names(state="done") == [] and names(state="broken") == [], "three votes are wanted, and one was withdrawn"
    assert find_systems(database, study.id) == ["one", "two"]


def test_a_pair_is_read_with_its_recordings_and_history_in_its_own_project_only(database, study, new_study):
    hidden = find_pairs(database, study.id, PairFilter(state="hidden")).rows[0]
    pair = read_pair(database, study.id, hidden["id"])
    assert (pair["hidden"], pair["history"][0]["reason"], pair["replaced_by"]) == ("silent", "silent", None)
    assert pair["recordings"]["reference"]["seconds"] == 10 and pair["recordings"]["a"]["peaks"] == [0.5, 1.0]
    for wrong in ("none", "x" * 100):
        with pytest.raises(NotFound):
            read_pair(database, study.id, wrong)
    with pytest.raises(NotFound):
        read_pair(database, new_study(database, 1).id, hidden["id"])


def test_the_votes_behind_a_screening_number_are_as_many_as_it_says(database, study):
    rows = screening(list(counted(database, study.id)), [], 20)["people"]
    for row in rows:
        for axis in ("alignment", "musicality"):
            others = VoteFilter(person=row["person"], axis=axis, kind="study", decided=True)
            first = VoteFilter(person=row["person"], axis=axis, kind="first-views")
            assert find_votes(database, study.id, others).total == row[f"{axis}_others_n"]
            assert find_votes(database, study.id, first).total == row[f"{axis}_first_n"]
    assert sum(row["musicality_others_n"] for row in rows) > 0

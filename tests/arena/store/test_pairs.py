"""Pairs: the share that overlaps, in every stretch and modality; ids that are not added twice."""

import pytest
from sqlalchemy import select

from cmi._util.errors import InputError
from cmi.arena.store import pairs
from cmi.arena.store.errors import NotFound
from cmi.arena.store.pairs import NewPair
from cmi.arena.store.schema import sounds


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 1.0])
def test_the_share_that_overlaps_holds_in_every_modality_and_from_the_beginning(sqlite_database, new_study, share):
    project = new_study(sqlite_database, 80, modalities=4, overlap_share=share, overlap_votes=3)
    found = pairs.wanted(sqlite_database, project.id)
    for modality in {row[1] for row in found}:
        several = [wanted == 3 for _, one, _, wanted in found if one == modality]
        for length in range(1, len(several) + 1):
            assert abs(sum(several[:length]) - share * length) <= 1


def test_gold_pairs_want_no_votes_of_their_own(sqlite_database, new_study):
    project = new_study(sqlite_database, 5, gold=2, overlap_share=1.0)
    assert [(kind, wanted) for _, _, kind, wanted in pairs.wanted(sqlite_database, project.id)] == (
        [("gold", 0)] * 2 + [("ordinary", 2)] * 3
    )


def test_a_pair_that_is_there_stays_and_one_that_is_wrong_is_not_added(database, new_study):
    project, other = new_study(database, 2), new_study(database, 1)
    with database.reading() as connection:
        a, mine, *_ = connection.scalars(select(sounds.c.id).where(sounds.c.project == project.id))
        theirs = connection.scalars(select(sounds.c.id).where(sounds.c.project == other.id)).first()
    good = NewPair("new", "text", a, mine)
    with database.writing() as connection:
        added = pairs.add(connection, project.id, project.settings, good)
        assert pairs.add(connection, project.id, project.settings, good) == added
    assert pairs.count(database, project.id) == 3
    for wrong, error in (
        (NewPair("x", "text", a, theirs), NotFound),  # a sound of another project
        (NewPair("x", "text", a, a), InputError),
        (NewPair("x", " ", a, mine), InputError),
        (NewPair("x", "text", a, mine, gold={"overall": "a"}), InputError),
        (NewPair("x", "text", a, mine, gold={"musicality": "both"}), InputError),
        (NewPair("x" * 300, "text", a, mine), InputError),
    ):
        with pytest.raises(error), database.writing() as connection:
            pairs.add(connection, project.id, project.settings, wrong)
    assert pairs.count(database, project.id) == 3

"""Projects: settings that are checked, states, and an overlap that can be changed while a study runs."""

import pytest

from cmi._util.errors import InputError
from cmi.arena.store import pairs, projects
from cmi.arena.store.assign import Done, View, begin, next_page
from cmi.arena.store.errors import NotFound
from cmi.arena.store.study import Study
from cmi.arena.store.votes import Ballot, save


def test_a_project_is_read_back_as_it_was_made_and_changes_bit_by_bit(database):
    made = projects.create(database, "  A  study ", {"quota": 5, "heard_share": 0.25}, "Do you agree?")
    assert made == projects.get(database, made.id) and [made] == projects.list_all(database)
    assert (made.title, made.state, made.consent) == ("A study", "open", "Do you agree?")
    assert made.settings == Study(quota=5, heard_share=0.25)
    changed = projects.change(database, made.id, state="paused", settings={"quota": None}, title="New")
    assert changed == made._replace(state="paused", title="New", settings=Study(heard_share=0.25))


@pytest.mark.parametrize(
    "wrong",
    [
        {"quota": 0},
        {"quota": "5"},
        {"quota": True},
        {"overlap_share": 1.5},
        {"overlap_share": float("nan")},
        {"overlap_votes": 0},
        {"gold_share": -0.1},
        {"heard_most": 1e9},
        {"level_matched": 1},
        {"language": "fr"},
        {"seed": 2**70},
        {"colour": "red"},
    ],
)
def test_a_setting_that_makes_no_sense_is_one_sentence_that_names_it(sqlite_database, wrong):
    [name] = wrong
    with pytest.raises(InputError, match=name):
        projects.create(sqlite_database, "Study", wrong)
    assert projects.list_all(sqlite_database) == []


@pytest.mark.parametrize("title", ["", "  ", "x" * 201])
def test_a_title_has_one_to_200_characters(sqlite_database, title):
    with pytest.raises(InputError, match="1 to 200"):
        projects.create(sqlite_database, title)


def test_what_is_not_there_is_not_found(sqlite_database):
    for name in ("nothing", "", "\x00", "../x"):
        with pytest.raises(NotFound):
            projects.get(sqlite_database, name)
    with pytest.raises(InputError, match="paused"):
        projects.change(sqlite_database, projects.create(sqlite_database, "Study").id, state="gone")


def test_more_overlap_opens_pairs_again_and_less_closes_them(database, new_study, new_people):
    project = new_study(database, 4, overlap_share=0.0)
    one, two = new_people(database, project, 2)
    while isinstance(view := next_page(database, one)[0], View):
        begin(database, one, view.key)
        save(database, one, view.key, Ballot("a", 3, "b", 4))
    assert next_page(database, two)[0] == Done("no more pairs")
    projects.change(database, project.id, settings={"overlap_share": 1.0})
    assert {wanted for *_, wanted in pairs.wanted(database, project.id)} == {2}
    assert isinstance(next_page(database, two)[0], View)
    projects.change(database, project.id, settings={"overlap_share": 0.0})
    assert {wanted for *_, wanted in pairs.wanted(database, project.id)} == {1}
